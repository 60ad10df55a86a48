"""A sample of a run's trajectories, with their screens: trajectories in, Parquet files out, and trajectories back.

    trajectories/000000000-8.parquet     the first trajectory in it is number 0; every 8th was kept when it was written

The journal lets go of what has been learned from; what a run looked like, and how far its judge was right, can be seen
here afterwards. A row is a screen: of step 0, 1, ... and the one after the last. `datasets.load_dataset` opens the
directory, with `screen` as an Image. The sample is bounded and spread over the whole run: when it is full, every second
file goes, and from then on half as many trajectories are kept.
"""

import contextlib
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from distrl.core.types import (
    Action,
    Decision,
    Observation,
    Outcome,
    Ruling,
    Screen,
    Step,
    Task,
    Trajectory,
    Verdict,
)
from distrl.runtime.checkpoints import write_safely

DIRECTORY = "trajectories"
FIRST_STRIDE = 8
NUM_FILES = 16
"""Files of a full sample; each has as many trajectories as the others."""
_TEXTS = ("trajectory", "worker", "device", "suite", "template", "instruction", "task", "activity", "action", "rewards")
_RULED = ("outcome", "verdict", "judge", "reason")
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        *((name, pa.string()) for name in _RULED),
        ("truth", pa.bool_()),
        ("step", pa.int32()),
        ("policy_version", pa.int64()),
        ("time_s", pa.float64()),
        ("screen", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
    ]
)
_NOTHING = Screen(data=b"", width=0, height=0)
Row = dict[str, Any]
_VALUES = {"string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "double": "float64"}


def _for_datasets() -> bytes:
    """What the library `datasets` reads of the columns: without it a screen would be a pair of bytes and name."""
    features: dict[str, dict[str, str]] = {
        field.name: {"_type": "Image"}
        if field.name == "screen"
        else {"dtype": _VALUES[str(field.type)], "_type": "Value"}
        for field in _SCHEMA
    }
    return json.dumps({"info": {"features": features}}).encode()


class Sample:
    """What is kept of one run. Numbers are those of arrivals, so that a run which goes on keeps as before."""

    def __init__(self, directory: Path, *, most: int) -> None:
        self._directory = directory
        self._per_file = max(1, most // NUM_FILES)
        self._most_files = max(1, most // self._per_file)
        self._rows: list[Row] = []
        self._num_waiting = 0
        self._first = 0
        self._stride = max((_stride(file) for file in self._files()), default=FIRST_STRIDE)

    def offer(self, trajectory: Trajectory, number: int) -> None:
        """Keep it, if it is its turn; raises `OSError` if a file is due and there is no room, and then that is gone.

        A device or a policy that failed says nothing about a judge.
        """
        if number % self._stride or trajectory.outcome in (Outcome.ABORTED_DEVICE, Outcome.ABORTED_POLICY):
            return
        if not self._rows:
            self._first = number
        self._rows += _rows(trajectory)
        self._num_waiting += 1
        if self._num_waiting >= self._per_file:
            try:
                self.save()
            finally:
                self._rows, self._num_waiting = [], 0
            self._thin()

    def save(self) -> None:
        """Write what has no whole file yet; the file is written again when it has more."""
        if self._rows:
            self._directory.mkdir(exist_ok=True)
            write_safely(self._directory / f"{self._first:09d}-{self._stride}.parquet", _to_parquet(self._rows))

    def _thin(self) -> None:
        files = self._files()
        if len(files) > self._most_files:
            self._stride *= 2
            for file in files[1::2]:
                file.unlink()

    def _files(self) -> list[Path]:
        return sorted(self._directory.glob("*-*.parquet"))


def _stride(file: Path) -> int:
    digits = file.stem.rpartition("-")[2]
    return max(1, int(digits)) if digits.isdecimal() else FIRST_STRIDE


def read_sample(run: Path) -> Iterator[Trajectory | None]:
    """What is kept of a run, the oldest first, each once; None for each file that cannot be read."""
    seen: set[str] = set()
    for file in sorted((run / DIRECTORY).glob("*.parquet")):
        try:
            found = from_parquet(file.read_bytes())
        except (OSError, pa.ArrowException, msgspec.ValidationError, msgspec.DecodeError, KeyError, ValueError):
            yield None
            continue
        for trajectory in found:
            if trajectory.id not in seen:
                seen.add(trajectory.id)
                yield trajectory


def sampled_ids(run: Path) -> set[str]:
    """The names of what is kept, without looking at a screen."""
    found: set[str] = set()
    for file in (run / DIRECTORY).glob("*.parquet"):
        with contextlib.suppress(OSError, pa.ArrowException):
            found.update(pq.read_table(file, columns=["trajectory"])["trajectory"].to_pylist())
    return found


# ---------------------------------------------------------------- rows


def to_parquet(trajectories: Sequence[Trajectory]) -> bytes:
    """A file with a row for each screen. Elements are left out: they take more room than the pictures."""
    return _to_parquet([row for trajectory in trajectories for row in _rows(trajectory)])


def _to_parquet(rows: list[Row]) -> bytes:
    table = pa.Table.from_pylist(rows, schema=_SCHEMA.with_metadata({b"huggingface": _for_datasets()}))
    file = io.BytesIO()
    # Pictures are compressed already, and a dictionary of them would hold each twice.
    pq.write_table(table, file, compression="zstd", use_dictionary=[*_TEXTS, *_RULED])
    return file.getvalue()


def _rows(trajectory: Trajectory) -> Iterator[Row]:
    verdict, task = trajectory.verdict, trajectory.task
    same = {
        "trajectory": trajectory.id,
        "worker": trajectory.worker,
        "device": trajectory.device,
        "suite": task.suite,
        "template": task.template,
        "instruction": task.instruction,
        "task": _json(task),
        "outcome": trajectory.outcome.value,
        "verdict": verdict.ruling.value,
        "judge": verdict.judge,
        "reason": verdict.reason,
        "truth": verdict.truth,
    }
    for number, step in enumerate(trajectory.steps):
        yield (
            same
            | _seen(step.observation)
            | {
                "step": number,
                "action": _json(step.decision.action),
                "rewards": _json(step.rewards),
                "policy_version": step.decision.policy_version,
            }
        )
    yield same | _seen(trajectory.final) | {"step": len(trajectory.steps), "action": "", "rewards": ""}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _seen(observation: Observation) -> dict[str, Any]:
    screen = observation.screen
    data: bytes | None = screen.data
    if not 0 < 3 * screen.width * screen.height <= len(screen.data) and screen.encoding == "raw":
        data = None  # nothing was seen
    elif screen.encoding == "raw":
        file = io.BytesIO()
        Image.frombytes("RGB", (screen.width, screen.height), screen.data).save(file, "PNG", compress_level=1)
        data = file.getvalue()
    return {"screen": {"bytes": data, "path": None}, "activity": observation.activity, "time_s": observation.time_s}


def from_parquet(data: bytes) -> list[Trajectory]:
    """The trajectories of a file, without elements and log-probabilities; an error of many kinds for anything else."""
    rows = pq.read_table(io.BytesIO(data)).to_pylist()
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["trajectory"], []).append(row)
    return [_trajectory(sorted(each, key=lambda row: row["step"])) for each in found.values()]


def _trajectory(rows: list[Row]) -> Trajectory:
    *acted, last = rows
    steps = tuple(
        Step(
            observation=_observation(row),
            decision=Decision(
                action=msgspec.json.decode(row["action"], type=Action), policy_version=row["policy_version"]
            ),
            rewards=msgspec.json.decode(row["rewards"], type=dict[str, float]),
        )
        for row in acted
    )
    truths = () if last["truth"] is None else (last["truth"],)
    return Trajectory(
        id=last["trajectory"],
        task=msgspec.json.decode(last["task"], type=Task),
        steps=steps,
        final=_observation(last),
        outcome=Outcome(last["outcome"]),
        verdict=Verdict(ruling=Ruling(last["verdict"]), judge=last["judge"], reason=last["reason"], truths=truths),
        worker=last["worker"],
        device=last["device"],
    )


def _observation(row: Row) -> Observation:
    data = row["screen"] and row["screen"]["bytes"]
    if not data:
        return Observation(screen=_NOTHING, activity=row["activity"], time_s=row["time_s"])
    image = Image.open(io.BytesIO(data))
    encoding = {"PNG": "png", "JPEG": "jpeg", "WEBP": "webp"}[image.format or ""]
    screen = Screen(data=data, width=image.width, height=image.height, encoding=encoding)  # type: ignore[arg-type]
    return Observation(screen=screen, activity=row["activity"], time_s=row["time_s"])
