"""The action codec: text that a model writes <-> `Action` that a device performs, one file per format.

In flows any string whatsoever, out flows an `Action`: what cannot be read is an `Invalid` with its reason, never an
exception. The other way, every action that a device can perform is written so that reading it back gives exactly the
same action. docs/actions.md holds the tables.
"""

from distrl.core.errors import UnknownNameError
from distrl.policies.codec.android_world import AndroidWorldCodec
from distrl.policies.codec.autoui import AutoUICodec
from distrl.policies.codec.canonical import JsonCodec
from distrl.policies.codec.interface import Codec
from distrl.policies.codec.named import NamedCodec
from distrl.policies.codec.numbered import NumberedCodec
from distrl.policies.codec.ui_tars import UITarsCodec

DEFAULT_CODEC = "json"
"""The format of a policy that does not ask for another."""

_CODECS: dict[str, Codec] = {
    codec.name: codec
    for codec in (JsonCodec(), AutoUICodec(), AndroidWorldCodec(), UITarsCodec(), NumberedCodec(), NamedCodec())
}

CODEC_NAMES = tuple(_CODECS)
"""The names that `get_codec` knows."""


def get_codec(name: str = DEFAULT_CODEC) -> Codec:
    """The codec of this name; raises `UnknownNameError`.

    `android_world` is for a screen of 1080 x 2400, `ui_tars` for coordinates up to 1000; `numbered` and `named` have no
    elements.
    """
    if name not in _CODECS:
        raise UnknownNameError("action codec", name, _CODECS)
    return _CODECS[name]


__all__ = [
    "CODEC_NAMES",
    "DEFAULT_CODEC",
    "AndroidWorldCodec",
    "AutoUICodec",
    "Codec",
    "JsonCodec",
    "NamedCodec",
    "NumberedCodec",
    "UITarsCodec",
    "get_codec",
]
