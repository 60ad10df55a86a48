"""System tasks about apps and the phone itself: notifications, permissions, caches, name, lock, language, ringtone."""

from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, Rule, choose, field, on, plan, stage, tap, toggle
from distrl.tasks.suites.strict import Only
from distrl.tasks.suites.system_settings import far_from, is_near, level_rules, settings_of, ways
from distrl.tasks.template import Draw, Inspect, Params, Template, pool, same

APPS = pool(
    *"Mail Messages Calendar Photos Contacts Browser Store Notes Files Phone Weather Calculator Clock".split(),
)
PERMISSIONS = pool(
    *"Mail/Contacts Browser/Location Messages/Camera Photos/Location Calendar/Contacts Weather/Location Browser/Camera "
    "Phone/Microphone Messages/Contacts Mail/Files Photos/Camera Browser/Microphone Calendar/Location Contacts/Phone "
    "Messages/Files Phone/Contacts Photos/Files".split()
)
APP_IDS = {"Phone": "dialer"}
"""Apps whose id is not their name."""
OWNERS = pool(*"Ana Bruno Chiara David Elena Farid Grace Hugo Ines Jonas Karim Lena Marco Nadia Olga".split())
NOUNS = pool(
    *"pocket phone|travel phone|work phone|little brick|blue phone|second phone|camera phone|red phone".split("|")
)
LANGUAGES = {
    "Danish": "Dansk",
    "German": "Deutsch",
    "Spanish": "Español",
    "French": "Français",
    "Italian": "Italiano",
    "Dutch": "Nederlands",
    "Norwegian": "Norsk",
    "Polish": "Polski",
    "Portuguese": "Português",
    "Finnish": "Suomi",
    "Swedish": "Svenska",
}
RINGTONES = ("Harbor bell", "Paper boats", "Night train", "Glass garden", "Long road home", "Morning dew")


def _app_rules(app: str) -> tuple[Rule, ...]:
    return ways("apps", tap(id=f"app:{app}"))


# ---------------------------------------------------------------- notifications and permissions


def _notify_world(p: Params, rng: Random) -> Plain:
    """Two other apps are silent; the one in question is what it should not be."""
    blocked = rng.sample([a for a in APPS.words if a != p["app"]], 2)
    return {"settings": {"blocked_notifications": blocked + ([p["app"]] if p["state"] == "on" else [])}}


def _notify_check(p: Params, inspect: Inspect) -> bool:
    blocked = settings_of(inspect)["blocked_notifications"]
    return (p["app"] not in blocked) is (p["state"] == "on")


def _draw_permission(d: Draw) -> Params:
    app, _, what = d.pick(PERMISSIONS).partition("/")
    verb = d.choice(("Allow", "Deny"))
    state, what = "on" if verb == "Allow" else "off", what.lower()
    return {"app": app, "what": what, "verb": verb, "state": state, "key": f"{_id_of(app)}:{what}"}


def _id_of(app: str) -> str:
    return APP_IDS.get(app, app.lower())


def _permission_world(p: Params, rng: Random) -> Plain:
    """The permission in question is what it should not be; all others were decided on before."""
    pairs = [name.split("/") for name in PERMISSIONS.words]
    decided = {f"{_id_of(app)}:{what.lower()}": rng.random() < 0.7 for app, what in pairs}
    return {"settings": {"permissions": decided | {p["key"]: p["verb"] != "Allow"}}}


def _cache_world(p: Params, rng: Random) -> Plain:
    return {"settings": {"cache_mb": {app: rng.randint(80, 900) for app in APPS.words}}}


def _permission_plan(p: Params) -> Plan:
    app = p["app"]
    return plan(
        "Settings",
        on(f"settings/permissions/{app}", toggle(id=f"permission:{p['what'].title()}", on=p["verb"] == "Allow")),
        on(f"settings/app/{app}", tap(id="open:permissions")),
        *_app_rules(app),
    )


# ---------------------------------------------------------------- lock and ringtone


def _pin_world(p: Params, rng: Random) -> Plain:
    return {"settings": {"screen_lock": rng.choice(["None", "Swipe"]), "lock_pin": ""}}


def _ringtone_world(p: Params, rng: Random) -> Plain:
    others = [name for name in RINGTONES if name != p["ringtone"]]
    return {"settings": {"ringtone": rng.choice(others), "ring_volume": far_from(p["percent"], rng)}}


def _ringtone_plan(p: Params) -> Plan:
    chosen = stage(
        "Settings",
        *ways("ringtone", choose(id=f"choose:{p['ringtone']}")),
        done=lambda inspect: settings_of(inspect)["ringtone"] == p["ringtone"],
    )
    return chosen, stage("Settings", *level_rules("ring volume", p["percent"]))


def _with_languages(p: Params, rng: Random) -> Plain:
    return {"settings": {"language": "English"}}


TEMPLATES = (
    Template(
        name="app_notifications",
        suite="system",
        difficulty=2,
        phrasings=(
            "Turn {state} notifications from {app}",
            "Switch {state} the notifications of the {app} app",
            "In the settings, turn {state} notifications for {app}",
            "I want notifications from {app} to be {state}",
        ),
        draw=lambda d: {"app": d.pick(APPS), "state": d.choice(("on", "off"))},
        world=_notify_world,
        keeps=(Only("settings", "blocked_notifications"),),
        check=_notify_check,
        plan=lambda p: plan("Settings", *ways("notifications", toggle(id=f"notify:{p['app']}", on=p["state"] == "on"))),
    ),
    Template(
        name="app_permission",
        suite="system",
        difficulty=2,
        phrasings=(
            "{verb} the {app} app the {what} permission",
            "{verb} {app} access to the {what}",
            "Open the app info of {app} and turn the {what} permission {state}",
        ),
        draw=_draw_permission,
        world=_permission_world,
        keeps=(Only("settings", "permissions", grows=True),),
        check=lambda p, inspect: settings_of(inspect)["permissions"].get(p["key"]) is (p["verb"] == "Allow"),
        plan=_permission_plan,
    ),
    Template(
        name="clear_cache",
        suite="system",
        difficulty=2,
        phrasings=(
            "Clear the cache of {app}",
            "Free some space by clearing the cache of the {app} app",
            "Delete the cached data of {app}",
        ),
        draw=lambda d: {"app": d.pick(APPS)},
        world=_cache_world,
        keeps=(Only("settings", "cache_mb"),),
        check=lambda p, inspect: settings_of(inspect)["cache_mb"].get(p["app"]) == 0,
        plan=lambda p: plan(
            "Settings",
            on(f"settings/app_storage/{p['app']}", tap(id="clear_cache")),
            on(f"settings/app/{p['app']}", tap(id="open:app_storage")),
            *_app_rules(p["app"]),
        ),
    ),
    Template(
        name="force_stop_app",
        suite="system",
        difficulty=2,
        unseen=True,
        phrasings=("Force stop {app}", "The {app} app hangs, force stop it in the settings", "Stop {app} from running"),
        draw=lambda d: {"app": d.pick(APPS)},
        world=lambda p, rng: {"settings": {"stopped": []}},
        check=lambda p, inspect: settings_of(inspect)["stopped"] == [p["app"]],
        plan=lambda p: plan(
            "Settings",
            on(f"settings/force_stop/{p['app']}", tap(id="confirm")),
            on(f"settings/app/{p['app']}", tap(id="force_stop")),
            *_app_rules(p["app"]),
        ),
    ),
    Template(
        name="rename_phone",
        suite="system",
        difficulty=2,
        phrasings=(
            "Rename this phone to {name}",
            "Change the device name to {name}",
            "Other devices should see this phone as {name}",
            "Call this phone {name}",
        ),
        draw=lambda d: {"name": f"{d.pick(OWNERS)}'s {d.pick(NOUNS)}"},
        check=lambda p, inspect: same(settings_of(inspect)["device_name"], p["name"]),
        plan=lambda p: plan(
            "Settings",
            on("settings/device_name", field("name", p["name"]), tap(id="save")),
            *ways("about", tap(id="open:device_name")),
        ),
    ),
    Template(
        name="set_pin",
        suite="system",
        difficulty=2,
        phrasings=(
            "Protect the phone with the PIN {pin}",
            "Set the screen lock to PIN and use {pin}",
            "I want to unlock my phone with the PIN {pin}",
        ),
        draw=lambda d: {"pin": d.number(1000, 9999)},
        world=_pin_world,
        check=lambda p, inspect: (
            (settings_of(inspect)["screen_lock"], settings_of(inspect)["lock_pin"]) == ("PIN", p["pin"])
        ),
        plan=lambda p: plan(
            "Settings",
            on("settings/set_pin", field("pin", p["pin"]), tap(id="save")),
            *ways("screen_lock", tap(id="choose:PIN")),
        ),
    ),
    Template(
        name="change_language",
        suite="system",
        difficulty=2,
        unseen=True,
        phrasings=(
            "Change the language of the phone to {language}",
            "I am learning {language} so switch the phone to it",
            "Set the system language to {language}",
        ),
        draw=lambda d: {"language": d.choice(tuple(LANGUAGES))},
        world=_with_languages,
        check=lambda p, inspect: settings_of(inspect)["language"] == LANGUAGES[p["language"]],
        plan=lambda p: plan("Settings", *ways("language", choose(id=f"choose:{LANGUAGES[p['language']]}"))),
    ),
    Template(
        name="ringtone_and_volume",
        suite="system",
        difficulty=3,
        unseen=True,
        phrasings=(
            "Set the ringtone to {ringtone} and the ring volume to {percent}",
            "Use {ringtone} as my ringtone at a ring volume of {percent}",
            "Change the ring volume to {percent} and pick {ringtone} as the ringtone",
        ),
        draw=lambda d: {"ringtone": d.choice(RINGTONES), "percent": d.number(10, 95, 5) + "%"},
        world=_ringtone_world,
        check=lambda p, inspect: (
            settings_of(inspect)["ringtone"] == p["ringtone"]
            and is_near(settings_of(inspect)["ring_volume"], p["percent"])
        ),
        plan=_ringtone_plan,
    ),
)
