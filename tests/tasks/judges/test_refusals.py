"""Row 32 of the faults, over real HTTP: a judge that may not be asked or cannot see, and one that costs too much."""

import asyncio
import json
import logging
from pathlib import Path

import pytest

from distrl.core.errors import JudgeError, UserError
from distrl.core.types import Ruling

from .episodes import KEY, JumpingClock, judged, make_judge
from .servers import Line, error, hangs, rules, says, serving, status

pytestmark = pytest.mark.judge


@pytest.mark.parametrize(
    ("code", "hint"),
    [(401, "the key is wrong"), (402, "no credit"), (403, "may not do this"), (404, "the model is wrong")],
)
def test_a_refusal_fails_at_the_start_with_one_line_and_without_the_key(code: int, hint: str) -> None:
    async def run() -> str:
        async with serving(error(code, f"Incorrect API key provided: {KEY} ({KEY[:9]}***)")) as server:
            with pytest.raises(UserError) as caught:
                await make_judge(server.url, clock=JumpingClock()).check()
            assert server.num_calls == 1
            return str(caught.value)

    said = asyncio.run(run())
    assert hint in said
    assert "\n" not in said
    assert KEY not in said
    assert KEY[:9] not in said


@pytest.mark.parametrize("code", [401, 402, 403])
def test_a_refusal_in_the_middle_pauses_judging_and_says_so(code: int, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        clock = JumpingClock()
        async with serving(rules("success"), error(code, "no"), rules("failure")) as server:
            judge = make_judge(server.url, clock=clock)
            assert (await judged(judge, instruction="a")).ruling is Ruling.SUCCESS
            with pytest.raises(JudgeError, match=str(code)):
                await judged(judge, instruction="b")
            with pytest.raises(JudgeError, match="left alone"):
                await judged(judge, instruction="c")
            assert server.num_calls == 2
            clock.time_s += 30
            assert (await judged(judge, instruction="c")).ruling is Ruling.FAILURE

    asyncio.run(run())
    assert len([record for record in caplog.records if "left alone" in record.message]) == 1


def test_what_is_wrong_with_one_question_does_not_keep_the_next_from_being_asked() -> None:
    async def run() -> None:
        async with serving(error(400, "too long"), rules("failure")) as server:
            judge = make_judge(server.url, clock=JumpingClock())
            with pytest.raises(JudgeError, match="too long"):
                await judged(judge)
            assert (await judged(judge)).ruling is Ruling.FAILURE

    asyncio.run(run())


@pytest.mark.parametrize(
    "line",
    [
        error(400, "Invalid content type. image_url is only supported by certain models."),
        error(400, "seer is not a multimodal model"),
        error(404, "No endpoints found that support image input"),
        error(500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    ],
    ids=["openai", "vllm", "openrouter", "llama.cpp"],
)
def test_a_server_whose_model_takes_no_pictures_fails_at_the_start(line: Line) -> None:
    async def run() -> None:
        async with serving(line) as server:
            with pytest.raises(UserError, match="'seer' cannot take pictures"):
                await make_judge(server.url, clock=JumpingClock()).check()
            assert server.num_calls == 1

    asyncio.run(run())


@pytest.mark.parametrize(
    "text", ["I'm unable to view images.", "I can't see any picture.", "As a text-based model I do not know."]
)
def test_a_model_that_says_it_cannot_see_fails_at_the_start(text: str) -> None:
    async def run() -> None:
        async with serving(says(text)) as server:
            with pytest.raises(UserError, match="cannot see"):
                await make_judge(server.url, clock=JumpingClock()).check()

    asyncio.run(run())


@pytest.mark.parametrize(
    "line", [status(200, "<html>a web site</html>"), status(301, "", Location="http://x")], ids=["web site", "moved"]
)
def test_a_wrong_address_fails_at_the_start(line: Line) -> None:
    async def run() -> None:
        async with serving(line) as server:
            with pytest.raises(UserError, match="cannot be used"):
                await make_judge(server.url, clock=JumpingClock()).check()

    asyncio.run(run())


def test_nobody_at_the_address_fails_at_the_start() -> None:
    async def run() -> None:
        async with serving(hangs) as server:
            url = server.url
        with pytest.raises(UserError, match="does not answer"):
            await make_judge(url, clock=JumpingClock()).check()

    asyncio.run(run())


def test_a_judge_that_sees_passes_its_check() -> None:
    async def run() -> None:
        async with serving(says("Red.")) as server:
            await make_judge(server.url, clock=JumpingClock(), needs_usage=True).check()
            assert server.headers[0]["authorization"] == f"Bearer {KEY}"

    asyncio.run(run())


def test_a_spend_limit_ends_judging_and_says_so() -> None:
    async def run() -> None:
        # A call of 1,000 and 10 tokens costs 0.0021 at prices of 2 and 10 for a million.
        async with serving(rules("success")) as server:
            judge = make_judge(server.url, clock=JumpingClock(), spend_limit=0.005)
            for n in range(3):
                await judged(judge, instruction=f"request {n}")
            with pytest.raises(JudgeError, match=r"spend limit of 0.005 is reached \(0.0063 spent\)"):
                await judged(judge, instruction="request 3")
            assert server.num_calls == 3

    asyncio.run(run())


def test_a_spend_limit_that_cannot_be_kept_fails_at_the_start() -> None:
    async def run() -> None:
        without_usage = json.dumps({"choices": [{"message": {"content": "Red."}}]})
        async with serving(status(200, without_usage)) as server:
            with pytest.raises(UserError, match="how many tokens"):
                await make_judge(server.url, clock=JumpingClock(), spend_limit=1.0, needs_usage=True).check()

    asyncio.run(run())


def test_the_key_is_in_no_log_no_journal_and_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def run() -> str:
        said = []
        lines = [error(500, f"key {KEY}"), error(401, f"wrong key {KEY}"), rules("success")]
        async with serving(*lines) as server:
            judge = make_judge(server.url, clock=JumpingClock(), journal=tmp_path / "j.jsonl")
            for _ in range(2):
                try:
                    await judged(judge)
                except JudgeError as caught:
                    said.append(repr(caught) + repr(caught.__cause__))
        return "".join(said) + repr(judge.__dict__) + repr(judge._endpoint)

    everything = asyncio.run(run()) + caplog.text + (tmp_path / "j.jsonl").read_text()
    assert "***" in everything
    assert KEY not in everything
