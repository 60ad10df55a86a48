"""The tiny policy at its edges: odd boxes, odd shapes, odd draws."""

import msgspec
import numpy as np
import pytest

from distrl.core.types import Screen
from distrl.policies.tiny.policy import TinyPolicy

from .screens import Pixels, draw_line, element, make_policy, observation, page, situation
from .test_eyes import eyes_of
from .test_reading import nearest


@pytest.mark.parametrize(
    "box",
    [
        (1.0, 0.5, 1.0, 0.6),
        (0.5, 1.0, 0.6, 1.0),
        (-0.1, 0.5, 0.2, 0.6),
        (1.2, 0.5, 1.4, 0.6),
        (0.2, 0.9985, 0.4, 1.0),
        (0.9985, 0.1, 1.0, 0.2),
    ],
)
def test_a_box_at_or_beyond_an_edge_is_seen(box: tuple[float, float, float, float]) -> None:
    (sight,) = eyes_of("pixels").see([observation(element("", box))])
    assert len(sight.elements) == 1


def test_the_same_bytes_in_another_shape_are_another_screen() -> None:
    pixels = np.zeros((40, 20, 3), np.uint8)
    pixels[:20] = 255
    eyes = eyes_of("pixels")
    tall = observation(element("", (0.0, 0.0, 1.0, 1.0)), pixels=pixels)
    wide = msgspec.structs.replace(tall, screen=Screen(data=tall.screen.data, width=40, height=20))
    assert (eyes.see([tall])[0].elements != eyes.see([wide])[0].elements).all()


def test_a_row_with_a_badge_is_read() -> None:
    row: Pixels = np.full((43, 254, 3), 255, np.uint8)
    yy, xx = np.mgrid[:43, :254]
    row[(yy - 21) ** 2 + (xx - 25) ** 2 < 13.5**2] = (63, 105, 220)
    for top, text in ((4, "Network internet"), (19, "mobile hotspot")):
        line = draw_line(text, margin=2)
        row[top : top + line.shape[0], 50 : 50 + line.shape[1]] = line
    found = nearest(row, ["Network", "internet", "mobile", "hotspot", "Search", "Battery"])
    assert {"Network", "internet", "mobile", "hotspot"} <= set(found)


def test_an_instruction_too_long_to_be_typed_is_decided_on() -> None:
    from random import Random

    s = situation("x" * 5000)
    make_policy("text").decide([s] * 200, [Random(n) for n in range(200)])


def test_a_draw_of_zero_chooses_nothing_impossible() -> None:
    class Zero:
        def random(self) -> float:
            return 0.0

    (decision,) = make_policy("text").decide([situation("Call Elena")], [Zero()])  # type: ignore[list-item]
    assert decision.log_prob > -1e6


def test_nothing_is_decided_for_nobody() -> None:
    assert TinyPolicy("text").decide([], []) == []
    assert page("x")
