"""What comes of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distrl.core.config import Config
from distrl.policies.tiny.policy import TinyPolicy


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """What came of a run. `curve` has a row for each evaluation on held-out tasks, that of the start first."""

    curve: list[dict[str, Any]]
    policy: TinyPolicy
    start: TinyPolicy
    """The policy as it was before anything was learned."""
    run_dir: Path | None
    config: Config
