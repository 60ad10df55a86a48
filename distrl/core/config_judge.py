"""The table of the configuration that says who judges; config.py puts it together with the others."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from distrl.core.config_server import ServerConfig

# TOML has arrays only, so a list must be allowed to become a tuple.
Words = Annotated[tuple[str, ...], Strict(strict=False)]


class JudgeConfig(ServerConfig):
    """Who says whether a task is done; everything but `kind` is for judges that are models (docs/judges.md)."""

    kind: Literal["rule", "vlm", "vote", "script"] = Field(
        default="rule",
        description="`rule` (ground truth of the built-in phone), `vlm` (a model that sees), `vote`, `script` (tests)",
    )
    num_screens: int = Field(default=1, ge=1, le=64, description="last screens that the judge is shown")
    num_actions: int = Field(default=2, ge=0, le=64, description="last actions that the judge is shown")
    examples: str = Field(default="", description="folder with examples to show it first; none if empty")
    max_answer_tokens: int = Field(default=500, ge=16, description="longest answer")
    max_reasks: int = Field(default=2, ge=0, le=10, description="times that unknown is asked again")
    models: Words = Field(default=(), description="vote: one judge for each of these models")
    samples: int = Field(default=3, ge=1, le=32, description="vote: answers of the one model, if `models` is empty")
    sample_temperature: float = Field(default=0.7, ge=0, le=2, description="vote: temperature of those answers")
    quorum: int = Field(default=0, ge=0, description="vote: how many have to agree; 0 is more than half")
    spend_limit: float | None = Field(
        default=None, gt=0, description="what the calls of a run, or of a check, may cost; no limit if absent"
    )
    journal: str = Field(default="", description="JSONL file for verdicts, read back as a cache; none if empty")
    pending_mb: int = Field(
        default=512, ge=1, description="megabytes of episodes that may wait for a verdict; asynchronous only"
    )
    max_cached: int = Field(default=100_000, ge=0, description="verdicts that are remembered")
    script: Words = Field(default=("failure",), description="script: what it says, in turn and over again")
