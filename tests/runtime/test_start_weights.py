"""Where a run starts from: nothing, a file, or the imitation that is shipped; and files that are no weights."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from distrl.core.errors import UserError
from distrl.policies.tiny.policy import TinyPolicy
from distrl.runtime.policies import SHIPPED, imitation_path, load_start, read_weights
from distrl.runtime.tensors import pack_tensors, unpack_tensors

from . import fleet

IMITATIONS = sorted(p.stem for p in SHIPPED.glob("imitation-*.safetensors"))


def equal(one: TinyPolicy, other: TinyPolicy) -> bool:
    return all(torch.equal(t, other.tensors()[name]) for name, t in one.tensors().items())


def test_from_scratch_the_seed_decides() -> None:
    one, same, other = (load_start(fleet.settings(seed)) for seed in (1, 1, 2))
    assert equal(one, same)
    assert not equal(one, other)


@pytest.mark.parametrize("eye", ["encoder", "widgets"])
def test_in_pixels_the_eyes_are_the_shipped_ones(eye: str) -> None:
    policy = load_start(fleet.settings(policy={"mode": "pixels", "start": "scratch"}))
    shipped = read_weights(SHIPPED / f"{eye}.safetensors")
    assert {name: t.tolist() for name, t in getattr(policy.module, eye).state_dict().items()} == {
        name: t.tolist() for name, t in shipped.items()
    }


def test_a_file_of_weights_is_taken_up_whatever_the_seed(tmp_path: Path) -> None:
    trained = TinyPolicy("text", seed=42)
    file = tmp_path / "mine.safetensors"
    file.write_bytes(pack_tensors(trained.tensors(), {"version": "3"}))
    assert equal(load_start(fleet.settings(5, policy={"start": str(file)})), trained)


def test_weights_of_the_other_mode_are_the_users_mistake(tmp_path: Path) -> None:
    file = tmp_path / "pixels.safetensors"
    file.write_bytes(pack_tensors(TinyPolicy("pixels").tensors()))
    with pytest.raises(UserError, match="do not fit a tiny policy in text mode"):
        load_start(fleet.settings(policy={"start": str(file)}))


def test_a_file_that_is_not_there_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read weights from .*nothing"):
        load_start(fleet.settings(policy={"start": str(tmp_path / "nothing")}))
    with pytest.raises(UserError, match="cannot read weights"):
        load_start(fleet.settings(policy={"start": str(tmp_path)}))


def test_an_imitation_that_is_not_shipped_says_how_to_make_one() -> None:
    with pytest.raises(UserError, match=r"distrl imitate --suite nowhere --mode text"):
        imitation_path("nowhere", "text")


@pytest.mark.parametrize("name", IMITATIONS)
def test_every_shipped_imitation_can_be_started_from(name: str) -> None:
    _, suite, mode = name.split("-")
    policy = load_start(fleet.settings(tasks={"suite": suite}, policy={"mode": mode, "start": "imitation"}))
    shipped = read_weights(SHIPPED / f"{name}.safetensors")
    assert {n for n in shipped if n.startswith("network.")} == {n for n in policy.tensors() if n.startswith("network.")}
    assert all(torch.equal(t, policy.tensors()[n]) for n, t in shipped.items())


def test_tensors_come_back_as_they_were() -> None:
    tensors = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor(3), "c": torch.zeros(0), "d": torch.eye(3)[:, 1]}
    back = unpack_tensors(pack_tensors(tensors, {"version": "1"}))
    assert back.keys() == tensors.keys()
    assert all(torch.equal(back[name], t) and back[name].dtype == t.dtype for name, t in tensors.items())


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=300), st.integers(0, 150).map(lambda n: pack_tensors({"a": torch.eye(4)})[:n])))
def test_what_is_no_safetensors_file_is_refused(data: bytes) -> None:
    with pytest.raises(UserError, match="not a safetensors file"):
        unpack_tensors(data)
