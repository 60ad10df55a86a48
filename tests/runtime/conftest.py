"""Learner, journal, spool and run, in directories of their own; `--update-golden` writes the golden files anew."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from distrl.runtime.journal import Journal

from .fleet import settings
from .hubs import Learner, TightSpool
from .runs import USUAL, train


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", default=False, help="write the golden files anew")


@pytest.fixture
def is_updating_golden(request: pytest.FixtureRequest) -> bool:
    # Without arguments pytest finds this file too late to know the option; then it was not given.
    return bool(request.config.getoption("--update-golden", default=False))


@pytest.fixture
def learner(tmp_path: Path) -> Learner:
    """The journal of a run, and the hubs of all lives of its learner."""
    return Learner(tmp_path)


@pytest.fixture
def spool(tmp_path: Path) -> TightSpool:
    """The spool of a worker, with room for all that a test sends."""
    return TightSpool(tmp_path / "spool.sqlite", max_bytes=10 * 2**20)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal(tmp_path / "journal.sqlite")
    yield made
    made.close()


@pytest.fixture(scope="session")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run of seed 1 from the start to the end."""
    path = tmp_path_factory.mktemp("straight") / "run"
    train(settings(1, **USUAL), path)
    yield path
