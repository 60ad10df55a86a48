"""Configuration: what a run can be told, where it is told from, and how it is written down again.

In: a TOML file, environment variables and `key=value` overrides. Out: one frozen `Config`, or a `ConfigError` that
names every mistake at once. Later sources win: defaults < file < environment < command line. Every source has to be
valid by itself, so a mistake in the file is reported even where the command line overrides it.

The environment speaks in double underscores: `DISTRL_PHONE__SCALE=0.5` is `phone.scale`, `DISTRL_SEED=3` is `seed`.
Single underscores (`DISTRL_PHONE_SCALE`) are left to the options of the command line (see `config_sources`).
"""

import difflib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field, Strict, ValidationError

from distrl.core.config_devices import DevicesConfig
from distrl.core.config_errors import ConfigError, Mistake, describe, show
from distrl.core.config_judge import JudgeConfig
from distrl.core.config_section import Probability, Section
from distrl.core.config_sources import Source, from_environment, from_file, from_overrides
from distrl.core.config_training import (
    AlgorithmConfig,
    CollectConfig,
    EvalConfig,
    LearnerConfig,
    PolicyConfig,
    ReplayConfig,
    SimulationConfig,
    TrainConfig,
)

NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({})
"""For runs that must not depend on the environment they start in."""

Names = Mapping[str, Collection[str]]
NO_NAMES: Names = MappingProxyType({})


class PhoneConfig(Section):
    """The built-in phone."""

    scale: float = Field(default=0.25, ge=0.1, le=1, description="size of a screen as a share of 1080 x 2400 pixels")
    latency: Literal["instant", "emulator", "slow-emulator", "phone", "even", "lab", "rough"] = Field(
        default="instant", description="whose reaction times the phone imitates; the last three are mixed fleets"
    )
    faults: dict[str, Probability] = Field(default={}, description="probability of each fault, by name")
    # TOML has arrays only, so a list must be allowed to become a tuple.
    variations: Annotated[tuple[str, ...], Strict(strict=False)] = Field(
        default=(), description="names of the changes made to what the phone looks like"
    )


class TasksConfig(Section):
    """What is to be done on the phones."""

    suite: str = Field(default="general", min_length=1, description="name of the task suite")
    split: Literal["train", "test"] = Field(default="train", description="which tasks of the suite")
    max_difficulty: int | None = Field(default=None, ge=1, le=3, description="only tasks that are not harder than this")
    templates: Annotated[tuple[str, ...], Strict(strict=False)] = Field(
        default=(), description="only tasks of these templates; of all if there are none"
    )
    file: str = Field(
        default="", description="a list of your own instead (.txt, .jsonl, .csv); needs a judge that looks"
    )
    max_steps: int = Field(default=15, ge=1, le=1000, description="steps allowed where that list does not say")


class RewardsConfig(Section):
    """What a step earns."""

    success: float = Field(default=1.0, description="reward of the step that solves the task")
    repetition: float = Field(default=-0.4, description="reward of repeating an action, added up over repetitions")
    invalid: float = Field(default=-1.0, description="reward of text that is not an action")


class EnvConfig(Section):
    """How an episode is run."""

    judge: Literal["each_step", "at_finish"] = Field(default="each_step", description="when the judge is asked")
    max_episode_s: float | None = Field(
        default=None, gt=0, description="longest episode in seconds; no limit if absent"
    )
    max_steps: int | None = Field(default=None, ge=1, description="longest episode in steps; the task's own if absent")
    operation_deadline_s: float = Field(default=120.0, gt=0, description="longest single operation of a device")
    keep_last_actions: int = Field(default=4, ge=0, description="number of past actions shown to the policy")


class Config(Section):
    """Everything a run can be told."""

    seed: int = Field(default=0, ge=0, lt=2**63, description="the number that all randomness is derived from")
    phone: PhoneConfig = Field(default=PhoneConfig(), description="the built-in phone")
    devices: DevicesConfig = Field(default=DevicesConfig(), description="what the devices are")
    tasks: TasksConfig = Field(default=TasksConfig(), description="what is to be done on the phones")
    rewards: RewardsConfig = Field(default=RewardsConfig(), description="what a step earns")
    env: EnvConfig = Field(default=EnvConfig(), description="how an episode is run")
    judge: JudgeConfig = Field(default=JudgeConfig(), description="who says whether a task is done")
    policy: PolicyConfig = Field(default=PolicyConfig(), description="the network that acts")
    algorithm: AlgorithmConfig = Field(default=AlgorithmConfig(), description="how it learns")
    learner: LearnerConfig = Field(default=LearnerConfig(), description="the optimiser and what an update gets")
    replay: ReplayConfig = Field(default=ReplayConfig(), description="what is kept to learn from")
    collect: CollectConfig = Field(default=CollectConfig(), description="how trajectories are collected")
    train: TrainConfig = Field(default=TrainConfig(), description="how long, and from what")
    eval: EvalConfig = Field(default=EvalConfig(), description="how progress is measured")
    simulation: SimulationConfig = Field(default=SimulationConfig(), description="what computing costs in virtual time")


def load_config(
    path: Path | None = None,
    *,
    environ: Mapping[str, str] = NO_ENVIRONMENT,
    overrides: Sequence[str] = (),
    names: Names = NO_NAMES,
) -> Config:
    """The configuration of all sources together; raises one `ConfigError` with every mistake in any of them.

    `names` are the values that some keys may have, for keys whose names other folders know: suites, variations.
    """
    try:
        return _load(path, environ, overrides, names)
    except RecursionError as error:
        raise ConfigError([Mistake(place="configuration", key="", problem="nested too deeply")]) from error


def _load(path: Path | None, environ: Mapping[str, str], overrides: Sequence[str], names: Names) -> Config:
    sources: list[Source] = []
    mistakes: list[Mistake] = []
    for found, wrong in (
        from_file(path),
        from_environment(environ, sections=tuple(Config.model_fields)),
        from_overrides(overrides),
    ):
        sources += found
        mistakes += wrong
    merged: dict[str, Any] = {}
    for source in sources:
        mistakes += _mistakes_in(source, names)
        source.apply_to(merged)
    if mistakes:
        raise ConfigError(mistakes)
    # Each source was valid, so what can still fail here is only how their values go together.
    mistakes = _mistakes_in(Source(values=merged, place=lambda key: "configuration"), names)
    if mistakes:
        raise ConfigError(mistakes)
    return Config.model_validate(merged)


def config_of(values: Mapping[str, Any], names: Names = NO_NAMES) -> Config:
    """The configuration of plain tables, as a program passes them; raises one `ConfigError` with every mistake."""
    mistakes = _mistakes_in(Source(values=dict(values), place=lambda key: "argument"), names)
    if mistakes:
        raise ConfigError(mistakes)
    return Config.model_validate(values)


def _mistakes_in(source: Source, names: Names) -> list[Mistake]:
    """What one source gets wrong, whatever the others say."""
    mistakes = list(_unknown_names(source, names))
    try:
        Config.model_validate(source.values)
    except ValidationError as error:
        known = tuple(_known_keys(Config))
        mistakes += [describe(detail, place=source.place, known=known) for detail in error.errors(include_url=False)]
    return sorted(mistakes, key=_line_of)


def _unknown_names(source: Source, names: Names) -> Iterator[Mistake]:
    """The names in one source that nothing answers to: a word, the words of a list, or the keys of a table."""
    for dotted, known in names.items():
        value: Any = source.values
        key = tuple(dotted.split("."))
        for part in key:
            value = value.get(part) if isinstance(value, Mapping) else None
        for name in [value] if isinstance(value, str) else value if isinstance(value, Sequence | Mapping) else []:
            if isinstance(name, str) and name not in known:
                near = difflib.get_close_matches(name, list(known), n=1)
                problem = f"unknown name (expected one of {', '.join(sorted(known))}, got {show(name)})"
                yield Mistake(place=source.place(key), key=dotted, problem=problem, suggestion=near[0] if near else "")


def _line_of(mistake: Mistake) -> int:
    """Its line, so that the mistakes of a file are told from top to bottom."""
    line = mistake.place.rpartition(":")[2]
    return int(line) if line.isdecimal() else 0


def _known_keys(section: type[Section], prefix: str = "") -> Iterator[str]:
    """All dotted keys, tables included."""
    for name, field in section.model_fields.items():
        yield prefix + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from _known_keys(field.annotation, f"{prefix}{name}.")


# ---------------------------------------------------------------- writing it down


def dump_toml(config: Config) -> str:
    """The configuration as commented TOML that loads back to an equal one."""
    return "\n".join(_section_lines(config, ())).lstrip("\n") + "\n"


def _section_lines(section: Section, path: tuple[str, ...]) -> Iterator[str]:
    """The lines of a table: plain keys first, because in TOML everything after a header belongs to it."""
    fields = type(section).model_fields
    tables = [name for name in fields if isinstance(getattr(section, name), Section)]
    for name in fields:
        if name in tables:
            continue
        value = getattr(section, name)
        yield f"# {fields[name].description}"
        # TOML has no null: absent is how it says None.
        yield f"# {name} is not set" if value is None else f"{name} = {_toml_value(value)}"
    for name in tables:
        yield from ("", f"# {fields[name].description}", f"[{'.'.join((*path, name))}]")
        yield from _section_lines(getattr(section, name), (*path, name))


def _toml_value(value: object) -> str:
    """One value in TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _toml_string(value)
        case Mapping():
            pairs = (f"{_toml_key(key)} = {_toml_value(item)}" for key, item in value.items())
            return f"{{ {', '.join(pairs)} }}" if value else "{}"
        case Sequence():
            return f"[{', '.join(_toml_value(item) for item in value)}]"
    raise AssertionError(f"no TOML for {type(value).__name__}")


def _toml_string(text: str) -> str:
    """A basic string: the escapes of JSON are those of TOML, which forbids a bare DEL as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_key(key: str) -> str:
    """A key, quoted where it has to be."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml_string(key)
