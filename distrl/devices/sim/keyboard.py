"""The on-screen keyboard: a block of keys, and what each does to the focused field."""

from functools import lru_cache

from distrl.devices.sim.app import Ui, do
from distrl.devices.sim.nodes import Box, Icon, Node, Text

_LETTERS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SYMBOLS = ("1234567890", "@#$&_-()=%", "*\"':;!?")
MAX_FIELD_CHARS = 2000
"""A field takes no more than this, as real ones do."""


def press_key(ui: Ui, key: str) -> None:
    """Type one key into the focused field."""
    system = ui.phone.system
    if key == "shift":
        system.shift = not system.shift
    elif key == "symbols":
        system.symbols = not system.symbols
    elif key == "backspace":
        ui.fill(system.focus, ui.typed(system.focus)[:-1])
    elif key == "hide":
        ui.blur()
    elif key == "enter":
        ui.phone.submit()
    else:
        type_text(ui, key.upper() if system.shift else key)
        system.shift = False


def type_text(ui: Ui, text: str) -> None:
    """Append text to the focused field; without one, nothing happens."""
    focus = ui.phone.system.focus
    if focus:
        whole = text.encode(errors="replace").decode()
        ui.fill(focus, (ui.typed(focus) + whole)[:MAX_FIELD_CHARS])


def _key(face: Node, key: str, *, width: int = 0, fill: str = "key", label: str = "") -> Box:
    return Box(
        (face,),
        width=width,
        grow=0 if width else 1,
        height=190,
        radius=24,
        fill=fill,
        align="center" if isinstance(face, Icon) else "start",
        justify="center",
        tap=do(press_key, key),
        kind="key",
        id=f"key:{key}",
        label=label or key,
    )


@lru_cache(maxsize=4)
def keyboard(*, shift: bool, symbols: bool) -> Box:
    """The keyboard as one block."""
    rows = _SYMBOLS if symbols else _LETTERS

    def letters(keys: str) -> tuple[Box, ...]:
        return tuple(_key(Text(k.upper() if shift else k, 60, align="center"), k) for k in keys)

    shift_icon = Icon("apple_keyboard_shift", 66, "primary" if shift else "text")
    third = (
        _key(shift_icon, "shift", width=146, fill="tonal", label="Shift"),
        *letters(rows[2]),
        _key(Icon("backspace_outline", 66, "text"), "backspace", width=146, fill="tonal", label="Delete"),
    )
    last = (
        _key(
            Text("ABC" if symbols else "?123", 48, align="center"), "symbols", width=170, fill="tonal", label="Symbols"
        ),
        _key(Text(",", 60, align="center"), ",", width=100),
        _key(Text("space", 44, "text2", align="center"), " ", label="Space"),
        _key(Text(".", 60, align="center"), ".", width=100),
        _key(Icon("keyboard_return", 66, "on_primary"), "enter", width=170, fill="primary", label="Enter"),
    )
    side = 0 if symbols else 50
    lines: tuple[Node, ...] = (
        Box(letters(rows[0]), row=True, gap=12),
        Box(letters(rows[1]), row=True, gap=12, pad=(side, 0, side, 0)),
        Box(third, row=True, gap=12),
        Box(last, row=True, gap=12),
        _hide_line(),
    )
    return Box(lines, gap=30, pad=(12, 32, 12, 8), fill="keyboard")


def _hide_line() -> Box:
    return Box(
        (
            Box(
                (Icon("chevron_down", 72, "text2"),),
                width=160,
                height=72,
                align="center",
                tap=do(press_key, "hide"),
                id="key:hide",
                kind="key",
                label="Hide keyboard",
            ),
        ),
        row=True,
        pad=(16, 0, 0, 0),
    )
