"""Colours by name, light and dark. A colour in a widget is one of these names or a hex value."""

from functools import lru_cache

from PIL import ImageColor

Rgb = tuple[int, int, int]

LIGHT = {
    "bg": "#FDF8FD",
    "surface": "#FFFFFF",
    "container": "#ECE6F0",
    "field": "#E6E0E9",
    "primary": "#6750A4",
    "on_primary": "#FFFFFF",
    "tonal": "#E8DEF8",
    "on_tonal": "#1D192B",
    "text": "#1D1B20",
    "text2": "#5B5762",
    "outline": "#CAC4D0",
    "error": "#B3261E",
    "success": "#1E7B34",
    "link": "#1A5FB4",
    "star": "#F29900",
    "cart": "#FFD54F",
    "on_cart": "#1D1B20",
    "bubble": "#E8E3EC",
    "keyboard": "#E3DEE8",
    "key": "#FFFFFF",
    "toast": "#322F35",
    "on_toast": "#F5EFF7",
    "web": "#FFFFFF",
}
DARK = LIGHT | {
    "bg": "#141218",
    "surface": "#211F26",
    "container": "#2B2930",
    "field": "#36343B",
    "primary": "#D0BCFF",
    "on_primary": "#381E72",
    "tonal": "#4A4458",
    "on_tonal": "#E8DEF8",
    "text": "#E6E0E9",
    "text2": "#B0AAB8",
    "outline": "#49454F",
    "error": "#F2B8B5",
    "success": "#81C995",
    "link": "#8AB4F8",
    "bubble": "#36343B",
    "keyboard": "#1B191F",
    "key": "#36343B",
    "toast": "#E6E0E9",
    "on_toast": "#322F35",
    "web": "#1B1B1F",
}


@lru_cache(maxsize=1024)
def resolve(color: str, dark: bool) -> Rgb:
    """The RGB value of a colour name or hex value."""
    value = (DARK if dark else LIGHT).get(color, color)
    red, green, blue = ImageColor.getrgb(value)[:3]
    return red, green, blue


def mix(a: Rgb, b: Rgb, share: float) -> Rgb:
    """A colour between two, `share` of the way to the second."""
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue
