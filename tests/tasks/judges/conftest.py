"""What all tests of judges have in common."""

import logging

import pytest


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is asked directly, whatever the environment of whoever runs this says."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(autouse=True)
def _loggers() -> None:
    """Warnings are seen: a tool that another test runs in this process switches off loggers that it did not make."""
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("distrl") and isinstance(logger, logging.Logger):
            logger.disabled = False
