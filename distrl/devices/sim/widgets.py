"""Widgets that people know, made of the four nodes: rows, bars, buttons, switches, tabs, chips, cards, dialogs."""

from distrl.devices.sim.app import back
from distrl.devices.sim.nodes import Box, Do, Icon, Node, Text, View

WIDTH = 1080
EDGE = 48
"""The margin at the left and right of a page."""


def badge(icon: str, color: str, size: int = 108) -> Box:
    """A white icon on a coloured disc."""
    inner = Icon(icon, size * 5 // 9, "#FFFFFF")
    return Box((inner,), width=size, height=size, radius=size // 2, fill=color, align="center", justify="center")


def avatar(name: str, size: int = 108) -> Box:
    """The initial of a person on a disc of their colour."""
    colors = ["#5C6BC0", "#26A69A", "#EF6C00", "#8E24AA", "#C2185B", "#3949AB", "#00838F", "#6D4C41"]
    color = colors[sum(map(ord, name)) % len(colors)]
    letter = Text(name[:1].upper() or "?", size // 2, "#FFFFFF", "medium", "center")
    return Box((letter,), width=size, height=size, radius=size // 2, fill=color, justify="center")


def icon_button(icon: str, label: str, tap: Do, *, color: str = "text", id: str = "", size: int = 72) -> Box:
    """An icon to touch."""
    side = size + 48
    return Box(
        (Icon(icon, size, color),),
        width=side,
        height=side,
        align="center",
        justify="center",
        tap=tap,
        label=label,
        kind="icon",
        id=id,
    )


def bar(title: str, *actions: Box, up: bool = True, fill: str = "bg") -> Box:
    """The bar at the top of a page: a back arrow, a title, some icons."""
    lead: tuple[Node, ...] = (icon_button("arrow_left", "Back", back(), id="up"),) if up else (Box(width=24),)
    title_box = Box((Text(title, 60, "text", "medium"),), grow=1)
    return Box((*lead, title_box, *actions), row=True, gap=16, pad=(16, 8, 16, 8), height=156, fill=fill)


def big_title(title: str) -> Box:
    """The large title of a top page."""
    return Box((Text(title, 96, "text"),), pad=(EDGE, 72, EDGE, 48))


def section(title: str) -> Box:
    """A small heading between rows."""
    return Box((Text(title, 44, "primary", "medium"),), pad=(EDGE, 40, EDGE, 12))


def paragraph(text: str, *, size: int = 48, color: str = "text", lines: int = 12, align: str = "left") -> Box:
    """Words across the page."""
    return Box((Text(text, size, color, align=align, lines=lines),), pad=(EDGE, 16, EDGE, 16))


def switch_mark(on: bool) -> Box:
    """The picture of a switch."""
    knob = Box(width=60, height=60, radius=30, fill="on_primary" if on else "text2")
    return Box(
        (knob,),
        width=132,
        height=78,
        pad=(9, 9, 9, 9),
        radius=39,
        fill="primary" if on else "container",
        border="" if on else "outline",
        align="end" if on else "start",
    )


def _words(title: str, subtitle: str, color: str = "text") -> Box:
    """One or two lines that take what room there is."""
    lines: tuple[Node, ...] = (Text(title, 50, color, lines=2),)
    lines += (Text(subtitle, 44, "text2", lines=2),) if subtitle else ()
    return Box(lines, gap=4, grow=1)


def row(
    title: str,
    subtitle: str = "",
    *,
    lead: Node | None = None,
    trail: Node | None = None,
    tap: Do | None = None,
    id: str = "",
) -> Box:
    """A line of a list: something at the left, one or two lines of words, something at the right."""
    children: tuple[Node, ...] = (lead,) if lead else ()
    children += (_words(title, subtitle),)
    children += (trail,) if trail else ()
    return Box(children, row=True, gap=40, pad=(EDGE, 24, EDGE, 24), height=156, tap=tap, kind="row", id=id)


def toggle(title: str, on: bool, tap: Do, *, subtitle: str = "", lead: Node | None = None, enabled: bool = True) -> Box:
    """A row with a switch."""
    children: tuple[Node, ...] = (lead,) if lead else ()
    children += (_words(title, subtitle, "text" if enabled else "outline"), switch_mark(on))
    return Box(
        children,
        row=True,
        gap=40,
        pad=(EDGE, 24, EDGE, 24),
        height=156,
        tap=tap,
        kind="switch",
        checked=on,
        enabled=enabled,
    )


def radio(title: str, on: bool, tap: Do, *, subtitle: str = "") -> Box:
    """A row that is one choice of several."""
    mark = Icon("radiobox_marked" if on else "radiobox_blank", 72, "primary" if on else "text2")
    return Box(
        (mark, _words(title, subtitle)),
        row=True,
        gap=40,
        pad=(EDGE, 24, EDGE, 24),
        height=144,
        tap=tap,
        kind="radio",
        checked=on,
    )


def checkbox(title: str, on: bool, tap: Do, *, subtitle: str = "", trail: Node | None = None) -> Box:
    """A row with a box to tick."""
    mark = Icon("checkbox_marked" if on else "checkbox_blank_outline", 72, "primary" if on else "text2")
    children: tuple[Node, ...] = (mark, _words(title, subtitle, "text2" if on else "text"))
    children += (trail,) if trail else ()
    return Box(children, row=True, gap=40, pad=(EDGE, 24, EDGE, 24), height=144, tap=tap, kind="checkbox", checked=on)


def button(text: str, tap: Do, *, style: str = "filled", icon: str = "", id: str = "", enabled: bool = True) -> Box:
    """A button: `filled`, `tonal`, `outlined`, `text`, `cart` or `danger`."""
    fill, color, border = {
        "filled": ("primary", "on_primary", ""),
        "tonal": ("tonal", "on_tonal", ""),
        "outlined": ("", "primary", "outline"),
        "text": ("", "primary", ""),
        "cart": ("cart", "on_cart", ""),
        "danger": ("error", "on_primary", ""),
    }[style]
    if not enabled:
        fill, color = ("container" if fill else ""), "outline"
    children: tuple[Node, ...] = ((Icon(icon, 60, color),) if icon else ()) + (Text(text, 48, color, "medium"),)
    return Box(
        children,
        row=True,
        gap=20,
        pad=(56, 20, 56, 20),
        height=120,
        radius=60,
        fill=fill,
        border=border,
        justify="center",
        tap=tap,
        id=id,
        enabled=enabled,
    )


def buttons(*items: Box, justify: str = "end") -> Box:
    """Buttons side by side."""
    return Box(items, row=True, gap=24, pad=(EDGE, 24, EDGE, 24), justify=justify)


def wide(item: Box) -> Box:
    """A widget across the page, with the page's margins."""
    return Box((item,), pad=(EDGE, 16, EDGE, 16))


def chips(*items: tuple[str, bool, Do]) -> Box:
    """Small choices in a line: (words, chosen, touch)."""
    made = tuple(
        Box(
            (Text(words, 44, "on_tonal" if on else "text", "medium"),),
            row=True,
            pad=(36, 16, 36, 16),
            height=96,
            radius=28,
            fill="tonal" if on else "",
            border="" if on else "outline",
            tap=tap,
            kind="chip",
            checked=on,
        )
        for words, on, tap in items
    )
    return Box(made, row=True, gap=20, pad=(EDGE, 12, EDGE, 12))


def tabs(*items: tuple[str, bool, Do]) -> Box:
    """Tabs across the page: (words, chosen, touch)."""
    made = tuple(
        Box(
            (
                Text(words, 46, "primary" if on else "text2", "medium", "center"),
                Box(height=8, fill="primary" if on else "", radius=4, width=160 if on else 8),
            ),
            gap=20,
            pad=(0, 28, 0, 0),
            grow=1,
            align="center" if on else "start",
            tap=tap,
            kind="tab",
            checked=on,
        )
        for words, on, tap in items
    )
    return Box((Box(made, row=True), Box(height=4, fill="outline")), fill="bg")


def bottom_nav(*items: tuple[str, str, bool, Do]) -> Box:
    """The bar of an app's main places: (icon, words, chosen, touch)."""
    made = tuple(
        Box(
            (
                Box(
                    (Icon(icon, 72, "on_tonal" if on else "text2"),),
                    width=176,
                    height=88,
                    radius=44,
                    fill="tonal" if on else "",
                    align="center",
                    justify="center",
                ),
                Text(words, 42, "text" if on else "text2", "medium" if on else "regular", "center"),
            ),
            gap=8,
            grow=1,
            align="center",
            tap=tap,
            kind="tab",
            checked=on,
        )
        for icon, words, on, tap in items
    )
    return Box(made, row=True, pad=(0, 28, 0, 24), fill="container")


def fab(icon: str, label: str, tap: Do, *, id: str = "fab") -> Box:
    """The floating button of a page."""
    return Box(
        (Icon(icon, 84, "on_tonal"),),
        width=168,
        height=168,
        radius=48,
        fill="tonal",
        align="center",
        justify="center",
        tap=tap,
        label=label,
        kind="icon",
        id=id,
    )


def slider(title: str, percent: int, tap: Do, *, icon: str = "volume_high") -> Box:
    """A value from 0 to 100; the handler gets the percentage that was touched as its last argument."""
    length = 760
    filled = max(length * percent // 100, 24)
    track = Box(
        (
            Box(width=filled, height=48, radius=24, fill="primary"),
            Box(width=12, height=96, radius=6, fill="primary"),
            Box(height=48, radius=24, fill="tonal", grow=1),
        ),
        row=True,
        gap=12,
        height=120,
        width=length + 60,
        tap=tap,
        kind="slider",
        label=f"{title} {percent}%",
        id=f"slider:{title}",
    )
    return Box(
        (Text(title, 46), Box((Icon(icon), track), row=True, gap=32)),
        gap=8,
        pad=(EDGE, 20, EDGE, 20),
    )


def divider() -> Box:
    """A thin line."""
    return Box((Box(height=4, fill="outline"),), pad=(EDGE, 12, EDGE, 12))


def card(*children: Node, tap: Do | None = None, fill: str = "container", id: str = "") -> Box:
    """A rounded panel with a margin."""
    inner = Box(children, gap=12, pad=(40, 36, 40, 36), fill=fill, radius=40, tap=tap, kind="card", id=id)
    return Box((inner,), pad=(32, 12, 32, 12))


def empty(icon: str, text: str) -> Box:
    """What a list shows when there is nothing in it."""
    return Box(
        (Icon(icon, 220, "outline"), Text(text, 50, "text2", align="center", lines=2)),
        gap=32,
        pad=(EDGE, 320, EDGE, 40),
        align="center",
    )


def dialog(title: str, text: str, *actions: Box, icon: str = "", content: tuple[Box, ...] = ()) -> View:
    """A dialog above the page. Actions stand one below the other when there are more than two."""
    head: tuple[Node, ...] = (Icon(icon, 84, "primary"),) if icon else ()
    head += (Text(title, 60, align="center" if icon else "left", lines=3),)
    if text:
        head += (Text(text, 46, "text2", align="center" if icon else "left", lines=8),)
    panel = Box(head, gap=28, pad=(64, 64, 64, 16), align="center" if icon else "start")
    stacked = len(actions) > 2
    foot = Box(actions, row=not stacked, gap=16, pad=(48, 24, 48, 48), justify="end")
    return View(body=(Box((panel, *content, foot), fill="container", radius=84),), dialog=True)
