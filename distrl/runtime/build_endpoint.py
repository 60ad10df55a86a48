"""The part of build.py that knows servers: what the configuration says about one in, an endpoint or a policy out."""

import os
import time
from typing import TYPE_CHECKING

from distrl.core.clock import LoopClock
from distrl.core.config_server import EndpointConfig, ServerConfig
from distrl.core.errors import UserError
from distrl.core.seeds import derive_random

if TYPE_CHECKING:
    from distrl.core.calls.endpoint import Endpoint
    from distrl.policies.endpoint import EndpointPolicy

TABLE = "policy.endpoint"
CANNOT_TRAIN = (
    'policy.kind = "endpoint" cannot be trained: its weights are the server\'s. Measure it with `distrl eval --policy '
    "endpoint`, and train a model of your own"
)


def make_endpoint(config: ServerConfig, *, table: str) -> "Endpoint":
    """The server of this table, with limits that hold for all that ask it through this object."""
    from distrl.core.calls.endpoint import Endpoint, Limits, Patience
    from distrl.core.calls.limits import Breaker, Pace, Prices, Purse, Slots

    if config.spend_limit is not None and not config.prompt_price and not config.completion_price:
        raise UserError(f"{table}.spend_limit needs prices: set {table}.prompt_price and {table}.completion_price")
    clock = LoopClock()
    limits = Limits(
        slots=Slots(config.max_concurrent),
        pace=Pace(config.calls_per_minute, clock),
        breaker=Breaker(config.breaker_failures, config.breaker_pause_s, clock),
        purse=Purse(config.spend_limit, Prices(prompt=config.prompt_price, completion=config.completion_price)),
    )
    patience = Patience(
        deadline_s=config.deadline_s,
        attempt_s=config.attempt_s,
        max_tries=config.max_tries,
        first_backoff_s=config.first_backoff_s,
        max_backoff_s=config.max_backoff_s,
    )
    # Processes that share a server have to wait for different times, whatever the seed of their run.
    rng = derive_random(time.time_ns(), table, os.getpid())
    key = key_of(config, table)
    return Endpoint(config.url, key, limits, patience, clock=clock, rng=rng, wall_s=time.time, table=table)


def make_endpoint_policy(config: EndpointConfig) -> "EndpointPolicy":
    """The policy behind the server of the configuration; nothing is asked of it yet."""
    try:
        from distrl.policies.endpoint import EndpointOptions, EndpointPolicy
    except ModuleNotFoundError as error:
        raise UserError(f'this needs {error.name}; install with: pip install "distrl[endpoint]"') from error
    from distrl.policies.prompts import make_prompt

    if not config.model:
        raise UserError(f"{TABLE}.model is not set: the name of a model at {TABLE}.url is wanted")
    options = EndpointOptions(
        model=config.model,
        answers_as=config.answers_as,
        temperature=config.temperature,
        max_answer_tokens=config.max_answer_tokens,
        needs_log_probs=config.log_probs,
        extra=config.extra,
    )
    prompt = make_prompt(config.prompt, num_screens=config.num_screens, num_actions=config.num_actions)
    return EndpointPolicy(make_endpoint(config, table=TABLE), prompt, options)


def key_of(config: ServerConfig, table: str) -> str:
    """The key, from the environment alone."""
    if not config.key_variable:
        return ""
    key = os.environ.get(config.key_variable, "").strip()
    if not key:
        raise UserError(
            f"{table} needs a key: set the variable {config.key_variable}, or {table}.key_variable (empty: no key)"
        )
    if not key.isascii() or not key.isprintable():
        raise UserError(f"the variable {config.key_variable} holds no key: it has characters that no key has")
    return key
