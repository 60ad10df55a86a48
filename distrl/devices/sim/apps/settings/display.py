"""Display and sound: brightness, theme, font size, timeout, wallpaper; volumes, vibration, ringtone."""

from distrl.devices.sim.app import Ui, do
from distrl.devices.sim.apps.settings.parts import heading, level, link, option, page, panel, switch
from distrl.devices.sim.nodes import Box, Icon, Text, View
from distrl.devices.sim.pictures import WALLPAPERS
from distrl.devices.sim.widgets import dialog

TIMEOUTS_S = {
    "15 seconds": 15,
    "30 seconds": 30,
    "1 minute": 60,
    "2 minutes": 120,
    "5 minutes": 300,
    "10 minutes": 600,
    "30 minutes": 1800,
}
FONTS = {"Small": 90, "Default": 100, "Large": 110, "Largest": 120}
PAPERS = ("Ocean", "Orchid", "Lagoon", "Canyon")
RINGTONES = ("Morning dew", "Harbor bell", "Paper boats", "Night train", "Glass garden", "Long road home")


def _name_of(values: dict[str, int], value: int) -> str:
    return next((name for name, v in values.items() if v == value), str(value))


def display(ui: Ui) -> View:
    """How the screen looks."""
    settings = ui.settings
    return page(
        "Display",
        heading("Brightness"),
        panel(
            level(ui, "Brightness"),
            switch(ui, "Adaptive brightness", "adaptive_brightness", icon="brightness_auto"),
        ),
        heading("Appearance"),
        panel(
            switch(ui, "Dark theme", "dark_theme", icon="theme_light_dark"),
            switch(ui, "Night Light", "night_light", "Warmer colours in the evening", icon="weather_night"),
            link("Font size", _name_of(FONTS, settings.font_percent), "font", icon="format_size"),
            link("Wallpaper", PAPERS[settings.wallpaper % len(PAPERS)], "wallpaper", icon="wallpaper"),
        ),
        heading("Screen"),
        panel(
            link("Screen timeout", _name_of(TIMEOUTS_S, settings.screen_timeout_s), "timeout", icon="timer_outline"),
            switch(ui, "Auto-rotate screen", "auto_rotate", icon="screen_rotation"),
        ),
    )


def timeout(ui: Ui) -> View:
    """After how long the screen goes dark."""
    now = ui.settings.screen_timeout_s
    rows = tuple(option(name, now == value, do(_set_timeout, value)) for name, value in TIMEOUTS_S.items())
    return dialog("Screen timeout", "", content=rows)


def _set_timeout(ui: Ui, seconds: int) -> None:
    ui.settings.screen_timeout_s = seconds
    ui.back()
    ui.toast("Screen timeout changed")


def font(ui: Ui) -> View:
    """How large words are."""
    now = ui.settings.font_percent
    sample = Box(
        (
            Text("The lighthouse keeper", 60, weight="medium"),
            Text(
                "He wrote one line a day, about the wind, the ships that passed and the bread he baked.",
                48,
                "text2",
                lines=4,
            ),
        ),
        gap=20,
        pad=(56, 48, 56, 48),
    )
    rows = tuple(option(name, now == value, do(_set_font, value)) for name, value in FONTS.items())
    return page("Font size", heading("Preview"), panel(sample), heading("Size"), panel(*rows))


def _set_font(ui: Ui, percent: int) -> None:
    ui.settings.font_percent = percent


def wallpaper(ui: Ui) -> View:
    """The picture behind the icons."""
    cells = tuple(_paper(ui, k) for k in range(len(PAPERS)))
    lines = tuple(Box(cells[k : k + 2], row=True, gap=32, pad=(48, 16, 48, 16)) for k in range(0, len(cells), 2))
    return page("Wallpaper", *lines)


def _paper(ui: Ui, index: int) -> Box:
    on = ui.settings.wallpaper == index
    top, bottom = WALLPAPERS[index]
    swatch = Box((Box(height=440, fill=top, radius=48), Box(height=200, fill=bottom, radius=48)), gap=8, height=648)
    mark = Icon("check_circle" if on else "circle_outline", 60, "primary" if on else "outline")
    words = Box((mark, Text(PAPERS[index], 50, "text", "medium")), row=True, gap=20, justify="center")
    return Box(
        (swatch, words),
        gap=20,
        pad=(24, 24, 24, 24),
        fill="surface",
        radius=64,
        grow=1,
        border="primary" if on else "",
        tap=do(_set_wallpaper, index),
        label=PAPERS[index],
        checked=on,
        id=f"choose:{PAPERS[index]}",
    )


def _set_wallpaper(ui: Ui, index: int) -> None:
    ui.settings.wallpaper = index
    ui.toast(f"Wallpaper set to {PAPERS[index]}")


def sound(ui: Ui) -> View:
    """How loud the phone is."""
    return page(
        "Sound & vibration",
        panel(
            level(ui, "Media volume"),
            level(ui, "Call volume"),
            level(ui, "Ring volume"),
            level(ui, "Alarm volume"),
        ),
        panel(
            switch(ui, "Vibrate for calls", "vibrate", icon="vibrate"),
            switch(ui, "Do Not Disturb", "do_not_disturb", "Only alarms make a sound", icon="minus_circle_outline"),
            link("Ringtone", ui.settings.ringtone, "ringtone", icon="music_note"),
            switch(ui, "Touch sounds", "touch_sounds", icon="gesture_tap"),
        ),
    )


def ringtone(ui: Ui) -> View:
    """What a call sounds like."""
    now = ui.settings.ringtone
    return page("Ringtone", panel(*(option(name, name == now, do(_set_ringtone, name)) for name in RINGTONES)))


def _set_ringtone(ui: Ui, name: str) -> None:
    ui.settings.ringtone = name
    ui.toast(f"Ringtone set to {name}")
