"""The endpoint policy and llama.cpp's server with a real language model."""

import asyncio
import json
import math
from collections.abc import Iterator
from random import Random

import pytest

from distrl.core.errors import UserError
from distrl.core.types import Action, Decision

from ...cli.command import distrl
from .asking import SITUATION, make_policy
from .llama import MODEL, llama_server

pytestmark = [pytest.mark.models, pytest.mark.slow]
PURE = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}
"""llama.cpp cuts off unlikely tokens unless it is told not to."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with llama_server() as url:
        yield url


def test_it_has_log_probabilities_and_lists_its_model(url: str) -> None:
    able = asyncio.run(make_policy(url, model=MODEL, prompt="numbered", needs_log_probs=True).check())
    assert (able.has_log_probs, able.has_token_ids, able.has_usage, able.models) == (True, True, True, (MODEL,))


def test_decisions_are_the_same_for_the_same_random_numbers_and_have_exact_tokens(url: str) -> None:
    async def run(rng: Random | None) -> Decision:
        policy = make_policy(
            url, model=MODEL, prompt="numbered", needs_log_probs=True, extra=PURE, max_answer_tokens=12, temperature=1.0
        )
        return await policy.decide_one(SITUATION, rng)

    first, again, other, greedy, greedily = (
        asyncio.run(run(rng)) for rng in (Random(1), Random(1), Random(2), None, None)
    )
    assert (first.raw, first.tokens) == (again.raw, again.tokens)
    assert first.raw != other.raw
    assert greedy.raw == greedily.raw
    for decision in (first, other, greedy):
        assert isinstance(decision.action, Action)
        assert 0 < len(decision.tokens) == len(decision.token_log_probs) <= 12
        assert all(-50 < number <= 1e-4 for number in decision.token_log_probs)
        assert math.isclose(decision.log_prob, sum(decision.token_log_probs))
    assert greedy.log_prob / len(greedy.tokens) > other.log_prob / len(other.tokens)


def test_a_model_that_cannot_see_and_one_that_is_not_there_are_told_at_the_start(url: str) -> None:
    with pytest.raises(UserError, match="cannot take pictures"):
        asyncio.run(make_policy(url, model=MODEL).check())
    with pytest.raises(UserError, match=r"it has no model 'gpt-9' .*it has: smollm2"):
        asyncio.run(make_policy(url, model="gpt-9", prompt="numbered").check())


def test_a_zero_shot_model_is_evaluated_from_the_command_line_and_not_trained(url: str) -> None:
    options = [
        *("--set", f"policy.endpoint.url={url}", "--set", f"policy.endpoint.model={MODEL}"),
        *("--set", "policy.endpoint.prompt=numbered", "--set", "policy.endpoint.key_variable="),
        *("--set", "policy.endpoint.max_answer_tokens=8", "--set", "env.max_episode_s=2.0"),
    ]
    done = distrl("eval", "--policy", "endpoint", "--episodes", "1", "--json", *options)
    assert done.status == 0, done.err
    report = json.loads(done.out)
    assert (report["episodes"], report["policy"]) == (1, "endpoint")
    assert report["calls"] >= 2
    assert report["tokens"] > 200
    assert "gives log-probabilities" in done.err
    done = distrl("train", "--set", "policy.kind=endpoint", *options)
    assert done.status == 2
    assert "cannot be trained" in done.err
