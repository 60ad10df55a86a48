"""A learner and a spool in a directory of their own; `--update-golden` writes the golden files anew."""

from pathlib import Path

import pytest

from .hubs import Learner, TightSpool


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
