"""The tables of the configuration that say how a policy is trained; config.py puts them together with the others."""

from typing import Literal

from pydantic import Field

from distrl.core.config_autoui import AutoUIConfig
from distrl.core.config_model import HfConfig
from distrl.core.config_section import Section
from distrl.core.config_server import EndpointConfig

Option = bool | int | float | str


class PolicyConfig(Section):
    """The network that acts."""

    kind: Literal["tiny", "hf", "autoui", "endpoint"] = Field(
        default="tiny",
        description="which policy: the small network made for this, a model of transformers, the paper's, a server",
    )
    mode: Literal["pixels", "text"] = Field(
        default="pixels", description="what it sees: crops of the screenshot, or the text of the ui tree"
    )
    start: str = Field(
        default="imitation",
        min_length=1,
        description="weights to start from: `imitation` (shipped; for kind hf the model as it is), `scratch`, or a "
        "safetensors file (for kind hf the directory that `distrl imitate` wrote)",
    )
    hf: HfConfig = Field(default=HfConfig(), description="the model, if kind is hf")
    acts_through: Literal["itself", "endpoint"] = Field(
        default="itself", description="kind hf: who acts in training, the workers or the server of [policy.endpoint]"
    )
    autoui: AutoUIConfig = Field(default=AutoUIConfig(), description="the models, if kind is autoui")
    endpoint: EndpointConfig = Field(
        default=EndpointConfig(), description="`endpoint`: the server, and how it is asked"
    )

    @property
    def label(self) -> str:
        """A word for what acts, for titles and tables."""
        models = {"hf": self.hf.model, "autoui": self.autoui.model, "endpoint": self.endpoint.model}
        return self.mode if self.kind == "tiny" else models[self.kind].rstrip("/").rpartition("/")[2]


class AlgorithmConfig(Section):
    """How it learns."""

    name: str = Field(default="a_ride", min_length=1, description="name of the algorithm, or module:Class of your own")
    options: dict[str, Option] = Field(default={}, description="options of the algorithm, see docs/algorithms.md")


class LearnerConfig(Section):
    """The optimiser and how much data an update gets."""

    learning_rate: float = Field(default=1.5e-3, gt=0, le=1, description="step size of Adam, at the start")
    learning_rate_left: float = Field(
        default=0.05, ge=0, le=1, description="what is left of the step size at the end of a run; it falls evenly"
    )
    max_gradient_norm: float = Field(default=1.0, gt=0, description="longest gradient")
    batch_trajectories: int = Field(default=8, ge=1, le=4096, description="trajectories in an update")
    fresh_share: float = Field(default=0.0, ge=0, le=1, description="share of each batch taken from the newest ones")
    new_steps_per_update: float = Field(default=24.0, gt=0, description="steps that arrive for an update, at least")
    num_workers: int = Field(
        default=1,
        ge=1,
        le=64,
        description="processes that share each update, a GPU each; asynchronous only",
    )
    warmup_trajectories: int = Field(default=128, ge=1, description="trajectories collected before the first update")
    publish_every_updates: int = Field(default=2, ge=1, description="updates from one published version to the next")
    imitated_successes: int = Field(
        default=12, ge=0, le=4096, description="solved trajectories that every update imitates, of all templates alike"
    )
    demonstrations: int = Field(
        default=4,
        ge=0,
        le=64,
        description="an expert's trajectories of each template, imitated like own successes",
    )
    imitation_weight: float = Field(default=1.0, ge=0, description="what imitating them is worth")


class ReplayConfig(Section):
    """What is kept to learn from."""

    capacity_steps: int = Field(default=30_000, ge=100, description="steps kept; the oldest trajectories go first")


class CollectConfig(Section):
    """How trajectories are collected."""

    num_devices: int = Field(default=32, ge=1, le=512, description="simulated phones that act at the same time")
    lag_versions: int = Field(default=0, ge=0, description="act with weights so many versions old")
    max_policy_lag: int | None = Field(
        default=None,
        ge=0,
        description="drop what was made by weights more versions old than this; 0: all devices wait for each version",
    )
    swap_weights_at: Literal["step", "episode"] = Field(
        default="step", description="when a device takes up new weights: at each step, or when an episode begins"
    )
    spool_mb: int = Field(
        default=512, ge=1, description="megabytes a worker keeps on disk while the learner is away; asynchronous only"
    )
    kept_trajectories: int = Field(
        default=128, ge=0, description="trajectories kept with their screens in trajectories/, spread over the run"
    )
    has_fresh_tasks: bool = Field(
        default=True, description="new tasks of the training templates without end, not those of the list over and over"
    )
    has_curriculum: bool = Field(
        default=True, description="draw templates that fail more often, and learn more from surprises"
    )
    departures: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="how often the tiny policy tries something else than the likeliest, where everything fails; less "
        "where less does",
    )


class TrainConfig(Section):
    """How long, and from what."""

    mode: Literal["online", "offline", "offline-to-online"] = Field(
        default="online", description="learn while collecting, from the warm-up alone, or from both in this order"
    )
    offline_updates: int = Field(default=500, ge=0, description="updates on the warm-up in the offline modes")
    num_trajectories: int = Field(default=16_000, ge=1, description="trajectories to collect; the end of a run")
    max_minutes: float | None = Field(default=None, gt=0, description="longest time to train; no limit if absent")


class EvalConfig(Section):
    """How progress is measured on tasks that were held out."""

    every_trajectories: int = Field(default=2_000, ge=1, description="trajectories between two evaluations")
    episodes: int = Field(default=128, ge=1, description="episodes of an evaluation")
    has_sampled: bool = Field(
        default=True, description="also evaluate with sampled actions, not only with the likeliest ones"
    )


class SimulationConfig(Section):
    """What computing costs in virtual time; for `--runtime serial` with a latency profile."""

    batch_s: float = Field(default=0.0, ge=0, description="seconds of a batch of decisions, however small")
    decision_s: float = Field(default=0.0, ge=0, description="seconds of each decision in it")
    update_s: float = Field(default=0.0, ge=0, description="seconds of an update")
