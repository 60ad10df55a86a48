"""The eye for widgets: crops of elements in; for each what kind of thing it is, its state, and what an icon means, out.

A small convolutional network that is shown the elements of many screens with what they are (runtime/labelled.py), then
frozen. What it says is rounded: with shares of doubt in it, the policy would tell single crops apart by them, and learn
the screens it has seen by heart (ADR 0020).
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor, nn

from distrl.core.types import ELEMENT_KINDS, Element
from distrl.policies.tiny.familiar_words import familiar_words, vocabulary
from distrl.policies.tiny.words import words_of

Pixels = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

HEIGHT, WIDTH = 24, 48
NUM_KINDS, NUM_FLAGS = len(ELEMENT_KINDS), 6
KNOWN_DIM = NUM_KINDS + NUM_FLAGS
"""What is known of an element: its kind, and what can be said about it with yes or no."""
PICTURED = tuple(ELEMENT_KINDS.index(kind) for kind in ("icon", "button", "chip", "key", "nav"))
"""Kinds of elements that may mean a word without showing it: a bin, the minus of a calculator, Mo for Monday."""
LEAST_SHARE = 0.2
"""Of a word that an icon is taken to mean: icons have up to four."""


def known_of(element: Element) -> Floats:
    """Kind and state of an element of the ui tree."""
    known = np.zeros(KNOWN_DIM, np.float32)
    known[element.kind_number] = 1.0
    flags = (element.enabled, element.clickable, element.checked is True, element.checked is False)
    known[NUM_KINDS:] = (*flags, element.editable, element.focused)
    return known


def words_on(element: Element) -> Floats:
    """Which familiar words the ui tree has for a picture, in equal shares; the last place stands for none of them."""
    words = words_of(element.text) if element.kind_number in PICTURED else ()
    known = {words[i].casefold() for i in range(len(words))} & familiar_words()
    shares = np.zeros(len(vocabulary()) + 1, np.float32)
    shares[[vocabulary()[word] for word in known] or [-1]] = 1.0 / max(len(known), 1)
    return shares


class Glance(msgspec.Struct, frozen=True, kw_only=True):
    """A crop in the size that the eye takes, and how much of the screen's width and height it was."""

    picture: Pixels
    size: tuple[float, float]


def glance_at(crop: Pixels, width: int, height: int) -> Glance:
    """A crop of a screen of this size as the eye takes it."""
    image = Image.fromarray(np.ascontiguousarray(crop)).resize((WIDTH, HEIGHT), Image.Resampling.BOX)
    return Glance(picture=np.asarray(image), size=(crop.shape[1] / width, crop.shape[0] / height))


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """What an element is."""

    known: Floats
    words: Floats


def label_of(element: Element) -> Label:
    """All of it, as the ui tree has it."""
    return Label(known=known_of(element), words=words_on(element))


class WidgetEye(nn.Module):
    """[N, HEIGHT, WIDTH, 3] of colours and [N, 2] of sizes to logits: [N, KNOWN_DIM] and [N, words + 1]."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 48, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.mix = nn.Sequential(nn.Linear(48 * (HEIGHT // 8) * (WIDTH // 8) + 2, 160), nn.ReLU())
        self.known = nn.Linear(160, KNOWN_DIM)
        self.words = nn.Linear(160, len(vocabulary()) + 1)

    def forward(self, pictures: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
        """Logits."""
        seen = self.layers(pictures.permute(0, 3, 1, 2).float().div(255.0))
        mixed = self.mix(torch.cat((seen, sizes), dim=1))
        return self.known(mixed), self.words(mixed)


def _tensors(glances: Sequence[Glance]) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(np.stack([g.picture for g in glances])), torch.tensor([g.size for g in glances])


@torch.inference_mode()
def recognise(eye: WidgetEye, glances: Sequence[Glance]) -> tuple[Floats, list[tuple[str, ...]]]:
    """[N, KNOWN_DIM]: the likeliest kind of each, yes or no for each flag; and for each picture the words for it."""
    logits, words = eye(*_tensors(glances))
    kinds = nn.functional.one_hot(logits[:, :NUM_KINDS].argmax(dim=1), NUM_KINDS)
    known: Floats = torch.cat((kinds, logits[:, NUM_KINDS:] > 0), dim=1).float().numpy()
    names = list(vocabulary())
    is_said = (words.softmax(dim=1) > LEAST_SHARE) & (kinds[:, PICTURED].sum(dim=1, keepdim=True) > 0)
    return known, [tuple(names[i] for i in np.flatnonzero(row)) for row in is_said[:, :-1].numpy()]


class WidgetOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How long and how hard."""

    epochs: int = 30
    batch: int = 128
    learning_rate: float = 2e-3
    seed: int = 0


class WidgetProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One pass: the loss, and on elements that were not shown the shares of kinds, flags and icons that are right."""

    epoch: int
    loss: float
    kinds_right: float
    flags_right: float
    icons_right: float


Examples = Sequence[tuple[Glance, Label]]


def train_widgets(
    eye: WidgetEye, shown: Examples, checked: Examples, options: WidgetOptions
) -> Iterator[WidgetProgress]:
    """Train an eye in place on elements whose kinds are known, one pass at a time; the rate falls to nothing."""
    rng = np.random.default_rng(options.seed)
    pictures, sizes = _tensors([glance for glance, _ in shown])
    known = torch.from_numpy(np.stack([label.known for _, label in shown]))
    words = torch.from_numpy(np.stack([label.words for _, label in shown]))
    num_batches = max(1, len(shown) // options.batch)
    optimiser = torch.optim.AdamW(eye.parameters(), lr=options.learning_rate, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, options.learning_rate, total_steps=options.epochs * num_batches
    )
    for epoch in range(1, options.epochs + 1):
        total = 0.0
        for rows in np.array_split(rng.permutation(len(shown)), num_batches):
            chosen = torch.from_numpy(rows)
            loss = _loss(eye(pictures[chosen], sizes[chosen]), known[chosen], words[chosen])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        kinds, flags, icons = shares_right(eye, checked)
        yield WidgetProgress(
            epoch=epoch, loss=total / num_batches, kinds_right=kinds, flags_right=flags, icons_right=icons
        )


def _loss(said: tuple[Tensor, Tensor], known: Tensor, words: Tensor) -> Tensor:
    """Cross-entropies of kinds, of flags, and for pictures of words."""
    logits, word_logits = said
    kinds = nn.functional.cross_entropy(logits[:, :NUM_KINDS], known[:, :NUM_KINDS].argmax(dim=1))
    flags = nn.functional.binary_cross_entropy_with_logits(logits[:, NUM_KINDS:], known[:, NUM_KINDS:])
    each = nn.functional.cross_entropy(word_logits, words, reduction="none")
    is_picture = known[:, PICTURED].sum(dim=1)
    return kinds + flags + (each * is_picture).sum() / is_picture.sum().clamp(min=1.0)


def shares_right(eye: WidgetEye, checked: Examples) -> tuple[float, float, float]:
    """Of kinds, of flags, and of icons that have words: those whose words are all right."""
    known, words = recognise(eye, [glance for glance, _ in checked])
    labels = [label for _, label in checked]
    is_right = known == np.stack([label.known for label in labels])
    names = list(vocabulary())
    wanted = [tuple(names[i] for i in np.flatnonzero(label.words[:-1])) for label in labels]
    icons = [said == want for said, want in zip(words, wanted, strict=True) if want]
    kinds, flags = is_right[:, :NUM_KINDS].all(axis=1), is_right[:, NUM_KINDS:]
    return float(kinds.mean()), float(flags.mean()), float(np.mean(icons or [True]))
