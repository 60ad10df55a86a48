"""The table `[policy.hf]`: which pre-trained model acts, what it is shown, and what of it is trained."""

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from distrl.core.config_section import Section


class HfConfig(Section):
    """A model of `transformers` as the policy."""

    model: str = Field(default="", description="its directory, or its name on the Hugging Face hub")
    revision: str = Field(default="", description="branch, tag or commit on the hub; the newest if empty")
    trust_remote_code: bool = Field(default=False, description="run Python code that comes with the model")
    prompt: str = Field(default="json", min_length=1, description="how it is asked and answers, see docs/actions.md")
    num_screens: int = Field(default=1, ge=0, le=16, description="last screens it is shown; 0 for a text model")
    num_actions: int = Field(default=4, ge=0, le=64, description="last actions it is told")
    max_new_tokens: int = Field(default=48, ge=1, le=1024, description="longest answer")
    temperature: float = Field(default=1.0, gt=0, le=10, description="temperature of sampling, in acting and learning")
    adapter: Literal["lora", "none"] = Field(default="lora", description="train an adapter, or all weights (none)")
    lora_rank: int = Field(default=16, ge=1, le=1024, description="rank of the adapter")
    lora_alpha: int = Field(default=32, ge=1, le=4096, description="scale of the adapter, as a multiple of 1 / rank")
    lora_layers: int | None = Field(
        default=None, ge=1, description="adapt only so many of the last layers, which is faster; all if absent"
    )
    dtype: Literal["float32", "bfloat16"] = Field(default="float32", description="numbers of the model's own weights")
    device: str = Field(default="auto", min_length=1, description="cpu, cuda, cuda:1, ...; auto: a GPU if there is one")
    batch_tokens: int = Field(default=4096, ge=16, description="tokens computed at once; less takes less memory")
    gradient_checkpointing: bool = Field(default=False, description="compute layers twice to save memory in learning")
    learner_gpus: float = Field(default=0.0, ge=0, description="GPUs of each learner process; asynchronous only")
    worker_gpus: float = Field(default=0.0, ge=0, description="GPUs of each worker, .25 say; asynchronous only")

    @field_validator("dtype")
    @classmethod
    def _keeps_small_steps(cls, dtype: str, info: ValidationInfo) -> str:
        """A step of 1e-5 is lost in most weights of 16 bits, which have three digits; an adapter has 32 in any case."""
        if dtype == "bfloat16" and info.data.get("adapter") == "none":
            raise ValueError(
                'bfloat16 loses small steps when all weights are trained (adapter = "none"): set policy.hf.dtype to '
                '"float32", or policy.hf.adapter to "lora"'
            )
        return dtype
