"""The learner: every number stands where it belongs, for every algorithm, also after a restart."""

import msgspec
import numpy as np
import pytest
from torch import Tensor

from distrl.algorithms import ALGORITHMS, make_algorithm
from distrl.core.types import Decision, Invalid, Outcome, Trajectory
from distrl.policies.tiny.policy import Mode, Prepared, TinyPolicy
from distrl.runtime.learner import Learner
from distrl.runtime.training import Training

from .fleet import declared, plain_trajectory, real_policy, real_trajectories, settings, shortened
from .learners import FakeAlgorithm, are_equal, filled, in_group, make_learner, weights_of

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


# ---- the switches that only say who is drawn


def aged(trajectory: Trajectory, version: int) -> Trajectory:
    """The same, acted by the weights of another version."""
    replace = msgspec.structs.replace
    steps = tuple(replace(s, decision=replace(s.decision, policy_version=version)) for s in trajectory.steps)
    return replace(trajectory, steps=steps)


def learned_from(*, versions_apart: int, **switches: bool) -> list[Tensor]:
    """The weights after 4 updates on twelve trajectories, each so many versions younger than the one before it.

    The learner is that of a run, so that what the algorithm says about drawing has to reach the replay; it gives the
    trajectories priorities of its own after each update. Nothing but the switches differs from call to call.
    """
    options = {"trajectory_filter": False, **switches}
    learner = Training(settings(1, algorithm={"options": options})).learner
    for n, trajectory in enumerate(real_trajectories()):
        learner.receive(aged(trajectory, n * versions_apart))
    learner.policy.version = 11 * versions_apart
    for _ in range(4):
        learner.update()
    return weights_of(learner)


@pytest.mark.parametrize(
    ("switch", "versions_apart", "matters"),
    [
        ("dper", 10, True),
        ("dper", 0, True),  # by priorities alone, since all are of the same age
        ("freshness", 10, True),  # tau is 50: the oldest is drawn exp(-110 / 50) = 0.11 times as often as the newest
        ("freshness", 0, False),  # nothing is older than anything
    ],
)
def test_a_switch_of_who_is_drawn_changes_what_is_learned(switch: str, versions_apart: int, matters: bool) -> None:
    on, again, off = (learned_from(versions_apart=versions_apart, **{switch: is_on}) for is_on in (True, True, False))
    assert are_equal(on, again)
    assert are_equal(on, off) is not matters


# ---- what is remembered


@pytest.mark.parametrize(("name", "options"), [("a_ride", {"trajectory_filter": False}), ("grpo", {})])
def test_after_a_restart_the_same_updates_follow(name: str, options: dict[str, bool]) -> None:
    def fresh(policy_seed: int) -> Learner:
        return make_learner(
            make_algorithm(name, options),
            policy=TinyPolicy("text", seed=policy_seed),
            capacity_steps=70,
            learning_rate=1e-3,
            publish_every_updates=2,
            new_steps_per_update=20.0,
        )

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
    due = []
    for trajectory in received[9:]:
        for learner in (straight, restored):
            learner.receive(trajectory)
        assert straight.update() == pytest.approx(restored.update(), rel=1e-5, abs=1e-7)
        due.append((len(list(straight.update_while_due())), len(list(restored.update_while_due()))))
    assert all(one == other for one, other in due)
    assert sum(one for one, _ in due) > 0, "what was left of the steps before the restart counts"
    assert straight.policy.version == restored.policy.version
    assert straight.replay.ids() == restored.replay.ids()


class CountingPolicy(TinyPolicy):
    """Counts what it looks at, and of that the trajectories whose screens it was given."""

    num_prepared = 0
    num_seen = 0

    def prepare(self, trajectory: Trajectory) -> Prepared:
        self.num_prepared += 1
        self.num_seen += bool(trajectory.final.screen.data)
        return super().prepare(trajectory)

    def recall(self, blind: Trajectory) -> Prepared | None:
        made = super().recall(blind)
        self.num_prepared += made is not None
        return made


@pytest.mark.parametrize("mode", ["text", "pixels"])
def test_screens_are_unpacked_only_for_who_has_to_see_them(mode: Mode) -> None:
    policy = CountingPolicy(mode, seed=7)
    learner = make_learner(make_algorithm("filtered_bc", {}), policy=policy, batch_trajectories=1)
    told, untold = real_trajectories()[:2]
    learner.receive(policy.with_features(told))
    learner.receive(untold)
    learner.evaluate([told.id], [1.0])
    assert (policy.num_prepared, policy.num_seen) == (1, 0)
    learner.evaluate([untold.id], [1.0])
    assert (policy.num_prepared, policy.num_seen) == (2, mode == "pixels")


def test_after_a_restart_only_what_is_drawn_is_looked_at_again() -> None:
    before = make_learner(make_algorithm("filtered_bc", {}), batch_trajectories=1)
    for trajectory in real_trajectories():
        before.receive(trajectory)
    policy = CountingPolicy("text", seed=7)
    after = make_learner(make_algorithm("filtered_bc", {}), policy=policy, batch_trajectories=1)
    after.replay.restore(before.replay.state())
    after.restore(before.plain_state(), before.optimiser_tensors())
    assert policy.num_prepared == 0
    assert after.replay.ids() == before.replay.ids()
    after.update()
    assert policy.num_prepared == 1
    ids = after.replay.ids()
    for _ in range(2):
        after.evaluate(ids, [1.0] * len(ids))
    assert policy.num_prepared == len(ids)
