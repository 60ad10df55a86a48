"""A command line as a shell reads it: words with their quotes taken off, and the operators between them.

Only what is not quoted can be an operator, so a text that was quoted well arrives as one word, whatever is in it. What
a shell would execute to get its words (`$(...)`, backquotes) is refused: nothing is ever executed here.
"""

import msgspec

OPERATORS = ("&&", "||", "2>&1", "2>", ">>", "|", ";", "&", ">", "<", "\n")
STATUS = "\0?"
"""Stands for `$?` until it is known: no word can hold it otherwise."""
VARIABLES = {"HOME": "/", "EXTERNAL_STORAGE": "/sdcard", "ANDROID_DATA": "/data", "USER": "shell"}


class ShellSyntaxError(ValueError):
    """A line that no shell would run, or that this one will not."""


class Operator(msgspec.Struct, frozen=True):
    """`;`, `|` and the like, where they are not quoted."""

    sign: str


Token = str | Operator


def tokenise(line: str) -> list[Token]:
    """The words and operators of a line."""
    return _Reader(line).tokens()


class _Reader:
    """Reads a line from left to right."""

    def __init__(self, line: str) -> None:
        self._line = line.replace("\0", "")
        self._at = 0
        self._word: str | None = None
        self._tokens: list[Token] = []

    def tokens(self) -> list[Token]:
        while self._at < len(self._line):
            char = self._line[self._at]
            sign = next((s for s in OPERATORS if self._line.startswith(s, self._at)), "")
            if sign and not (sign[0] == "2" and self._word is not None):
                self._end_word()
                self._tokens.append(Operator(sign))
                self._at += len(sign)
            elif char in " \t":
                self._end_word()
                self._at += 1
            elif char == "#" and self._word is None:
                end = self._line.find("\n", self._at)
                self._at = len(self._line) if end < 0 else end
            else:
                self._read_part(char)
        self._end_word()
        return self._tokens

    def _end_word(self) -> None:
        if self._word is not None:
            self._tokens.append(self._word)
            self._word = None

    def _read_part(self, char: str) -> None:
        """One character of a word, or one quoted part of it."""
        self._at += 1
        if char == "'":
            end = self._line.find("'", self._at)
            if end < 0:
                raise ShellSyntaxError("no closing quote")
            self._add(self._line[self._at : end])
            self._at = end + 1
        elif char == '"':
            self._read_double()
        elif char == "\\":
            self._add(self._line[self._at : self._at + 1])
            self._at += 1
        elif char in "$`":
            self._expand(char)
        elif char in "()":
            raise ShellSyntaxError(f"syntax error: unexpected '{char}'")
        else:
            self._add(char)

    def _read_double(self) -> None:
        self._add("")
        while self._at < len(self._line):
            char = self._line[self._at]
            self._at += 1
            if char == '"':
                return
            following = self._line[self._at : self._at + 1]
            if char == "\\" and following and following in '"\\$`':
                self._add(following)
                self._at += 1
            elif char in "$`":
                self._expand(char)
            else:
                self._add(char)
        raise ShellSyntaxError("no closing quote")

    def _expand(self, char: str) -> None:
        if char == "`" or self._line.startswith("(", self._at):
            raise ShellSyntaxError("command substitution is not part of this phone")
        if self._line.startswith("?", self._at):
            self._add(STATUS)
            self._at += 1
            return
        end = self._at
        while end < len(self._line) and (self._line[end].isalnum() or self._line[end] == "_"):
            end += 1
        name = self._line[self._at : end]
        self._add(VARIABLES.get(name, "") if name else char)
        self._at = end

    def _add(self, text: str) -> None:
        self._word = (self._word or "") + text
