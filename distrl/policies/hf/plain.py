"""Texts as a model may be shown them: messages in, the same with the special words of its tokenizer taken apart out.

What a screen shows or a task says must not end a turn or be one. The model on this machine, the learner and a server
are all shown what comes out here: if one of them were not, it would read other tokens than those that acted.
"""

import re
from typing import Any

from distrl.policies.hf.loading import Loaded
from distrl.policies.prompts import Message, text_of


class PlainTexts:
    """Takes apart the special words of one model."""

    def __init__(self, loaded: Loaded) -> None:
        self._has_eyes = loaded.has_eyes
        special = sorted(map(re.escape, _special_words(loaded.tokenizer)), key=len, reverse=True)
        self._special = re.compile("|".join(special)) if special else None

    def text(self, text: str) -> str:
        """The same without special words."""
        return text if self._special is None else self._special.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)

    def message(self, message: Message) -> Message:
        """The same without special words; of a model that only reads, in one piece."""
        parts = message.parts if self._has_eyes else (text_of(message),)
        plain = tuple(self.text(part) if isinstance(part, str) else part for part in parts)
        return Message(role=message.role, parts=plain)


def _special_words(tokenizer: Any) -> set[str]:
    added = tokenizer.added_tokens_decoder.values()
    return {*tokenizer.all_special_tokens, *(token.content for token in added if token.special)} - {""}
