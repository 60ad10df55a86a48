"""The truth channel: how a task is set up and checked on a sim phone that is only reached by adb.

    distrl arrange BASE64     a fresh phone of a seed with fields set (JSON of a `Setup`), on its first home screen
    distrl inspect APP        the state of an app as JSON
    distrl wait               three seconds pass on the phone
    distrl fault NAME [N]     the next N services that are opened have this fault

No phone but ours has it, and no action of a policy reaches it: what a policy types is one quoted word of another
command. Real phones are set up by a recipe and judged by what they show.
"""

import base64
import binascii

import msgspec

from distrl.core.errors import UserError
from distrl.core.interfaces import Setup
from distrl.core.types import Wait
from distrl.devices.sim.adbd.android import Android, Result, complain
from distrl.devices.sim.faults import FAULTS
from distrl.devices.sim.variations import check_names

MAX_FAULTS = 1000


def distrl(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """Arrange, inspect, wait, fault."""
    kind, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if not android.has_ground_truth:
        return complain("/system/bin/sh: distrl: inaccessible or not found\n", status=127)
    try:
        if kind == "arrange" and len(rest) == 1:
            return _arrange(android, rest[0])
        if kind == "inspect" and len(rest) == 1:
            return Result(out=msgspec.json.encode(android.phone.inspect(rest[0])))
        if kind == "wait" and not rest:
            android.perform(Wait())
            return Result()
        if kind == "fault" and rest[:1] and rest[0] in FAULTS and len(rest) <= 2:
            count = int(rest[1]) if len(rest) == 2 and rest[1].isdecimal() else 1
            android.due_faults += [rest[0]] * min(count, MAX_FAULTS)
            return Result()
    except (UserError, msgspec.DecodeError, binascii.Error) as error:
        return complain(f"distrl: {error}\n")
    return complain("usage: distrl arrange BASE64 | inspect APP | wait | fault NAME [N]\n", status=255)


def _arrange(android: Android, words: str) -> Result:
    setup = msgspec.json.decode(base64.b64decode(words, validate=True), type=Setup)
    check_names(setup.variations)
    android.phone.wipe(seed=setup.seed, variation_names=setup.variations)
    android.phone.arrange(setup.world)
    android.is_awake = True
    return Result()


TRUTH_COMMANDS = {"distrl": distrl}
