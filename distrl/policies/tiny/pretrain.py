"""Pre-training of the eye: random words drawn twice in; an encoder that knows them for the same out.

No word of any phone or task is used: words are random syllables, numbers, times, prices and addresses, each drawn once
plainly and once as phones draw them (size, weight, sub-pixel place, capitals, a cursor behind it). Every other word has
a neighbour that differs in one letter, so that the encoder must look closely. Loss: InfoNCE.
"""

from collections.abc import Iterator
from random import Random

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from distrl.policies.tiny.encoder import WordEncoder
from distrl.policies.tiny.reading import Pixels, canonical, draw_ink, draw_word, trim

_WEIGHTS = ("Roboto", "Roboto", "RobotoMedium", "RobotoBold", "RobotoLight")
_VOWELS, _CONSONANTS = "aeiouy", "bcdfghjklmnpqrstvwxz"
_LETTERS = _VOWELS + _CONSONANTS
_DIGITS = "0123456789"
TEMPERATURE = 0.07


class PretrainOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How long and how hard."""

    updates: int = 1200
    batch_words: int = 192
    learning_rate: float = 1e-3
    seed: int = 0


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """One update of pre-training: the loss, and the share of words that found their twin among all of the batch."""

    update: int
    loss: float
    matched: float


def random_word(rng: Random) -> str:
    """Something that could stand on a screen."""
    draw = rng.random()
    if draw < 0.7:
        word = "".join(
            rng.choice(_CONSONANTS) * (rng.random() < 0.85)
            + rng.choice(_VOWELS)
            + rng.choice(_LETTERS) * (rng.random() < 0.4)
            for _ in range(rng.choice((1, 1, 2, 2, 2, 3, 3, 4)))
        )
        return word.capitalize() if rng.random() < 0.4 else word
    if draw < 0.78:
        return "".join(rng.choices(_DIGITS, k=rng.randint(1, 5)))
    if draw < 0.84:
        return f"{rng.randint(0, 23)}:{rng.randint(0, 59):02d}"
    if draw < 0.88:
        return f"{rng.randint(100, 999)}-{rng.randint(1000, 9999)}"
    if draw < 0.92:
        return f"{rng.choice('$€')}{rng.randint(1, 999)}.{rng.randint(0, 99):02d}"
    first, second, third = (random_name(rng) for _ in range(3))
    return rng.choice(
        (f"{first}.{second}", f"{first}@{second}.{third}", f"{first}-{second}", f"{first}_{rng.randint(1, 99)}")
    )


def random_name(rng: Random) -> str:
    """A lower-case word of one to three syllables."""
    return "".join(rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(rng.randint(1, 3)))


def neighbour(word: str, rng: Random) -> str:
    """The same word with one letter changed, left out, doubled, or swapped with the next."""
    at = rng.randrange(len(word))
    letter = rng.choice(_DIGITS if word[at].isdigit() else _LETTERS)
    changed = (
        word[:at] + letter + word[at + 1 :],
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at:],
        word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
    )
    return rng.choice(changed) or letter


def as_on_a_phone(word: str, rng: Random) -> Pixels:
    """A word in canonical form, after having been on some screen."""
    draw = rng.random()
    shown = word.capitalize() if draw < 0.15 else word.lower() if draw < 0.3 else word
    pixels, weight = rng.uniform(8.0, 16.0), rng.choice(_WEIGHTS)
    ink = draw_ink(shown, pixels=pixels, weight=weight, phase=rng.randrange(4))
    if rng.random() < 0.06:
        end = int(np.flatnonzero((ink > 40).any(axis=0))[-1]) + 2 if (ink > 40).any() else 0
        ink = np.pad(ink, ((0, 0), (0, 3)))
        ink[round(pixels * 0.15) : round(pixels * 1.25), end : end + 1] = 255
    if rng.random() < 0.3:
        ink = (ink.astype(np.float32) * rng.uniform(0.6, 1.0)).astype(np.uint8)
        ink = (ink.astype(np.int32) * 255 // max(int(ink.max()), 1)).astype(np.uint8)
    return canonical(trim(ink))


def draw_batch(rng: Random, count: int) -> tuple[Pixels, Pixels]:
    """Two pictures of each of `count` different words."""
    words: dict[str, str] = {}
    while len(words) < count:
        word = random_word(rng)
        for candidate in (word, neighbour(word, rng)) if rng.random() < 0.5 else (word,):
            if len(words) < count:
                words.setdefault(candidate.casefold(), candidate)
    chosen = list(words.values())
    return np.stack([draw_word(w) for w in chosen]), np.stack([as_on_a_phone(w, rng) for w in chosen])


def contrast(plain: Tensor, shown: Tensor) -> tuple[Tensor, Tensor]:
    """InfoNCE in both directions, and the share of shown words whose nearest plain word is their own."""
    logits = shown @ plain.T / TEMPERATURE
    target = torch.arange(len(logits))
    loss = (nn.functional.cross_entropy(logits, target) + nn.functional.cross_entropy(logits.T, target)) / 2
    return loss, (logits.argmax(dim=1) == target).float().mean()


def pretrain(encoder: WordEncoder, options: PretrainOptions) -> Iterator[Progress]:
    """Train an encoder in place, one update at a time."""
    rng = Random(options.seed)
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=options.learning_rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, options.learning_rate, total_steps=options.updates)
    for update in range(1, options.updates + 1):
        plain, shown = draw_batch(rng, options.batch_words)
        both = torch.from_numpy(np.concatenate((plain, shown))).float().div_(255.0)
        vectors = encoder(both)
        loss, matched = contrast(vectors[: len(plain)], vectors[len(plain) :])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        yield Progress(update=update, loss=float(loss.detach()), matched=float(matched))
