"""The sum tree: points fall where the weights are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrl.replay.sum_tree import FAN_OUT, SumTree

weight_lists = st.lists(
    st.one_of(st.just(0.0), st.floats(min_value=1e-20, max_value=1e20)), min_size=1, max_size=3 * FAN_OUT
).filter(any)


def tree_of(weights: list[float]) -> SumTree:
    tree = SumTree(len(weights))
    for slot, weight in enumerate(weights):
        tree.set(slot, weight)
    return tree


def test_points_fall_into_the_slots_that_cover_them() -> None:
    tree = tree_of([1.0, 0.0, 2.0, 3.0])

    assert tree.total == 6.0
    assert tree.find(np.array([0.0, 0.999, 1.0, 2.999, 3.0, 5.999])).tolist() == [0, 0, 2, 2, 3, 3]


@pytest.mark.parametrize("num_slots", [1, FAN_OUT - 1, FAN_OUT, FAN_OUT + 1, FAN_OUT**2, FAN_OUT**2 + 1])
def test_every_slot_is_found_in_trees_of_every_height(num_slots: int) -> None:
    tree = tree_of([1.0] * num_slots)

    assert tree.total == num_slots
    assert tree.find(np.arange(num_slots) + 0.5).tolist() == list(range(num_slots))


@given(weight_lists, st.lists(st.floats(min_value=0.0, max_value=1.0), min_size=1, max_size=20))
def test_a_slot_of_weight_zero_is_never_found(weights: list[float], shares: list[float]) -> None:
    tree = tree_of(weights)

    found = tree.find(np.array(shares) * tree.total)
    assert all(weights[slot] > 0.0 for slot in found.tolist())


@given(weight_lists, st.data())
def test_a_tree_does_not_remember_what_its_weights_were_before(weights: list[float], data: st.DataObject) -> None:
    slots = st.integers(0, len(weights) - 1)
    detour = data.draw(st.lists(st.tuples(slots, st.floats(min_value=0.0, max_value=1e30)), max_size=20))
    straight, roundabout = tree_of(weights), SumTree(len(weights))
    for slot, weight in detour:
        roundabout.set(slot, weight)
        assert roundabout.total >= 0.0
    for slot in data.draw(st.permutations(range(len(weights)))):
        roundabout.set(slot, weights[slot])

    points = np.linspace(0.0, straight.total, 50, endpoint=False)
    assert roundabout.total == straight.total
    assert roundabout.find(points).tolist() == straight.find(points).tolist()


def test_changes_carried_up_together_are_the_same_as_one_by_one() -> None:
    together, one_by_one = SumTree(5000), SumTree(5000)
    for slot, weight in {0: 0.1, 31: 0.2, 32: 0.3, 1023: 0.4, 1024: 0.5, 4999: 0.6}.items():
        together.set(slot, weight)
        before = one_by_one.total
        one_by_one.set(slot, weight)
        assert one_by_one.total == pytest.approx(before + weight)

    assert together.weights(np.array([32, 33, 4999])).tolist() == [0.3, 0.0, 0.6]
    assert together.total == one_by_one.total == pytest.approx(2.1)


def test_a_change_is_seen_by_whoever_looks_next() -> None:
    tree = tree_of([1.0, 1.0])
    assert tree.find(np.array([0.5])).tolist() == [0]

    tree.set(0, 0.25)
    assert tree.find(np.array([0.5])).tolist() == [1]
    tree.set(0, 0.75)
    assert tree.weights(np.array([0])).tolist() == [0.75]
    tree.set(1, 0.5)
    assert tree.total == 1.25


def test_a_tree_without_slots_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        SumTree(0)
