"""Models by their names on the hub: found in the cache of `HF_HOME` while offline, at the revision asked for."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .asking import make_policy, situations
from .conftest import MakeModel
from .test_loading import with_own_code

pytestmark = pytest.mark.models
OLD, NEW = "1" * 40, "2" * 40


def cached(home: Path, name: str) -> Path:
    """The snapshot `tried` of a model in a cache, to be filled; the newest one, `main`, is of no use."""
    place = home / "hub" / f"models--{name.replace('/', '--')}"
    for revision, commit in (("tried", OLD), ("main", NEW)):
        (place / "refs").mkdir(parents=True, exist_ok=True)
        (place / "refs" / revision).write_text(commit)
        (place / "snapshots" / commit).mkdir(parents=True)
    (place / "snapshots" / NEW / "config.json").write_text('{"model_type": "nothing that there is"}')
    return place / "snapshots" / OLD


def told(home: Path, code: str, *arguments: str) -> Any:
    """What a process prints, as JSON, whose cache is there and for which there is no network."""
    variables = {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    command = [sys.executable, "-c", code, *arguments]
    place = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd=place, env=kept | variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


LOADING = """
import json, sys
from pathlib import Path
from peft import AutoPeftModelForCausalLM
from distrl.core.config import config_of
from distrl.core.errors import UserError
from distrl.runtime.acting import make_remote_actor
from distrl.runtime.chat_model import ChatModel
from distrl.runtime.policies import check_start, load_start
from distrl.runtime.saved_weights import weight_files, write_weights
from models.asking import situations

def config(model, **more):
    hf = {"model": model, "num_screens": 0, "prompt": "numbered", "max_new_tokens": 6, **more}
    endpoint = {"url": "http://127.0.0.1:9/v1", "model": "base", "key_variable": "", "adapter_dir": sys.argv[1]}
    return config_of({"policy": {"kind": "hf", "start": "scratch", "hf": hf, "endpoint": endpoint}})

def said(model, **more):
    check_start(config(model, **more))
    return [decision.tokens for decision in load_start(config(model, **more)).decide(situations(), None)]

try:
    newest = said("a/b")
except UserError as error:
    newest = str(error)
directory = Path(sys.argv[1])
write_weights(directory, weight_files(load_start(config("a/b", revision="tried"))))
ChatModel(directory)  # as `distrl serve` opens it
AutoPeftModelForCausalLM.from_pretrained(directory)
print(json.dumps({
    "newest": newest,
    "by_name": said("a/b", revision="tried"),
    "by_commit": said("a/b", revision="1" * 40),
    "own_code": said("a/own", revision="tried", trust_remote_code=True),
    "saved": json.loads((directory / "adapter_config.json").read_text()),
    "sent": json.loads(make_remote_actor(config("a/b", revision="tried"))._adapter_config),
}))
"""


def test_a_name_and_a_revision_are_found_in_the_cache_and_written_beside_the_adapter(
    model_of: MakeModel, tmp_path: Path
) -> None:
    home, saved = tmp_path / "home", tmp_path / "saved"
    saved.mkdir()
    shutil.copytree(model_of("llama"), cached(home, "a/b"), dirs_exist_ok=True)
    with_own_code(Path(shutil.copytree(model_of("llama"), cached(home, "a/own"), dirs_exist_ok=True)), tmp_path / "ran")
    found = told(home, LOADING, str(saved))
    here = make_policy(model_of("llama"), is_taught=False).decide(situations(), None)
    wanted = [list(decision.tokens) for decision in here]
    assert "cannot load 'a/b'" in found["newest"]  # so what is found below is not the newest
    assert found["by_name"] == found["by_commit"] == found["own_code"] == wanted
    assert (tmp_path / "ran").exists()
    for written in (found["saved"], found["sent"]):
        assert (written["base_model_name_or_path"], written["revision"]) == ("a/b", "tried")
