"""The learner: what it keeps, when it learns, what it samples and what it refuses."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from distrl.algorithms import Sampling
from distrl.core.errors import UserError
from distrl.core.types import Outcome
from distrl.policies.tiny.policy import TinyPolicy
from distrl.runtime.learner import MAX_BAD_UPDATES, DivergedError, Learner
from distrl.runtime.run_directory import MAX_BAD_BATCHES, RunDirectory
from distrl.runtime.tensors import unpack_tensors

from .fleet import plain_trajectory, real_trajectories
from .learners import BrokenGradient, FakeAlgorithm, are_equal, filled, make_learner, weights_of

COMPLAINTS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


# ---- what arrives


@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_what_says_something_about_the_policy_is_kept(outcome: Outcome) -> None:
    learner = make_learner(FakeAlgorithm())
    learner.receive(plain_trajectory("a", outcome=outcome))
    is_kept = outcome not in (Outcome.ABORTED_DEVICE, Outcome.ABORTED_JUDGE, Outcome.ABORTED_POLICY)
    assert learner.num_received == 1
    assert learner.num_untrainable == (not is_kept)
    assert learner.replay.ids() == (("a",) if is_kept else ())


def test_updates_follow_the_steps_that_arrive_after_the_warm_up() -> None:
    learner = make_learner(FakeAlgorithm(), warmup_trajectories=3, new_steps_per_update=8.0)
    made = []
    for n in range(12):
        learner.receive(plain_trajectory(f"{n}", num_steps=3))
        made.append(len(list(learner.update_while_due())))
    # Three trajectories are for nothing; then 3 steps each, and an update for every 8.
    assert np.cumsum(made).tolist() == [0, 0, 0, *((3 * n) // 8 for n in range(1, 10))]


def test_one_long_trajectory_can_be_worth_several_updates() -> None:
    learner = make_learner(FakeAlgorithm(), warmup_trajectories=1, new_steps_per_update=2.0)
    learner.receive(plain_trajectory("a"))
    learner.receive(plain_trajectory("b", num_steps=7))
    assert len(list(learner.update_while_due())) == 3
    assert list(learner.update_while_due()) == []
    assert learner.num_updates == 3


def test_what_could_not_be_kept_earns_no_update() -> None:
    learner = make_learner(FakeAlgorithm(), warmup_trajectories=1, new_steps_per_update=2.0)
    learner.receive(plain_trajectory("a"))
    learner.receive(plain_trajectory("b", num_steps=6, outcome=Outcome.ABORTED_DEVICE))
    assert list(learner.update_while_due()) == []


def test_what_replay_lets_go_of_is_forgotten() -> None:
    learner = make_learner(FakeAlgorithm(), capacity_steps=7)
    for n in range(5):
        learner.receive(plain_trajectory(f"{n}", num_steps=3))
    assert learner.replay.ids() == ("3", "4")
    learner.evaluate(["3", "4"], [1.0, 1.0])
    for gone in ("0", "1", "2"):
        with pytest.raises(KeyError):
            learner.evaluate([gone], [1.0])


def test_versions_are_published_every_so_many_updates() -> None:
    learner = filled(FakeAlgorithm(), publish_every_updates=3)
    versions = []
    for _ in range(7):
        learner.update()
        versions.append(learner.policy.version)
    assert versions == [0, 0, 1, 1, 1, 2, 2]


# ---- what is sampled


def test_priorities_of_the_algorithm_reach_replay() -> None:
    algorithm = FakeAlgorithm(Sampling(is_prioritised=True))
    learner = filled(algorithm, count=3, batch_trajectories=64)
    ids = learner.replay.ids()
    algorithm.next_priorities = [5.0]
    learner.update()
    drawn = {s.id: s.probability for s in learner.replay.sample(200)}
    assert drawn == pytest.approx(dict.fromkeys(ids, 1 / 3))
    learner.receive(plain_trajectory("new"))
    drawn = {s.id: s.probability for s in learner.replay.sample(300)}
    assert drawn == pytest.approx(dict.fromkeys((*ids, "new"), 1 / 4)), "what is new counts as much as the best so far"


def test_what_came_before_the_first_priorities_counts_as_the_best_of_them_until_it_is_drawn() -> None:
    algorithm = FakeAlgorithm(Sampling(is_prioritised=True))
    learner = make_learner(algorithm, batch_trajectories=2)
    for n in range(6):
        learner.receive(plain_trajectory(f"{n}", num_steps=n + 1))
    algorithm.next_priorities = [8.0, 2.0]
    learner.update()
    first, second = (int(mask.sum()) - 1 for mask in algorithm.batches[0].mask_bt)
    expected = dict.fromkeys(map(str, range(6)), 8.0) | {f"{first}": 8.0, f"{second}": 2.0}
    total = sum(expected.values())
    drawn = {s.id: s.probability for s in learner.replay.sample(2000)}
    assert drawn == pytest.approx({name: priority / total for name, priority in expected.items()})


def test_an_algorithm_without_priorities_samples_uniformly_whatever_it_says() -> None:
    algorithm = FakeAlgorithm(Sampling(is_prioritised=False))
    algorithm.next_priorities = [1.0, 9.0]
    learner = filled(algorithm, count=4, batch_trajectories=32)
    learner.update()
    assert {s.probability for s in learner.replay.sample(50)} == {0.25}


@pytest.mark.parametrize("alpha", [1.0, 0.5, 0.25])
def test_surprises_are_sampled_more_often_and_as_much_more_for_every_algorithm(alpha: float) -> None:
    learner = make_learner(FakeAlgorithm(Sampling(alpha=alpha)), is_adaptive=True)
    for n in range(60):
        learner.receive(plain_trajectory(f"{n}", outcome=Outcome.FAILED))
    learner.receive(plain_trajectory("won", outcome=Outcome.SUCCEEDED))
    learner.receive(plain_trajectory("lost", outcome=Outcome.FAILED))
    drawn = {s.id: s.probability for s in learner.replay.sample(3000)}
    # Success was expected in 0.5 * 0.97 ** 60 = 8 % of the cases, then in 11 %: 0.94 against 0.13, and their roots.
    assert drawn["won"] / drawn["lost"] == pytest.approx((0.94 / 0.13) ** 0.5, rel=0.03)


@pytest.mark.parametrize(("beta", "power"), [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)])
def test_what_is_sampled_too_often_weighs_less(beta: float, power: float) -> None:
    algorithm = FakeAlgorithm(Sampling(is_prioritised=True, correction_beta=beta))
    learner = make_learner(algorithm, batch_trajectories=64)
    for n in range(3):
        learner.receive(plain_trajectory(f"{n}", num_steps=n + 1))
    learner.replay.reprioritise({"0": 1.0, "1": 4.0, "2": 16.0})
    learner.update()
    (batch,) = algorithm.batches
    by_length = dict(zip(batch.mask_bt.sum(dim=1).tolist(), batch.weight_b.tolist(), strict=True))
    # Probabilities are 1 : 4 : 16, the rarest weighs 1.
    assert by_length == pytest.approx({1: 1.0, 2: 4.0**-power, 3: 16.0**-power})


def test_an_on_policy_algorithm_sees_the_newest_only() -> None:
    algorithm = FakeAlgorithm(Sampling(window_trajectories=2))
    learner = make_learner(algorithm, batch_trajectories=50)
    for n in range(5):
        learner.receive(plain_trajectory(f"{n}", num_steps=n + 1))
    learner.update()
    assert set(algorithm.batches[0].mask_bt.sum(dim=1).tolist()) == {4, 5}


@pytest.mark.parametrize(("fresh_share", "num_fresh"), [(0.0, 0), (0.25, 2), (0.5, 4)])
def test_a_share_of_each_batch_is_the_newest_there_is_each_once(fresh_share: float, num_fresh: int) -> None:
    algorithm = FakeAlgorithm(Sampling(is_prioritised=True))
    learner = make_learner(algorithm, batch_trajectories=8, fresh_share=fresh_share)
    for n in range(9):
        learner.receive(plain_trajectory(f"{n}", num_steps=n + 1))
    # By priority only the very first would come.
    learner.replay.reprioritise({f"{n}": 0.0 for n in range(1, 9)})
    learner.update()
    lengths = algorithm.batches[0].mask_bt.sum(dim=1).tolist()
    assert lengths == [1] * (8 - num_fresh) + list(range(10 - num_fresh, 10))


def test_there_can_be_fewer_new_ones_than_wanted() -> None:
    algorithm = FakeAlgorithm()
    learner = make_learner(algorithm, batch_trajectories=8, fresh_share=1.0)
    for n in range(3):
        learner.receive(plain_trajectory(f"{n}", num_steps=n + 1))
    learner.update()
    assert sorted(algorithm.batches[0].mask_bt.sum(dim=1).tolist()[-3:]) == [1, 2, 3]
    assert len(algorithm.batches[0].mask_bt) == 8


# ---- what is learned


def test_an_update_makes_the_loss_smaller() -> None:
    algorithm = FakeAlgorithm()
    learner = filled(algorithm, count=1, learning_rate=1e-2)
    losses = [learner.update()["loss"] for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 1.0


def test_the_learning_rate_falls_evenly_to_what_is_to_be_left_and_steps_with_it() -> None:
    learner = filled(FakeAlgorithm(), learning_rate=1e-2, learning_rate_left=0.1)
    moved, told = [], []
    for learner.share_done in (0.0, 0.5, 1.0, 1.2):
        learner.optimiser.state.clear()  # Adam's first step is as long as its rate, whatever the gradient
        before = weights_of(learner)
        told.append(learner.update()["learning_rate"])
        moved.append(max(float((a - b).abs().max()) for a, b in zip(before, weights_of(learner), strict=True)))
    assert told == pytest.approx([0.01, 0.0055, 0.001, 0.001])
    assert moved == pytest.approx(told, rel=1e-2)


def test_gradients_are_cut_to_their_longest_length_and_told_as_they_were() -> None:
    algorithm = FakeAlgorithm()
    algorithm.factor = 100.0
    learner = filled(algorithm, max_gradient_norm=0.5)
    metrics = learner.update()
    norm = torch.stack([p.grad.norm() for p in learner.policy.parameters() if p.grad is not None]).norm()
    assert metrics["gradient_norm"] > 50.0
    assert float(norm) == pytest.approx(0.5, rel=1e-3)
    assert metrics["steps"] == float(algorithm.batches[0].mask_bt.sum())


@pytest.mark.parametrize("complaint", [*COMPLAINTS, "gradient"])
def test_a_loss_or_gradient_that_is_not_finite_changes_nothing_and_is_counted(complaint: str) -> None:
    algorithm = BrokenGradient() if complaint == "gradient" else FakeAlgorithm()
    algorithm.factor = COMPLAINTS.get(complaint, 1.0)
    learner = filled(algorithm)
    before, remembered = weights_of(learner), learner.optimiser_tensors()
    metrics = learner.update()
    assert are_equal(weights_of(learner), before)
    assert learner.optimiser_tensors() == remembered == {}
    assert (learner.num_bad_updates, learner.num_updates, learner.policy.version) == (1, 1, 0)
    assert not np.isfinite(metrics["loss"]) or not np.isfinite(metrics["gradient_norm"])


def test_after_a_bad_update_learning_goes_on() -> None:
    algorithm = FakeAlgorithm()
    learner = filled(algorithm)
    algorithm.factor = float("nan")
    learner.update()
    algorithm.factor = 1.0
    before = weights_of(learner)
    learner.update()
    assert not are_equal(weights_of(learner), before)
    assert all(bool(p.isfinite().all()) for p in learner.policy.parameters())


def test_ten_bad_updates_in_a_row_end_the_run() -> None:
    algorithm = FakeAlgorithm()
    learner = filled(algorithm)
    before = weights_of(learner)
    algorithm.factor = float("nan")
    for _ in range(MAX_BAD_UPDATES - 1):
        learner.update()
    with pytest.raises(DivergedError, match="10 updates in a row"):
        learner.update()
    assert learner.num_bad_updates == 10
    assert are_equal(weights_of(learner), before)


def test_a_good_update_forgives_the_bad_ones_before_it() -> None:
    algorithm = FakeAlgorithm()
    learner = filled(algorithm)
    for _ in range(2):
        algorithm.factor = float("nan")
        for _ in range(MAX_BAD_UPDATES - 1):
            learner.update()
        algorithm.factor = 1.0
        learner.update()
    assert learner.num_bad_updates == 18


# ---- what is kept of what was refused


def that_keeps(learner: Learner, run: RunDirectory) -> Learner:
    """The same learner, as a run makes it."""
    return Learner(
        learner.policy,
        learner.algorithm,
        learner.replay,
        learner._curriculum,
        learner.options,
        on_bad_batch=run.keep_bad_batch,
    )


def with_poison(tmp_path: Path) -> tuple[Learner, RunDirectory, FakeAlgorithm]:
    """A learner whose replay has one trajectory with a probability that is not a number, and two without."""

    class Importance(FakeAlgorithm):
        def loss(self, batch: Any, evaluation: Any) -> Any:
            _, metrics = super().loss(batch, evaluation)
            return (evaluation.log_prob_bt - batch.behaviour_log_prob_bt).sum(), metrics

    algorithm, run = Importance(), RunDirectory(tmp_path)
    learner = that_keeps(make_learner(algorithm, batch_trajectories=12), run)
    for n in range(3):
        trajectory = plain_trajectory(f"{n}", version=5 + n)
        if n == 1:
            bad = msgspec.structs.replace(trajectory.steps[0].decision, log_prob=float("nan"))
            steps = (msgspec.structs.replace(trajectory.steps[0], decision=bad), *trajectory.steps[1:])
            trajectory = msgspec.structs.replace(trajectory, steps=steps)
        learner.receive(trajectory)
    return learner, run, algorithm


def test_a_batch_that_was_refused_is_kept_with_ids_versions_and_tensors(tmp_path: Path) -> None:
    learner, run, algorithm = with_poison(tmp_path)
    learner.update()
    assert (learner.num_bad_updates, learner.policy.version) == (1, 0)
    facts = json.loads((tmp_path / "bad_batches" / "update-000000001.json").read_text())
    assert facts["not_finite"] == ["behaviour_log_prob_bt"]
    assert set(facts["ids"]) == {"0", "1", "2"}
    assert [5 + int(name) for name in facts["ids"]] == [version for (version,) in facts["versions"]]
    assert "the loss is nan" in facts["reason"]
    tensors = unpack_tensors((tmp_path / "bad_batches" / "update-000000001.safetensors").read_bytes())
    (batch,) = algorithm.batches
    assert torch.equal(tensors["behaviour_log_prob_bt"].isnan(), batch.behaviour_log_prob_bt.isnan())
    assert torch.equal(tensors["mask_bt"], batch.mask_bt)
    rows = tensors["behaviour_log_prob_bt"].isnan().any(dim=1).tolist()
    assert [name == "1" for name in facts["ids"]] == rows, "which trajectory it is, the row says"
    (event,) = run.read("events")
    assert event["event"] == "update refused"
    assert event["num_bad_updates"] == 1
    assert event["batch"].endswith("bad_batches/update-000000001.json")


def test_three_bad_batches_of_a_run_are_kept_over_all_its_lives_and_the_end_names_one(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    algorithm = FakeAlgorithm()
    algorithm.factor = float("nan")
    learner = that_keeps(make_learner(algorithm), run)
    for trajectory in real_trajectories()[:8]:
        learner.receive(trajectory)
    for _ in range(2):
        learner.update()
    restarted = that_keeps(learner, RunDirectory(tmp_path))
    restarted.restore(learner.plain_state(), learner.optimiser_tensors())
    for _ in range(MAX_BAD_UPDATES - 3):
        restarted.update()
    with pytest.raises(DivergedError, match=r"kept in .*bad_batches/update-000000003\.json"):
        restarted.update()
    names = sorted(path.name for path in (tmp_path / "bad_batches").iterdir())
    expected = [f"update-{n:09d}.{kind}" for n in (1, 2, 3) for kind in ("json", "safetensors")]
    assert names == expected
    assert MAX_BAD_BATCHES == 3
    assert [bool(event["batch"]) for event in run.read("events")] == [True] * 3 + [False] * 7


def test_a_bad_batch_that_cannot_be_kept_is_no_reason_to_stop(tmp_path: Path) -> None:
    learner, run, _ = with_poison(tmp_path)
    (tmp_path / "bad_batches").write_text("a file, where a directory has to be")
    learner.update()
    assert learner.num_bad_updates == 1
    (event,) = run.read("events")
    assert event["batch"] == ""


def test_a_priority_that_is_not_finite_refuses_the_update_too(tmp_path: Path) -> None:
    algorithm = FakeAlgorithm(Sampling(is_prioritised=True))
    learner = filled(algorithm)
    before = weights_of(learner)
    algorithm.next_priorities = [1.0, float("nan")]
    learner.update()
    assert learner.num_bad_updates == 1
    assert are_equal(weights_of(learner), before)
    algorithm.next_priorities = []
    learner.update()
    assert not are_equal(weights_of(learner), before)


def test_weights_that_are_not_finite_end_the_run_before_they_are_a_version() -> None:
    learner = filled(FakeAlgorithm(), publish_every_updates=1)
    learner.update()
    assert learner.policy.version == 1
    # Loss and gradient are finite; what the optimiser remembers is not.
    next(iter(learner.optimiser.state.values()))["exp_avg"].fill_(float("inf"))
    with pytest.raises(DivergedError, match="update 2 made weights that are not finite"):
        learner.update()
    assert learner.policy.version == 1


def test_nobody_starts_from_weights_that_are_not_finite() -> None:
    policy = TinyPolicy("text", seed=7)
    with torch.no_grad():
        policy.parameters()[0].view(-1)[0] = float("inf")
    with pytest.raises(UserError, match="not all finite"):
        make_learner(FakeAlgorithm(), policy=policy)


def test_how_old_the_batch_is_is_told() -> None:
    learner = make_learner(FakeAlgorithm(), batch_trajectories=40, publish_every_updates=100)
    for version in (1, 4):
        learner.receive(plain_trajectory(f"of {version}", version=version))
    learner.policy.version = 7
    told = learner.update()
    assert told["age_max"] == 6.0
    assert 3.0 < told["age_mean"] < 6.0
