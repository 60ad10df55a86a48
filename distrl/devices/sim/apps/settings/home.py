"""The first page of Settings, with a search that finds pages and switches by their words."""

import msgspec

from distrl.devices.sim.app import Ui, go
from distrl.devices.sim.apps.settings.parts import hint, panel
from distrl.devices.sim.nodes import Box, Icon, View
from distrl.devices.sim.widgets import badge, big_title, row, wide

GROUPS = (
    (
        ("network", "wifi", "#3F67D8", "Network & internet", "Wi-Fi, mobile, hotspot"),
        ("connected", "devices", "#2E8B9A", "Connected devices", "Bluetooth, pairing"),
    ),
    (
        ("apps", "apps", "#E8710A", "Apps", "Permissions, storage, force stop"),
        ("notifications", "bell", "#C2185B", "Notifications", "Which apps may notify"),
    ),
    (
        ("battery", "battery_70", "#1E8E3E", "Battery", "Battery Saver, percentage"),
        ("storage", "database", "#8E24AA", "Storage", "76 GB used of 128 GB"),
        ("sound", "volume_high", "#5C6BC0", "Sound & vibration", "Volume, vibration, Do Not Disturb"),
        ("display", "brightness_6", "#F29900", "Display", "Dark theme, font size, brightness"),
    ),
    (
        ("security", "shield_lock", "#00796B", "Security & privacy", "Screen lock, privacy"),
        ("location", "map_marker", "#D93025", "Location", "Use location, scanning"),
    ),
    (
        ("system", "information", "#546E7A", "System", "Language, gestures, updates"),
        ("about", "cellphone", "#6D4C41", "About phone", "Device name, version"),
    ),
)
INDEX = (
    ("Internet", "internet", "wi-fi wifi wireless network"),
    ("Wi-Fi", "internet", "wifi wireless"),
    ("Mobile data", "network", "cellular"),
    ("Roaming", "network", "abroad"),
    ("Data Saver", "network", ""),
    ("Airplane mode", "network", "flight"),
    ("Wi-Fi hotspot", "hotspot", "tethering share"),
    ("Bluetooth", "connected", "wireless"),
    ("Pair new device", "pair", "bluetooth headphones"),
    ("NFC", "connected", "contactless"),
    ("Apps", "apps", "permissions cache force stop"),
    ("App notifications", "notifications", ""),
    ("Do Not Disturb", "sound", "silent quiet"),
    ("Notification dots", "notifications", ""),
    ("Bubbles", "notifications", ""),
    ("Battery", "battery", "power"),
    ("Battery Saver", "battery", "power"),
    ("Battery percentage", "battery", ""),
    ("Adaptive battery", "battery", ""),
    ("Storage", "storage", "space memory"),
    ("Media volume", "sound", "loud"),
    ("Call volume", "sound", "loud"),
    ("Ring volume", "sound", "loud"),
    ("Alarm volume", "sound", "loud"),
    ("Ringtone", "ringtone", ""),
    ("Vibrate for calls", "sound", "vibration"),
    ("Touch sounds", "sound", ""),
    ("Brightness", "display", "screen"),
    ("Adaptive brightness", "display", "screen"),
    ("Dark theme", "display", "mode night black"),
    ("Night Light", "display", "blue"),
    ("Font size", "font", "text large small"),
    ("Wallpaper", "wallpaper", "background picture"),
    ("Screen timeout", "timeout", "sleep"),
    ("Auto-rotate screen", "display", "rotation"),
    ("Screen lock", "screen_lock", "pin password"),
    ("Fingerprint unlock", "security", ""),
    ("Find my device", "security", "lost"),
    ("Camera access", "security", "privacy"),
    ("Microphone access", "security", "privacy"),
    ("Location", "location", "gps"),
    ("Precise location", "location", "gps"),
    ("Wi-Fi scanning", "location", ""),
    ("Language", "language", ""),
    ("3-button navigation", "system", "gestures buttons"),
    ("Automatic date & time", "system", "clock"),
    ("Automatic system updates", "system", ""),
    ("About phone", "about", "version model"),
    ("Device name", "about", "rename"),
)
"""What the search finds: title, page, more words."""
PLACES = {line[0]: line[3] for group in GROUPS for line in group} | {
    "internet": "Network & internet > Internet",
    "hotspot": "Network & internet > Hotspot",
    "pair": "Connected devices",
    "ringtone": "Sound & vibration",
    "font": "Display",
    "wallpaper": "Display",
    "timeout": "Display",
    "screen_lock": "Security & privacy",
    "language": "System",
}


def home(ui: Ui) -> View:
    """All groups, or what the search found. An update has turned the order around."""
    field = msgspec.structs.replace(ui.field("query", "Search settings", icon="magnify"), fill="surface")
    query = ui.typed("query").strip().casefold()
    head = (wide(field),) if query or ui.phone.system.focus == "query" else (big_title("Settings"), wide(field))
    if query:
        return View(body=(*head, _found(query)), fill="container")
    groups = GROUPS[::-1] if ui.has("new_layout") else GROUPS
    panels = tuple(panel(*(_line(*line) for line in group)) for group in groups)
    return View(body=(*head, *panels, Box(height=48)), fill="container")


def _line(name: str, icon: str, color: str, title: str, subtitle: str) -> Box:
    return row(title, subtitle, lead=badge(icon, color), tap=go(name), id=f"open:{name}")


def _found(query: str) -> Box:
    words = query.split()
    found = [(t, page) for t, page, more in INDEX if all(w in f"{t} {PLACES[page]} {more}".casefold() for w in words)]
    found.sort(key=lambda pair: query not in pair[0].casefold())
    if not found:
        return hint("No results. Try another word.")
    return panel(*(row(t, PLACES[p], lead=Icon("magnify", 72), tap=go(p), id=f"found:{t}") for t, p in found[:12]))
