"""Players: policies by name or path, and the evaluation of any of them.

In: `expert`, `random`, `idle`, `imitation` (what a run would start from), `endpoint`, a run directory, an export or a
weights file. Out: something that `play_tasks` lets try tasks. The expert looks into the phone, which no policy of an
environment can, so it plays on a phone of its own.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Protocol, runtime_checkable

from distrl.core.clock import run_virtual
from distrl.core.config import Config
from distrl.core.errors import UserError
from distrl.core.interfaces import Decider, RemoteDecider
from distrl.core.types import Action, Decision, Observation, Outcome, Ruling, Situation, Step, Task, Trajectory, Verdict
from distrl.devices.sim.phone import Phone
from distrl.policies.scripted import IdlePolicy, RandomPolicy
from distrl.policies.tiny.policy import Mode
from distrl.policies.trainable import Snapshot
from distrl.runtime.build import make_phone
from distrl.runtime.build_endpoint import make_endpoint_policy
from distrl.runtime.checking import arrange, play, see
from distrl.runtime.evaluation import Scripted, evaluate
from distrl.runtime.policies import AnyPolicy, load_start
from distrl.runtime.trained import is_model_directory, load_model_directory, load_weights, read_run
from distrl.tasks.book import expert_for

NAMES = ("expert", "random", "idle", "imitation", "endpoint")
SCRIPTS = ("expert", "random", "idle")
"""Those without a network: they have no mode and nothing to sample from."""


class ExpertPlayer:
    """The scripted expert, which sees the state of the phone."""

    def try_task(self, phone: Phone, task: Task, number: int) -> Trajectory:
        """One attempt on a phone that is arranged for the task."""
        expert = expert_for(task, phone.inspect)
        steps: list[Step] = []

        def act(observation: Observation) -> Action:
            action = expert.act(observation)
            steps.append(Step(observation=observation, decision=Decision(action=action), rewards={}))
            return action

        is_solved = play(phone, task, act) > 0
        return Trajectory(
            id=f"expert-{number:07d}",
            task=task,
            steps=tuple(steps),
            final=see(phone),
            outcome=Outcome.SUCCEEDED if is_solved else Outcome.FAILED,
            verdict=Verdict(ruling=Ruling.SUCCESS if is_solved else Ruling.FAILURE, judge="rule"),
            worker="expert",
            device="phone",
        )


class RandomPlayer:
    """Acts at random, with the random numbers of each episode."""

    def decide(
        self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Any = None
    ) -> list[Decision]:
        """One action each; there is no likeliest one."""
        assert rngs is not None, "what acts at random is evaluated with random numbers"
        pairs = zip(situations, rngs, strict=True)
        return [Decision(action=RandomPolicy(rng).act(s.task, s.observation)) for s, rng in pairs]


class FixedPolicy:
    """A policy that goes on deciding as it did, whatever is learned meanwhile."""

    def __init__(self, policy: AnyPolicy, snapshot: Snapshot) -> None:
        self._policy = policy
        self._snapshot = snapshot

    def decide(
        self, situations: Sequence[Situation], rngs: Sequence[Random] | None, snapshot: Any = None
    ) -> list[Decision]:
        """One decision each, with its own weights."""
        return self._policy.decide(situations, rngs, self._snapshot)

    def snapshot(self) -> Snapshot:
        """Its weights."""
        return self._snapshot


@runtime_checkable
class HasWeights(Protocol):
    """A player with a network."""

    def snapshot(self) -> Snapshot:
        """Its weights."""
        ...


Player = ExpertPlayer | Decider | RemoteDecider
NO_CONFIG = Config()


def make_player(
    source: str | Path, *, mode: Mode | None = None, suite: str = "general", config: Config = NO_CONFIG
) -> Player:
    """The policy of a name, a run directory, an export or a weights file; `UserError` if there is none such."""
    if source in (*SCRIPTS, "endpoint") and mode is not None:
        raise UserError(f"{source} has no network: leave out the mode")
    match source:
        case "expert":
            return ExpertPlayer()
        case "random":
            return RandomPlayer()
        case "idle":
            idle = IdlePolicy()
            return Scripted(lambda situation: idle.act(situation.task, situation.observation))
        case "imitation":
            tasks = config.tasks.model_copy(update={"suite": suite})
            policy = config.policy.model_copy(update={"mode": mode or config.policy.mode})
            return load_start(config.model_copy(update={"tasks": tasks, "policy": policy}))
        case "endpoint":
            return make_endpoint_policy(config.policy.endpoint)
    return _from_path(Path(source), mode)


def _from_path(path: Path, mode: Mode | None) -> AnyPolicy:
    if is_model_directory(path):
        return load_model_directory(path)
    if (path / "model.safetensors").is_file():
        return load_weights(path / "model.safetensors", mode=mode)
    if path.is_dir():
        run = read_run(path)
        if run.config.policy.kind == "tiny" and mode not in (None, run.config.policy.mode):
            raise UserError(f"{path} was trained in {run.config.policy.mode} mode, not in {mode} mode")
        return run.load_policy()
    if not path.exists():
        raise UserError(
            f"no policy {str(path)!r}: it is none of {', '.join(NAMES)}, no run directory and no weights file"
        )
    return load_weights(path, mode=mode)


def play_tasks(
    player: Player,
    tasks: Sequence[Task],
    config: Config,
    *,
    is_greedy: bool = True,
    on_episode: Callable[[Trajectory], None] = lambda trajectory: None,
) -> list[Trajectory]:
    """Let a player try each task once, in order; `config.seed` decides everything that is random."""
    if isinstance(player, ExpertPlayer):
        return _play_expert(player, tasks, config, on_episode)
    if isinstance(player, RemoteDecider):
        # A server answers in real time, which virtual time would jump over.
        return asyncio.run(evaluate(player, tasks, config, is_greedy=is_greedy, on_episode=on_episode))
    snapshot = player.snapshot() if isinstance(player, HasWeights) else None
    greedy = is_greedy and not isinstance(player, RandomPlayer)
    played = evaluate(player, tasks, config, is_greedy=greedy, snapshot=snapshot, on_episode=on_episode)
    return run_virtual(played) if config.devices.kind == "sim" else asyncio.run(played)


def _play_expert(
    player: ExpertPlayer, tasks: Sequence[Task], config: Config, on_episode: Callable[[Trajectory], None]
) -> list[Trajectory]:
    phone = make_phone(seed=config.seed, scale=config.phone.scale)
    played = []
    for number, task in enumerate(tasks):
        arrange(phone, task, more_variations=config.phone.variations)
        played.append(player.try_task(phone, task, number))
        on_episode(played[-1])
    return played
