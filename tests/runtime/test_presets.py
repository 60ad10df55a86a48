"""Presets, and which source of a run's configuration wins."""

from pathlib import Path

import pytest

from distrl.algorithms import make_algorithm
from distrl.core.config import Config
from distrl.core.config_errors import ConfigError
from distrl.runtime.presets import PRESETS, Option, load_run_config


def test_the_default_preset_is_the_defaults() -> None:
    assert load_run_config() == Config()


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_a_configuration_whose_algorithm_can_be_made(preset: str) -> None:
    config = load_run_config(preset)
    make_algorithm(config.algorithm.name, config.algorithm.options)


def test_the_quick_preset_takes_a_minute_in_text_mode() -> None:
    config = load_run_config("quick")
    assert (config.policy.mode, config.train.max_minutes, config.eval.episodes) == ("text", 1.0, 64)


def test_the_paper_preset_has_the_papers_numbers_and_no_stabilisers() -> None:
    config = load_run_config("paper")
    options = config.algorithm.options
    assert (options["gamma"], options["entropy_weight"], options["filter_quantile"]) == (0.5, 0.05, 0.9)
    assert (options["negative_scale"], options["negative_floor"], options["normalise_advantages"]) == (1, 0, False)
    assert (config.learner.learning_rate, config.learner.max_gradient_norm) == (1e-4, 0.01)
    assert config.learner.learning_rate_left == 1.0
    assert options["freshness"] is False
    assert (config.collect.has_curriculum, config.collect.departures) == (False, 0.0)
    assert (config.learner.imitated_successes, config.learner.demonstrations) == (0, 0)


def test_later_sources_win_preset_file_environment_set_option(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("[eval]\nepisodes = 10\n")
    environ = {"DISTRL_EVAL__EPISODES": "20"}
    option = Option("--episodes", "eval.episodes", 40)
    assert load_run_config("quick").eval.episodes == 64
    assert load_run_config("quick", file).eval.episodes == 10
    assert load_run_config("quick", file, environ=environ).eval.episodes == 20
    assert load_run_config("quick", file, environ=environ, overrides=["eval.episodes=30"]).eval.episodes == 30
    overridden = load_run_config("quick", file, environ=environ, overrides=["eval.episodes=30"], options=[option])
    assert overridden.eval.episodes == 40
    assert overridden.policy.mode == "text", "what nobody overrides is the preset's"


def test_one_option_of_an_algorithm_leaves_the_others_of_the_preset() -> None:
    options = load_run_config("paper", overrides=["algorithm.options.gamma=0.9"]).algorithm.options
    assert (options["gamma"], options["alpha"]) == (0.9, 0.5)


def test_options_of_a_ride_do_not_reach_another_algorithm() -> None:
    config = load_run_config("paper", options=[Option("--algorithm", "algorithm.name", "ppo")])
    assert (config.algorithm.name, config.algorithm.options) == ("ppo", {})
    assert config.learner.learning_rate == 1e-4


def test_all_mistakes_are_told_at_once_by_the_options_that_were_written() -> None:
    options = [Option("--suite", "tasks.suite", "generl"), Option("--minutes", "train.max_minutes", 0.0)]
    with pytest.raises(ConfigError) as caught:
        load_run_config("quik", overrides=["eval.episode=1"], options=options)
    told = {mistake.place: mistake.suggestion for mistake in caught.value.mistakes}
    assert told == {
        "--preset": "quick",
        "--set eval.episode=1": "eval.episodes",
        "--suite generl": "general",
        "--minutes 0.0": "",
    }


def test_a_word_given_to_an_option_stays_a_word() -> None:
    with pytest.raises(ConfigError, match=r'unknown name .*got "1"'):
        load_run_config(options=[Option("--suite", "tasks.suite", "1")])


def test_loading_a_preset_does_not_change_it() -> None:
    before = repr(PRESETS["paper"])
    load_run_config("paper", overrides=["algorithm.options.gamma=0.1", "learner.learning_rate=0.5"])
    assert repr(PRESETS["paper"]) == before
