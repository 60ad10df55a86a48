"""What all tests of the command line have in common."""

import os

import pytest


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test depends on the configuration of whoever runs it."""
    for name in list(os.environ):
        if name.startswith("DISTRL_"):
            monkeypatch.delenv(name)
