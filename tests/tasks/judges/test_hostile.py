"""Servers that send anything: every answer is a verdict, unknown or a `JudgeError`, and what is written can be read."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distrl.core.calls.endpoint import Patience
from distrl.core.errors import JudgeError
from distrl.core.types import Ruling
from distrl.tasks.judges.records import Records

from .episodes import JumpingClock, judged, make_judge
from .servers import Line, completion, error, nonce_in, says, serving, status

pytestmark = pytest.mark.judge

QUICK = Patience(max_tries=2, attempt_s=5.0, deadline_s=20.0)


def sends(data: bytes) -> Line:
    """These bytes, whatever they are."""

    async def line(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        writer.write(data)

    return line


def said_by(line: Line, *, journal: Path | None = None) -> tuple[str, str]:
    """The ruling and the reason, or `error` and what it says; anything else is raised."""

    async def run() -> tuple[str, str]:
        async with serving(line) as server:
            judge = make_judge(server.url, clock=JumpingClock(), patience=QUICK, journal=journal, max_reasks=0)
            try:
                verdict = await judged(judge)
            except JudgeError as found:
                return "error", str(found)
            return verdict.ruling.value, verdict.reason

    return asyncio.run(run())


HEAD = b"HTTP/1.1 200 OK\r\n"
BAD_HTTP = {
    "nothing": b"",
    "no status line": b"hello\r\n\r\n",
    "no number": b"HTTP/1.1 fine OK\r\n\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9\r\n",
    "a length that is none": HEAD + b"Content-Length: many\r\n\r\n{}",
    "a negative length": HEAD + b"Content-Length: -5\r\n\r\n{}",
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "bad chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\nhello\r\n0\r\n\r\n",
    "a chunk without end": HEAD + b"Transfer-Encoding: chunked\r\n\r\nFFFFFF\r\nhello",
    "gzip that is none": HEAD + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
    "a huge head": HEAD + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
    "binary": bytes(range(256)) * 20,
    "a status of another world": b"HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n",
    "a redirect": b"HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD_HTTP)
def test_what_is_no_http_is_a_judge_error_or_unknown(name: str) -> None:
    assert said_by(sends(BAD_HTTP[name]))[0] in ("error", "unknown")


VERDICT = '{"nonce": "N", "verdict": "success"}'
BAD_BODIES: dict[str, Any] = {
    "null": None,
    "a number": 7,
    "a list": [],
    "no choices": {},
    "choices that are null": {"choices": None},
    "a choice that is null": {"choices": [None]},
    "a message that is text": {"choices": [{"message": VERDICT}]},
    "content that is a number": {"choices": [{"message": {"content": 1}}]},
    "content in parts": {"choices": [{"message": {"content": [{"type": "text", "text": VERDICT}]}}]},
    "negative tokens": {"choices": [{"message": {"content": VERDICT}}], "usage": {"prompt_tokens": -5}},
    "tokens as text": {"choices": [{"message": {"content": VERDICT}}], "usage": {"prompt_tokens": "many"}},
    "tokens beyond 64 bits": {"choices": [{"message": {"content": VERDICT}}], "usage": {"prompt_tokens": 10**30}},
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_what_is_no_completion_is_unknown(name: str) -> None:
    assert said_by(status(200, json.dumps(BAD_BODIES[name])))[0] == "unknown"


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=300))
def test_no_bytes_break_it(data: bytes) -> None:
    assert said_by(sends(HEAD + f"Content-Length: {len(data)}\r\n\r\n".encode() + data))[0] in ("error", "unknown")


def test_half_a_character_in_an_answer_is_written_down_as_a_question_mark(tmp_path: Path) -> None:
    half = '{"nonce": "NONCE", "verdict": "success", "reason": "a half: \\ud83d"}'
    journal = tmp_path / "verdicts.jsonl"
    assert said_by(says(half), journal=journal) == ("success", "a half: ?")
    assert said_by(error(500, "half \ud83d of it"), journal=journal)[0] == "error"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [line["ruling"] for line in lines] == ["success", "unknown"]
    assert Records(journal, max_remembered=9).find(lines[0]["key"]) is not None


def test_a_usage_that_lies_costs_no_verdict(tmp_path: Path) -> None:
    async def line(writer: asyncio.StreamWriter, asked: dict[str, Any]) -> None:
        text = VERDICT.replace('"N"', f'"{nonce_in(asked)}"')
        await status(200, completion(text, prompt_tokens=2**62))(writer, asked)

    assert said_by(line) == (Ruling.SUCCESS.value, "")


@pytest.mark.parametrize("code", [301, 405, 407, 410])
def test_a_server_that_moved_or_speaks_otherwise_is_left_alone_and_not_asked_over_and_over(code: int) -> None:
    async def run() -> tuple[int, str]:
        async with serving(error(code, "not here")) as server:
            judge = make_judge(server.url, clock=JumpingClock(), patience=QUICK)
            for _ in range(3):
                with pytest.raises(JudgeError) as caught:
                    await judged(judge)
            return server.num_calls, str(caught.value)

    calls, why = asyncio.run(run())
    assert calls == 1
    assert "left alone" in why
