"""A machine that joins a run: the run's configuration goes in, the same with this machine's own devices comes out.

    distrl worker --serials a,b --environment of its node--> worker of the run --a file, if it cannot--> distrl worker

Serials mean something on the machine that they are plugged into only, so `devices.serials` is of the machine that
started the run, and whoever joins names its own. Phones belong to somebody: none is taken that nobody has named.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from distrl.core.config import Config
from distrl.core.errors import UserError
from distrl.runtime import reaper
from distrl.runtime.build_devices import settle_devices, takes_serials

SERIALS = "DISTRL_WORKER_SERIALS"
"""How a node says what `--serials` was; it is also the variable of that option."""
REFUSAL = "refusal"


def read_serials(text: str) -> tuple[str, ...]:
    """`a,b` as serials."""
    serials = tuple(word.strip() for word in text.split(",") if word.strip())
    if len(set(serials)) < len(serials):
        raise UserError(f"--serials names a device twice: {text}")
    return serials


def settle_joined(config: Config, num_devices: int, *, environment: Mapping[str, str] = os.environ) -> Config:
    """The configuration on a machine that offers so many devices; `UserError` with what to do if it cannot work."""
    named = environment.get(SERIALS, "")
    if not takes_serials(config):
        if named:
            raise UserError(
                f"this machine offers {named}, and the run has phones of its own: start it with devices.kind = 'adb', "
                "or leave out --serials"
            )
        offered = config.collect.model_copy(update={"num_devices": num_devices})
        return settle_devices(config.model_copy(update={"collect": offered}), is_virtual=False)
    serials = read_serials(named or environment.get("ANDROID_SERIAL", ""))
    if not serials:
        raise UserError(
            "the run is on devices that adb reaches, and this machine has not said which of its own it offers: "
            "distrl worker --serials SERIAL,SERIAL (distrl devices list shows them)"
        )
    own = config.devices.model_copy(update={"serials": serials})
    return settle_devices(config.model_copy(update={"devices": own}), is_virtual=False)


def refuse(error: UserError, *, environment: Mapping[str, str] = os.environ) -> None:
    """Tell the command that made this machine a node, if it was ours, why nobody works here."""
    session = environment.get(reaper.SESSION)
    if session:
        part = Path(session) / f"{REFUSAL}.part"
        part.write_text(str(error), encoding="utf-8")
        part.replace(Path(session) / REFUSAL)


def refusal_of(session: Path) -> str:
    """Why nobody works on the machine of this node; nothing if somebody does, or nobody has tried yet."""
    try:
        return (session / REFUSAL).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
