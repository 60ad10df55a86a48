"""What comes of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distrl.core.config import Config
from distrl.core.interfaces import Decider
from distrl.runtime.policies import AnyPolicy


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """What came of a run. `curve` has a row for each evaluation on held-out tasks, that of the start first."""

    curve: list[dict[str, Any]]
    policy: AnyPolicy
    start: Decider
    """The policy as it was before anything was learned."""
    run_dir: Path | None
    config: Config
