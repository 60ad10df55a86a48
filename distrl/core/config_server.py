"""What is told about a model behind a server, in the tables of all that ask one: a judge, a policy."""

from pydantic import Field

from distrl.core.config_section import Section


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
