"""One learner alone and one with a companion make two updates on the same batches: what came of it, as JSON.

python -m models.two_learners MODEL        in the folder of the tests; a process of its own, since Ray has to be new
"""

import json
import sys

import torch

from distrl.runtime import ray_private

ray_private.prepare(None)

import ray  # noqa: E402

from distrl.core.config import config_of  # noqa: E402
from distrl.runtime import companions  # noqa: E402
from distrl.runtime.policies import load_start  # noqa: E402
from distrl.runtime.ray_engine import connected  # noqa: E402

from .learning import make_learner, played  # noqa: E402


def main(model: str) -> None:
    hf = {"model": model, "num_screens": 0, "prompt": "numbered", "max_new_tokens": 6}
    config = config_of({"policy": {"kind": "hf", "start": "scratch", "hf": hf}, "learner": {"num_workers": 2}})
    alone, together = load_start(config), load_start(config)
    start = [parameter.detach().clone() for parameter in alone.parameters()]
    arrived = played(alone)
    with connected(None):
        shared = companions.gather(config, together)
        assert shared is not None
        shared.share_weights()  # compares the weights of all processes
        learners = make_learner(alone, arrived), make_learner(shared, arrived)
        told = [[learner.update() for learner in learners] for _ in range(2)]
        digest, companions.digest_of = companions.digest_of, lambda parameters: "what nobody has"
        try:
            shared.share_weights()
            is_found_out = False
        except companions.NotSharedError:
            is_found_out = True
        companions.digest_of = digest
        ray.kill(shared._companions[0])
        try:
            learners[1].update()
            gone = ""
        except companions.NotSharedError as error:
            gone = str(error)
    pairs = list(zip(alone.parameters(), together.parameters(), start, strict=True))
    with torch.no_grad():
        apart = sum(float((ours - theirs).abs().sum()) for ours, theirs, _ in pairs)
        moved = sum(float((ours - before).abs().sum()) for ours, _, before in pairs)
    print(json.dumps({"told": told, "apart": apart, "moved": moved, "is_found_out": is_found_out, "gone": gone}))


if __name__ == "__main__":
    main(sys.argv[1])
