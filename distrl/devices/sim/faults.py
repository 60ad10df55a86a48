"""What goes wrong on real devices, made to happen on ours: by probability or by script, the same for the same seed.

The number of an operation goes in, the name of a fault (or none) comes out; device.py makes it happen.
"""

from collections.abc import Mapping
from random import Random

from distrl.core.errors import UnknownNameError

FAULTS = {
    "freeze": "nothing answers until the device is reset",
    "vanish": "the device is gone until it is reset",
    "offline": "the device answers nothing for half a minute",
    "unauthorized": "the device refuses to be used until it is reset",
    "reboot_loop": "the next two resets fail",
    "black_screen": "the screenshot is black",
    "truncated_screen": "the screenshot ends too early",
    "corrupt_screen": "the screenshot is not an image",
    "slow_drip": "the screenshot takes a minute",
    "app_crash": "the app in front stops",
}
SCREEN_FAULTS = frozenset({"black_screen", "truncated_screen", "corrupt_screen", "slow_drip"})


class Faults:
    """The faults of one device: `odds` by name, and a `script` of operation number -> fault."""

    def __init__(self, odds: Mapping[str, float], rng: Random, script: Mapping[int, str] | None = None) -> None:
        self._script = dict(script or {})
        for name in (*odds, *self._script.values()):
            if name not in FAULTS:
                raise UnknownNameError("fault", name, FAULTS)
        self._odds = {name: odds for name, odds in odds.items() if odds > 0}
        self._rng = rng
        self.operation = 0

    def next(self) -> str:
        """The fault of the next operation, or an empty string."""
        number = self.operation
        self.operation += 1
        if number in self._script:
            return self._script[number]
        for name, odds in self._odds.items():
            if self._rng.random() < odds:
                return name
        return ""
