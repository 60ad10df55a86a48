"""Tasks of a user's own: AitW's lists and the like as the tasks of a run."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from distrl.core.clock import run_virtual
from distrl.core.config import Config, config_of
from distrl.core.errors import UserError
from distrl.core.seeds import derive_random
from distrl.core.types import Outcome, Task, Trajectory, Wait
from distrl.runtime.build import make_environment, make_pool, make_setup
from distrl.runtime.chosen_tasks import chosen_tasks
from distrl.runtime.curriculum import FixedTasks
from distrl.runtime.evaluation import Scripted
from distrl.runtime.policies import load_start
from distrl.runtime.run_state import make_curriculum, show_expert
from distrl.runtime.task_lists import check_tasks
from distrl.runtime.worker import Worker, WorkerOptions

AITW = {
    "general": "How do I get to the nearest Walmart?\nSet an alarm for 6pm\n",
    "web_shopping": "Go to ebay.com, search for 'lenovo thinkpad'\nEmpty the cart on bestbuy\n",
    "install": 'install app "Spotify"\nopen app "Firefox"\n',
    "google_apps": "turn on wifi\nopen chrome and search cats\n",
}


def config_with(file: Path, **tables: Any) -> Config:
    return config_of({"tasks": {"file": str(file)}, "judge": {"kind": "script"}, "policy": {"mode": "text"}, **tables})


@pytest.mark.parametrize("name", AITW)
def test_a_list_of_aitw_is_the_tasks_of_a_run(tmp_path: Path, name: str) -> None:
    file = tmp_path / f"{name}_train.txt"
    lines = AITW[name].splitlines()
    file.write_text("".join(f"{line} ({number})\n" for number in range(5) for line in lines))
    config = config_with(file)
    train, test = chosen_tasks(config.tasks, "train"), chosen_tasks(config.tasks, "test")
    assert (len(train), len(test)) == (8, 2)
    assert not {task.id for task in train} & {task.id for task in test}
    check_tasks(config)
    curriculum = make_curriculum(config, derive_random(0))
    drawn: list[Task] = [assignment.task for assignment in (curriculum.next() for _ in range(20)) if assignment]
    assert {task.id for task in drawn} <= {task.id for task in train}
    assert list(show_expert(config, load_start(config))) == []


def test_a_list_that_says_its_splits_is_split_as_it_says(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("instruction,split,tags\nA,train,allows_message\nB,test,\nC,train,\n")
    config = config_with(file)
    assert [task.instruction for task in chosen_tasks(config.tasks, "train")] == ["A", "C"]
    assert [task.instruction for task in chosen_tasks(config.tasks, "test")] == ["B"]
    assert chosen_tasks(config.tasks, "train")[0].tags == ("allows_message",)


def test_a_rule_cannot_judge_them_and_a_list_of_one_has_nothing_to_hold_out(tmp_path: Path) -> None:
    file = tmp_path / "one.txt"
    file.write_text("Do it\nDo that\n")
    with pytest.raises(UserError, match="vlm"):
        check_tasks(config_of({"tasks": {"file": str(file)}}))
    with pytest.raises(UserError, match="has neither"):
        check_tasks(config_of({"tasks": {"file": str(file), "max_difficulty": 1}, "judge": {"kind": "script"}}))
    file.write_text("Do it\n")
    with pytest.raises(UserError, match="no tasks for train"):
        check_tasks(config_with(file))


def test_they_are_played_and_judged_by_what_is_configured(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("Do it\nDo that\n")
    config = config_with(file, judge={"kind": "script", "script": ("failure", "success")})
    sent: list[Trajectory] = []

    async def keep(trajectory: Trajectory) -> None:
        sent.append(trajectory)

    async def play() -> None:
        worker = Worker(
            make_pool(config, 1),
            Scripted(lambda situation: Wait()),
            weights=lambda assignment: SimpleNamespace(version=0),
            make_environment=lambda device: make_environment(config, device),
            make_setup=make_setup,
            send=keep,
            options=WorkerOptions(),
        )
        await worker.run(FixedTasks(chosen_tasks(config.tasks, "train")))

    run_virtual(play())
    assert [(t.task.instruction, t.outcome, len(t.steps)) for t in sent] == [("Do that", Outcome.SUCCEEDED, 2)]
