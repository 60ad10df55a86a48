"""What pixel eyes make of screens that text eyes read: training tasks in; by kind of element, what is found, out.

    python benchmarks/eyes.py [--suite general] [--tasks 70]

`found` is the share of the familiar words in the ui tree that are read from the crop, `true` the share of what is read
that stands in the ui tree, `matched` the share of words of the request that match an element in both. Some cannot be
found: they are not drawn (names of photos and icons), or hidden (the hint of a field that is being typed into).
"""

import argparse
from collections import defaultdict

import numpy as np

from distrl.core.types import Situation
from distrl.policies.tiny.eyes import MAX_ELEMENTS
from distrl.policies.tiny.features import moments_of
from distrl.policies.tiny.policy import TinyPolicy
from distrl.runtime.demonstrations import demonstrate
from distrl.runtime.policies import SHIPPED, load_eyes
from distrl.tasks.book import load_tasks

SURE, ALIKE = 0.9, 0.5


def main() -> None:
    """Look twice, count, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="general")
    parser.add_argument("--tasks", type=int, default=70)
    args = parser.parse_args()
    pixels, text = TinyPolicy("pixels"), TinyPolicy("text")
    load_eyes(pixels, SHIPPED)
    tasks = load_tasks(args.suite, "train")
    counts: defaultdict[str, np.ndarray] = defaultdict(lambda: np.zeros(5, np.int64))
    for shown in demonstrate(tasks[:: max(1, len(tasks) // args.tasks)][: args.tasks], noise=0.1, seed=3):
        for step in shown.steps:
            now = Situation(task=shown.task, steps=(), observation=step.observation)
            read, known = (moments_of([now], policy.eyes)[0] for policy in (pixels, text))
            for place, element in enumerate(step.observation.elements[:MAX_ELEMENTS]):
                there = {*text.eyes.spell(int(known.elements[place]))} - {-1}
                said = {*pixels.eyes.spell(int(read.elements[place]))} - {-1}
                is_named = known.similarity[:, place] > SURE
                is_seen = is_named & (read.similarity[:, place] > ALIKE)
                counts[element.kind] += (len(there), len(there & said), len(said), is_named.sum(), is_seen.sum())
    for kind, (there, both, said, named, seen) in sorted(counts.items(), key=lambda item: -item[1][0]):
        shares = [f"{a / b:6.1%}" if b else "     -" for a, b in ((both, there), (both, said), (seen, named))]
        print(f"{kind:8} {there:6} words: found {shares[0]}, true {shares[1]}; {named:5} named: matched {shares[2]}")


if __name__ == "__main__":
    main()
