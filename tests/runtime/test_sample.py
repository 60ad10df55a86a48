"""The sample of a run: bounded, spread over the run, readable by others, and never a reason to stop."""

import io
import json
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from PIL import Image

from distrl.core.types import Outcome, Ruling, Trajectory, Verdict
from distrl.runtime.judge_check import count_trajectories, read_trajectories
from distrl.runtime.sample import DIRECTORY, FIRST_STRIDE, Sample, from_parquet, read_sample, sampled_ids, to_parquet

from ..replay.episodes import episode, screen
from .fleet import plain_trajectory


def seen(name: str, *, outcome: Outcome = Outcome.FAILED) -> Trajectory:
    made = episode(name, screens=[screen(sum(name.encode())), screen(sum(name.encode()) + 99)])
    verdict = Verdict(ruling=Ruling.FAILURE, judge="vlm:x", reason="no", truths=(True,))
    return msgspec.structs.replace(made, outcome=outcome, verdict=verdict)


def files(run: Path) -> list[str]:
    return sorted(file.name for file in (run / DIRECTORY).glob("*.parquet"))


def test_what_is_kept_comes_back_with_its_actions_verdict_and_every_pixel() -> None:
    kept = [seen("a"), seen("b")]
    back = from_parquet(to_parquet(kept))
    assert [t.id for t in back] == ["a", "b"]
    for before, after in zip(kept, back, strict=True):
        assert after.task == before.task
        assert [s.decision.action for s in after.steps] == [s.decision.action for s in before.steps]
        assert [s.rewards for s in after.steps] == [s.rewards for s in before.steps]
        assert (after.verdict, after.outcome) == (before.verdict, before.outcome)
        for one, two in zip((*before.steps, before), (*after.steps, after), strict=True):
            old = one.final if isinstance(one, Trajectory) else one.observation
            new = two.final if isinstance(two, Trajectory) else two.observation
            image = Image.open(io.BytesIO(new.screen.data))
            assert (image.size, image.convert("RGB").tobytes()) == (
                (old.screen.width, old.screen.height),
                old.screen.data,
            )


def test_the_columns_say_to_datasets_that_a_screen_is_an_image() -> None:
    metadata = pq.read_schema(io.BytesIO(to_parquet([seen("a")]))).metadata
    features = json.loads(metadata[b"huggingface"])["info"]["features"]
    assert features["screen"] == {"_type": "Image"}
    assert features["instruction"] == {"dtype": "string", "_type": "Value"}
    assert set(features) == set(pq.read_table(io.BytesIO(to_parquet([seen("a")]))).column_names)


@pytest.mark.parametrize(("n", "most"), [(5, 16), (33, 1), (300, 5), (1100, 16)])
def test_a_sample_is_bounded_and_spread_over_the_run(tmp_path: Path, n: int, most: int) -> None:
    run = tmp_path
    sample = Sample(run / DIRECTORY, most=most)
    trajectory = plain_trajectory("x")
    for number in range(n):
        sample.offer(msgspec.structs.replace(trajectory, id=f"t{number}"), number)
    sample.save()
    kept = sorted(int(name[1:]) for name in sampled_ids(run))
    assert kept[0] == 0
    assert len(kept) <= 2 * most + 1
    if n > FIRST_STRIDE * most and most > 1:
        assert len(kept) >= most // 4
        largest_gap = max(b - a for a, b in zip(kept, [*kept[1:], n], strict=True))
        assert largest_gap <= max(4 * FIRST_STRIDE, n / 2), "no half of the run is missing"


def test_a_run_that_goes_on_keeps_as_before(tmp_path: Path) -> None:
    first = Sample(tmp_path / DIRECTORY, most=16)
    for number in range(0, 64 * FIRST_STRIDE, FIRST_STRIDE):
        first.offer(plain_trajectory(f"t{number}"), number)
    again = Sample(tmp_path / DIRECTORY, most=16)
    assert again._stride == first._stride > FIRST_STRIDE


def test_what_has_no_whole_file_yet_is_saved_and_written_again(tmp_path: Path) -> None:
    sample = Sample(tmp_path / DIRECTORY, most=64)
    sample.offer(seen("a"), 0)
    sample.save()
    sample.offer(seen("b"), FIRST_STRIDE)
    sample.save()
    assert len(files(tmp_path)) == 1
    assert [t.id for t in read_sample(tmp_path) if t] == ["a", "b"]
    assert count_trajectories(tmp_path) == 2


def test_what_failed_on_the_way_is_not_kept_and_what_was_not_seen_is_no_error(tmp_path: Path) -> None:
    sample = Sample(tmp_path / DIRECTORY, most=1)
    sample.offer(seen("broken", outcome=Outcome.ABORTED_DEVICE), 0)
    assert files(tmp_path) == []
    blind = plain_trajectory("blind")
    nothing = msgspec.structs.replace(
        blind.final, screen=msgspec.structs.replace(blind.final.screen, data=b"", width=0)
    )
    sample.offer(msgspec.structs.replace(blind, final=nothing), 0)
    assert [t.id for t in read_trajectories(tmp_path) if t] == ["blind"]


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"no parquet at all", None])
def test_a_damaged_file_is_passed_over_and_the_others_are_read(tmp_path: Path, damage: bytes | None) -> None:
    (tmp_path / DIRECTORY).mkdir()
    whole = to_parquet([seen("a")])
    (tmp_path / DIRECTORY / "000000000-8.parquet").write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    (tmp_path / DIRECTORY / "000000008-8.parquet").write_bytes(to_parquet([seen("b")]))
    assert [t and t.id for t in read_trajectories(tmp_path)] == [None, "b"]
    assert sampled_ids(tmp_path) == {"b"}
