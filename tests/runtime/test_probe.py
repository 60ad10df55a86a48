"""The probe for reward hacking: it counts by template, cries out when a share rises, and not when it does not."""

from random import Random
from typing import Any

import msgspec
import pytest

from distrl.core.types import Ruling, Verdict
from distrl.runtime.probe import RECENT, RECENT_OF_TEMPLATE, WINDOW, Probe

from .fleet import plain_trajectory

pytestmark = pytest.mark.judge


def say(probe: Probe, *, truth: bool | None, ruling: Ruling = Ruling.SUCCESS, template: str = "plain") -> None:
    truths = () if truth is None else (truth,)
    made = plain_trajectory("x", template=template)
    probe.look_at(msgspec.structs.replace(made, verdict=Verdict(ruling=ruling, judge="vlm:x", truths=truths)))


def test_a_row_counts_false_successes_by_template() -> None:
    rows: list[dict[str, Any]] = []
    probe = Probe(on_window=rows.append)
    for number in range(WINDOW):
        is_shop = number % 5 == 0
        ruling = Ruling.SUCCESS if number % 2 == 0 else Ruling.FAILURE
        say(probe, truth=not is_shop, ruling=ruling, template="shop" if is_shop else "clock")
    say(probe, truth=None)
    say(probe, truth=False, ruling=Ruling.UNKNOWN)
    assert rows == [
        {
            "judged": WINDOW,
            "successes": 25,
            "false_successes": 5,
            "by_template": {"clock": [20, 0], "shop": [5, 5]},
        }
    ]


def test_a_rising_share_raises_one_alert_for_all_and_one_for_the_template() -> None:
    alerts: list[dict[str, Any]] = []
    probe = Probe(on_alert=alerts.append)
    for number in range(400):
        say(probe, truth=number % 20 != 0, template="clock")
        say(probe, truth=number % 20 != 0, template="shop")
    assert alerts == []
    for number in range(2 * RECENT):
        say(probe, truth=number % 20 != 0, template="clock")
        say(probe, truth=number % 2 == 0, template="shop")
    assert {alert["template"] for alert in alerts} == {"shop", "all"}
    assert len(alerts) == 2, "the same is not told again and again"
    assert probe.rising == ("all", "shop")
    assert all(alert["share"] > alert["share_before"] for alert in alerts)


def test_a_judge_that_is_always_equally_bad_raises_none() -> None:
    num_alerts = 0
    for seed in range(30):
        rng, alerts = Random(seed), []
        probe = Probe(on_alert=alerts.append)
        for _ in range(1500):
            say(probe, truth=rng.random() > 0.15, template=f"t{rng.randrange(8)}")
        num_alerts += bool(alerts)
    assert num_alerts <= 3, "one run in ten may cry out by chance, over 1,500 successes"


def test_what_earlier_lives_saw_counts_as_before() -> None:
    alerts: list[dict[str, Any]] = []
    probe = Probe(on_alert=alerts.append)
    probe.restore([{"judged": WINDOW * n, "by_template": {"shop": [40, 1]}} for n in range(1, 6)])
    for _ in range(RECENT_OF_TEMPLATE):
        say(probe, truth=False, template="shop")
    assert [alert["template"] for alert in alerts] == ["shop"]
    rows: list[dict[str, Any]] = []
    probe._on_window = rows.append
    for _ in range(WINDOW):
        say(probe, truth=True)
    assert rows[0]["judged"] == WINDOW * 6
