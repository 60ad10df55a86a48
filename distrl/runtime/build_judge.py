"""The part of build.py that knows the judges: configuration in, a judge out, or a `UserError` that says what to do.

The rule judges one device; all others look at what was recorded, so that one judge serves a whole process, and its
limits hold for all environments together.
"""

import asyncio
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from distrl.core.calls.limits import Spending
from distrl.core.clock import LoopClock
from distrl.core.config import Config
from distrl.core.config_judge import JudgeConfig
from distrl.core.errors import UserError
from distrl.core.interfaces import Device, GroundTruth, Judge
from distrl.runtime.build_endpoint import make_endpoint
from distrl.tasks.judges.later import LaterJudge
from distrl.tasks.judges.rule import RuleJudge
from distrl.tasks.judges.script import ScriptJudge
from distrl.tasks.judges.vote import VoteJudge

if TYPE_CHECKING:
    from distrl.tasks.judges.vlm import VlmJudge, VlmOptions


def make_judge(config: JudgeConfig, device: Device) -> Judge:
    """Who judges on this device."""
    if config.kind != "rule":
        return _shared_judge(config)
    if not isinstance(device, GroundTruth):
        raise UserError(f"{device.name} cannot say whether a task is solved: choose another judge (judge.kind)")
    return RuleJudge(device)


def is_judged_beside(config: JudgeConfig) -> bool:
    """Whether a fleet's episodes are judged by the learner's desk instead of where they are played."""
    return config.kind != "rule"


def make_environment_judge(config: JudgeConfig, device: Device, *, is_beside: bool) -> Judge:
    """Who judges on this device; nobody yet, where all that a fleet plays is judged beside it."""
    return LaterJudge(device) if is_beside and is_judged_beside(config) else make_judge(config, device)


def judged_by_rule(config: Config) -> Config:
    """The same, judged by ground truth: what a policy is measured by is not what it may have learned to deceive."""
    return config.model_copy(update={"judge": JudgeConfig()})


@lru_cache(maxsize=8)
def _shared_judge(config: JudgeConfig) -> Judge:
    return make_shared_judge(config)


SharedJudge: TypeAlias = "VlmJudge | VoteJudge | ScriptJudge"


def make_shared_judge(config: JudgeConfig, *, has_paid_before: bool = False) -> SharedJudge:
    """A judge that needs no device; its limit may count what its journal says was spent before."""
    if config.kind == "script":
        return ScriptJudge(config.script)
    if config.kind == "rule":
        raise UserError("the rule judges phones, not what was recorded of them: choose vlm, vote or script")
    try:
        voters = _make_voters(config, has_paid_before=has_paid_before)
    except ModuleNotFoundError as error:
        raise UserError(f'this needs {error.name}; install with: pip install "distrl[judge]"') from error
    return voters[0] if config.kind == "vlm" else VoteJudge(voters, quorum=config.quorum)


def check_judge(config: JudgeConfig, *, is_virtual: bool) -> None:
    """Let a judge that is a model answer once, before anything depends on it; `UserError` if it cannot be used.

    In virtual time, which jumps over every wait, it never can.
    """
    if config.kind in ("vlm", "vote"):
        if is_virtual:
            raise UserError(f"judge.kind = {config.kind!r} needs real time: leave out --runtime serial")
        asyncio.run(check_models(make_shared_judge(config)))


async def check_models(judge: SharedJudge) -> None:
    """One call for each different model; a judge that is no model needs none."""
    for voter in {voter.model: voter for voter in _models_of(judge)}.values():
        await voter.check()


def spending_of(judge: SharedJudge) -> Spending:
    """How often a judge was called, and what it has cost so far; voters share a server and a purse."""
    if isinstance(judge, ScriptJudge):
        return Spending(calls=judge.num_calls)
    return next((Spending(calls=voter.num_calls, cost=voter.spent) for voter in _models_of(judge)), Spending())


def _models_of(judge: SharedJudge) -> "list[VlmJudge]":
    if isinstance(judge, ScriptJudge):
        return []
    from distrl.tasks.judges.vlm import VlmJudge

    voters = judge.judges if isinstance(judge, VoteJudge) else (judge,)
    return [voter for voter in voters if isinstance(voter, VlmJudge)]


def _make_voters(config: JudgeConfig, *, has_paid_before: bool) -> "list[VlmJudge]":
    """One judge, or those that vote; they share a server with its limits, and what is remembered."""
    from distrl.tasks.judges.records import Records
    from distrl.tasks.judges.vlm import VlmJudge

    endpoint = make_endpoint(config, table="judge")
    records = Records(Path(config.journal) if config.journal else None, max_remembered=config.max_cached)
    if has_paid_before:
        endpoint.limits.purse.spent = records.cost
    return [VlmJudge(endpoint, options, records, clock=LoopClock()) for options in _vlm_options(config)]


def _vlm_options(config: JudgeConfig) -> "list[VlmOptions]":
    from distrl.tasks.judges.question import View, read_examples
    from distrl.tasks.judges.vlm import VlmOptions

    is_sampled = config.kind == "vote" and not config.models
    models = config.models if config.kind == "vote" and config.models else (config.model,)
    if not all(models):
        raise UserError("judge.model is not set: the name of a model at judge.url is wanted")
    asked = [(model, number) for model in models for number in range(config.samples if is_sampled else 1)]
    examples = read_examples(Path(config.examples)) if config.examples else ()
    return [
        VlmOptions(
            model=model,
            sample=number,
            view=View(num_screens=config.num_screens, num_actions=config.num_actions),
            examples=examples,
            temperature=config.sample_temperature if is_sampled else 0.0,
            max_answer_tokens=config.max_answer_tokens,
            max_reasks=config.max_reasks,
            needs_usage=config.spend_limit is not None,
        )
        for model, number in asked
    ]
