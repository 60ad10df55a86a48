"""The system's own dialogs: permissions, crashes, advertisements, low battery, the shade and the recent apps.

Each pop-up that a user may want out of the way has a button with the id `dismiss`.
"""

import msgspec

from distrl.devices.sim.app import App, Ui, back, do, slide
from distrl.devices.sim.apps.settings.parts import flip
from distrl.devices.sim.nodes import Box, Icon, Text, View
from distrl.devices.sim.state import DeviceSettings
from distrl.devices.sim.widgets import badge, bar, button, dialog, empty, icon_button, row, section, slider

QUICK = {
    "wifi": ("wifi", "Internet"),
    "bluetooth": ("bluetooth", "Bluetooth"),
    "do_not_disturb": ("minus_circle_outline", "Do Not Disturb"),
    "flashlight": ("flashlight", "Flashlight"),
    "airplane": ("airplane", "Airplane mode"),
    "battery_saver": ("battery_plus", "Battery Saver"),
    "auto_rotate": ("screen_rotation", "Auto-rotate"),
    "dark_theme": ("theme_light_dark", "Dark theme"),
}
OFFERS = ["Galactic Farm", "Cloud Chess", "Snack Rush", "Puzzle Harbor", "Tiny Trains", "Word Meadow"]


def permission(ui: Ui) -> View:
    """An app wants something."""
    app_id, _, what = ui.arg.partition(":")
    icons = {"location": "map_marker_radius", "contacts": "account_box", "camera": "camera", "microphone": "microphone"}
    return dialog(
        f"Allow {ui.phone.app_name(app_id)} to access this device's {what}?",
        "",
        button("While using the app", do(_answer, True), style="tonal", id="dismiss"),
        button("Only this time", do(_answer, True), style="tonal"),
        button("Don't allow", do(_answer, False), style="tonal"),
        icon=icons.get(what, "shield_key"),
    )


def _answer(ui: Ui, allowed: bool) -> None:
    ui.settings.permissions[ui.arg] = allowed
    ui.back()


def crash(ui: Ui) -> View:
    """An app has stopped."""
    name = ui.phone.app_name(ui.arg)
    return msgspec.structs.replace(
        dialog(
            f"{name} keeps stopping",
            "",
            button("App info", do(_leave), style="text"),
            button("Close app", do(_leave), style="text", id="dismiss"),
        ),
        cancellable=False,
    )


def _leave(ui: Ui) -> None:
    ui.back()
    ui.phone.system.stacks.pop(ui.arg, None)
    ui.phone.home()


def not_responding(ui: Ui) -> View:
    """An app hangs."""
    name = ui.phone.app_name(ui.arg)
    return msgspec.structs.replace(
        dialog(
            f"{name} isn't responding",
            "Do you want to close it?",
            button("Wait", back(), style="text", id="dismiss"),
            button("Close app", do(_leave), style="text"),
        ),
        cancellable=False,
    )


def rate(ui: Ui) -> View:
    """An app wants stars."""
    stars = Box(
        tuple(icon_button("star_outline", f"{k} stars", do(_thank), color="star") for k in range(1, 6)),
        row=True,
        justify="center",
    )
    return dialog(
        f"Enjoying {ui.phone.app_name(ui.arg)}?",
        "Tap a star to rate it.",
        button("Not now", back(), style="text", id="dismiss"),
        icon="star_circle",
        content=(stars,),
    )


def _thank(ui: Ui) -> None:
    ui.back()
    ui.toast("Thanks for your rating")


def ad(ui: Ui) -> View:
    """An advertisement over everything."""
    offer = OFFERS[int(ui.arg) % len(OFFERS)]
    close = Box(
        (
            Box((Text("Ad", 44, "#FFFFFF", "medium"),), grow=1),
            icon_button("close", "Close ad", back(), id="dismiss", color="#FFFFFF"),
        ),
        row=True,
        pad=(48, 8, 24, 8),
        fill="#311B92",
    )
    art = Box((Icon("gamepad_variant", 420, "#FFD54F"),), pad=(0, 260, 0, 60), align="center")
    words = Box(
        (
            Text(offer, 96, "#FFFFFF", "bold", "center"),
            Text("The game everybody plays this week", 50, "#D1C4E9", align="center"),
        ),
        gap=24,
        pad=(48, 0, 48, 100),
    )
    install = Box((button("Install now", do(_thank_for_nothing), style="cart"),), align="center", pad=(48, 0, 48, 0))
    return View(bar=close, body=(art, words, install), fill="#311B92")


def _thank_for_nothing(ui: Ui) -> None:
    ui.toast("Opening the offer failed")


def cookies(ui: Ui) -> View:
    """A web site asks for consent."""
    return dialog(
        "We value your privacy",
        "We and our 214 partners store cookies on your device to show content and measure it.",
        button("Accept all", back(), id="dismiss"),
        button("Reject all", back(), style="tonal"),
        button("Manage options", do(Ui.toast, "Options are saved"), style="text"),
    )


def low_battery(ui: Ui) -> View:
    """The battery is nearly empty."""
    return dialog(
        "Low battery",
        f"{ui.settings.battery}% remaining. Turn on Battery Saver to extend battery life.",
        button("Dismiss", back(), style="text", id="dismiss"),
        button("Turn on", do(_save_battery), style="text"),
        icon="battery_alert",
    )


def _save_battery(ui: Ui) -> None:
    ui.settings.battery_saver = True
    ui.back()


def _quick(settings: DeviceSettings, name: str) -> Box:
    icon, words = QUICK[name]
    on = bool(getattr(settings, name))
    color = "on_primary" if on else "text"
    return Box(
        (Icon(icon, 72, color), Box((Text(words, 44, color, "medium", lines=2),), grow=1)),
        row=True,
        gap=24,
        pad=(36, 24, 24, 24),
        height=168,
        grow=1,
        radius=64,
        fill="primary" if on else "container",
        tap=do(flip, name),
        kind="switch",
        checked=on,
    )


def shade(ui: Ui) -> View:
    """Quick settings and notifications."""
    names = list(QUICK)
    lines = tuple(
        Box(tuple(_quick(ui.settings, n) for n in names[k : k + 2]), row=True, gap=24, pad=(36, 12, 36, 12))
        for k in range(0, len(names), 2)
    )
    alerts = tuple(
        row(a.title, a.body, lead=badge("bell", "#5C6BC0", 96), tap=do(_open_alert, a.app))
        for a in ui.phone.system.alerts
    )
    foot = (section("Notifications"), *(alerts or (row("No notifications"),)))
    return View(
        bar=bar("Quick settings", icon_button("cog", "Settings", do(_open_alert, "settings"))),
        body=(slider("Brightness", ui.settings.brightness, slide(_set_brightness), icon="brightness_6"), *lines, *foot),
        swipe_up=back(),
    )


def _set_brightness(ui: Ui, percent: int) -> None:
    ui.settings.brightness = percent


def _open_alert(ui: Ui, app_id: str) -> None:
    ui.back()
    ui.open(app_id)


def recents(ui: Ui) -> View:
    """The apps that are open."""
    opened = [a for a in ui.phone.system.stacks if a not in ("launcher", "system")]
    rows = tuple(
        row(ui.phone.app_name(a), "Running", lead=Icon("application_outline", 84), tap=do(_open_alert, a))
        for a in opened
    )
    clear = icon_button("close_box_multiple_outline", "Clear all", do(_clear_all))
    return View(bar=bar("Recent apps", clear), body=rows or (empty("application_outline", "No recent items"),))


def _clear_all(ui: Ui) -> None:
    ui.phone.system.stacks.clear()
    ui.phone.home()


APP = App(
    id="system",
    name="System",
    icon="cog",
    color="#455A64",
    hidden=True,
    pages={
        "permission": permission,
        "crash": crash,
        "not_responding": not_responding,
        "rate": rate,
        "ad": ad,
        "cookies": cookies,
        "low_battery": low_battery,
        "shade": shade,
        "recents": recents,
    },
)
