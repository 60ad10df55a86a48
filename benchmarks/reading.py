"""How much of what stands on screens is read in pixels mode: training tasks in, shares by kind of element out.

    python benchmarks/reading.py [--suite general] [--tasks 150] [--show 20]

Every word that the ui tree has for an element is looked for among the pictures of words that were cut from its crop, in
any way of writing it. Some cannot be found: they are not drawn (what an icon means), covered, scrolled away or cut off.
So the shares say something beside each other, not by themselves; `--show` lists what is missed most.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from distrl.core.types import Element
from distrl.policies.tiny.encoder import Vector, WordEncoder, encode_words
from distrl.policies.tiny.eyes import MAX_ELEMENTS, crops_of, pixels_of
from distrl.policies.tiny.familiar import WAYS
from distrl.policies.tiny.policy import TinyPolicy
from distrl.policies.tiny.reading import Pixels, draw_word, read_words
from distrl.policies.tiny.words import words_of
from distrl.runtime.demonstrations import demonstrate
from distrl.runtime.policies import SHIPPED, load_eyes
from distrl.tasks.book import load_tasks

FOUND = 0.8
MAX_WORDS = 8
"""Longer texts than these are read by nobody."""
PICTURES = ("icon", "switch", "slider", "image", "nav", "key")


def elements_of(suite: str, count: int) -> Iterator[tuple[Element, Pixels]]:
    """The different elements that a noisy expert meets, each with its crop."""
    tasks = load_tasks(suite, "train")
    seen = set()
    for shown in demonstrate(tasks[:: max(1, len(tasks) // count)], noise=0.1, seed=3):
        for observation in (*(step.observation for step in shown.steps), shown.final):
            elements = observation.elements[:MAX_ELEMENTS]
            crops = crops_of(observation.screen, elements, pixels_of(observation.screen))
            for element, (key, crop) in zip(elements, crops, strict=True):
                if key not in seen and element.kind not in PICTURES:
                    seen.add(key)
                    yield element, crop


def likeness(word: str, read: Vector, encoder: WordEncoder) -> float:
    """How much what was read most like a word is like it."""
    ways = encode_words(encoder, np.stack([draw_word(w) for w in (word, *(write(word) for write in WAYS))]))
    return float((ways @ read.T).max()) if len(read) else 0.0


def main() -> None:
    """Look, count, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="general")
    parser.add_argument("--tasks", type=int, default=150)
    parser.add_argument("--show", type=int, default=0, help="so many words that are missed")
    args = parser.parse_args()
    policy = TinyPolicy("pixels")
    load_eyes(policy, SHIPPED)
    encoder = policy.module.encoder
    assert encoder is not None
    found: defaultdict[str, list[bool]] = defaultdict(list)
    missed: Counter[tuple[str, str]] = Counter()
    for element, crop in elements_of(args.suite, args.tasks):
        words = words_of(element.text)
        pictures = read_words(crop)
        read = encode_words(encoder, np.stack(pictures)) if pictures else np.zeros((0, 0), np.float32)
        for word in (words[i] for i in range(len(words)) if len(words) <= MAX_WORDS):
            is_found = likeness(word, read, encoder) > FOUND
            found[element.kind].append(is_found)
            missed[element.kind, word] += not is_found
    for kind, marks in sorted(found.items(), key=lambda item: -len(item[1])):
        print(f"{kind:8} {len(marks):6} words, {np.mean(marks):6.1%} found")
    everything = [mark for marks in found.values() for mark in marks]
    print(f"{'all':8} {len(everything):6} words, {np.mean(everything):6.1%} found")
    for (kind, word), count in missed.most_common(args.show):
        print(f"  missed {count:3} times: {word!r} on a {kind}")


if __name__ == "__main__":
    main()
