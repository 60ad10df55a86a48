"""Making an algorithm by name: options, mistakes in them, and algorithms of one's own."""

import re
import subprocess
import sys

import msgspec
import pytest
import torch

from distrl.algorithms import ALGORITHMS, Batch, Evaluation, Sampling, make_algorithm
from distrl.core.errors import UnknownNameError, UserError


class OwnAlgorithm:
    class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        size: int
        steps: list[int] = []

        def __post_init__(self) -> None:
            if self.size == 13:
                raise ValueError("13 brings bad luck")

    def __init__(self, options: Options) -> None:
        self.options = options
        self.sampling = Sampling()

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        return torch.zeros(()), {}

    def priorities(self, batch: Batch, evaluation: Evaluation) -> torch.Tensor:
        return torch.ones(1)


class WithoutSampling(OwnAlgorithm):
    def __init__(self, options: OwnAlgorithm.Options) -> None:
        self.options = options


OWN = f"{__name__}:OwnAlgorithm"


def complaint(name: str, options: dict[str, object]) -> str:
    with pytest.raises(UserError) as caught:
        make_algorithm(name, options)
    return str(caught.value)


def test_every_algorithm_is_made_without_options() -> None:
    assert set(ALGORITHMS) == {"a_ride", "digirl", "filtered_bc", "grpo", "ppo", "vtrace"}
    for name, algorithm_type in ALGORITHMS.items():
        assert type(make_algorithm(name, {})) is algorithm_type


def test_options_arrive() -> None:
    options = make_algorithm("a_ride", {"gamma": 0.5, "dper": False, "w_td": 3}).options  # type: ignore[attr-defined]
    assert (options.gamma, options.dper, options.w_td, options.rho_max) == (0.5, False, 3.0, 1.0)


@pytest.mark.parametrize("spelling", ["lambda", "lambda_"])
def test_lambda_may_be_written_as_in_the_paper_or_as_in_python(spelling: str) -> None:
    assert make_algorithm("a_ride", {spelling: 0.3}).options.lambda_ == 0.3  # type: ignore[attr-defined]


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown algorithm 'aride': did you mean a_ride"):
        make_algorithm("aride", {})


def test_all_mistakes_are_named_at_once() -> None:
    said = complaint(
        "a_ride",
        {"gama": 0.9, "lambda": 1.5, "alpha": float("nan"), "dper": 1, "w_td": "much", "rho_max": 0, "xyzzy": 0},
    )
    assert "'a_ride'" in said
    for line in (
        "gama: unknown option; did you mean gamma?",
        "lambda: expected float <= 1.0, got 1.5",
        "alpha: must be a finite number, got nan",
        "dper: expected bool, got 1",
        "w_td: expected float, got 'much'",
        "rho_max: expected float > 0.0, got 0",
    ):
        assert line in said.splitlines()
    assert re.search(r"^xyzzy: unknown option; known: .*gamma.*lambda", said, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("a_ride", "gamma", -0.1),
        ("a_ride", "gamma", True),
        ("a_ride", "gamma", None),
        ("a_ride", "entropy_weight", float("inf")),
        ("a_ride", "entropy_weight", -1),
        ("a_ride", "filter_quantile", 1.1),
        ("a_ride", "freshness_tau_versions", 0.0),
        ("a_ride", "alpha", 0.002),
        ("a_ride", "alpha", 11.0),
        pytest.param("a_ride", "w_td", 10**5000, id="a number too long to print"),
        ("a_ride", "w_td", "x" * 1000),
        ("ppo", "window_trajectories", 0),
        ("ppo", "window_trajectories", 2.5),
        ("ppo", "clip", 0.0),
        ("grpo", "group_size", 0),
        ("vtrace", "rho_clip", -1.0),
        ("digirl", "advantage_threshold", float("nan")),
    ],
)
def test_impossible_values_are_refused_shortly(name: str, option: str, value: object) -> None:
    said = complaint(name, {option: value})
    assert len(said.splitlines()) == 2
    assert said.splitlines()[1].startswith(f"{option}: ")
    assert len(said) < 300


def test_an_option_given_twice_is_refused() -> None:
    assert "given twice" in complaint("a_ride", {"lambda": 0.1, "lambda_": 0.2})


def test_an_own_algorithm_is_imported_and_checked() -> None:
    made = make_algorithm(OWN, {"size": 3})
    assert isinstance(made, sys.modules[__name__].OwnAlgorithm)
    assert made.options.size == 3
    assert complaint(OWN, {}).endswith("size: missing")
    assert "bad luck" in complaint(OWN, {"size": 13})
    assert "steps: " in complaint(OWN, {"size": 3, "steps": ["a"]})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no.such.module:Thing", "cannot be imported: ModuleNotFoundError"),
        ("json:NoSuchClass", "cannot be imported: AttributeError"),
        (":", "cannot be imported"),
        ("json:loads", "is not a class"),
        ("json:JSONDecoder", "lacks loss, priorities, Options"),
        (f"{__name__}:WithoutSampling", "no attribute `sampling`"),
    ],
)
def test_what_cannot_be_an_algorithm_is_said_clearly(name: str, said: str) -> None:
    assert said in complaint(name, {"size": 1})


def test_importing_the_core_does_not_import_torch() -> None:
    script = "import sys, distrl.core.config, distrl.core.types; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
