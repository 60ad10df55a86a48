"""The workers of a run as its hub knows them: what each says in, what the fleet is like on average and in all out."""

from collections.abc import Collection

import msgspec

SUMS = frozenset({"policy_calls", "policy_tokens", "policy_cost"})
"""What is paid for is told in all: a mean says nothing to the one who pays."""


class Member(msgspec.Struct, kw_only=True):
    """A worker as the hub knows it."""

    ticket: str
    place: str
    num_devices: int
    heard_s: float
    stats: dict[str, float]
    """Shares of its devices' time by what they waited for, and what else it measured."""
    version: int = -1
    """That of the weights which it says it has."""
    seen: int = -1
    """The newest version when it delivered last."""
    num_missed: int = 0
    """At how many newer versions it has delivered without taking any."""
    num_asked: int = 0
    """Calls for news; only the last one gets orders, since nobody waits for the answers to others."""


def means_of(members: Collection[Member]) -> dict[str, float]:
    """What workers measured, averaged over the devices of those who have measured it; of `SUMS`, the sum."""
    names = {name for member in members for name in member.stats}
    return {name: _sum(name, members) if name in SUMS else round(_mean(name, members), 4) for name in sorted(names)}


def _sum(name: str, members: Collection[Member]) -> float:
    return round(sum(member.stats.get(name, 0.0) for member in members), 6)


def _mean(name: str, members: Collection[Member]) -> float:
    measured = [(m.stats[name], m.num_devices) for m in members if name in m.stats]
    return sum(value * count for value, count in measured) / max(1, sum(count for _, count in measured))
