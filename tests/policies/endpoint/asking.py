"""A small situation, policies behind a server with clocks that tests control, and answers as servers give them."""

import json
from random import Random
from typing import Any

from distrl.core.calls.endpoint import Endpoint, Limits, Patience
from distrl.core.calls.limits import Breaker, Pace, Prices, Purse, Slots
from distrl.core.clock import Clock, LoopClock
from distrl.core.types import Element, Observation, Screen, Situation, Task
from distrl.policies.endpoint import EndpointOptions, EndpointPolicy
from distrl.policies.prompts import make_prompt

KEY = "sk-canary-77d94e1f2a"
ELEMENTS = (
    Element(box=(0.0, 0.0, 0.5, 0.5), text="Alarm", kind="button"),
    Element(box=(0.5, 0.0, 1.0, 0.5), text="Timer", kind="button"),
)
SITUATION = Situation(
    task=Task(id="t", suite="general", split="train", instruction="Open the alarms", max_steps=5),
    steps=(),
    observation=Observation(
        screen=Screen(data=bytes((9, 80, 200)) * 64 * 64, width=64, height=64),
        activity="clock",
        time_s=0.0,
        elements=ELEMENTS,
    ),
)


PATIENCE = Patience(max_tries=3, first_backoff_s=0.01)


def make_endpoint(
    url: str,
    *,
    clock: Clock | None = None,
    spend_limit: float | None = None,
    most: int = 4,
    patience: Patience = PATIENCE,
) -> Endpoint:
    clock = clock or LoopClock()
    limits = Limits(
        slots=Slots(most),
        pace=Pace(None, clock),
        breaker=Breaker(100, 30.0, clock),
        purse=Purse(spend_limit, Prices(prompt=2.0, completion=10.0)),
    )
    return Endpoint(
        url, KEY, limits, patience, clock=clock, rng=Random(0), wall_s=lambda: 1_700_000_000.0, table="policy.endpoint"
    )


def make_policy(url: str, *, prompt: str = "json", endpoint: Endpoint | None = None, **options: Any) -> EndpointPolicy:
    options.setdefault("model", "m")
    return EndpointPolicy(endpoint or make_endpoint(url), make_prompt(prompt), EndpointOptions(**options))


def answer(text: str, *, model: str = "m", log_probs: Any = None, **more: Any) -> str:
    """A chat completion; `log_probs` are one number a token."""
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"} | more
    if log_probs is not None:
        choice["logprobs"] = {"content": [{"token": "x", "logprob": number} for number in log_probs]}
    usage = {"prompt_tokens": 1000, "completion_tokens": 10}
    return json.dumps({"model": model, "choices": [choice], "usage": usage})
