"""The only file that knows concrete classes, with build_judge.py: configuration in, devices and environments out."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from distrl.core.clock import Clock, LoopClock
from distrl.core.config import Config, config_of
from distrl.core.errors import UserError
from distrl.core.interfaces import Device, Setup
from distrl.core.seeds import derive_random
from distrl.core.types import Task
from distrl.devices.pool import Pool, PoolOptions
from distrl.devices.sim.app import App
from distrl.devices.sim.apps import builtin_apps
from distrl.devices.sim.device import SimDevice
from distrl.devices.sim.faults import FAULTS, Faults
from distrl.devices.sim.latency import Latency
from distrl.devices.sim.phone import Phone
from distrl.devices.sim.variations import VARIATIONS
from distrl.envs.gym_env import GymOptions, PhoneGym
from distrl.envs.phone_env import EnvOptions, PhoneEnvironment
from distrl.envs.rewards import Rewards
from distrl.policies.prompts import PROMPT_NAMES
from distrl.runtime.build_judge import make_judge
from distrl.tasks.book import load_tasks, seed_of, world_of
from distrl.tasks.generate import SIZES


def make_phone(*, seed: int = 0, scale: float = 0.25, more_apps: tuple[App, ...] = ()) -> Phone:
    """The built-in phone, with some apps of your own beside its own."""
    for app in more_apps:
        if app.id in builtin_apps():
            raise UserError(f"an app with the id {app.id!r} is on the phone already; choose another")
    return Phone(builtin_apps() | {app.id: app for app in more_apps}, seed=seed, scale=scale)


def make_sim_device(
    config: Config, number: int = 0, *, clock: Clock | None = None, script: Mapping[int, str] | None = None
) -> SimDevice:
    """Simulated phone number so-and-so of a run, with the latency and faults of the configuration."""
    name = f"sim-{number}"
    return SimDevice(
        name,
        make_phone(seed=config.seed, scale=config.phone.scale),
        clock=clock or LoopClock(),
        latency=Latency(config.phone.latency, derive_random(config.seed, name, "latency"), number),
        faults=Faults(config.phone.faults, derive_random(config.seed, name, "faults"), script),
    )


def make_pool(config: Config, count: int, *, first: int = 0, clock: Clock | None = None) -> Pool:
    """So many simulated phones, numbered from `first`."""
    clock = clock or LoopClock()
    makers = {f"sim-{n}": partial(make_sim_device, config, n, clock=clock) for n in range(first, first + count)}
    return Pool(makers, clock=clock, options=PoolOptions(probe_s=config.env.operation_deadline_s))


def make_environment(config: Config, device: Device) -> PhoneEnvironment:
    """An environment on a phone, with the judge of the configuration."""
    options = EnvOptions(
        judge=config.env.judge,
        max_episode_s=config.env.max_episode_s,
        max_steps=config.env.max_steps,
        operation_deadline_s=config.env.operation_deadline_s,
        rewards=Rewards(**config.rewards.model_dump()),
    )
    return PhoneEnvironment(device, make_judge(config.judge, device), options)


def make_setup(task: Task, *, more_variations: tuple[str, ...] = ()) -> Setup:
    """How the phone is arranged for a task: the variations it names and some more."""
    named = (tag for tag in task.tags if tag in VARIATIONS)
    return Setup(world=world_of(task), seed=seed_of(task), variations=tuple(dict.fromkeys((*named, *more_variations))))


KNOWN_NAMES: Mapping[str, Collection[str]] = {
    "tasks.suite": tuple(SIZES),
    "phone.variations": tuple(VARIATIONS),
    "phone.faults": tuple(FAULTS),
    "policy.endpoint.prompt": PROMPT_NAMES,
}
"""The values of configuration keys that only the folders below know."""


def make_gym_env(
    suite: str = "general",
    split: str = "train",
    render_mode: str | None = None,
    seed: int = 0,
    phone: dict[str, Any] | None = None,
    rewards: dict[str, Any] | None = None,
    env: dict[str, Any] | None = None,
) -> PhoneGym:
    """What `gymnasium.make("distrl/Phone-v0", suite=..., split=...)` gives; tables as in the configuration file."""
    tasks = load_tasks(suite, split)
    tables = {"phone": phone or {}, "rewards": rewards or {}, "env": env or {}}
    config = config_of({"seed": seed, "tasks": {"suite": suite, "split": split}, **tables}, KNOWN_NAMES)
    device = make_sim_device(config)
    return PhoneGym(
        make_environment(config, device),
        tasks,
        lambda task: make_setup(task, more_variations=config.phone.variations),
        GymOptions(
            screen_size=device.phone.size, keep_last_actions=config.env.keep_last_actions, render_mode=render_mode
        ),
    )
