"""Several learner processes: each computes a share of every batch, and all have the same weights after every update.

    learner (rank 0)                                    companions (ranks 1, 2, ...)
    judge: shares the rows out                  -->     judge their rows
    loss of all rows together, backward         -->     backward of their rows, with the gradients of that loss
    sum of all gradients                        <--     reduce (torch.distributed)
    optimiser step, then all weights            -->     broadcast (torch.distributed)

So an update is the same as that of one process with the whole batch, whatever the algorithm computes over it. After
every step the processes compare what they have. Companions are actors on the learner's machine and know nothing but the
policy: when one is gone, the run ends with an error, and the same command goes on with new ones.
"""

import hashlib
import itertools
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import ray
import torch
import torch.distributed as dist
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from torch import Tensor, nn

from distrl.core.config import Config, config_of
from distrl.core.errors import DistrlError
from distrl.core.types import Trajectory
from distrl.policies.trainable import Judgement
from distrl.runtime.policies import AnyPolicy, load_start
from distrl.runtime.ray_watch import Handle

DEADLINE_S = 600.0
"""The longest wait for another process: it may have to load a large model first."""
_NUM_ROWS = 5
"""Numbers about each state: log-probability, entropy, two values, the trajectory's value."""


class NotSharedError(DistrlError):
    """Processes that should have the same weights do not, or one of them is gone."""


class Companion:
    """The policy in another process; its methods are called by the learner, in this order."""

    def __init__(self, tables: dict[str, Any], meeting_place: str, rank: int, size: int) -> None:
        torch.set_num_threads(1)
        self._policy = load_start(config_of(tables))
        self._said: dict[int, Tensor] = {}
        join(self._policy, Path(meeting_place), rank, size)

    def judge(self, number: int, moments: Sequence[Any], choices: Any) -> npt.NDArray[np.float32]:
        """What the network says about some rows of a batch; kept until their gradients come."""
        self._said[number] = packed(self._policy.judge(moments, choices))
        return self._said[number].detach().numpy()

    def backward(self, gradients: dict[int, npt.NDArray[np.float32]]) -> None:
        """Gradients of what was said, by number; then the sum over all processes goes to the learner."""
        for number, gradient in gradients.items():
            self._said[number].backward(torch.from_numpy(np.array(gradient)))  # type: ignore[no-untyped-call]
        self._said.clear()
        flat = _flat_gradient(self._policy.parameters())
        dist.reduce(flat, dst=0)
        for parameter in self._policy.parameters():
            parameter.grad = None

    def take_weights(self) -> str:
        """Have the learner's weights; their digest."""
        share_weights(self._policy.parameters())
        return digest_of(self._policy.parameters())


class SharedPolicy:
    """The learner's policy, as the learner sees it: batches are judged by all processes together."""

    def __init__(self, policy: AnyPolicy, companions: Sequence[Handle], meeting_place: Any = None) -> None:
        self._policy = policy
        self._meeting_place = meeting_place
        """Goes when this does."""
        self._companions = companions
        self._numbers = itertools.count()
        self._pending: list[tuple[int, list[Tensor]]] = []

    @property
    def version(self) -> int:
        """That of the weights."""
        return self._policy.version

    @version.setter
    def version(self, version: int) -> None:
        self._policy.version = version

    def parameters(self) -> list[nn.Parameter]:
        """What is trained."""
        return self._policy.parameters()

    def prepare(self, trajectory: Trajectory) -> Any:
        """As the policy does."""
        return self._policy.prepare(trajectory)

    def judge(self, moments: Sequence[Any], choices: Any) -> Judgement:
        """The same as one process would say, each process having computed every so-manieth row."""
        size = len(self._companions) + 1
        if len(moments) < size:
            return self._policy.judge(moments, choices)
        shares = [list(range(rank, len(moments), size)) for rank in range(size)]
        number = next(self._numbers)
        asked = [
            companion.judge.remote(number, [moments[i] for i in rows], choices[rows])
            for companion, rows in zip(self._companions, shares[1:], strict=True)
        ]
        own = packed(self._policy.judge([moments[i] for i in shares[0]], choices[shares[0]]))
        with _together():
            answers = [torch.from_numpy(np.array(a)).requires_grad_() for a in ray.get(asked, timeout=DEADLINE_S)]
        self._pending.append((number, answers))
        back = torch.from_numpy(np.argsort(np.concatenate(shares)))
        said = torch.cat([own, *answers], dim=1)[:, back]
        return Judgement(log_prob=said[0], entropy=said[1], value_logits=said[2:4], trajectory_value_logit=said[4])

    def gather_gradients(self) -> None:
        """After a loss's backward pass: the gradients of all processes, summed, in this one."""
        each: list[dict[int, npt.NDArray[np.float32]]] = [{} for _ in self._companions]
        for number, answers in self._pending:
            for gradients, answer in zip(each, answers, strict=True):
                gradients[number] = np.zeros(answer.shape, np.float32) if answer.grad is None else answer.grad.numpy()
        self._pending.clear()
        done = [c.backward.remote(gradients) for c, gradients in zip(self._companions, each, strict=True)]
        flat = _flat_gradient(self.parameters())
        with _together():
            dist.reduce(flat, dst=0)
            ray.get(done, timeout=DEADLINE_S)
        _spread(flat, [_gradient(parameter) for parameter in self.parameters()])

    def share_weights(self) -> None:
        """After a step, or when weights were loaded: everybody has the same."""
        done = [companion.take_weights.remote() for companion in self._companions]
        with _together():
            share_weights(self.parameters())
            digests = set(ray.get(done, timeout=DEADLINE_S))
        if digests != {digest_of(self.parameters())}:
            raise NotSharedError("the learner's processes have different weights after an update")


@contextmanager
def _together() -> Iterator[None]:
    """What another process has to do with this one; if it is gone, that is said in one sentence."""
    try:
        yield
    except (RayError, RuntimeError) as error:  # torch.distributed knows no errors of its own
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise NotSharedError(
            f"one of the learner's processes is gone or does not answer ({reason}); what was acknowledged is in the "
            "journal, and the same command goes on"
        ) from error


def gather(config: Config, policy: AnyPolicy) -> SharedPolicy | None:
    """Start the companions of a learner and meet them; None if it works alone."""
    size = config.learner.num_workers
    if size == 1:
        return None
    tables = config.model_dump(exclude_none=True)
    node = ray.get_runtime_context().get_node_id()
    here = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
    gpus = gpus_of(tables, "learner_gpus")
    # A file is where they meet: it takes no port that others could reach.
    directory = tempfile.TemporaryDirectory(prefix="distrl-companions-")
    meeting_place = Path(directory.name) / "store"
    actor = ray.remote(Companion).options(num_cpus=0, num_gpus=gpus, scheduling_strategy=here)
    companions = [actor.remote(tables, str(meeting_place), rank, size) for rank in range(1, size)]
    join(policy, meeting_place, 0, size)
    return SharedPolicy(policy, companions, directory)


def gpus_of(tables: Mapping[str, Any], key: str) -> float:
    """GPUs that an actor asks for, by the table of its kind of policy: who asks for none is not even shown one."""
    policy = tables["policy"]
    if key == "worker_gpus" and policy["acts_through"] == "endpoint":
        return 0.0  # the server computes
    return float(policy.get(policy["kind"], {}).get(key, 0.0))


def join(policy: AnyPolicy, meeting_place: Path, rank: int, size: int) -> None:
    """Become a member of the group; waits for the others."""
    # Everybody is on this machine, so nobody else has to be able to reach them.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
    device = policy.parameters()[0].device
    dist.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        store=dist.FileStore(str(meeting_place), size),  # type: ignore[attr-defined]
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=DEADLINE_S),
    )


def packed(said: Judgement) -> Tensor:
    """[5, N]: all that is said about N states, on the processor."""
    made = torch.cat([said.log_prob[None], said.entropy[None], said.value_logits, said.trajectory_value_logit[None]])
    assert len(made) == _NUM_ROWS
    return made


def share_weights(parameters: Sequence[nn.Parameter]) -> None:
    """Everybody gets the learner's; all call it."""
    with torch.no_grad():
        flat = torch.cat([parameter.flatten().float() for parameter in parameters])
        dist.broadcast(flat, src=0)
        _spread(flat, [parameter.data for parameter in parameters])


def digest_of(parameters: Sequence[nn.Parameter]) -> str:
    """The same for the same weights only."""
    whole = hashlib.sha256()
    for parameter in parameters:
        whole.update(parameter.detach().float().cpu().numpy().tobytes())
    return whole.hexdigest()


def _flat_gradient(parameters: Sequence[nn.Parameter]) -> Tensor:
    return torch.cat([_gradient(parameter).flatten().float() for parameter in parameters])


def _gradient(parameter: nn.Parameter) -> Tensor:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


def _spread(flat: Tensor, targets: Sequence[Tensor]) -> None:
    place = 0
    for target in targets:
        target.copy_(flat[place : place + target.numel()].view_as(target))
        place += target.numel()
