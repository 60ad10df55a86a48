"""What surrounds every page: the status bar's clock and icons, and the navigation at the bottom."""

from functools import lru_cache

from distrl.devices.sim.app import Ui, do
from distrl.devices.sim.frame import Chrome
from distrl.devices.sim.handset import Handset
from distrl.devices.sim.keyboard import keyboard
from distrl.devices.sim.nodes import Box, Do, Icon
from distrl.devices.sim.touch import press_back


def make_chrome(phone: Handset) -> Chrome:
    """The surroundings of the screen as they are now."""
    system, settings = phone.system, phone.settings
    minutes = int(system.time_s // 60) % 1440
    icons = []
    if settings.do_not_disturb:
        icons.append("minus_circle")
    if settings.bluetooth:
        icons.append("bluetooth")
    if settings.airplane:
        icons.append("airplane")
    else:
        icons += (["wifi"] if settings.wifi else []) + ["signal"]
    icons.append("battery_alert" if settings.battery <= 15 else "battery_70" if settings.battery < 95 else "battery")
    on_picture = (phone.top().app, phone.top().name) == ("launcher", "home")
    return Chrome(
        clock=f"{minutes // 60}:{minutes % 60:02d}",
        status_icons=tuple(icons),
        battery=f"{settings.battery}%" if settings.battery_percentage else "",
        navigation=_navigation(settings.three_buttons, "#FFFFFF" if on_picture else "text"),
        keyboard=keyboard(shift=system.shift, symbols=system.symbols) if system.focus else None,
        toast=system.toast if system.toast_until_s > system.time_s else "",
    )


def _back(ui: Ui) -> None:
    press_back(ui.phone)


def _home(ui: Ui) -> None:
    ui.phone.home()


def _recents(ui: Ui) -> None:
    ui.popup("recents")


def _nav_button(icon: str, label: str, tap: Do, color: str) -> Box:
    return Box(
        (Icon(icon, 66, color),),
        grow=1,
        height=120,
        align="center",
        justify="center",
        tap=tap,
        label=label,
        kind="nav",
        id=f"nav:{label}",
    )


@lru_cache(maxsize=8)
def _navigation(three_buttons: bool, color: str) -> Box:
    if not three_buttons:
        pill = Box(width=300, height=14, radius=7, fill=color)
        return Box((pill,), height=72, align="center", justify="center")
    return Box(
        (
            _nav_button("triangle_outline", "Back", do(_back), color),
            _nav_button("circle_outline", "Home", do(_home), color),
            _nav_button("square_outline", "Recents", do(_recents), color),
        ),
        row=True,
        height=132,
    )
