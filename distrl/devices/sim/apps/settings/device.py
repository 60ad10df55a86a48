"""The phone itself: battery, storage, security, location, language, system, about."""

from distrl.devices.sim.app import Ui, do, go
from distrl.devices.sim.apps.settings.app_pages import cache_mb, tile_icon, tiles
from distrl.devices.sim.apps.settings.parts import ask, heading, hint, link, option, page, panel, question, switch
from distrl.devices.sim.nodes import Box, Text, View
from distrl.devices.sim.widgets import row

LOCKS = {
    "None": "No protection",
    "Swipe": "No protection against others",
    "PIN": "Medium to high security",
}
LANGUAGES = {
    "English": "United Kingdom",
    "Dansk": "Danish",
    "Deutsch": "German",
    "Español": "Spanish",
    "Français": "French",
    "Italiano": "Italian",
    "Nederlands": "Dutch",
    "Norsk": "Norwegian",
    "Polski": "Polish",
    "Português": "Portuguese",
    "Suomi": "Finnish",
    "Svenska": "Swedish",
}
TOTAL_GB = 128.0
USED_GB = {"Photos & videos": 31.4, "Apps": 18.6, "Music & audio": 9.2, "Documents": 2.7, "System": 14.1}
COLORS = ("#5C6BC0", "#26A69A", "#EF6C00", "#8E24AA", "#78909C")


def _gauge(share: float, color: str, width: int = 888) -> Box:
    """A bar that is filled to a share."""
    filled = max(int(width * share), 24)
    return Box((Box(width=filled, height=32, radius=16, fill=color),), width=width, height=32, radius=16, fill="tonal")


def battery(ui: Ui) -> View:
    """How much is left, and how to make it last."""
    settings = ui.settings
    hours = settings.battery * 22 // 100
    charge = Box(
        (
            Text(f"{settings.battery}%", 132, weight="light"),
            _gauge(settings.battery / 100, "success" if settings.battery > 15 else "error"),
            Text(f"About {hours} h left", 46, "text2"),
        ),
        gap=20,
        pad=(56, 36, 56, 36),
    )
    return page(
        "Battery",
        panel(charge),
        panel(
            switch(ui, "Battery Saver", "battery_saver", "Limits what apps do in the background", icon="battery_plus"),
            switch(ui, "Battery percentage", "battery_percentage", "Show it in the status bar", icon="percent"),
            switch(
                ui,
                "Adaptive battery",
                "adaptive_battery",
                "Saves on apps that you rarely use",
                icon="battery_heart_variant",
            ),
        ),
    )


def storage(ui: Ui) -> View:
    """What fills the phone."""
    used = sum(USED_GB.values())
    total = Box(
        (Text(f"{used:.0f} GB used of {TOTAL_GB:.0f} GB", 60, weight="medium"), _gauge(used / TOTAL_GB, "primary")),
        gap=28,
        pad=(56, 36, 56, 40),
    )
    kinds = tuple(
        Box(
            (Box((Box((Text(name, 50),), grow=1), Text(f"{gb} GB", 46, "text2")), row=True), _gauge(gb / 40, color)),
            gap=12,
            pad=(56, 24, 56, 24),
        )
        for (name, gb), color in zip(USED_GB.items(), COLORS, strict=True)
    )
    largest = sorted(tiles(ui), key=lambda tile: -cache_mb(ui, tile.name))[:4]
    rows = tuple(
        row(
            tile.name,
            f"Cache: {cache_mb(ui, tile.name)} MB",
            lead=tile_icon(tile),
            tap=go("app_storage", tile.name),
            id=f"storage:{tile.name}",
        )
        for tile in largest
    )
    return page("Storage", panel(total), panel(*kinds), heading("Apps with the largest cache"), panel(*rows))


def security(ui: Ui) -> View:
    """Who may use the phone, and what apps may see."""
    return page(
        "Security & privacy",
        heading("Unlocking"),
        panel(
            link("Screen lock", ui.settings.screen_lock, "screen_lock", icon="lock_outline"),
            switch(ui, "Fingerprint unlock", "fingerprint", icon="fingerprint"),
            switch(ui, "Find my device", "find_device", "Locate the phone when it is lost", icon="cellphone_marker"),
        ),
        heading("Privacy"),
        panel(
            switch(ui, "Camera access", "camera_access", "For apps and services", icon="camera_outline"),
            switch(ui, "Microphone access", "microphone_access", "For apps and services", icon="microphone_outline"),
        ),
    )


def screen_lock(ui: Ui) -> View:
    """How the phone is unlocked."""
    now = ui.settings.screen_lock
    return page(
        "Screen lock", panel(*(option(name, name == now, do(_set_lock, name), words) for name, words in LOCKS.items()))
    )


def _set_lock(ui: Ui, name: str) -> None:
    if name == "PIN":
        ui.go("set_pin")
        ui.focus("pin")
        return
    ui.settings.screen_lock = name
    ui.settings.lock_pin = ""
    ui.toast(f"Screen lock: {name}")


def set_pin(ui: Ui) -> View:
    """Asks for a new PIN."""
    return ask(ui, "Set a PIN", "pin", "At least 4 digits", do(_save_pin))


def _save_pin(ui: Ui) -> None:
    pin = ui.typed("pin").strip()
    if not pin.isdecimal() or len(pin) < 4:
        ui.toast("Use at least 4 digits")
        return
    ui.settings.screen_lock, ui.settings.lock_pin = "PIN", pin
    ui.back()
    ui.toast("PIN set")


def location(ui: Ui) -> View:
    """Whether the phone knows where it is."""
    return page(
        "Location",
        panel(switch(ui, "Use location", "location", icon="map_marker")),
        panel(
            switch(ui, "Precise location", "precise_location", "Within a few metres", icon="crosshairs_gps"),
            switch(ui, "Wi-Fi scanning", "wifi_scanning", "Find places by the networks around", icon="wifi"),
        ),
        hint("Apps with the location permission can ask for your position while this is on."),
    )


def language(ui: Ui) -> View:
    """The language of the phone."""
    now = ui.settings.language
    rows = (option(name, name == now, do(_set_language, name), words) for name, words in LANGUAGES.items())
    return page("Language", panel(*rows))


def _set_language(ui: Ui, name: str) -> None:
    ui.settings.language = name
    ui.toast(f"Language: {name}")


def system(ui: Ui) -> View:
    """What is left."""
    return page(
        "System",
        panel(
            link("Language", ui.settings.language, "language", icon="translate"),
            switch(
                ui,
                "3-button navigation",
                "three_buttons",
                "Back, Home and Recents instead of gestures",
                icon="gesture_swipe_horizontal",
            ),
            switch(ui, "Automatic date & time", "automatic_time", "From the mobile network", icon="calendar_clock"),
            switch(ui, "Automatic system updates", "automatic_updates", "When the phone restarts", icon="update"),
        ),
    )


def about(ui: Ui) -> View:
    """What this phone is."""
    return page(
        "About phone",
        panel(
            question("Device name", ui.settings.device_name, "device_name", "name", icon="pencil"),
            row("Phone number", "+351 912 000 184"),
            row("Model", "P8 Lite (2026)"),
            row("Software version", "16.2.1"),
            row("Security update", "5 November 2026"),
            row("Wi-Fi address", "3c:5a:10:9f:22:8b"),
        ),
    )


def device_name(ui: Ui) -> View:
    """Asks for a new name."""
    return ask(ui, "Device name", "name", "New name", do(_save_name))


def _save_name(ui: Ui) -> None:
    name = ui.typed("name").strip()
    if not name:
        ui.toast("Enter a name")
        return
    ui.settings.device_name = name
    ui.back()
    ui.toast("Device name saved")
