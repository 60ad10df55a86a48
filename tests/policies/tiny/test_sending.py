"""What a worker saw travels: its learner computes the same without a screen, and believes nothing that does not fit."""

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrl.core.clock import run_virtual
from distrl.core.config import config_of
from distrl.core.types import Trajectory
from distrl.policies.tiny.batch import collate
from distrl.policies.tiny.familiar_words import vocabulary
from distrl.policies.tiny.features import Moment
from distrl.policies.tiny.policy import Mode, TinyPolicy
from distrl.policies.tiny.sending import pack, unpack
from distrl.policies.tiny.words import words_of
from distrl.replay.packing import without_screens
from distrl.runtime.evaluation import evaluate
from distrl.runtime.policies import SHIPPED, load_eyes
from distrl.runtime.wire import decode, encode
from distrl.tasks.book import load_tasks

from .screens import act_along, demonstrations, make_policy


def sent(mode: Mode = "pixels", count: int = 6) -> list[tuple[Trajectory, bytes]]:
    policy = make_policy(mode)
    acted = act_along(policy, demonstrations()[:count])
    return [(t, pack(policy.prepare(t).moments, policy.eyes)) for t in acted]


def unseeing(mode: Mode = "pixels") -> TinyPolicy:
    """The same policy in another process, which has seen nothing."""
    policy = TinyPolicy(mode, seed=1)
    if mode == "pixels":
        load_eyes(policy, SHIPPED)
    return policy


def told_to(policy: TinyPolicy, moments: tuple[Moment, ...]) -> dict[str, Any]:
    batch = collate(moments, policy.eyes)
    return {
        "texts": batch.texts[batch.element_rows],
        "looks": batch.looks[batch.element_rows],
        "words": batch.request_words[batch.word_rows],
        **{n: getattr(batch, n) for n in ("word_seen", "element_seen", "state")},
        **{f"alike {n}": group.alike for n, group in enumerate(batch.groups)},
        "stuck": batch.is_stuck,
        "touched": batch.looks[batch.past[:, :, 1]],
        "past": batch.past[:, :, [0, 2, 3]],
    }


@pytest.mark.parametrize("mode", ["pixels", "text"])
def test_a_network_elsewhere_is_told_the_same(mode: Mode) -> None:
    here, there = make_policy(mode), unseeing(mode)
    for trajectory, data in sent(mode):
        num_words = len(words_of(trajectory.task.instruction))
        arrived = unpack(data, num_words=num_words, count=len(trajectory.steps) + 1, eyes=there.eyes)
        assert arrived is not None
        wanted = told_to(here, here.prepare(trajectory).moments)
        for name, numbers in told_to(there, arrived).items():
            assert numbers.numpy() == pytest.approx(wanted[name].numpy(), abs=1e-5), name


def test_a_learner_without_screens_computes_what_was_recorded() -> None:
    worker, learner = make_policy("pixels"), unseeing()
    arrived = [decode(encode(worker.with_features(t))) for t in act_along(worker, demonstrations()[:8])]
    prepared = [learner.prepare(without_screens(t)) for t in arrived]
    moments = [m for p in prepared for m in p.moments[:-1]]
    said = learner.judge(moments, np.concatenate([p.choices for p in prepared]))
    recorded = [step.decision.log_prob for t in arrived for step in t.steps]
    assert said.log_prob.tolist() == pytest.approx(recorded, abs=1e-5)


def test_it_is_small_since_names_and_pixels_stay_behind() -> None:
    trajectory, data = sent(count=1)[0]
    assert len(data) < 10_000 * (len(trajectory.steps) + 1)


# ---- what does not fit


def changed(data: bytes, *, moment: tuple[int, Any] | None = None, **fields: Any) -> bytes:
    """The same with other words, elements or looks, or another field of the first moment."""
    parcel = dict(zip(("words", "elements", "looks", "moments"), msgspec.msgpack.decode(data), strict=True)) | fields
    if moment:
        parcel["moments"][0][moment[0]] = moment[1]
    return msgspec.msgpack.encode(list(parcel.values()))


def numbers(data: bytes, value: float) -> bytes:
    found = np.frombuffer(msgspec.msgpack.decode(data)[3][0][2], np.float32).copy()
    found[-1] = value
    return found.tobytes()


def past(verb: int = 0, element: int = 0, word: int = 0) -> bytes:
    rows = np.zeros((4, 4), np.int32)
    rows[0] = (verb, element, word, word)
    return rows.tobytes()


def test_what_does_not_fit_is_not_taken() -> None:
    (trajectory, data), *_ = sent(count=1)
    eyes = unseeing().eyes
    num_words, count = len(words_of(trajectory.task.instruction)), len(trajectory.steps) + 1
    words, elements, looks, _ = msgspec.msgpack.decode(data)

    def is_taken(data: bytes, *, count: int = count) -> bool:
        return unpack(data, num_words=num_words, count=count, eyes=eyes) is not None

    assert is_taken(data)
    assert is_taken(changed(data, moment=(1, past(verb=1, element=1, word=num_words))))
    assert not is_taken(data, count=count - 1)
    assert not is_taken(changed(data, words=words[:-1]))
    for number in (-2, len(vocabulary())):
        assert not is_taken(changed(data, words=[number, *words[1:]]))
        assert not is_taken(changed(data, elements=[[number], *elements[1:]]))
    assert not is_taken(changed(data, elements=elements[1:]))
    assert not is_taken(changed(data, looks=looks[4:]))
    assert not is_taken(changed(data, looks=np.full(1, np.nan, np.float32).tobytes() + looks[4:]))
    for value in (np.nan, np.inf, 1e9):
        assert not is_taken(changed(data, moment=(2, numbers(data, value))))
    for place in (0, -1, 10_000):
        assert not is_taken(changed(data, moment=(0, np.array([place], np.int32).tobytes())))
    for bad in (past(verb=99), past(verb=-1), past(element=10_000), past(word=num_words + 1), b"\0" * 60):
        assert not is_taken(changed(data, moment=(1, bad)))


@given(st.binary(max_size=64) | st.integers(0, 200).map(lambda n: sent(count=1)[0][1][:n]))
def test_damage_is_no_more_than_work_to_do_again(data: bytes) -> None:
    trajectory = sent(count=1)[0][0]
    policy = make_policy("pixels")
    wanted = policy.prepare(trajectory).moments
    made = policy.prepare(msgspec.structs.replace(trajectory, features=data)).moments
    assert [m.state.tolist() for m in made] == [m.state.tolist() for m in wanted]


# ---- who sends it


@pytest.mark.parametrize(("mode", "is_sent"), [("pixels", True), ("text", False)])
def test_a_worker_sends_what_takes_long_to_read(mode: Mode, is_sent: bool) -> None:
    policy = make_policy(mode)
    config = config_of({"policy": {"mode": mode}})
    tasks = load_tasks("general", "train")[:2]
    played = run_virtual(evaluate(policy, tasks, config, is_greedy=True, snapshot=policy.snapshot()))
    assert [bool(t.features) for t in played] == [is_sent] * 2
