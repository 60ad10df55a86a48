"""Observations as arrays: elements and words in, what gymnasium's spaces hold out."""

import string
from typing import Any

import numpy as np
from gymnasium import spaces

from distrl.core.types import (
    ELEMENT_KINDS,
    Action,
    Element,
    Finish,
    Invalid,
    LongPress,
    OpenApp,
    Press,
    Swipe,
    Tap,
    TypeText,
)

MAX_ELEMENTS = 64
MAX_ELEMENT_BYTES = 64
MAX_INSTRUCTION = 500
TEXT_CHARACTERS = frozenset(string.printable) | frozenset(
    "°·…–—‘’“”€£àáâãäåæçèéêëìíîïñòóôõöøùúûüýßÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝ"
)
FLAGS = ("enabled", "clickable", "checked", "editable", "focused")

ELEMENT_SPACE = spaces.Dict(
    {
        "count": spaces.Discrete(MAX_ELEMENTS + 1),
        "box": spaces.Box(0.0, 1.0, (MAX_ELEMENTS, 4), np.float32),
        "kind": spaces.Box(0, len(ELEMENT_KINDS) - 1, (MAX_ELEMENTS,), np.int8),
        "flags": spaces.MultiBinary((MAX_ELEMENTS, len(FLAGS))),
        "text": spaces.Box(0, 255, (MAX_ELEMENTS, MAX_ELEMENT_BYTES), np.uint8),
    }
)
"""The candidate elements of a screen, padded with zeros; `text` is UTF-8, cut to 64 bytes."""


def elements_to_arrays(elements: tuple[Element, ...]) -> dict[str, Any]:
    """Elements as the arrays of `ELEMENT_SPACE`."""
    shown = elements[:MAX_ELEMENTS]
    boxes = np.zeros((MAX_ELEMENTS, 4), np.float32)
    kinds = np.zeros(MAX_ELEMENTS, np.int8)
    flags = np.zeros((MAX_ELEMENTS, len(FLAGS)), np.int8)
    texts = np.zeros((MAX_ELEMENTS, MAX_ELEMENT_BYTES), np.uint8)
    for index, element in enumerate(shown):
        boxes[index] = element.box
        kinds[index] = element.kind_number
        flags[index] = [bool(getattr(element, flag)) for flag in FLAGS]
        cut = element.text.encode("utf-8", "replace")[:MAX_ELEMENT_BYTES]
        data = cut.decode("utf-8", "ignore").encode()
        texts[index, : len(data)] = np.frombuffer(data, np.uint8)
    return {
        "count": len(shown),
        "box": np.clip(boxes, 0.0, 1.0),
        "kind": kinds,
        "flags": flags,
        "text": texts,
    }


def plain_text(text: str, limit: int) -> str:
    """Text that the space holds: unknown characters become question marks, the end is cut."""
    return "".join(c if c in TEXT_CHARACTERS else "?" for c in text[:limit])


def describe(action: Action) -> str:
    """An action in a few words, for the history a policy sees."""
    match action:
        case Tap():
            return f"tap {action.x:.2f} {action.y:.2f}"
        case LongPress():
            return f"hold {action.x:.2f} {action.y:.2f}"
        case Swipe():
            return f"swipe {action.x:.2f} {action.y:.2f} {action.to_x:.2f} {action.to_y:.2f}"
        case TypeText():
            return f"type {_one_line(action.text)}"
        case Press():
            return f"press {action.button.lower()}"
        case OpenApp():
            return f"open {_one_line(action.app)}"
        case Finish():
            return f"finish {action.claim.lower()}"
        case Invalid():
            return "invalid"
        case _:
            return "wait"


def _one_line(text: str) -> str:
    """A line break in typed text must not look like another action."""
    return " ".join(text[:100].split())
