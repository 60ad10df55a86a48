"""The tiny policy: what it records while acting is what the learner computes; no decision depends on another."""

from random import Random

import msgspec
import numpy as np
import pytest
import torch

from distrl.core.errors import UserError
from distrl.core.types import Decision, Outcome, Screen, Situation, Step, TypeText, Wait
from distrl.policies.tiny.actions import Verb, tokens_of, verb_of
from distrl.policies.tiny.policy import EYES, Mode, TinyPolicy
from distrl.replay.prioritised import PrioritisedReplay
from distrl.runtime.policies import imitation_path, new_policy, read_weights

from .screens import act_along, demonstrations, element, make_policy, real_situations, situation
from .test_network import every_choice, log_probs_of_all, sharp

MODES: tuple[Mode, ...] = ("pixels", "text")


def rngs(count: int, *, seed: int = 0) -> list[Random]:
    return [Random(seed * 1000 + n) for n in range(count)]


def train_a_little(policy: TinyPolicy, *, learning_rate: float = 0.05) -> None:
    """One step of gradient descent, to be another policy than before."""
    prepared = policy.prepare(demonstrations()[0])
    loss = -policy.judge(prepared.moments[:-1], prepared.choices).log_prob.mean()
    loss.backward()
    with torch.no_grad():
        for parameter in policy.parameters():
            if parameter.grad is not None:
                parameter -= learning_rate * parameter.grad
                parameter.grad = None


# ---- acting and judging


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [1, 8, 32])
def test_what_was_recorded_while_acting_is_what_the_learner_recomputes(mode: Mode, count: int) -> None:
    recorded, recomputed = log_probs_of_acting_and_learning(make_policy(mode), count)
    assert recomputed == pytest.approx(recorded, abs=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_so_it_is_with_the_shipped_weights_which_are_surer_of_what_they_do(mode: Mode) -> None:
    policy = new_policy(mode)
    policy.load_tensors(read_weights(imitation_path("general", mode)))
    recorded, recomputed = log_probs_of_acting_and_learning(policy, 8)
    assert recomputed == pytest.approx(recorded, abs=1e-5)
    # The geometric mean of what was likely; it is 0.02 to 0.04 with weights that know nothing.
    assert np.exp(np.mean(recorded)) > 0.2


def log_probs_of_acting_and_learning(policy: TinyPolicy, count: int) -> tuple[list[float], list[float]]:
    """What so many phones recorded while they acted at once, and what the learner says of all their steps at once."""
    acted = act_along(policy, demonstrations()[:count])
    prepared = [policy.prepare(t) for t in acted]
    moments = [m for p in prepared for m in p.moments[:-1]]
    said = policy.judge(moments, np.concatenate([p.choices for p in prepared]))
    return [step.decision.log_prob for t in acted for step in t.steps], said.log_prob.tolist()


@pytest.mark.parametrize("mode", MODES)
def test_it_is_so_too_after_a_stay_in_replay(mode: Mode) -> None:
    policy = make_policy(mode)
    replay = PrioritisedReplay(capacity_steps=100, alpha=1.0, freshness_tau_versions=None, rng=Random(0))
    for acted in act_along(policy, demonstrations()[:6]):
        replay.add(acted)
    for id in replay.ids():
        kept = replay.get(id)
        prepared = policy.prepare(kept)
        said = policy.judge(prepared.moments[:-1], prepared.choices)
        assert said.log_prob.tolist() == pytest.approx([s.decision.log_prob for s in kept.steps], abs=1e-5)


def test_the_log_probability_of_an_action_is_the_sum_over_its_tokens() -> None:
    for decision in sharp("text").decide(real_situations(30), rngs(30)):
        assert len(decision.tokens) == len(decision.token_log_probs)
        assert decision.log_prob == pytest.approx(sum(decision.token_log_probs))
        assert all(log_prob <= 0.0 for log_prob in decision.token_log_probs)


def test_a_trajectory_is_prepared_as_one_more_moment_than_choices() -> None:
    shown = demonstrations()[0]
    prepared = make_policy("text").prepare(shown)
    assert len(prepared.moments) == len(shown.steps) + 1
    assert prepared.choices.shape == (len(shown.steps), 3)
    for step, choice in zip(shown.steps, prepared.choices.tolist(), strict=True):
        verb, arguments = verb_of(step.decision)
        assert choice == [verb, *arguments, *[0] * (2 - len(arguments))]


def test_moments_are_judged_alike_in_any_order_and_company() -> None:
    policy = make_policy("text")
    prepared = [policy.prepare(t) for t in demonstrations()]
    moments = [m for p in prepared for m in p.moments[:-1]]
    choices = np.concatenate([p.choices for p in prepared])
    together = policy.judge(moments, choices)
    order = Random(0).sample(range(len(moments)), 40)
    some = policy.judge([moments[i] for i in order], choices[order])
    assert some.log_prob.tolist() == pytest.approx(together.log_prob[order].tolist(), abs=1e-5)
    assert some.entropy.tolist() == pytest.approx(together.entropy[order].tolist(), abs=1e-5)
    assert some.value_logits.detach() == pytest.approx(together.value_logits.detach()[:, order], abs=1e-5)
    assert some.trajectory_value_logit.tolist() == pytest.approx(
        together.trajectory_value_logit[order].tolist(), abs=1e-5
    )


# ---- choosing


@pytest.mark.parametrize("mode", MODES)
def test_without_random_numbers_every_token_is_the_likeliest(mode: Mode) -> None:
    policy = sharp(mode)
    situations = real_situations(8, seed=2)
    for s, decision in zip(situations, policy.decide(situations, None), strict=True):
        log_probs = dict(zip(every_choice(s), log_probs_of_all(policy, s), strict=True))
        verb, arguments = verb_of(decision)
        by_verb = {v: np.logaddexp.reduce([p for c, p in log_probs.items() if c[0] == v]) for v, *_ in log_probs}
        assert verb == max(by_verb, key=lambda v: by_verb[v])
        if verb in (Verb.TAP, Verb.HOLD):
            assert arguments[0] == max((c for c in log_probs if c[0] == verb), key=lambda c: log_probs[c])[1]


def test_actions_are_drawn_as_often_as_they_are_likely() -> None:
    policy = sharp("text")
    s = situation("Call Elena", element("Elena"), element("Marcus"))
    count = 4000
    decisions = [d for n in range(0, count, 400) for d in policy.decide([s] * 400, rngs(400, seed=n))]
    log_probs = dict(zip(every_choice(s), log_probs_of_all(policy, s), strict=True))
    drawn = dict.fromkeys(log_probs, 0)
    for decision in decisions:
        verb, arguments = verb_of(decision)
        drawn[(verb, *arguments, *[0] * (2 - len(arguments)))] += 1  # type: ignore[index]
    for choice, log_prob in log_probs.items():
        share = np.exp(log_prob)
        assert drawn[choice] / count == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / count) + 1e-3)


def test_the_same_random_numbers_give_the_same_decisions_and_others_give_others() -> None:
    policy, situations = make_policy("text"), real_situations(20)
    once, again = (policy.decide(situations, rngs(20)) for _ in range(2))
    assert once == again
    assert policy.decide(situations, rngs(20, seed=1)) != once


def test_the_same_seed_makes_the_same_policy_and_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, other, third = TinyPolicy("text", seed=1), TinyPolicy("text", seed=1), TinyPolicy("text", seed=2)
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(t, other.tensors()[name]) for name, t in one.tensors().items())
    assert not all(torch.equal(t, third.tensors()[name]) for name, t in one.tensors().items())


@pytest.mark.parametrize("mode", MODES)
def test_nobodys_decision_depends_on_who_is_decided_for_beside(mode: Mode) -> None:
    policy, situations = sharp(mode), real_situations(33, seed=3)
    together = policy.decide(situations, rngs(33))
    for start, size in ((0, 1), (1, 7), (8, 25)):
        apart = policy.decide(situations[start : start + size], rngs(33)[start : start + size])
        for one, other in zip(together[start : start + size], apart, strict=True):
            assert (one.action, one.tokens) == (other.action, other.tokens)
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-5)


def test_every_decision_takes_three_random_numbers_whatever_it_is() -> None:
    for _ in range(3):
        used = rngs(12)
        make_policy("text").decide(real_situations(12), used)
        fresh = rngs(12)
        for rng in fresh:
            _ = [rng.random() for _ in range(3)]
        assert [rng.random() for rng in used] == [rng.random() for rng in fresh]


def test_what_is_typed_are_words_of_the_instruction() -> None:
    policy = make_policy("text")
    s = situation("Write milk and eggs")
    typed = {d.action.text for d in policy.decide([s] * 300, rngs(300)) if isinstance(d.action, TypeText)}
    words = "Write milk and eggs".split()
    assert typed <= {" ".join(words[i : j + 1]) for i in range(4) for j in range(i, 4)}
    assert len(typed) > 3


@pytest.mark.parametrize("mode", MODES)
def test_strange_states_are_decided_on(mode: Mode) -> None:
    crowded = situation("Tap it", *(element(f"e{n}", (0.0, n / 80, 1.0, (n + 1) / 80)) for n in range(80)))
    strange = [situation(""), situation("Call Elena"), situation("", element("x")), crowded]
    strange.append(situation(" ".join(f"w{n}" for n in range(50)), element("x")))
    for decision in (*make_policy(mode).decide(strange, rngs(5)), *make_policy(mode).decide(strange, None)):
        assert np.isfinite(decision.log_prob)
        assert decision.tokens


# ---- weights


def test_a_snapshot_acts_as_the_version_it_was_taken_of() -> None:
    policy = TinyPolicy("text", seed=3)
    policy.version = 7
    situations = real_situations(10)
    before = policy.decide(situations, rngs(10))
    snapshot = policy.snapshot()
    train_a_little(policy)
    policy.version = 8
    assert policy.decide(situations, rngs(10), snapshot) == before
    assert [d.policy_version for d in before] == [7] * 10
    after = policy.decide(situations, rngs(10))
    assert after != before
    assert [d.policy_version for d in after] == [8] * 10


def test_acting_with_a_snapshot_leaves_the_policys_own_weights_alone() -> None:
    policy, other = TinyPolicy("text", seed=3), TinyPolicy("text", seed=4)
    before = {name: t.clone() for name, t in policy.tensors().items()}
    policy.decide(real_situations(3), None, other.snapshot())
    assert all(torch.equal(t, before[name]) for name, t in policy.tensors().items())


@pytest.mark.parametrize("mode", MODES)
def test_weights_taken_over_make_the_same_policy(mode: Mode) -> None:
    one, other = make_policy(mode), TinyPolicy(mode, seed=9)
    other.load_tensors({name: t.clone() for name, t in one.tensors().items()})
    situations = real_situations(6)
    for mine, theirs in zip(one.decide(situations, rngs(6)), other.decide(situations, rngs(6)), strict=True):
        assert (mine.action, mine.tokens) == (theirs.action, theirs.tokens)
        assert mine.log_prob == pytest.approx(theirs.log_prob, abs=1e-5)


def test_the_eye_may_be_left_out_and_then_stays() -> None:
    policy = make_policy("pixels")
    other = TinyPolicy("pixels", seed=9)
    other.load_tensors({n: t.clone() for n, t in policy.tensors().items() if n.startswith(EYES)} | own(other))
    network_only = {n: t.clone() for n, t in policy.tensors().items() if n.startswith("network.")}
    other.load_tensors(network_only)
    assert all(torch.equal(t, policy.tensors()[name]) for name, t in other.tensors().items())


def own(policy: TinyPolicy) -> dict[str, torch.Tensor]:
    return {name: t.clone() for name, t in policy.tensors().items() if name.startswith("network.")}


def test_a_new_eye_forgets_what_the_old_one_saw() -> None:
    policy = TinyPolicy("pixels", seed=1)
    situations = real_situations(3)
    policy.decide(situations, None)
    policy.load_tensors(make_policy("pixels").tensors())
    fresh = TinyPolicy("pixels", seed=1)
    fresh.load_tensors(make_policy("pixels").tensors())
    assert policy.decide(situations, None) == fresh.decide(situations, None)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda t: t.pop("network.verb.bias"), "missing: network.verb.bias"),
        (lambda t: t.update({"network.what": torch.zeros(1)}), "unknown: network.what"),
        (lambda t: t.update({"encoder.layers.0.weight": torch.zeros(1)}), "unknown: encoder.layers.0.weight"),
        (lambda t: t.update({"network.verb.bias": torch.zeros(3)}), "of another shape: network.verb.bias"),
        (lambda t: t["network.verb.bias"].fill_(float("nan")), "not finite"),
        (lambda t: t["network.verb.bias"].fill_(float("inf")), "not finite"),
        (lambda t: t.clear(), "missing"),
    ],
)
def test_weights_that_do_not_fit_are_refused_and_change_nothing(change: object, complaint: str) -> None:
    policy = TinyPolicy("text", seed=3)
    before = {name: t.clone() for name, t in policy.tensors().items()}
    tensors = {name: t + 1.0 for name, t in before.items()}
    change(tensors)  # type: ignore[operator]
    with pytest.raises(UserError, match=complaint):
        policy.load_tensors(tensors)
    assert all(torch.equal(t, before[name]) for name, t in policy.tensors().items())


def test_the_weights_of_the_other_mode_are_refused() -> None:
    with pytest.raises(UserError, match="text mode"):
        make_policy("text").load_tensors(make_policy("pixels").tensors())


def test_training_changes_the_network_and_not_the_eye() -> None:
    policy = TinyPolicy("pixels", seed=1)
    before = {name: t.clone() for name, t in policy.tensors().items()}
    train_a_little(policy)
    changed = {name.partition(".")[0] for name, t in policy.tensors().items() if not torch.equal(t, before[name])}
    assert changed == {"network"}


def test_a_hand_made_decision_is_judged_by_its_tokens() -> None:
    policy = make_policy("text")
    s = situation("Call Elena", element("Elena"), element("Marcus"))
    log_probs = dict(zip(every_choice(s), log_probs_of_all(policy, s), strict=True))
    for choice in ((Verb.TAP, 1, 0), (Verb.TYPE, 0, 1), (Verb.BACK, 0, 0)):
        made = Step(
            observation=s.observation, decision=Decision(action=Wait(), tokens=tokens_of(*split(choice))), rewards={}
        )
        prepared = policy.prepare(msgspec.structs.replace(demonstrations()[0], task=s.task, steps=(made,)))
        assert prepared.choices.tolist() == [list(choice)]
        (log_prob,) = policy.judge(prepared.moments[:-1], prepared.choices).log_prob.tolist()
        assert log_prob == pytest.approx(log_probs[choice], abs=1e-5)


def split(choice: tuple[int, int, int]) -> tuple[int, tuple[int, int]]:
    return choice[0], choice[1:]


def test_the_state_after_the_last_step_knows_what_was_done() -> None:
    policy = make_policy("text")
    shown = msgspec.structs.replace(demonstrations()[0], outcome=Outcome.TRUNCATED_STEPS)
    last = policy.prepare(shown).moments[-1]
    went_on = Step(observation=shown.final, decision=Decision(action=Wait()), rewards={})
    same = policy.prepare(msgspec.structs.replace(shown, steps=(*shown.steps, went_on))).moments[-2]
    assert last.state[0] == same.state[0] == np.float32(len(shown.steps) / 20)
    assert (last.past == same.past).all()
    assert (last.elements == same.elements).all()


@pytest.mark.parametrize("mode", ["text", "pixels"])
def test_nobody_looks_at_what_comes_after_an_end(mode: Mode) -> None:
    policy, shown = make_policy(mode), demonstrations()[0]
    unreadable = msgspec.structs.replace(shown.final, screen=Screen(data=b"", width=0, height=0), elements=())
    ended = msgspec.structs.replace(shown, outcome=Outcome.SUCCEEDED, final=unreadable)
    moments = policy.prepare(ended).moments
    assert len(moments) == len(shown.steps) + 1
    assert moments[-1] is moments[-2]
    went_on = policy.prepare(msgspec.structs.replace(shown, outcome=Outcome.TRUNCATED_STEPS)).moments
    assert went_on[-1].state[0] > went_on[-2].state[0]


def test_what_was_decided_upon_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, shown = make_policy("pixels"), msgspec.structs.replace(demonstrations()[0], outcome=Outcome.TRUNCATED_STEPS)
    seen = [
        Situation(task=shown.task, steps=shown.steps[:t], observation=s.observation) for t, s in enumerate(shown.steps)
    ]
    wanted = policy.prepare(shown).moments
    policy.decide(seen, None)
    looked_at: list[int] = []
    see = policy.eyes.see
    monkeypatch.setattr(
        policy.eyes, "see", lambda observations: looked_at.append(len(observations)) or see(observations)
    )
    made = policy.prepare(shown).moments
    assert max(looked_at) == 1, "the last screen, and those of steps that its past tells of"
    for one, other in zip(made, wanted, strict=True):
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)


def test_the_same_screen_in_another_episode_is_another_moment() -> None:
    policy = make_policy("text")
    shown = demonstrations()[0]
    seen = shown.steps[1].observation
    policy.decide([Situation(task=shown.task, steps=shown.steps[:1], observation=seen)], None)
    other = Step(observation=shown.steps[0].observation, decision=Decision(action=Wait()), rewards={})
    strange = msgspec.structs.replace(shown, steps=(other, *shown.steps[1:]))
    assert policy.prepare(strange).moments[1].past[0].tolist() == [Verb.WAIT + 1, 0, 0, 0]
    asked = msgspec.structs.replace(shown, task=msgspec.structs.replace(shown.task, instruction="Wait"))
    assert len(policy.prepare(asked).moments[1].words) == 1
