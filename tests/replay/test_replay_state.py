"""State: what is saved comes back, and nothing else does."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrl.core.errors import UserError
from distrl.replay.prioritised import PrioritisedReplay
from distrl.replay.state import ReplayStateError, seal, unseal

from .episodes import episode, make_replay, screen


def used_replay(*, seed: int = 0) -> PrioritisedReplay:
    """One that has grown, let go, been reprioritised, rebased and sampled."""
    replay = make_replay(capacity_steps=100, alpha=0.6, tau_versions=4.0, seed=seed)
    for number in range(150):
        replay.add(episode(f"{number}", versions=(5 * number,), screens=[screen(number), screen(9)]), 1.0 + number % 7)
    replay.reprioritise({f"{number}": 0.1 * (number % 11) for number in range(100, 150)})
    replay.sample(33)
    return replay


def restored(state: bytes, **settings: int) -> PrioritisedReplay:
    replay = make_replay(**{"capacity_steps": 100, **settings}, alpha=0.6, tau_versions=4.0, seed=99)
    replay.restore(state)
    return replay


def test_the_same_samples_follow_as_without_the_detour() -> None:
    straight = used_replay()
    other = restored(straight.state())

    for round_number in range(30):
        assert other.sample(8) == straight.sample(8)
        assert other.sample(3, newest=20) == straight.sample(3, newest=20)
        for replay in (straight, other):
            replay.reprioritise({f"{140 + round_number % 9}": 0.5})
            replay.add(episode(f"new{round_number}", versions=(750 + 40 * round_number,)), 2.0)
    assert other.state() == straight.state()


def test_trajectories_order_and_screens_come_back() -> None:
    straight = used_replay()
    other = restored(straight.state())

    assert other.ids() == straight.ids()
    assert (len(other), other.num_steps, other.num_screens) == (100, 100, straight.num_screens)
    assert [other.get(id) for id in other.ids()] == [straight.get(id) for id in straight.ids()]
    for number in range(100):
        other.add(episode(f"after{number}"))
    assert other.num_screens == 1


def test_a_state_replaces_everything_that_was_kept() -> None:
    replay = make_replay(capacity_steps=100, alpha=0.6, tau_versions=4.0)
    replay.add(episode("before", screens=[screen(77), screen(78)]))
    empty = make_replay(seed=3).state()
    replay.restore(empty)

    assert (len(replay), replay.num_steps, replay.num_screens) == (0, 0, 0)
    assert replay.state() == empty


def test_a_smaller_capacity_lets_go_of_the_oldest() -> None:
    straight = used_replay()

    assert restored(straight.state(), capacity_steps=7).ids() == straight.ids()[-7:]


def test_other_settings_apply_to_what_is_restored() -> None:
    saved = make_replay(alpha=1.0)
    saved.add(episode("a"), 1.0)
    saved.add(episode("b"), 3.0)
    replay = make_replay(alpha=2.0)
    replay.restore(saved.state())

    assert {s.id: s.probability for s in replay.sample(99)} == pytest.approx({"a": 0.1, "b": 0.9})


def test_a_state_whose_newest_trajectory_does_not_fit_is_refused() -> None:
    saved = make_replay()
    saved.add(episode("long", versions=(0, 0, 0)))
    replay = make_replay(capacity_steps=2)

    with pytest.raises(ReplayStateError, match="does not fit"):
        replay.restore(saved.state())
    assert len(replay) == 0


STATE = used_replay().state()


def assert_refused(data: bytes) -> None:
    replay = used_replay(seed=5)
    before = replay.state()
    with pytest.raises(ReplayStateError):
        replay.restore(data)
    assert replay.state() == before


@given(st.integers(0, len(STATE) - 1))
def test_a_state_that_was_cut_short_is_refused_and_nothing_changes(length: int) -> None:
    with pytest.raises(ReplayStateError):
        unseal(STATE[:length])


@given(st.integers(0, len(STATE) - 1), st.integers(1, 255))
def test_a_state_with_one_wrong_byte_is_refused(place: int, difference: int) -> None:
    damaged = bytearray(STATE)
    damaged[place] ^= difference
    with pytest.raises(ReplayStateError):
        unseal(bytes(damaged))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", STATE[:-1], STATE + b"x", STATE[:40], STATE[:15]])
def test_a_refused_state_changes_nothing(data: bytes) -> None:
    assert_refused(data)


def test_a_state_of_another_schema_says_which_one_can_be_read() -> None:
    other = STATE.replace(b"distrl-replay\x00\x01", b"distrl-replay\x00\x02", 1)

    with pytest.raises(ReplayStateError, match=r"schema 2.*reads schema 1"):
        make_replay().restore(other)
    assert issubclass(ReplayStateError, UserError)


def test_a_state_that_contradicts_itself_is_refused_and_nothing_changes() -> None:
    state = unseal(STATE)
    replace = msgspec.structs.replace
    poisoned = replace(state.sampler.candidates[0], priority=float("nan"))
    contradictions = [
        replace(state, trajectories=state.trajectories[1:]),
        replace(state, screens=state.screens[1:]),
        replace(state, screens=(*state.screens, state.screens[0])),
        replace(state, screens=(replace(state.screens[0], data=b"no zstd"), *state.screens[1:])),
        replace(state, rng=(3, (1, 2, 3), None)),
        replace(state, trajectories=(replace(state.trajectories[0], screens=()), *state.trajectories[1:])),
        replace(state, sampler=replace(state.sampler, num_slots=3)),
        replace(state, sampler=replace(state.sampler, scale=float("nan"))),
        replace(state, sampler=replace(state.sampler, candidates=(poisoned, *state.sampler.candidates[1:]))),
        replace(state, sampler=replace(state.sampler, candidates=(state.sampler.candidates[0],) * 100)),
    ]
    for contradiction in contradictions:
        assert_refused(seal(contradiction))


def test_a_trajectory_can_be_had_without_its_screens() -> None:
    replay = make_replay()
    replay.add(episode("a", versions=(0, 1), screens=[screen(1), screen(2), screen(3)]))
    blind, whole = replay.get_blind("a"), replay.get("a")
    assert (blind.id, len(blind.steps), blind.policy_versions) == (whole.id, 2, whole.policy_versions)
    assert {step.observation.screen.data for step in blind.steps} == {b""} == {blind.final.screen.data}
    assert whole.final.screen == screen(3)
