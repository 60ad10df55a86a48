"""Every verdict, written down: a record in, a line of JSON out, and the verdicts of equal questions back.

The file is the cache too: what was decided once is not paid for again, also not by the next process. Unknown is not
remembered, so that it is asked again. A line that was torn is passed over.
"""

import logging
from collections import OrderedDict
from pathlib import Path

import msgspec

from distrl.core.errors import UserError
from distrl.core.types import Ruling

log = logging.getLogger(__name__)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Who judged what and why, how long it took and what it cost."""

    time: float
    """Seconds of the day, for people."""
    judge: str
    task: str
    key: str
    """The content that was judged and how; equal keys, equal questions."""
    ruling: Ruling
    reason: str
    seconds: float
    calls: int
    tokens: int
    cost: float
    is_cached: bool = False


_LINES = msgspec.json.Decoder(Record)


class Records:
    """The verdicts of a judge, in memory and, if there is a path, in a file."""

    def __init__(self, path: Path | None, *, max_remembered: int) -> None:
        self._path = path
        self._max = max_remembered
        self._known: OrderedDict[str, Record] = OrderedDict()
        self.cost = 0.0
        """What all verdicts of the file cost together, unknown ones too."""
        if path is not None:
            self._open(path)

    def find(self, key: str) -> Record | None:
        """What was said to an equal question."""
        return self._known.get(key)

    def add(self, record: Record) -> None:
        """Remember a verdict and append it to the file; a file that cannot be written costs a line, not the verdict."""
        self._remember(record)
        self.cost += record.cost
        if self._path is None:
            return
        try:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(record) + b"\n")
        except OSError as error:
            log.warning("a verdict could not be written to %s: %s", self._path, error.strerror)

    def _remember(self, record: Record) -> None:
        if record.ruling is Ruling.UNKNOWN or record.is_cached:
            return
        self._known[record.key] = record
        while len(self._known) > self._max:
            self._known.popitem(last=False)

    def _open(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                is_whole = file.tell() == 0 or path.read_bytes()[-1:] == b"\n"
                if not is_whole:
                    file.write(b"\n")  # or the next line would become a part of the torn one
            for line in path.read_bytes().splitlines():
                try:
                    record = _LINES.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    continue
                self._remember(record)
                self.cost += max(0.0, record.cost)
        except OSError as error:
            raise UserError(f"judge.journal: {path} cannot be written: {error.strerror}") from error
