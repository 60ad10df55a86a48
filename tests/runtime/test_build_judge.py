"""Which judge a configuration gives, and who shares it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from distrl.core.clock import run_virtual
from distrl.core.config import Config, config_of, dump_toml, load_config
from distrl.core.errors import UserError
from distrl.core.interfaces import Setup
from distrl.core.types import Decision, Outcome, Wait
from distrl.runtime import api
from distrl.runtime.build import make_environment, make_sim_device
from distrl.runtime.build_judge import judged_by_rule, make_judge, make_shared_judge
from distrl.runtime.evaluation import evaluate
from distrl.runtime.players import make_player
from distrl.tasks.book import load_tasks
from distrl.tasks.judges.rule import RuleJudge
from distrl.tasks.judges.vote import VoteJudge

pytestmark = pytest.mark.judge


def judge_config(**judge: Any) -> Config:
    return config_of({"judge": judge, "phone": {"scale": 0.1}, "collect": {"num_devices": 1}})


class Blind:
    """A phone that cannot be looked into."""

    name = "blind"


def test_the_rule_judges_unless_the_configuration_says_otherwise() -> None:
    assert Config().judge.kind == "rule"
    assert isinstance(make_judge(Config().judge, make_sim_device(Config())), RuleJudge)


def test_a_phone_without_ground_truth_needs_another_judge() -> None:
    with pytest.raises(UserError, match=r"judge\.kind"):
        make_judge(Config().judge, Blind())  # type: ignore[arg-type]
    assert make_judge(judge_config(kind="script").judge, Blind()).name == "script"  # type: ignore[arg-type]


def test_an_environment_has_the_judge_of_its_configuration() -> None:
    config = judge_config(kind="script", script=["failure", "success"])

    async def run() -> list[Outcome | None]:
        environment = make_environment(config, make_sim_device(config))
        await environment.reset(load_tasks("general", "train")[0], Setup())
        return [(await environment.step(Decision(action=Wait()))).outcome for _ in range(2)]

    assert run_virtual(run()) == [None, Outcome.SUCCEEDED]


def test_all_environments_of_a_process_share_a_judge_and_so_its_limits() -> None:
    config = judge_config(kind="vlm", model="m", key_variable="")
    judges = [make_judge(config.judge, make_sim_device(config, n)) for n in range(2)]
    assert judges[0] is judges[1]


def test_a_vote_has_a_judge_for_each_model_or_each_sample() -> None:
    of_models = make_shared_judge(judge_config(kind="vote", models=["a", "b", "c"], key_variable="").judge)
    of_samples = make_shared_judge(judge_config(kind="vote", model="a", samples=5, key_variable="").judge)
    assert isinstance(of_models, VoteJudge)
    assert isinstance(of_samples, VoteJudge)
    assert [judge.name for judge in of_models.judges] == ["vlm:a", "vlm:b", "vlm:c"]
    assert (len(of_samples.judges), of_samples.quorum) == (5, 3)


def test_evaluations_are_judged_by_ground_truth_whoever_judges_training() -> None:
    config = judge_config(kind="script", script=["success"])
    assert judged_by_rule(config).judge.kind == "rule"
    finished = run_virtual(evaluate(make_player("idle"), load_tasks("general", "train")[:1], config))
    assert [(trajectory.outcome, trajectory.verdict.judge) for trajectory in finished] == [
        (Outcome.TRUNCATED_STEPS, "rule")
    ]


def test_training_in_virtual_time_with_a_model_as_judge_is_refused_at_the_start(tmp_path: Path) -> None:
    config = judge_config(kind="vlm", model="m", key_variable="")
    with pytest.raises(UserError, match="needs real time"):
        api.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_training_with_a_judge_that_nobody_answers_for_is_refused_at_the_start(tmp_path: Path) -> None:
    async def free_port() -> int:
        listener = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port: int = listener.sockets[0].getsockname()[1]
        listener.close()
        return port

    url = f"http://127.0.0.1:{asyncio.run(free_port())}/v1"
    config = judge_config(kind="vlm", model="m", key_variable="", url=url, max_tries=1)
    with pytest.raises(UserError, match="does not answer"):
        api.train(config, tmp_path / "run", runtime="local")
    assert not (tmp_path / "run").exists()


def test_the_section_is_written_down_and_read_back_and_holds_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-4e1f2a77d9")
    config = judge_config(kind="vote", models=["a", "b"], spend_limit=2.5, calls_per_minute=30)
    (tmp_path / "config.toml").write_text(dump_toml(config))
    assert load_config(tmp_path / "config.toml") == config
    assert "[judge]" in dump_toml(config)
    assert "canary" not in dump_toml(config)
