"""The ui tree as `uiautomator dump` writes it: elements in, XML with bounds in pixels of the screen out."""

import re
from xml.sax.saxutils import quoteattr

from distrl.core.types import Element
from distrl.devices.sim.adbd.android import Android

CLASSES = {
    "text": "android.widget.TextView",
    "button": "android.widget.Button",
    "icon": "android.widget.ImageButton",
    "field": "android.widget.EditText",
    "switch": "android.widget.Switch",
    "checkbox": "android.widget.CheckBox",
    "radio": "android.widget.RadioButton",
    "slider": "android.widget.SeekBar",
    "photo": "android.widget.ImageView",
    "row": "android.widget.LinearLayout",
    "card": "androidx.cardview.widget.CardView",
    "tab": "androidx.appcompat.app.ActionBar$Tab",
    "chip": "com.google.android.material.chip.Chip",
}
"""Other kinds are views of the phone's own: `com.distrl.widget.Nav`."""
OWN_CLASSES = "com.distrl.widget."
SECRET = ("password",)
"""Ids of fields whose text is nobody's to read."""
KEYS_IN_SIGHT = ("key:enter", "key:hide")
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def hierarchy_of(android: Android) -> str:
    """One node for each element below the window; letters of the keyboard are another window's, as in Android."""
    width, height = android.size
    package = android.component()[0]
    shown = [e for e in android.phone.elements() if e.kind != "key" or e.id in KEYS_IN_SIGHT]
    nodes = "".join(
        f"<node {_attributes(index, element, package, _bounds(android, element))} />"
        for index, element in enumerate(shown)
    )
    window = (
        f'<node index="0" text="" resource-id="" class="android.widget.FrameLayout" package={_quoted(package)} '
        f'content-desc="" checkable="false" checked="false" clickable="false" enabled="true" focusable="false" '
        f'focused="false" scrollable="false" long-clickable="false" password="false" selected="false" '
        f'bounds="[0,0][{width},{height}]">'
    )
    head = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"
    return f'{head}<hierarchy rotation="{android.rotation}">{window}{nodes}</node></hierarchy>'


def _bounds(android: Android, element: Element) -> str:
    width, height = android.size
    left, top, right, bottom = element.box
    if android.rotation:
        corners = android.turned(left, top), android.turned(right, bottom)
        (left, right), (top, bottom) = (sorted(along) for along in zip(*corners, strict=True))
    return f"[{round(left * width)},{round(top * height)}][{round(right * width)},{round(bottom * height)}]"


def _attributes(index: int, element: Element, package: str, bounds: str) -> str:
    is_image = element.kind in ("icon", "photo")
    values = {
        "index": str(index),
        "text": "" if is_image else element.text,
        "resource-id": f"{package}:id/{element.id}" if element.id else "",
        "class": CLASSES.get(element.kind, OWN_CLASSES + element.kind.capitalize()),
        "package": package,
        "content-desc": element.text if is_image else "",
        "checkable": _claim(element.checked is not None),
        "checked": _claim(bool(element.checked)),
        "clickable": _claim(element.clickable),
        "enabled": _claim(element.enabled),
        "focusable": _claim(element.editable),
        "focused": _claim(element.focused),
        "scrollable": "false",
        "long-clickable": "false",
        "password": _claim(element.id in SECRET),
        "selected": "false",
        "bounds": bounds,
    }
    return " ".join(f"{name}={_quoted(value)}" for name, value in values.items())


def _claim(is_so: bool) -> str:
    return "true" if is_so else "false"


def _quoted(text: str) -> str:
    """A value in quotes; what XML cannot hold is a dot, as in Android."""
    return quoteattr(_NOT_XML.sub(".", text), {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})
