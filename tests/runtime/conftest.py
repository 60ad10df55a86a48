"""`--update-golden` writes the golden files anew instead of comparing with them."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", default=False, help="write the golden files anew")


@pytest.fixture
def is_updating_golden(request: pytest.FixtureRequest) -> bool:
    # Without arguments pytest finds this file too late to know the option; then it was not given.
    return bool(request.config.getoption("--update-golden", default=False))
