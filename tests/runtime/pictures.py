"""Screens that are files: small pictures in every format."""

import io
from functools import lru_cache

from PIL import Image

from distrl.core.types import Screen, Trajectory
from distrl.replay.packing import screens_of, with_screens


@lru_cache(maxsize=4096)
def picture(encoding: str = "png", width: int = 4, height: int = 3, *, colour: int = 0) -> Screen:
    """A picture whose pixels differ, and differ with the colour."""
    pixels = bytes((17 * n + colour) % 256 for n in range(3 * width * height))
    file = io.BytesIO()
    Image.frombytes("RGB", (width, height), pixels).save(file, encoding.upper())
    return Screen(data=file.getvalue(), width=width, height=height, encoding=encoding)  # type: ignore[arg-type]


def with_pictures(trajectory: Trajectory) -> Trajectory:
    """The same, with a picture in the place of every screen that only says that it is a file."""
    screens = [s if s.encoding == "raw" else _picture_for(s) for s in screens_of(trajectory)]
    return with_screens(trajectory, screens)


def _picture_for(screen: Screen) -> Screen:
    return picture(screen.encoding, 1 + screen.width % 5, 1 + screen.height % 5, colour=sum(screen.data) % 256)
