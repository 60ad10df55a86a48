"""A policy behind a server: what it sends, what it takes for a decision, and what it does not."""

import asyncio
import base64
import io
import json
import logging
from random import Random
from typing import Any

import pytest
from PIL import Image

from distrl.core.errors import RefusedError, ServerError, UserError
from distrl.core.types import Decision, Invalid, Tap
from distrl.policies.endpoint import EndpointPolicy, Served, Vocabulary

from ...tasks.judges.episodes import JumpingClock
from ...tasks.judges.servers import Line, Server, after, error, hangs_up, serving, status
from .asking import KEY, SITUATION, answer, make_endpoint, make_policy

pytestmark = pytest.mark.models
TAP = '{"type":"Tap","x":0.5,"y":0.25}'
MODELS = status(200, json.dumps({"object": "list", "data": [{"id": "m"}, {"id": "n"}]}))


async def decided(
    *script: Line, rng: Random | None = None, served: Served | None = None, **options: Any
) -> tuple[Decision, Server, EndpointPolicy]:
    async with serving(*script) as server:
        policy = make_policy(server.url, endpoint=make_endpoint(server.url, clock=JumpingClock()), **options)
        return await policy.decide_one(SITUATION, rng, served), server, policy


def refused(*script: Line, **options: Any) -> str:
    """What is said about an answer that is no data."""
    with pytest.raises(ServerError) as caught:
        asyncio.run(decided(*script, **options))
    return str(caught.value)


def test_a_situation_is_asked_with_its_picture_and_the_answer_is_a_decision() -> None:
    decision, server, policy = asyncio.run(decided(status(200, answer(f"I tap. {TAP}")), extra={"top_k": -1}))
    assert decision == Decision(action=Tap(x=0.5, y=0.25), raw=f"I tap. {TAP}")
    (body,) = server.bodies
    assert server.paths == ["/v1/chat/completions"]
    assert (body["model"], body["temperature"], body["max_tokens"], body["top_k"]) == ("m", 0.0, 128, -1)
    assert "logprobs" not in body
    system, user = body["messages"]
    assert isinstance(system["content"], str)
    text, image, _ = user["content"]
    assert "Open the alarms" in text["text"]
    data = base64.b64decode(image["image_url"]["url"].removeprefix("data:image/png;base64,"))
    assert Image.open(io.BytesIO(data)).getpixel((0, 0)) == (9, 80, 200)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert (policy.num_calls, policy.num_tokens, policy.spent) == (1, 1010, pytest.approx(0.0021))


def test_a_model_that_reads_is_sent_plain_text() -> None:
    decision, server, _ = asyncio.run(decided(status(200, answer("1")), prompt="numbered"))
    assert decision.action == Tap(x=0.25, y=0.25)
    assert all(isinstance(message["content"], str) for message in server.bodies[0]["messages"])


def test_a_sampled_decision_has_the_temperature_and_a_seed_of_its_own() -> None:
    bodies = [
        asyncio.run(decided(status(200, answer(TAP)), rng=Random(seed), temperature=0.7))[1].bodies[0]
        for seed in (1, 1, 2)
    ]
    assert [body["temperature"] for body in bodies] == [0.7] * 3
    assert bodies[0]["seed"] == bodies[1]["seed"] != bodies[2]["seed"]


def test_log_probabilities_that_were_asked_for_are_recorded_with_their_tokens() -> None:
    said = answer(TAP, log_probs=[-0.5, -1.25, 0.0], token_ids=[7, 8, 9])
    decision, server, _ = asyncio.run(decided(status(200, said), needs_log_probs=True))
    assert (server.bodies[0]["logprobs"], server.bodies[0]["return_token_ids"]) == (True, True)
    assert (decision.tokens, decision.token_log_probs, decision.log_prob) == ((7, 8, 9), (-0.5, -1.25, 0.0), -1.75)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (answer(TAP), "without the log-probabilities that it was asked for"),
        (answer(TAP, log_probs=[]), "without the log-probabilities that it was asked for"),
        (answer(TAP, log_probs=[-0.5, 2.0]), "gave 2.0 for a log-probability"),
        (answer(TAP, log_probs=[-0.5], token_ids=[7, 8]), "1 log-probabilities for 2 tokens"),
        (answer(TAP, log_probs=[-0.5]).replace("-0.5", "NaN"), "not a chat completion"),
        (answer(TAP, log_probs=[-0.5]).replace("-0.5", "null"), "not a chat completion"),
        (answer(TAP, log_probs=[-0.5], model="n"), "answered as the model 'n', and 'm' was asked"),
        (answer(TAP, log_probs=[-0.5], model=""), "answered as the model ''"),
        ("{}", "without a choice"),
        ("hello", "not a chat completion"),
        ("[" * 100_000, "not a chat completion"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_an_answer_that_is_not_what_was_asked_for_is_an_error_and_no_data(said: str, problem: str) -> None:
    assert problem in refused(status(200, said), needs_log_probs=True)


LEARNED = {
    "needs_log_probs": True,
    "max_answer_tokens": 3,
    "vocabulary": Vocabulary(size=10, never_said=frozenset([4])),
}


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (answer(TAP, log_probs=[-0.5]), "without the token ids (return_token_ids) that it was asked for"),
        (answer(TAP, log_probs=[-0.5], token_ids=None), "without the token ids"),
        (answer(TAP, log_probs=[-0.5], token_ids=[]), "1 log-probabilities for 0 tokens"),
        (answer(TAP, log_probs=[-0.5] * 4, token_ids=[7] * 4), "an answer of 4 tokens, and 3 were allowed"),
        (answer(TAP, log_probs=[-0.5] * 2, token_ids=[9, 10]), "gave 10 for a token id, which the model cannot say"),
        (answer(TAP, log_probs=[-0.5] * 2, token_ids=[7, -1]), "gave -1 for a token id"),
        (answer(TAP, log_probs=[-0.5] * 2, token_ids=[7, 4]), "gave 4 for a token id"),
        (answer(TAP, log_probs=[-0.5], token_ids=[2**64]), "gave 18446744073709551616 for a token id"),
        (answer(TAP, log_probs=[-0.5], token_ids=["7"]), "not a chat completion"),
    ],
    ids=["none", "null", "no", "too many", "too large", "negative", "a picture's", "enormous", "a word"],
)
def test_an_answer_that_cannot_be_learned_from_is_an_error_and_no_data(said: str, problem: str) -> None:
    assert problem in refused(status(200, said), **LEARNED)


def test_an_answer_of_the_first_and_the_last_token_that_fills_its_room_is_learned_from() -> None:
    said = answer(TAP, log_probs=[-0.5, -0.25, -0.25], token_ids=[0, 9, 0])
    decision, _, _ = asyncio.run(decided(status(200, said), **LEARNED))
    assert (decision.tokens, decision.log_prob) == ((0, 9, 0), -1.0)


def test_another_name_for_the_same_model_can_be_agreed_upon() -> None:
    decision, _, _ = asyncio.run(decided(status(200, answer(TAP, model="m-2026-11")), answers_as="m-2026-11"))
    assert decision.action == Tap(x=0.5, y=0.25)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (answer("I do not know."), "no JSON object"),
        (answer(""), "no JSON object"),
        (answer(TAP[:12], finish_reason="length"), "unfinished JSON object"),
        (answer(f"{TAP} or {TAP.replace('0.25', '0.75')}"), "two actions"),
        (answer("x" * 300_000), "at most 262144 are read"),
        (answer("\x00\u202e\ud83d\ude00 $(reboot)"), "no JSON object"),
        (
            json.dumps({"model": "m", "choices": [{"message": {"refusal": "No."}, "finish_reason": "stop"}]}),
            "a refusal",
        ),
        (json.dumps({"model": "m", "choices": [{"message": {}, "finish_reason": "stop"}]}), "no JSON object"),
    ],
    ids=lambda value: ascii(value)[:50],
)
def test_whatever_a_model_writes_is_data_and_touches_no_device(said: str, reason: str) -> None:
    decision, _, _ = asyncio.run(decided(status(200, said)))
    assert isinstance(decision.action, Invalid)
    assert reason in decision.action.reason
    assert len(decision.raw) <= 262_144


def test_failures_that_pass_are_tried_again_and_others_are_not() -> None:
    good = status(200, answer(TAP))
    decision, server, _ = asyncio.run(decided(error(503, "busy"), hangs_up, good))
    assert (decision.action, server.num_calls) == (Tap(x=0.5, y=0.25), 3)
    assert "tried 3 times" in refused(error(500, "oops"))
    with pytest.raises(RefusedError, match="the key is wrong or missing"):
        asyncio.run(decided(error(401, "no"), good))


def test_calls_are_made_together_up_to_a_limit_and_cost_no_more_than_allowed() -> None:
    async def run() -> tuple[int, str]:
        async with serving(after(0.02, status(200, answer(TAP)))) as server:
            policy = make_policy(server.url, endpoint=make_endpoint(server.url, most=3, spend_limit=0.02))
            decisions = await asyncio.gather(*(policy.decide_one(SITUATION, None) for _ in range(10)))
            assert {decision.action for decision in decisions} == {Tap(x=0.5, y=0.25)}
            with pytest.raises(ServerError) as caught:
                await policy.decide_one(SITUATION, None)
            return server.most_at_once, str(caught.value)

    most_at_once, said = asyncio.run(run())
    assert most_at_once == 3
    assert "spend limit of 0.02 is reached (0.0210 spent)" in said


def test_the_key_is_in_no_error_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said = refused(error(400, f"key {KEY}")) + refused(error(500, f"wrong key {KEY[:12]}")) + caplog.text
    assert "***" in said
    assert KEY not in said
    assert KEY[:12] not in said


# ---------------------------------------------------------------- at the start


def checked(*script: Line, **options: Any) -> Any:
    async def run() -> Any:
        async with serving(*script) as server:
            return await make_policy(
                server.url, endpoint=make_endpoint(server.url, clock=JumpingClock()), **options
            ).check()

    return asyncio.run(run())


def test_a_check_says_what_a_server_can_do() -> None:
    able = checked(MODELS, status(200, answer("", log_probs=[-1.0], token_ids=[1])))
    assert (able.has_log_probs, able.has_token_ids, able.has_usage, able.models) == (True, True, True, ("m", "n"))
    able = checked(error(404, "no such page"), status(200, answer("")))
    assert (able.has_log_probs, able.has_token_ids, able.models) == (False, False, ())


def test_a_server_that_does_not_know_log_probabilities_is_asked_without() -> None:
    assert not checked(MODELS, error(400, "logprobs is not supported"), status(200, answer(""))).has_log_probs


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ([MODELS, status(200, answer(""))], "without the log-probabilities"),
        ([MODELS, status(200, answer("", model="other"))], "answered as the model 'other'"),
        ([MODELS, error(400, "logprobs is not supported")], "logprobs is not supported"),
        ([status(200, '{"data":[{"id":"n"}]}')], "it has no model 'm'"),
        ([status(200, "hello")], "list of models cannot be read"),
        ([MODELS, error(500, "image input is not supported")], "cannot take pictures"),
        ([error(401, "no")], "the key is wrong or missing"),
        ([error(500, "oops")], "no answer from"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else "",
)
def test_what_would_fail_in_every_call_fails_at_the_start(script: list[Line], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        checked(*script, needs_log_probs=True)
