"""The policy behind a server: a situation in, a call, a decision out.

Each call stands for itself, so that a slow answer holds up one device and no other; the limits of the endpoint hold for
all of them together. What a server has to be able to do is asked once, at the start (`check`).
"""

import re
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from distrl.core.calls.chat import Reply
from distrl.core.calls.endpoint import Endpoint, speaks_of_images
from distrl.core.errors import RefusedError, ServerError, UserError
from distrl.core.types import Decision, Observation, Screen, Situation, Task
from distrl.policies.endpoint.adapters import Served, models_of
from distrl.policies.endpoint.chat import Vocabulary, as_json, checked_log_probs, decision_of, require_model
from distrl.policies.prompts import Message, Prompt

PROBE_TOKENS = 8
_LOG_PROBS = {"logprobs": True, "top_logprobs": 1, "return_token_ids": True}
_PROBE = Situation(
    task=Task(id="probe", suite="", split="", instruction="Say that the task is complete.", max_steps=1),
    steps=(),
    observation=Observation(
        screen=Screen(data=bytes((220, 20, 20)) * 64 * 64, width=64, height=64), activity="probe", time_s=0.0
    ),
)


class EndpointOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which model is asked, and how."""

    model: str
    answers_as: str = ""
    """The name in its answers, if it is another one than it is asked by."""
    temperature: float = 1.0
    """Of decisions that are drawn; those that are not have temperature 0."""
    max_answer_tokens: int = 128
    needs_log_probs: bool = False
    vocabulary: Vocabulary | None = None
    """Set if decisions are learned from: then each has to tell its tokens, and they have to be of these."""
    extra: dict[str, Any] = {}
    """More keys of each call: what only this server knows."""

    def with_extra(self, more: dict[str, Any]) -> "EndpointOptions":
        """The same with more of these keys; what was said before stays."""
        return msgspec.structs.replace(self, extra=more | self.extra)


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a server turned out to be able to do."""

    has_log_probs: bool
    has_token_ids: bool
    has_usage: bool
    models: tuple[str, ...]


class EndpointPolicy:
    """Decides by asking a model."""

    def __init__(
        self,
        endpoint: Endpoint,
        prompt: Prompt,
        options: EndpointOptions,
        *,
        plain: Callable[[Message], Message] = lambda message: message,
    ) -> None:
        """`plain` takes apart what is not to be read as a special word, if it is known what those are."""
        self.endpoint = endpoint
        self.prompt = prompt
        self.options = options
        self._plain = plain
        self.num_calls = 0
        self.num_tokens = 0

    @property
    def spent(self) -> float:
        """What all calls have cost."""
        return self.endpoint.limits.purse.spent

    async def decide_one(self, situation: Situation, rng: Random | None, snapshot: Any = None) -> Decision:
        """The decision in one situation, the likeliest if there are no random numbers.

        A snapshot that is `Served` is the adapter to act with. `ServerError` if there is no answer, or not from this
        very model.
        """
        options, served = self.options, snapshot if isinstance(snapshot, Served) else None
        reply = await self._ask(
            self.prompt.messages(situation), rng, model=options.model if served is None else served.model
        )
        return decision_of(
            reply,
            self.prompt,
            situation.observation,
            model=(options.answers_as or options.model) if served is None else served.model,
            version=0 if served is None else served.version,
            needs_log_probs=options.needs_log_probs,
            max_tokens=options.max_answer_tokens,
            vocabulary=options.vocabulary,
        )

    async def check(self) -> Abilities:
        """Ask once, so that what would fail in every call fails now; `UserError` says what is wrong."""
        try:
            models = await self._listed()
            body = {"max_tokens": PROBE_TOKENS, **_LOG_PROBS}
            try:
                reply = await self._ask(self.prompt.messages(_PROBE), None, model=self.options.model, more=body)
            except RefusedError as error:
                if self.options.needs_log_probs or not _speaks_of_log_probs(str(error)):
                    raise
                reply = await self._ask(self.prompt.messages(_PROBE), None, model=self.options.model)
            require_model(reply, self.options.answers_as or self.options.model)
            if self.options.needs_log_probs:
                checked_log_probs(reply)
        except RefusedError as error:
            if speaks_of_images(str(error).rpartition("(it said")[2]):
                raise UserError(f"the model {self.options.model!r} cannot take pictures: {error}") from error
            raise UserError(f"the policy's server cannot be used: {error}") from error
        except ServerError as error:
            raise UserError(f"the policy's server cannot be used: {error}") from error
        return Abilities(
            has_log_probs=bool(reply.log_probs),
            has_token_ids=reply.token_ids is not None,
            has_usage=reply.has_usage,
            models=models,
        )

    async def _listed(self) -> tuple[str, ...]:
        """The models that the server has; nothing if it does not say."""
        model = self.options.model
        try:
            models = await models_of(self.endpoint)
        except RefusedError as error:
            if error.status in (404, 405):
                return ()
            raise
        if models and model not in models:
            listed = ", ".join(models[:10])
            raise ServerError(f"it has no model {model!r} (policy.endpoint.model); it has: {listed}")
        return models

    async def _ask(
        self, messages: tuple[Message, ...], rng: Random | None, *, model: str, more: dict[str, Any] | None = None
    ) -> Reply:
        options = self.options
        body: dict[str, Any] = {
            "model": model,
            "messages": as_json([self._plain(message) for message in messages]),
            "max_tokens": options.max_answer_tokens,
            **(
                {"temperature": 0.0}
                if rng is None
                else {"temperature": options.temperature, "seed": rng.getrandbits(31)}
            ),
            **(_LOG_PROBS if options.needs_log_probs else {}),
            **options.extra,
            **(more or {}),
        }
        reply = await self.endpoint.ask(body, ends_s=self.endpoint.deadline_s())
        self.num_calls += 1
        self.num_tokens += reply.tokens
        return reply


def _speaks_of_log_probs(said: str) -> bool:
    return re.search(r"log.?prob|return_token_ids|unknown|unrecognized|not supported", said, re.IGNORECASE) is not None
