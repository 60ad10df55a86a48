"""The learner: what it keeps, when it learns, what it refuses, and that every number stands where it belongs."""

from collections.abc import Mapping
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor

from distrl.algorithms import ALGORITHMS, Algorithm, Batch, Evaluation, Sampling, make_algorithm
from distrl.core.types import Decision, Invalid, Outcome, Trajectory
from distrl.policies.tiny.policy import TinyPolicy
from distrl.replay.prioritised import PrioritisedReplay
from distrl.runtime.curriculum import Curriculum
from distrl.runtime.learner import MAX_BAD_UPDATES, DivergedError, Learner, LearnerOptions

from .fleet import declared, plain_trajectory, real_policy, real_trajectories, shortened, task

COMPLAINTS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


class FakeAlgorithm:
    """Makes what was done likelier, times `factor`; remembers what it was shown; gives the priorities it is told."""

    def __init__(self, sampling: Sampling | None = None) -> None:
        self.sampling = sampling or Sampling()
        self.factor: Tensor | float = 1.0
        self.batches: list[Batch] = []
        self.evaluations: list[Evaluation] = []
        self.next_priorities: list[float] = []

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, Mapping[str, Tensor]]:
        self.batches.append(batch)
        self.evaluations.append(evaluation)
        loss = -evaluation.log_prob_bt.sum() * self.factor
        return loss, {"steps": batch.mask_bt.sum()}

    def priorities(self, batch: Batch, evaluation: Evaluation) -> Tensor:
        given = self.next_priorities or [1.0]
        return torch.tensor([given[n % len(given)] for n in range(len(batch.weight_b))])


class BrokenGradient(FakeAlgorithm):
    """A finite loss whose gradient is not: the root of 0."""

    def loss(self, batch: Batch, evaluation: Evaluation) -> tuple[Tensor, Mapping[str, Tensor]]:
        return (evaluation.log_prob_bt.sum() * 0.0).sqrt(), {}


def make_learner(
    algorithm: Algorithm,
    *,
    policy: TinyPolicy | None = None,
    capacity_steps: int = 10_000,
    is_adaptive: bool = False,
    **options: Any,
) -> Learner:
    sampling = algorithm.sampling
    replay = PrioritisedReplay(
        capacity_steps=capacity_steps,
        alpha=sampling.alpha,
        freshness_tau_versions=sampling.freshness_tau_versions,
        rng=Random(1),
    )
    chosen = LearnerOptions(**{"batch_trajectories": 6, "warmup_trajectories": 1, **options})
    curriculum = Curriculum([task()], Random(2), is_adaptive=is_adaptive)
    return Learner(policy or TinyPolicy("text", seed=7), algorithm, replay, curriculum, chosen)


def filled(algorithm: Algorithm, *, count: int = 8, **settings: Any) -> Learner:
    learner = make_learner(algorithm, **settings)
    for trajectory in real_trajectories()[:count]:
        learner.receive(trajectory)
    return learner


def weights_of(learner: Learner) -> list[Tensor]:
    return [p.detach().clone() for p in learner.policy.parameters()]


def are_equal(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


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


def test_an_algorithm_without_priorities_samples_uniformly_whatever_it_says() -> None:
    algorithm = FakeAlgorithm(Sampling(is_prioritised=False))
    algorithm.next_priorities = [1.0, 9.0]
    learner = filled(algorithm, count=4, batch_trajectories=32)
    learner.update()
    assert {s.probability for s in learner.replay.sample(50)} == {0.25}


def test_surprises_are_sampled_more_often() -> None:
    learner = make_learner(FakeAlgorithm(), is_adaptive=True)
    for n in range(60):
        learner.receive(plain_trajectory(f"{n}", outcome=Outcome.FAILED))
    learner.receive(plain_trajectory("won", outcome=Outcome.SUCCEEDED))
    learner.receive(plain_trajectory("lost", outcome=Outcome.FAILED))
    drawn = {s.id: s.probability for s in learner.replay.sample(3000)}
    # Success was expected in 0.5 * 0.97 ** 60 = 8 % of the cases: 0.94 against 0.13.
    assert 5 < drawn["won"] / drawn["lost"] < 9


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


@pytest.mark.parametrize(("fresh_share", "num_fresh"), [(0.0, 0), (0.25, 2), (1.0, 8)])
def test_a_share_of_each_batch_is_the_newest_there_is(fresh_share: float, num_fresh: int) -> None:
    algorithm = FakeAlgorithm(Sampling(is_prioritised=True))
    learner = make_learner(algorithm, batch_trajectories=8, fresh_share=fresh_share)
    for n in range(20):
        learner.receive(plain_trajectory(f"{n}", num_steps=1 if n < 10 else 2))
    # By priority only the old ones would come.
    learner.replay.reprioritise({f"{n}": 0.0 for n in range(10, 20)})
    learner.update()
    assert int((algorithm.batches[0].mask_bt.sum(dim=1) == 2).sum()) == num_fresh


# ---- what is learned


def test_an_update_makes_the_loss_smaller() -> None:
    algorithm = FakeAlgorithm()
    learner = filled(algorithm, count=1, learning_rate=1e-2)
    losses = [learner.update()["loss"] for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 1.0


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


# ---- everything in its place


def mixed() -> list[Trajectory]:
    """Lengths 4, 1, all, 2 and 3; succeeded, truncated, failed."""
    real = sorted(real_trajectories(), key=lambda t: len(t.steps), reverse=True)
    return [
        declared(shortened(real[0], 4), Outcome.SUCCEEDED),
        shortened(real[1], 1),
        declared(real[2], Outcome.TRUNCATED_STEPS),
        declared(shortened(real[3], 2), Outcome.FAILED),
        shortened(real[4], 3),
    ]


def test_trajectories_of_all_lengths_and_ends_are_evaluated_as_each_would_be_alone() -> None:
    learner = make_learner(FakeAlgorithm(), policy=real_policy())
    chosen = mixed()
    for trajectory in chosen:
        learner.receive(trajectory)
    order = [2, 0, 4, 1, 3, 0]
    batch, evaluation = learner.evaluate([chosen[i].id for i in order], [1.0] * len(order))
    longest = max(len(t.steps) for t in chosen)
    assert evaluation.log_prob_bt.shape == (6, longest)
    assert evaluation.value_logit_kbs.shape == (2, 6, longest + 1)
    for row, trajectory in enumerate(chosen[i] for i in order):
        length = len(trajectory.steps)
        prepared = real_policy().prepare(trajectory)
        choices = np.concatenate((prepared.choices, np.zeros((1, 3), np.int64)))
        alone = real_policy().judge(prepared.moments, choices)
        expected_log_probs = [*alone.log_prob[:length].tolist(), *[0.0] * (longest - length)]
        assert evaluation.log_prob_bt[row].tolist() == pytest.approx(expected_log_probs, abs=1e-5)
        assert evaluation.entropy_bt[row, :length].tolist() == pytest.approx(alone.entropy[:length].tolist(), abs=1e-5)
        assert not evaluation.entropy_bt[row, length:].any()
        # The state after the last step has a value only where the episode might have gone on.
        num_states = length if trajectory.outcome.is_terminal else length + 1
        values = evaluation.value_logit_kbs[:, row].detach()
        assert values[:, :num_states] == pytest.approx(alone.value_logits[:, :num_states].detach(), abs=1e-5)
        assert not values[:, num_states:].any()
        assert float(evaluation.trajectory_value_logit_b[row].detach()) == pytest.approx(
            float(alone.trajectory_value_logit[0].detach()), abs=1e-5
        )
        assert batch.mask_bt[row].tolist() == [True] * length + [False] * (longest - length)


def test_the_facts_of_a_batch_are_those_of_its_trajectories() -> None:
    learner = make_learner(FakeAlgorithm(), policy=real_policy())
    chosen = mixed()
    for trajectory in chosen:
        learner.receive(trajectory)
    batch, _ = learner.evaluate([t.id for t in chosen], [0.1, 0.2, 0.3, 0.4, 0.5])
    for row, trajectory in enumerate(chosen):
        length = len(trajectory.steps)
        recorded = [s.decision.log_prob for s in trajectory.steps]
        assert batch.behaviour_log_prob_bt[row, :length].tolist() == pytest.approx(recorded)
        assert batch.reward_bt[row, :length].tolist() == pytest.approx([s.reward for s in trajectory.steps])
        assert not batch.behaviour_log_prob_bt[row, length:].any()
        assert not batch.reward_bt[row, length:].any()
    assert batch.is_terminal_b.tolist() == [True, False, False, True, False]
    assert batch.is_success_b.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert batch.weight_b.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert not batch.is_invalid_bt.any()


def test_what_was_no_action_is_marked() -> None:
    learner = make_learner(FakeAlgorithm())
    made = plain_trajectory("a", num_steps=3)
    wrong = msgspec.structs.replace(made.steps[1], decision=Decision(action=Invalid(raw="?", reason="?")))
    learner.receive(msgspec.structs.replace(made, steps=(made.steps[0], wrong, made.steps[2])))
    batch, _ = learner.evaluate(["a"], [1.0])
    assert batch.is_invalid_bt.tolist() == [[False, True, False]]


def test_what_acted_is_judged_as_it_acted_before_anything_is_learned() -> None:
    learner = filled(FakeAlgorithm(), policy=real_policy())
    batch, evaluation = learner.evaluate(learner.replay.ids(), [1.0] * 8)
    ratio = (evaluation.log_prob_bt - batch.behaviour_log_prob_bt).exp()
    assert ratio[batch.mask_bt].tolist() == pytest.approx([1.0] * int(batch.mask_bt.sum()), abs=1e-4)


# ---- groups


def in_group(id: str, group: str, outcome: Outcome) -> Trajectory:
    return msgspec.structs.replace(plain_trajectory(id, outcome=outcome), group=group)


def test_attempts_of_a_group_are_compared_with_each_other() -> None:
    learner = make_learner(make_algorithm("grpo", {}))
    for n, outcome in enumerate((Outcome.SUCCEEDED, Outcome.FAILED, Outcome.TRUNCATED_STEPS, Outcome.FAILED)):
        learner.receive(in_group(f"g{n}", "1", outcome))
    learner.receive(in_group("h0", "2", Outcome.SUCCEEDED))
    learner.receive(in_group("h1", "2", Outcome.ABORTED_DEVICE))
    learner.receive(plain_trajectory("alone", outcome=Outcome.SUCCEEDED))
    batch, _ = learner.evaluate(["g0", "g3", "h0", "alone"], [1.0] * 4)
    assert batch.group_mean_b.tolist() == pytest.approx([0.25, 0.25, 1.0, 1.0])
    assert batch.group_std_b.tolist() == pytest.approx([0.1875**0.5, 0.1875**0.5, 0.0, 0.0])


def test_attempts_that_replay_has_let_go_of_still_count_for_their_group() -> None:
    learner = make_learner(make_algorithm("grpo", {}), capacity_steps=5)
    learner.receive(in_group("g0", "1", Outcome.SUCCEEDED))
    learner.receive(in_group("g1", "1", Outcome.FAILED))
    learner.receive(in_group("g2", "1", Outcome.FAILED))
    assert "g0" not in learner.replay.ids()
    batch, _ = learner.evaluate(["g2"], [1.0])
    assert batch.group_mean_b.tolist() == pytest.approx([1 / 3])


# ---- every algorithm


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_learns_from_real_trajectories(name: str) -> None:
    learner = make_learner(make_algorithm(name, {}), is_adaptive=True, learning_rate=1e-3)
    for n, trajectory in enumerate(real_trajectories()):
        learner.receive(msgspec.structs.replace(trajectory, group=f"{n // 4}"))
    before = weights_of(learner)
    for _ in range(4):
        metrics = learner.update()
        assert all(np.isfinite(value) for value in metrics.values()), metrics
    assert learner.num_bad_updates == 0
    assert not are_equal(weights_of(learner), before)
    assert {s.id for s in learner.replay.sample(10)} <= set(learner.replay.ids())


# ---- what is remembered


@pytest.mark.parametrize(("name", "options"), [("a_ride", {"trajectory_filter": False}), ("grpo", {})])
def test_after_a_restart_the_same_updates_follow(name: str, options: dict[str, bool]) -> None:
    def fresh(policy_seed: int) -> Learner:
        learner = make_learner(
            make_algorithm(name, options),
            policy=TinyPolicy("text", seed=policy_seed),
            capacity_steps=70,
            learning_rate=1e-3,
        )
        learner.options = msgspec.structs.replace(learner.options, publish_every_updates=2)
        return learner

    straight = fresh(7)
    received = [msgspec.structs.replace(t, group=f"{n // 3}") for n, t in enumerate(real_trajectories())]
    for trajectory in received[:9]:
        straight.receive(trajectory)
        list(straight.update_while_due())
    straight.update()

    restored = fresh(8)
    restored.policy.load_tensors({n: t.clone() for n, t in straight.policy.tensors().items()})  # type: ignore[attr-defined]
    restored.replay.restore(straight.replay.state())
    plain = msgspec.json.decode(msgspec.json.encode(straight.plain_state()))
    restored.restore(plain, {name: t.clone() for name, t in straight.optimiser_tensors().items()})

    assert restored.num_received == straight.num_received == 9
    for trajectory in received[9:]:
        for learner in (straight, restored):
            learner.receive(trajectory)
        one, other = straight.update(), restored.update()
        assert one == pytest.approx(other, rel=1e-5, abs=1e-7)
        assert len(list(straight.update_while_due())) == len(list(restored.update_while_due()))
    assert straight.policy.version == restored.policy.version
    assert straight.replay.ids() == restored.replay.ids()
