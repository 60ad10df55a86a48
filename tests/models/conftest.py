"""Tiny models, each made once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .families import make_model

MakeModel = Callable[[str], Path]


@pytest.fixture(scope="session")
def model_of(tmp_path_factory: pytest.TempPathFactory) -> MakeModel:
    """The directory of a tiny model, by family."""
    made: dict[str, Path] = {}

    def make(family: str) -> Path:
        if family not in made:
            made[family] = make_model(family, tmp_path_factory.mktemp("models") / family)
        return made[family]

    return make
