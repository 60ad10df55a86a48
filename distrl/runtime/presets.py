"""Presets, and the configuration of a run: preset, file, environment and options in, one `Config` out.

Later sources win: preset < file < environment < `--set` < options of their own (`--suite`). A preset is a table of the
configuration. Its options of an algorithm count only for that algorithm: the paper's numbers are A-RIDE's.
"""

import copy
import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from distrl.core.config import NO_ENVIRONMENT, Config, config_of, load_config
from distrl.core.config_errors import ConfigError, Mistake
from distrl.core.config_sources import from_environment, from_file, from_overrides
from distrl.runtime.build import KNOWN_NAMES

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "default": {},
        "quick": {
            "policy": {"mode": "text"},
            "collect": {"num_devices": 16},
            "learner": {"warmup_trajectories": 64},
            "train": {"max_minutes": 1.0},
            "eval": {"episodes": 64, "every_trajectories": 500},
        },
        "paper": {
            "algorithm": {
                "name": "a_ride",
                "options": {
                    "freshness": False,
                    "gamma": 0.5,
                    "entropy_weight": 0.05,
                    "filter_quantile": 0.9,
                    "w_td": 50.0,
                    "w_rho": 1.0,
                    "w_entropy": 0.01,
                    "alpha": 0.5,
                    "negative_scale": 1.0,
                    "negative_floor": 0.0,
                    "normalise_advantages": False,
                },
            },
            "learner": {
                "learning_rate": 1e-4,
                "learning_rate_left": 1.0,
                "max_gradient_norm": 0.01,
                "batch_trajectories": 16,
                "imitated_successes": 0,
                "demonstrations": 0,
                "imitation_weight": 0.0,
            },
            "replay": {"capacity_steps": 10_000},
            "collect": {"departures": 0.0, "has_curriculum": False},
        },
    }
)
"""`default` is the configuration's own defaults, `quick` a minute's look, `paper` the numbers of arXiv 2410.14803."""


class Option(NamedTuple):
    """A key of the configuration that has an option of its own: `--suite general` is `tasks.suite`."""

    name: str
    key: str
    value: str | int | float

    @property
    def override(self) -> str:
        """The same as `--set` would be given it; text is quoted, so that no word turns into a number."""
        value = json.dumps(self.value) if isinstance(self.value, str) else repr(self.value)
        return f"{self.key}={value}"


def load_run_config(
    preset: str = "default",
    path: Path | None = None,
    *,
    environ: Mapping[str, str] = NO_ENVIRONMENT,
    overrides: Sequence[str] = (),
    options: Sequence[Option] = (),
) -> Config:
    """The configuration of all sources together; raises one `ConfigError` with every mistake in any of them."""
    overrides = [*overrides, *(option.override for option in options)]
    mistakes = [] if preset in PRESETS else [_unknown_preset(preset)]
    try:
        without_preset = load_config(path, environ=environ, overrides=overrides, names=KNOWN_NAMES)
    except ConfigError as error:
        # A person who wrote --suite is told about --suite.
        written = {f"--set {option.override}": f"{option.name} {option.value}" for option in options}
        mistakes += [mistake._replace(place=written.get(mistake.place, mistake.place)) for mistake in error.mistakes]
    if mistakes:
        raise ConfigError(mistakes)
    merged = _table(preset, algorithm=without_preset.algorithm.name)
    for sources, _ in (
        from_file(path),
        from_environment(environ, sections=tuple(Config.model_fields)),
        from_overrides(overrides),
    ):
        for source in sources:
            source.apply_to(merged)
    return config_of(merged, KNOWN_NAMES)


def _table(preset: str, *, algorithm: str) -> dict[str, Any]:
    """A preset's values, without those for an algorithm that is not the one to be used."""
    table = copy.deepcopy(dict(PRESETS[preset]))
    if table.get("algorithm", {}).get("name", algorithm) != algorithm:
        del table["algorithm"]
    return table


def _unknown_preset(preset: str) -> Mistake:
    near = difflib.get_close_matches(preset, PRESETS, n=1)
    problem = f'unknown preset (expected one of {", ".join(PRESETS)}, got "{preset}")'
    return Mistake(place="--preset", key="", problem=problem, suggestion=near[0] if near else "")
