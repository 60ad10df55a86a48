"""A Ray of one's own: what has to be in the environment before Ray is imported, since it reads it only then."""

import os
import secrets
import sys


def prepare(address: str | None) -> None:
    """Before the first import of Ray: without an address it will be private, on loopback, and ask for a token."""
    if address or "ray" in sys.modules:
        return
    # Ray has one switch that keeps it on loopback, made for systems whose firewalls ask about every listener.
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    # By default Ray's processes give way to everything else on the machine, and then hardly run at all.
    os.environ.setdefault("RAY_worker_niceness", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
