"""Gymnasium's rules, checked by gymnasium itself."""

import re
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import distrl.envs  # noqa: F401  (registers the environment)
from distrl.core.errors import UnknownNameError, UserError
from distrl.core.types import ELEMENT_KINDS, Element, Invalid, Press, Swipe, Tap
from distrl.envs.gym_env import KINDS, to_action
from distrl.envs.observations import elements_to_arrays


def make(**options: Any) -> gymnasium.Env[Any, Any]:
    options = {"suite": "general", "split": "train"} | options
    return gymnasium.make("distrl/Phone-v0", **options)


def test_gymnasium_finds_nothing_to_complain_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(render_mode="rgb_array").unwrapped)


def test_every_suite_can_be_made_and_stepped() -> None:
    for suite in ("general", "web_shopping", "install", "system"):
        env = make(suite=suite, split="test")
        seen, info = env.reset(seed=1)
        assert seen["instruction"]
        assert info["task"].startswith(f"{suite}-test-")
        assert env.observation_space.contains(seen)
        env.close()


def test_equal_seeds_give_equal_episodes() -> None:
    def episode(seed: int) -> list[bytes]:
        env = make()
        env.action_space.seed(seed)
        seen, _ = env.reset(seed=seed)
        screens = [seen["screen"].tobytes(), seen["instruction"].encode()]
        for _ in range(6):
            seen, *_ = env.step(env.action_space.sample())
            screens.append(seen["screen"].tobytes())
        return screens

    assert episode(5) == episode(5) != episode(6)


def test_many_random_steps_stay_inside_the_spaces() -> None:
    env = make(split="test")
    env.action_space.seed(0)
    env.reset(seed=0)
    for _ in range(150):
        seen, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert env.observation_space.contains(seen)
        assert np.isfinite(reward)
        if terminated or truncated:
            env.reset()


@pytest.mark.slow
def test_async_vector_environments_work() -> None:
    envs = gymnasium.make_vec("distrl/Phone-v0", num_envs=2, vectorization_mode="async", suite="general", split="train")
    seen, _ = envs.reset(seed=3)
    assert seen["screen"].shape == (2, 600, 270, 3)
    seen, rewards, *_ = envs.step(envs.action_space.sample())
    assert rewards.shape == (2,)
    envs.close()


def test_a_task_can_be_named_and_a_wrong_name_is_refused() -> None:
    env = make()
    _, info = env.reset(options={"task": "general-train-0007"})
    assert info["task"] == "general-train-0007"
    with pytest.raises(UnknownNameError, match="general-train-0007"):
        env.reset(options={"task": "general-train-00007"})


def test_unknown_suites_and_splits_are_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match="general"):
        make(suite="generl")
    with pytest.raises(UnknownNameError, match="train"):
        make(split="trian")


def test_a_device_failure_is_truncated_with_its_cause() -> None:
    env = make(phone={"faults": {"vanish": 1.0}}).unwrapped
    with pytest.raises(Exception, match="gone"):
        env.reset(seed=0)
    env = make(phone={"faults": {"freeze": 0.3}}, seed=2).unwrapped
    for seed in range(20):
        try:
            env.reset(seed=seed)
        except Exception:
            continue
        for _ in range(10):
            _, reward, terminated, truncated, info = env.step({"kind": KINDS.index("wait")})
            if truncated:
                assert info["infra_error"].startswith("deadline")
                assert (reward, terminated) == (0.0, False)
                return
    pytest.fail("nothing froze")


def test_render_gives_the_screen_and_close_may_be_called_twice() -> None:
    env = make(render_mode="rgb_array")
    seen, _ = env.reset(seed=0)
    assert np.array_equal(np.asarray(env.render()), seen["screen"])
    env.close()
    env.close()
    with pytest.raises(UserError, match="closed"):
        env.unwrapped.reset()


def test_last_actions_are_kept_in_words() -> None:
    env = make(env={"keep_last_actions": 2})
    env.reset(seed=0)
    for kind in ("home", "back", "wait"):
        seen, *_ = env.step({"kind": KINDS.index(kind), "point": [0.5, 0.5], "to": [0.5, 0.5], "text": ""})
    assert seen["last_actions"] == "press back\nwait"


def test_samples_of_the_action_space_become_actions() -> None:
    assert to_action({"kind": 0, "point": [0.25, 0.5]}) == Tap(x=0.25, y=0.5)
    assert to_action({"kind": 2, "point": [0, 1], "to": [1, 0]}) == Swipe(x=0, y=1, to_x=1, to_y=0)
    assert isinstance(to_action({"kind": 5}), Press)


@pytest.mark.parametrize(
    "nonsense",
    [
        {},
        {"kind": 99},
        {"kind": "x"},
        {"kind": 0, "point": [float("nan"), 0.5]},
        {"kind": 0, "point": [2.0, 0.5]},
        {"kind": 0, "point": [0.5]},
        {"kind": 2, "point": [0.5, 0.5]},
        {"kind": 3, "text": "x" * 1_000_000},
        {"kind": 3, "text": None},
        {"kind": 3, "text": "a\x00b"},
        {"kind": 3, "text": "\ud800"},
        {"kind": 7, "text": ""},
        {"kind": -1, "point": [0.5, 0.5]},
        {"kind": float("inf")},
        {"kind": 10**30},
        {"kind": 0},
        None,
        5,
        "tap",
    ],
)
def test_nonsense_is_an_invalid_action_and_not_an_exception(nonsense: Any) -> None:
    assert isinstance(to_action(nonsense), Invalid)
    env = make()
    env.reset(seed=0)
    _, reward, *_ = env.unwrapped.step(nonsense)
    assert reward == -1.0


def test_history_keeps_the_newest_actions_and_one_line_each() -> None:
    env = make(env={"keep_last_actions": 15}).unwrapped
    env.reset(seed=0)
    for number in range(14):
        seen, *_ = env.step({"kind": 3, "text": f"{number} " + "x\ntap 0.1 0.1" * 20})
    lines = seen["last_actions"].split("\n")
    assert lines[-1].startswith("type 13 ")
    assert all("tap" not in line[:4] for line in lines[1:])


def test_element_texts_are_whole_characters() -> None:
    element = Element(box=(0, 0, 1, 1), text="é" * 60, kind="link")
    arrays = elements_to_arrays((element,))
    assert bytes(arrays["text"][0]).rstrip(b"\0").decode() == "é" * 32
    assert ELEMENT_KINDS[arrays["kind"][0]] == "link"


def test_every_kind_of_element_on_the_phone_has_a_number() -> None:
    sources = Path(__file__).parents[2] / "distrl" / "devices" / "sim"
    kinds = {kind for file in sources.rglob("*.py") for kind in re.findall(r'kind="(\w+)"', file.read_text())}
    assert kinds <= set(ELEMENT_KINDS)


@pytest.mark.parametrize("options", [{"task": 3}, {"task": ["a"]}, "general-train-0007"])
def test_odd_reset_options_are_a_users_mistake(options: Any) -> None:
    with pytest.raises(UserError):
        make().unwrapped.reset(options=options)


def test_mistakes_in_tables_are_told_without_a_foreign_traceback() -> None:
    with pytest.raises(UserError, match="latency"):
        make(phone={"latancy": "emulator", "faults": {"freze": 0.1}})
