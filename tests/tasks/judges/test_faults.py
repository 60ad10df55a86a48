"""Rows 30 and 31 of the faults, over real HTTP: an outage delays a verdict, and nothing invents one."""

import asyncio
import logging
from typing import Any

import pytest

from distrl.core.calls.endpoint import MAX_BODY_BYTES, Patience
from distrl.core.calls.limits import Breaker
from distrl.core.clock import LoopClock, run_virtual
from distrl.core.errors import JudgeError, UserError
from distrl.core.types import Ruling

from .episodes import JumpingClock, judged, make_judge
from .servers import (
    Line,
    after,
    completion,
    drips,
    error,
    hangs,
    hangs_up,
    huge,
    nonce_in,
    rules,
    says,
    serving,
    status,
)

pytestmark = pytest.mark.judge


async def outcome(*script: Line, **options: Any) -> tuple[str, int, JumpingClock]:
    """What becomes of a question: the ruling or the error, the calls that were made, and the clock with its waits."""
    clock = JumpingClock()
    async with serving(*script) as server:
        judge = make_judge(server.url, clock=clock, **options)
        try:
            said = (await judged(judge)).ruling.value
        except JudgeError as error:
            said = str(error)
        return said, server.num_calls, clock


# ---------------------------------------------------------------- row 30: it does not answer


def test_429_with_retry_after_waits_as_long_as_it_says() -> None:
    said, calls, clock = asyncio.run(outcome(error(429, "slow down", Retry_After="7"), rules("success")))
    assert (said, calls) == ("success", 2)
    assert 7.0 <= sum(clock.waits) <= 7.0 + Patience().first_backoff_s


def test_a_server_that_says_when_to_come_back_is_not_left_alone_for_longer() -> None:
    busy = error(429, "slow down", Retry_After="2")
    said, calls, clock = asyncio.run(outcome(busy, busy, busy, rules("success"), breaker_failures=1))
    assert (said, calls) == ("success", 4)
    assert 6.0 <= sum(clock.waits) <= 7.5


def test_a_retry_after_with_a_date_is_read_against_the_servers_own_clock() -> None:
    dates = {"Date": "Mon, 01 Jan 2001 00:00:00 GMT", "Retry_After": "Mon, 01 Jan 2001 00:00:09 GMT"}
    said, calls, clock = asyncio.run(outcome(error(503, "soon", **dates), rules("failure")))
    assert (said, calls) == ("failure", 2)
    assert 9.0 <= sum(clock.waits) <= 9.5


def test_a_retry_after_beyond_the_deadline_is_not_waited_for_and_nobody_calls_before_it() -> None:
    async def run() -> None:
        clock = JumpingClock()
        async with serving(error(429, "tomorrow", Retry_After="300"), rules("success")) as server:
            judge = make_judge(server.url, clock=clock)
            for _ in range(3):
                with pytest.raises(JudgeError):
                    await judged(judge)
            assert server.num_calls == 1
            assert clock.waits == []
            clock.time_s += 300
            assert (await judged(judge)).ruling is Ruling.SUCCESS

    asyncio.run(run())


@pytest.mark.parametrize("value", ["soon", "-5", "1e9", "nan", "", "99999999999999", "Mon, 99 Foo 2001"])
def test_a_retry_after_that_is_nonsense_is_as_if_it_were_not_there(value: str) -> None:
    said, calls, clock = asyncio.run(outcome(error(429, "slow down", Retry_After=value), rules("success")))
    assert (said, calls) == ("success", 2)
    assert sum(clock.waits) <= Patience().first_backoff_s


def test_429_without_retry_after_backs_off_doubling_jittered_and_bounded() -> None:
    patience = Patience(max_tries=8, first_backoff_s=1.0, max_backoff_s=8.0, deadline_s=1000.0)
    said, calls, clock = asyncio.run(outcome(error(429, "slow down"), patience=patience))
    assert calls == 8
    assert "slow down" in said
    for wait, longest in zip(clock.waits, [1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0], strict=True):
        assert longest / 2 <= wait <= longest
    assert len(set(clock.waits)) == 7


@pytest.mark.parametrize(
    "line",
    [error(500, "oops"), error(503, "busy"), status(502, "<html>bad gateway</html>"), hangs_up],
    ids=["500", "503", "502", "hangs up"],
)
def test_a_failing_server_is_tried_again_and_then_judges(line: Line) -> None:
    said, calls, _ = asyncio.run(outcome(line, line, rules("failure")))
    assert (said, calls) == ("failure", 3)


@pytest.mark.parametrize("line", [error(500, "oops"), error(429, "busy"), hangs_up], ids=["500", "429", "hangs up"])
def test_a_server_that_keeps_failing_gives_no_verdict_at_all(line: Line) -> None:
    said, calls, _ = asyncio.run(outcome(line))
    assert said.startswith("no answer from http://127.0.0.1:")
    assert calls == Patience().max_tries


@pytest.mark.parametrize("line", [drips, hangs], ids=["slow drip", "silence"])
def test_a_slow_drip_and_silence_end_at_the_deadline(line: Line) -> None:
    async def run() -> None:
        async with serving(line) as server:
            patience = Patience(attempt_s=0.05, deadline_s=0.3, first_backoff_s=0.01, max_tries=3)
            judge = make_judge(server.url, clock=LoopClock(), patience=patience)
            with pytest.raises(JudgeError, match=r"no answer within 0.05 s"):
                await judged(judge)
            assert server.num_calls <= 3

    asyncio.run(run())


def test_a_refused_connection_is_a_judge_error() -> None:
    async def run() -> None:
        async with serving(hangs) as server:
            url = server.url
        clock = JumpingClock()
        with pytest.raises(JudgeError, match="ConnectError"):
            await judged(make_judge(url, clock=clock))
        assert len(clock.waits) == Patience().max_tries - 1

    asyncio.run(run())


def test_a_server_that_does_not_speak_tls_is_a_judge_error() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def run() -> None:
        listener = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        with pytest.raises(JudgeError, match=r"no answer from https.*SSL"):
            await judged(make_judge(f"https://127.0.0.1:{port}/v1", clock=JumpingClock()))
        listener.close()

    asyncio.run(run())


def test_after_failures_in_a_row_it_is_left_alone_and_then_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        clock = JumpingClock()
        patience = Patience(max_tries=2, first_backoff_s=0.1)
        async with serving(*[error(500, "oops")] * 4, rules("success")) as server:
            judge = make_judge(server.url, clock=clock, patience=patience, breaker_failures=4)
            for _ in range(2):
                with pytest.raises(JudgeError, match="oops"):
                    await judged(judge)
            for _ in range(10):
                with pytest.raises(JudgeError, match="left alone"):
                    await judged(judge)
            assert server.num_calls == 4
            clock.time_s += 30
            assert (await judged(judge)).ruling is Ruling.SUCCESS

    asyncio.run(run())
    assert [record.levelno for record in caplog.records if "left alone" in record.message] == [logging.WARNING]


def test_no_more_calls_at_a_time_than_are_allowed_and_fewer_when_it_is_busy() -> None:
    async def run() -> None:
        async with serving(after(0.01, rules("success"))) as server:
            judge = make_judge(server.url, clock=LoopClock(), max_concurrent=3)
            await asyncio.gather(*(judged(judge, instruction=f"request {n}") for n in range(12)))
            assert server.num_calls == 12
            assert judge._endpoint.limits.slots.most_at_once == 3
            assert server.most_at_once <= 3
        async with serving(error(429, "busy", Retry_After="0"), rules("success")) as server:
            judge = make_judge(server.url, clock=JumpingClock(), max_concurrent=4)
            await judged(judge)
            assert judge._endpoint.limits.slots.limit == 2
            for n in range(20):
                await judged(judge, instruction=f"request {n}")
            assert judge._endpoint.limits.slots.limit == 4

    asyncio.run(run())


def test_who_gets_no_turn_in_time_has_no_verdict_and_does_not_blame_the_server() -> None:
    async def run() -> None:
        async with serving(rules("success")) as server:
            patience = Patience(deadline_s=0.05)
            judge = make_judge(
                server.url, clock=JumpingClock(), max_concurrent=1, breaker_failures=1, patience=patience
            )
            async with judge._endpoint.limits.slots.one():
                with pytest.raises(JudgeError, match="no turn in time"):
                    await judged(judge)
            assert server.num_calls == 0
            judge._endpoint.limits.breaker.check()

    asyncio.run(run())


def test_calls_under_way_do_not_make_a_pause_longer() -> None:
    clock = JumpingClock()
    breaker = Breaker(2, 30.0, clock)
    assert [breaker.failed("oops") for _ in range(5)] == [False, True, False, False, False]
    clock.time_s += 30
    breaker.check()
    assert breaker.failed("oops")


def test_no_more_calls_in_a_minute_than_are_allowed() -> None:
    async def run() -> None:
        clock = JumpingClock()
        async with serving(rules("success")) as server:
            judge = make_judge(server.url, clock=clock, calls_per_minute=5, patience=Patience(deadline_s=200.0))
            started_s = clock.time_s
            for n in range(12):
                await judged(judge, instruction=f"request {n}")
            assert server.num_calls == 12
            assert clock.time_s - started_s == 120.0
            impatient = make_judge(server.url, clock=clock, calls_per_minute=1, patience=Patience(deadline_s=10.0))
            await judged(impatient, instruction="first")
            with pytest.raises(JudgeError, match="too late"):
                await judged(impatient, instruction="second")
            assert server.num_calls == 13

    asyncio.run(run())


def test_in_virtual_time_it_refuses_to_begin() -> None:
    async def run() -> None:
        await judged(make_judge("http://127.0.0.1:9/v1", clock=LoopClock()))

    with pytest.raises(UserError, match="virtual time"):
        run_virtual(run())


# ---------------------------------------------------------------- row 31: what it answers is none

MALFORMED = {
    "empty body": status(200, ""),
    "not JSON": status(200, "success"),
    "HTML": status(200, "<html>success</html>"),
    "no choices": status(200, '{"choices": []}'),
    "a list": status(200, '["success"]'),
    "choices of another kind": status(200, '{"choices": "success"}'),
    "no content": status(200, completion(None)),
    "bytes that are no text": says("\udcff".encode("utf-8", "surrogatepass").decode("latin-1")),
    "nested a thousand times": status(200, "[" * 100_000),
    "empty text": says(""),
    "a refusal": says("I'm sorry, I can't help with that."),
    "a refusal beside a verdict": rules("success", message={"content": "success", "refusal": "no"}),
    "unsuccessful": says("unsuccessful"),
    "unsuccessful as a verdict": rules("unsuccessful"),
    "the word alone": says("success"),
    "status": says("Status: success"),
    "both verdicts": says('{"nonce": "NONCE", "verdict": "failure"}\n{"nonce": "NONCE", "verdict": "success"}'),
    "wrong nonce": says('{"nonce": "0000example00000", "verdict": "success"}'),
    "cut off": rules("success", finish_reason="length"),
    "filtered": rules("success", finish_reason="content_filter"),
    "negative tokens": rules("success", prompt_tokens=-1_000_000),
    "huge text": says("success " * 50_000),
    "huge body": huge(4 * MAX_BODY_BYTES),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_answer_is_asked_for_again_then_unknown_and_never_success(name: str) -> None:
    said, calls, _ = asyncio.run(outcome(MALFORMED[name], max_reasks=2))
    assert (said, calls) == ("unknown", 3)


@pytest.mark.parametrize("name", MALFORMED)
def test_after_a_malformed_answer_a_good_one_counts(name: str) -> None:
    said, calls, _ = asyncio.run(outcome(MALFORMED[name], rules("failure"), max_reasks=2))
    assert (said, calls) == ("failure", 2)


def test_every_question_has_a_nonce_of_its_own_and_an_old_one_is_worth_nothing() -> None:
    heard: list[str] = []

    async def replay(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        heard.append(nonce_in(asked))
        await says(f'{{"nonce": "{heard[0]}", "verdict": "success"}}')(writer, asked)

    async def run() -> None:
        async with serving(replay) as server:
            judge = make_judge(server.url, clock=JumpingClock(), max_reasks=1)
            assert (await judged(judge, instruction="first")).ruling is Ruling.SUCCESS
            assert (await judged(judge, instruction="second")).ruling is Ruling.UNKNOWN

    asyncio.run(run())
    assert len(heard) == len(set(heard)) == 3
