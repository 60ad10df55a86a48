"""`distrl plan`: what it prints, and what it refuses."""

import json

import pytest

from .command import distrl

SMALL = ("plan", "--devices", "4", "--minutes", "5", "--latency", "even")


def test_a_plan_in_words_and_in_numbers() -> None:
    said, made = distrl(*SMALL), json.loads(distrl(*SMALL, "--json").out)
    assert said.status == 0
    assert f"4 devices (even): {made['trajectories_per_min']:,.1f} trajectories a minute" in said.out
    assert "limited by: device" in said.out
    assert set(made) == {
        "devices",
        "trajectories_per_min",
        "steps_per_s",
        "updates_per_min",
        "lag_mean",
        "lag_max",
        "device_use",
        "inference_share",
        "learner_use",
        "limit",
    }


@pytest.mark.parametrize(
    ("options", "name", "change"),
    [
        (("--batch-ms", "30000"), "trajectories_per_min", -1),
        (("--decision-ms", "30000"), "trajectories_per_min", -1),
        (("--update-s", "60"), "updates_per_min", -1),
        (("--max-policy-lag", "0"), "trajectories_per_min", -1),
        (("--steps", "20"), "trajectories_per_min", -1),
        (("--latency", "phone"), "trajectories_per_min", 1),
        (("--devices", "8"), "trajectories_per_min", 1),
        (("--steps-per-update", "6"), "updates_per_min", 1),
        (("--publish-every", "1"), "lag_mean", 1),
        (("--batch-ms", "3000", "--workers", "4"), "inference_share", 1),
        (("--batch-ms", "3000", "--max-batch", "1"), "trajectories_per_min", -1),
        (("--seed", "1"), "steps_per_s", 0),
    ],
)
def test_every_option_changes_the_plan(options: tuple[str, ...], name: str, change: int) -> None:
    before, after = (json.loads(distrl(*SMALL, *more, "--json").out) for more in ((), options))
    if change:
        assert change * (after[name] - before[name]) > 0
    else:
        assert after != before


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--latency", "evem"), "did you mean even?"),
        (("--devices", "10001"), "10000"),
        (("--latency", "instant"), "decision"),
        (("--steps", "0"), "steps"),
    ],
)
def test_mistakes_exit_with_2_and_say_what_is_wrong(options: tuple[str, ...], complaint: str) -> None:
    done = distrl(*SMALL, *options)
    assert done.status == 2
    assert complaint in done.err
    assert "Traceback" not in done.err
