"""A model that looks at the last screens and says whether the task is done.

An episode in; a verdict out, read strictly, remembered by content and written down. An answer that cannot be read, or
says unknown, is asked for again with another nonce, a few times; then it is unknown. An outage is a `JudgeError`.
"""

import re
import time
from collections.abc import Callable

import msgspec

from distrl.core.calls.chat import Reply
from distrl.core.calls.endpoint import Endpoint, speaks_of_images
from distrl.core.clock import Clock
from distrl.core.errors import JudgeError, RefusedError, ServerError, UserError
from distrl.core.types import Observation, Ruling, Screen, Step, Task, Verdict
from distrl.tasks.judges.answers import Reading, new_nonce, read_answer
from distrl.tasks.judges.question import (
    RULES,
    Message,
    Question,
    View,
    as_png,
    data_uri,
    digest_of,
    make_question,
)
from distrl.tasks.judges.records import Record, Records

PROBE_TOKENS = 64
_CANNOT_SEE = re.compile(
    r"(can\s?no?t|can['\u2019]t|unable to|not able to|do not|don['\u2019]t)\b.{0,40}\b(see|view|images?|pictures?)"
    r"|text-?(only|based)",
    re.IGNORECASE | re.DOTALL,
)


class VlmOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is asked, and how."""

    model: str
    view: View = View()
    examples: tuple[Message, ...] = ()
    temperature: float = 0.0
    sample: int = 0
    """Which of several samples this judge takes; each is remembered by itself."""
    max_answer_tokens: int = 500
    max_reasks: int = 2
    needs_usage: bool = False
    """Whether there is a spend limit, which cannot be kept if the server does not count tokens."""


class VlmJudge:
    """Judges by pictures."""

    def __init__(
        self,
        endpoint: Endpoint,
        options: VlmOptions,
        records: Records,
        *,
        clock: Clock,
        make_nonce: Callable[[], str] = new_nonce,
    ) -> None:
        sample = f"#{options.sample}" if options.sample else ""
        self.name = f"vlm:{options.model}{sample}"
        self.model = options.model
        self._endpoint = endpoint
        self._options = options
        self._records = records
        self._clock = clock
        self._make_nonce = make_nonce

    @property
    def spent(self) -> float:
        """What all questions to this server have cost."""
        return self._endpoint.limits.purse.spent

    async def judge(self, task: Task, steps: tuple[Step, ...], final: Observation) -> Verdict:
        """What the model says; unknown if it says nothing that can be read, `JudgeError` if it does not answer."""
        started_s = self._clock.now()
        question = make_question(task, steps, final, self._options.view)
        key = self._key(question)
        known = self._records.find(key)
        if known is not None:
            self._records.add(
                msgspec.structs.replace(
                    known, time=time.time(), task=task.id, seconds=0.0, calls=0, tokens=0, cost=0.0, is_cached=True
                )
            )
            return self._verdict(known.ruling, known.reason)
        tally = _Tally()
        try:
            reading = await self._ask(question, tally)
        except ServerError as error:
            self._write(task, key, Ruling.UNKNOWN, str(error), tally, started_s)
            raise JudgeError(str(error)) from error
        self._write(task, key, reading.ruling, reading.reason, tally, started_s)
        return self._verdict(reading.ruling, reading.reason)

    async def _ask(self, question: Question, tally: "_Tally") -> Reading:
        """Ask until there is a verdict, a few times."""
        ends_s = self._endpoint.deadline_s()
        for number in range(1 + self._options.max_reasks):
            if number > 0 and self._clock.now() >= ends_s:
                break
            nonce = self._make_nonce()
            body = self._body(question.messages(self._options.examples, nonce=nonce))
            reply = await self._endpoint.ask(body, ends_s=ends_s)
            tally.add(reply)
            if reply.problem:
                reading = Reading(ruling=Ruling.UNKNOWN, reason=f"unreadable: {reply.problem}", is_exact=False)
            else:
                reading = read_answer(reply.text, nonce=nonce)
            if reading.ruling is not Ruling.UNKNOWN:
                break
        return reading

    async def check(self) -> None:
        """Ask once about a small picture, so that what would fail in every call fails now; `UserError` says what."""
        content = [
            {"type": "text", "text": "Which colour has this picture? Answer with one word."},
            {"type": "image_url", "image_url": {"url": data_uri(as_png(_RED), "image/png")}},
        ]
        body = self._body([{"role": "user", "content": content}]) | {"max_tokens": PROBE_TOKENS}
        try:
            reply = await self._endpoint.ask(body, ends_s=self._endpoint.deadline_s())
        except RefusedError as error:
            if speaks_of_images(str(error).rpartition("(it said")[2]):
                raise UserError(f"the model {self._options.model!r} cannot take pictures: {error}") from error
            raise UserError(f"the judge cannot be used: {error}") from error
        except ServerError as error:
            raise UserError(f"the judge does not answer: {error}") from error
        if not reply.text and reply.problem and "cut off" not in reply.problem:
            raise UserError(f"the judge cannot be used: {self._endpoint.shown_url} gave {reply.problem}")
        if _CANNOT_SEE.search(reply.text):
            raise UserError(f"the model {self._options.model!r} says that it cannot see: {reply.text[:200]!r}")
        if self._options.needs_usage and not reply.has_usage:
            raise UserError("judge.spend_limit cannot be kept: the server does not say how many tokens a call took")

    def _body(self, messages: list[Message]) -> dict[str, object]:
        options = self._options
        return {
            "model": options.model,
            "messages": messages,
            "temperature": options.temperature,
            "max_tokens": options.max_answer_tokens,
        }

    def _key(self, question: Question) -> str:
        """The name of all that an answer depends on, but for the nonce."""
        options = self._options
        how = (self._endpoint.shown_url, options.model, options.temperature, options.sample, options.max_answer_tokens)
        return digest_of(RULES, how, options.examples, question)

    def _verdict(self, ruling: Ruling, reason: str) -> Verdict:
        return Verdict(ruling=ruling, judge=self.name, score=float(ruling is Ruling.SUCCESS), reason=reason)

    def _write(self, task: Task, key: str, ruling: Ruling, reason: str, tally: "_Tally", started_s: float) -> None:
        self._records.add(
            Record(
                time=time.time(),
                judge=self.name,
                task=task.id,
                key=key,
                ruling=ruling,
                reason=reason,
                seconds=round(self._clock.now() - started_s, 3),
                calls=tally.calls,
                tokens=tally.tokens,
                cost=tally.cost,
            )
        )


class _Tally:
    """What the questions about one episode took."""

    def __init__(self) -> None:
        self.calls = 0
        self.tokens = 0
        self.cost = 0.0

    def add(self, reply: Reply) -> None:
        self.calls += 1
        self.tokens += reply.tokens
        self.cost += reply.cost


_RED = Screen(data=bytes((220, 20, 20)) * 64 * 64, width=64, height=64)
