"""What is told about a model behind a server, in the tables of all that ask one: judges and policies."""

from typing import Annotated

from pydantic import Field, Strict

from distrl.core.config_section import Section

Extra = bool | int | Annotated[float, Strict(strict=False)] | str


class ServerConfig(Section):
    """Where it is, and what calls to it may take and cost."""

    url: str = Field(
        default="http://127.0.0.1:8000/v1", min_length=1, description="base address of an OpenAI-compatible server"
    )
    model: str = Field(default="", description="name of the model there")
    key_variable: str = Field(
        default="OPENAI_API_KEY", description="environment variable that holds the key; empty if none is needed"
    )
    deadline_s: float = Field(default=90.0, gt=0, description="longest wait for one answer, all tries together")
    attempt_s: float = Field(default=45.0, gt=0, description="longest single try")
    max_tries: int = Field(default=6, ge=1, le=100, description="tries for one answer")
    first_backoff_s: float = Field(default=0.5, gt=0, description="pause after the first failure; it doubles")
    max_backoff_s: float = Field(default=20.0, gt=0, description="longest pause that the server did not ask for")
    max_concurrent: int = Field(default=4, ge=1, le=1024, description="calls at a time, of each process")
    calls_per_minute: int | None = Field(default=None, ge=1, description="calls in a minute; no limit if absent")
    breaker_failures: int = Field(default=5, ge=1, description="failures in a row after which it is left alone")
    breaker_pause_s: float = Field(default=30.0, gt=0, description="for how long it is left alone then")
    spend_limit: float | None = Field(
        default=None, gt=0, description="what the calls of a process may cost; no limit if absent"
    )
    prompt_price: float = Field(default=0.0, ge=0, description="price of a million tokens of questions")
    completion_price: float = Field(default=0.0, ge=0, description="price of a million tokens of answers")


class EndpointConfig(ServerConfig):
    """A policy behind an OpenAI-compatible server (docs/how-to/endpoint.md)."""

    answers_as: str = Field(default="", description="its name in answers, if that is not the one it is asked by")
    prompt: str = Field(default="json", min_length=1, description="how it is asked and answers, see docs/actions.md")
    num_screens: int | None = Field(
        default=None, ge=0, le=16, description="last screens it is shown; as the prompt is made for if absent"
    )
    num_actions: int = Field(default=16, ge=0, le=64, description="last actions it is told")
    max_answer_tokens: int = Field(default=128, ge=1, description="longest answer")
    temperature: float = Field(default=1.0, gt=0, le=2, description="temperature of sampled answers; else it is 0")
    log_probs: bool = Field(default=False, description="ask for log-probabilities, and take no answer without them")
    adapter_dir: str = Field(
        default="", description="training through the server: a directory that it sees too, under the same path"
    )
    extra: dict[str, Extra] = Field(default={}, description="more keys of each call, which only this server knows")
