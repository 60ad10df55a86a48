"""A policy's weights as files: a policy in, named bytes out, and back into a policy.

The tiny policy is one file. A pre-trained model is a directory that `transformers` and `peft` open by themselves, also
when it is a checkpoint of a run, in which other files lie beside it.
"""

from collections.abc import Mapping
from pathlib import Path

from distrl.policies.tiny.policy import TinyPolicy
from distrl.runtime.checkpoints import write_safely
from distrl.runtime.policies import AnyPolicy
from distrl.runtime.tensors import pack_tensors, unpack_tensors

CHECKPOINT_FILE, WEIGHTS_FILE = "weights.safetensors", "model.safetensors"
"""Those of a tiny policy, in a checkpoint and in the run's `weights/`."""


def weight_files(policy: AnyPolicy) -> dict[str, bytes]:
    """All that a checkpoint needs of a policy."""
    about = {"version": str(policy.version)}
    if isinstance(policy, TinyPolicy):
        return {CHECKPOINT_FILE: pack_tensors(policy.tensors(), about)}
    from distrl.policies.hf.saving import tensor_files, text_files

    return {name: pack_tensors(tensors, about) for name, tensors in tensor_files(policy).items()} | text_files(policy)


def load_weight_files(policy: AnyPolicy, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Take over the weights of a checkpoint; those of its files that belong to the policy."""
    if isinstance(policy, TinyPolicy):
        policy.load_tensors(unpack_tensors(files[CHECKPOINT_FILE]))
        return {CHECKPOINT_FILE: files[CHECKPOINT_FILE]}
    from distrl.policies.hf.saving import tensor_files, text_files

    tensors = {name: unpack_tensors(files[name]) for name in tensor_files(policy)}
    policy.load_tensors({key: tensor for part in tensors.values() for key, tensor in part.items()})
    return {name: files[name] for name in (*tensors, *text_files(policy)) if name in files}


def write_weights(directory: Path, files: Mapping[str, bytes]) -> None:
    """Put the files of a policy into the `weights/` of a run."""
    for name, data in files.items():
        write_safely(directory / (WEIGHTS_FILE if name == CHECKPOINT_FILE else name), data)
