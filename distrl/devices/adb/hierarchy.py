"""The XML of `uiautomator dump` as elements: bytes of a device in, boxes in [0, 1] out, or a `DeviceError`.

The XML comes from whatever app is in front, so it is read with suspicion: no document type (hence no entities), bounded
size, depth and number of nodes.
"""

import re
import xml.parsers.expat

import msgspec

from distrl.core.errors import DeviceError
from distrl.core.types import Element

MAX_BYTES = 8 << 20
MAX_NODES = 20_000
MAX_DEPTH = 200
MAX_TEXT_CHARS = 2000
MAX_CANDIDATES = 64
_BOUNDS = re.compile(r"\[(-?\d{1,6}),(-?\d{1,6})\]\[(-?\d{1,6}),(-?\d{1,6})\]\Z")
_KINDS = (
    *(("EditText", "field"), ("AutoCompleteTextView", "field"), ("Switch", "switch"), ("ToggleButton", "switch")),
    *(("CheckBox", "checkbox"), ("RadioButton", "radio"), ("SeekBar", "slider"), ("ImageButton", "icon")),
    *(("Button", "button"), ("Chip", "chip"), ("CardView", "card"), ("Tab", "tab"), ("ImageView", "photo")),
)
"""How a class ends, and what we call it; the first that fits."""
_OWN_CLASSES = "com.distrl.widget."
"""Views of the built-in phone, which say by their name what they are."""


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """The field that has the focus: what it holds, as far as it shows it, and whether that is a secret."""

    text: str
    is_password: bool


class _Node:
    """One node while its children are read."""

    def __init__(self, attributes: dict[str, str], box: tuple[float, float, float, float] | None) -> None:
        self.attributes = attributes
        self.box = box
        self.words: list[str] = []

    def flag(self, name: str) -> bool:
        return self.attributes.get(name) == "true"

    @property
    def own_text(self) -> str:
        return (self.attributes.get("text") or self.attributes.get("content-desc") or "")[:MAX_TEXT_CHARS]


def elements_of(data: bytes, size: tuple[int, int]) -> tuple[Element, ...]:
    """Everything that can be read or touched, from top to bottom; a row without a text has that of what is in it."""
    made = [element for node in _nodes_of(data, size) if (element := _element(node)) is not None]
    return tuple(sorted(made, key=lambda e: (e.box[1], e.box[0])))


def focused_field(data: bytes) -> Field | None:
    """Where text would go, if anywhere."""
    for node in _nodes_of(data, (1, 1)):
        if node.flag("focused") and _kind(node.attributes.get("class", ""), is_clickable=True) == "field":
            return Field(text=node.attributes.get("text", ""), is_password=node.flag("password"))
    return None


def texts_of(data: bytes) -> tuple[str, ...]:
    """Every text on the screen, and the labels of pictures."""
    return tuple(node.own_text for node in _nodes_of(data, (1, 1)) if node.own_text)


def _nodes_of(data: bytes, size: tuple[int, int]) -> "list[_Node]":
    start, end = data.find(b"<hierarchy"), data.rfind(b"</hierarchy>")
    if start < 0 or end < start or len(data) > MAX_BYTES:
        said = data[:200].decode(errors="replace").strip()
        raise DeviceError("ui_tree", f"uiautomator gave no hierarchy: {said or 'nothing'}")
    if b"<!DOCTYPE" in data[:start].upper():
        raise DeviceError("ui_tree", "the hierarchy has a document type, which none should have")
    reader = _Reader(size)
    try:
        reader.read(data[start : end + len(b"</hierarchy>")])
    except xml.parsers.expat.ExpatError as error:
        raise DeviceError("ui_tree", f"the hierarchy cannot be read: {error}") from error
    return reader.nodes


def candidates(elements: tuple[Element, ...]) -> tuple[Element, ...]:
    """At most 64 for a policy to choose from; plain text gives way first."""
    spare = len(elements) - MAX_CANDIDATES
    plain = [i for i, e in enumerate(elements) if not e.clickable]
    dropped = set(plain[-spare:]) if spare > 0 else set[int]()
    return tuple(e for i, e in enumerate(elements) if i not in dropped)[:MAX_CANDIDATES]


class _Reader:
    """Collects the nodes of a document."""

    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size
        self._open: list[_Node] = []
        self.nodes: list[_Node] = []

    def read(self, data: bytes) -> None:
        parser = xml.parsers.expat.ParserCreate("UTF-8")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.Parse(data, True)

    def _refuse(self, *declaration: object) -> None:
        raise DeviceError("ui_tree", "the hierarchy declares entities, which none should do")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= MAX_DEPTH or len(self.nodes) >= MAX_NODES:
            raise DeviceError("ui_tree", "the hierarchy is deeper or larger than any screen's")
        node = _Node(attributes, self._box(attributes.get("bounds", "")))
        self._open.append(node)
        if name == "node":
            self.nodes.append(node)

    def _end(self, name: str) -> None:
        node = self._open.pop()
        if self._open and not node.flag("clickable"):
            self._open[-1].words += [w for w in (node.own_text, *node.words) if w][:20]

    def _box(self, bounds: str) -> tuple[float, float, float, float] | None:
        match = _BOUNDS.match(bounds)
        if not match:
            return None
        width, height = self._size
        left, top, right, bottom = (int(digits) for digits in match.groups())
        box = (_share(left, width), _share(top, height), _share(right, width), _share(bottom, height))
        return box if box[0] < box[2] and box[1] < box[3] else None


def _share(pixels: int, whole: int) -> float:
    return min(max(pixels / whole, 0.0), 1.0)


def _element(node: _Node) -> Element | None:
    is_clickable = node.flag("clickable") or node.flag("long-clickable")
    text = node.own_text or (" ".join(node.words)[:MAX_TEXT_CHARS] if is_clickable else "")
    if node.box is None or not (text or is_clickable or node.flag("checkable")):
        return None
    kind = _kind(node.attributes.get("class", ""), is_clickable=is_clickable)
    return Element(
        box=node.box,
        text=text,
        kind=kind,
        id=node.attributes.get("resource-id", "").rpartition(":id/")[2],
        enabled=node.attributes.get("enabled", "true") == "true",
        clickable=is_clickable,
        checked=node.flag("checked") if node.flag("checkable") else None,
        editable=kind == "field" and node.attributes.get("focusable") != "false",
        focused=node.flag("focused"),
    )


def _kind(name: str, *, is_clickable: bool) -> str:
    if name.startswith(_OWN_CLASSES):
        return name.removeprefix(_OWN_CLASSES).lower()
    for ending, kind in _KINDS:
        if name.endswith(ending):
            return kind
    return "row" if is_clickable else "text"
