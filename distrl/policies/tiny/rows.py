"""A table of numbers that grows: rows in, their numbers out; all rows so far as one array, without a copy."""

import numpy as np
import numpy.typing as npt


class Rows:
    """A table that grows: row 0 is blank."""

    def __init__(self, width: int, dtype: npt.DTypeLike) -> None:
        self._data = np.zeros((256, width), dtype)
        self._count = 1

    def add(self, row: npt.NDArray[np.generic]) -> int:
        """Keep a row; its number."""
        if self._count == len(self._data):
            self._data = np.concatenate((self._data, np.zeros_like(self._data)))
        self._data[self._count] = row
        self._count += 1
        return self._count - 1

    @property
    def data(self) -> npt.NDArray[np.generic]:
        """All rows so far."""
        return self._data[: self._count]
