"""The table `[policy.autoui]`: the paper's own policy, whose three models are directories or names on the hub."""

from pydantic import Field

from distrl.core.config_section import Section


class AutoUIConfig(Section):
    """AutoUI: T5 that is shown frozen features of the screen, and critics on frozen features of the text."""

    model: str = Field(default="", description="T5, or AutoUI with its gate; all of it is trained")
    vision: str = Field(default="", description="frozen: what makes features of a screen (1408 numbers with BLIP-2's)")
    text: str = Field(default="", description="frozen: RoBERTa, which makes features of texts for the critics")
    num_actions: int = Field(default=1, ge=0, le=64, description="last actions it is told")
    max_new_tokens: int = Field(default=96, ge=1, le=512, description="longest answer")
    temperature: float = Field(default=1.0, gt=0, le=10, description="temperature of sampling, in acting and learning")
    device: str = Field(default="auto", min_length=1, description="cpu, cuda, cuda:1, ...; auto: a GPU if there is one")
    batch_rows: int = Field(default=16, ge=1, description="situations computed at once; less takes less memory")
    learner_gpus: float = Field(default=0.0, ge=0, description="GPUs of each learner process; asynchronous only")
    worker_gpus: float = Field(default=0.0, ge=0, description="GPUs of each worker, .25 say; asynchronous only")
