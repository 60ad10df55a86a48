"""What is saved of a policy: tensors and texts by file name, as `peft` and `transformers` lay them out.

With an adapter: adapter_model.safetensors and adapter_config.json. Without: model.safetensors, config.json, tokenizer
and image processor. Beside them the value heads, and distrl.json with the table `[policy.hf]`, which others ignore.
"""

import copy
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor
from transformers.utils import cached_file

from distrl.core.config_autoui import AutoUIConfig
from distrl.core.config_model import HfConfig
from distrl.core.errors import UserError
from distrl.policies.hf.policy import HfPolicy
from distrl.policies.learned import HEADS

if TYPE_CHECKING:
    from distrl.policies.autoui.policy import AutoUIPolicy

_PROCESSOR_FILES = (
    *("preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"),
    *("chat_template.json", "chat_template.jinja"),
)
ADAPTER, WHOLE, VALUES, ABOUT = "adapter_model.safetensors", "model.safetensors", "heads.safetensors", "distrl.json"


def tensor_files(policy: "HfPolicy | AutoUIPolicy") -> dict[str, dict[str, Tensor]]:
    """All that was trained, by file."""
    tensors = policy.tensors()
    heads = {name: tensor for name, tensor in tensors.items() if name.startswith(HEADS)}
    acting = {name: tensor for name, tensor in tensors.items() if name not in heads}
    return {WHOLE if policy.adapter is None else ADAPTER: acting, VALUES: heads}


def text_files(policy: "HfPolicy | AutoUIPolicy") -> dict[str, bytes]:
    """All that has to lie beside the tensors for others to open them."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        if isinstance(policy, HfPolicy) and policy.adapter is not None:
            config = copy.copy(policy.adapter.peft_config["default"])
            config.base_model_name_or_path, config.inference_mode = base_of(policy.options), True
            config.revision = policy.options.revision or None
            config.save_pretrained(name)
        else:
            policy.network.config.save_pretrained(name)
            if isinstance(policy, HfPolicy):
                save_processor(policy, directory)
            else:
                policy.loaded.tokenizer.save_pretrained(name)
        (directory / ABOUT).write_text(json.dumps(policy.options.model_dump(exclude_none=True), indent=2) + "\n")
        return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}


def base_of(options: HfConfig | AutoUIConfig) -> str:
    """Where the model itself is, as found from any directory."""
    path = Path(options.model)
    return str(path.resolve()) if path.exists() else options.model


def save_processor(policy: HfPolicy, directory: Path) -> None:
    """Tokenizer and image processor, each so that it can be loaded by itself; their settings are the model's own."""
    options = policy.options
    for name in _PROCESSOR_FILES:
        found = cached_file(
            options.model, name, revision=options.revision or None, _raise_exceptions_for_missing_entries=False
        )
        if found is not None:
            shutil.copy(found, directory / name)
    policy.loaded.tokenizer.save_pretrained(directory)


def save_whole(policy: HfPolicy, directory: Path) -> None:
    """The model with its adapter worked into its weights. The policy is not to be used afterwards."""
    network = policy.network if policy.adapter is None else policy.adapter.merge_and_unload()
    network.save_pretrained(directory)
    save_processor(policy, directory)


def read_about(directory: Path) -> HfConfig | None:
    """The table of a directory that was saved here; None if it was not."""
    file = directory / ABOUT
    if not file.is_file():
        return None
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        if "vision" in table:
            raise UserError(f"{directory} holds an AutoUI policy, which reads no chats: kind hf is wanted")
        return HfConfig.model_validate(table)
    except UserError:
        raise
    except ValueError as error:
        raise UserError(f"{file}: not the table of a policy: {error}") from error
