"""System tasks about connections: join a Wi-Fi network, pair, connect and forget devices, share a hotspot."""

from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, field, on, plan, stage, tap, toggle
from distrl.tasks.suites.strict import Only
from distrl.tasks.suites.system_settings import settings_of, ways
from distrl.tasks.template import Inspect, Params, Template, pool, same

NETWORKS = pool(
    *"Blue Door|Casa Verde|Attic 12|Harbor Office|Lighthouse|North Wing|Olive Garden 3|Quiet Corner|Red Barn|Sunroom|"
    "Third Floor|Upper Deck|Villa Marina|Willow Lane|Yellow House|Bakery Guest|Old Mill|Lakeside|Pine Lodge|Rooftop|"
    "Garden Flat|Museum Hall|Station Cafe|Book Nook|Green Gate".split("|")
)
PASSWORDS = pool(
    *"candle4821 riverstone7 bluewhale22 morning365 paperboat9 snowflake88 tulipfield3 goldfish417 windmill56 "
    "cactus2030 lanternlight5 applecrate14 seagull773 mapletree60 starlight19 drumbeat84 pinecone246 velvetcup31 "
    "thunder908 pebblebeach2 kiteflyer75 orangepeel6 woodpecker12 icecream555 hazelnut43".split()
)
DEVICES = pool(
    *"Lark Buds|Boom Box Speaker|Trail Watch|Velvet Headphones|Kitchen Speaker|Slate Keyboard|Bedroom TV|"
    "Family Car Audio|Ink Printer 20|Swift Laptop|Drift Buds|Pulse Watch|Cinema TV|Studio Headphones|Pocket Speaker|"
    "Echo Park Buds|Desk Keyboard|Van Car Audio|Photo Printer|Silver Laptop|Moss Buds|Runner Watch|Porch Speaker|"
    "Attic TV|Travel Keyboard".split("|")
)
HOTSPOTS = pool(
    *"Beach Trip|Family Van|Night Bus|Team Tent|Picnic|Road Crew|Chess Club|Choir Tour|Field Lab|Train Car 4|"
    "Little Boat|Camp Fire|Music Room|Market Stall|Sky Lounge".split("|")
)


def _wifi_world(p: Params, rng: Random) -> Plain:
    names = rng.sample([n for n in NETWORKS.words if n != p["network"]], 5)
    networks = {name: rng.choice(["", f"unknown{rng.randint(100, 999)}"]) for name in names[1:]}
    networks[p["network"]] = p["password"]
    order = rng.sample(list(networks), len(networks))
    shown = {names[0]: "homekey12345"} | {name: networks[name] for name in order}
    return {
        "settings": {"wifi": True, "networks": shown, "wifi_network": names[0], "saved_networks": [names[0]]},
    }


def _wifi_plan(p: Params) -> Plan:
    ask = on(f"settings/wifi_password/{p['network']}", field("password", p["password"]), tap(id="save"))
    return plan("Settings", ask, *ways("internet", toggle(id="wifi", on=True), tap(id=f"network:{p['network']}")))


def _devices_world(p: Params, rng: Random) -> Plain:
    """The device in question among others: in sight, or known already if `is_paired`."""
    others = rng.sample([n for n in DEVICES.words if n != p["device"]], 5)
    known, around = others[:2], others[2:]
    mine = known if p["is"] == "paired" else around
    mine.insert(rng.randrange(len(mine) + 1), p["device"])
    on_air = rng.random() < 0.5
    return {"settings": {"bluetooth": on_air, "paired": known, "nearby": around, "connected": ""}}


def _is_connected(p: Params, inspect: Inspect) -> bool:
    state = settings_of(inspect)
    return bool(state["bluetooth"]) and state["connected"] == p["device"] and p["device"] in state["paired"]


def _is_forgotten(p: Params, inspect: Inspect) -> bool:
    return p["device"] not in settings_of(inspect)["paired"]


def _hotspot_plan(p: Params) -> Plan:
    named = stage(
        "Settings",
        on("settings/hotspot_name", field("name", p["name"]), tap(id="save")),
        *ways("hotspot", tap(id="open:hotspot_name")),
        done=lambda inspect: same(settings_of(inspect)["hotspot_name"], p["name"]),
    )
    return named, stage("Settings", *ways("hotspot", toggle(id="hotspot", on=True)))


TEMPLATES = (
    Template(
        name="join_wifi",
        suite="system",
        difficulty=2,
        phrasings=(
            "Connect to the Wi-Fi network {network} with the password {password}",
            "The Wi-Fi {network} has the password {password} so please join it",
            "Get this phone onto the {network} network using {password} as the password",
            "Use {password} to connect to the Wi-Fi called {network}",
        ),
        draw=lambda d: {"network": d.pick(NETWORKS), "password": d.pick(PASSWORDS)},
        world=_wifi_world,
        keeps=(Only("settings", "saved_networks"),),
        check=lambda p, inspect: settings_of(inspect)["wifi"] and settings_of(inspect)["wifi_network"] == p["network"],
        plan=_wifi_plan,
    ),
    Template(
        name="pair_device",
        suite="system",
        difficulty=2,
        phrasings=(
            "Pair my phone with {device}",
            "Pair the new Bluetooth device {device}",
            "Add {device} as a Bluetooth device",
            "I bought the {device} that I want to pair with this phone",
        ),
        draw=lambda d: {"device": d.pick(DEVICES), "is": "near"},
        world=_devices_world,
        keeps=(Only("settings", "paired"),),
        check=_is_connected,
        plan=lambda p: plan(
            "Settings",
            on(f"settings/confirm_pair/{p['device']}", tap(id="confirm")),
            *ways("pair", tap(id=f"nearby:{p['device']}")),
        ),
    ),
    Template(
        name="connect_device",
        suite="system",
        difficulty=1,
        phrasings=(
            "Connect to my {device}",
            "Reconnect the phone to {device}",
            "Use the paired Bluetooth device {device}",
        ),
        draw=lambda d: {"device": d.pick(DEVICES), "is": "paired"},
        world=_devices_world,
        keeps=(Only("settings", "paired", whole=True),),
        check=_is_connected,
        plan=lambda p: plan("Settings", *ways("connected", tap(id=f"device:{p['device']}"))),
    ),
    Template(
        name="forget_device",
        suite="system",
        difficulty=2,
        unseen=True,
        phrasings=(
            "Forget the Bluetooth device {device}",
            "Unpair {device} from this phone",
            "Remove {device} from the paired devices because I sold it",
        ),
        draw=lambda d: {"device": d.pick(DEVICES), "is": "paired"},
        world=_devices_world,
        keeps=(Only("settings", "paired"),),
        check=_is_forgotten,
        plan=lambda p: plan(
            "Settings",
            on(f"settings/forget_device/{p['device']}", tap(id="confirm")),
            on(f"settings/device/{p['device']}", tap(id="forget")),
            *ways("connected", tap(id=f"details:{p['device']}")),
        ),
    ),
    Template(
        name="hotspot_password",
        suite="system",
        difficulty=2,
        phrasings=(
            "Change the hotspot password to {password}",
            "Use {password} as the password of my hotspot",
            "Protect the Wi-Fi hotspot with the password {password}",
        ),
        draw=lambda d: {"password": d.pick(PASSWORDS)},
        world=lambda p, rng: {"settings": {"hotspot": False, "hotspot_name": "Phone P8 hotspot"}},
        keeps=(Only("settings", "hotspot"), Only("settings", "hotspot_name")),
        check=lambda p, inspect: settings_of(inspect)["hotspot_password"] == p["password"],
        plan=lambda p: plan(
            "Settings",
            on("settings/hotspot_password", field("password", p["password"]), tap(id="save")),
            *ways("hotspot", tap(id="open:hotspot_password")),
        ),
    ),
    Template(
        name="named_hotspot",
        suite="system",
        difficulty=2,
        phrasings=(
            "Turn on a Wi-Fi hotspot named {name}",
            "Rename my hotspot to {name} and turn it on",
            "Share my internet through a hotspot called {name}",
        ),
        draw=lambda d: {"name": d.pick(HOTSPOTS)},
        world=lambda p, rng: {"settings": {"hotspot": False, "hotspot_password": "quiet-river-42"}},
        keeps=(Only("settings", "hotspot_password"),),
        check=lambda p, inspect: (
            same(settings_of(inspect)["hotspot_name"], p["name"]) and settings_of(inspect)["hotspot"] is True
        ),
        plan=_hotspot_plan,
    ),
)
