"""Trajectories of all kinds, for what has to hold for each of them."""

from hypothesis import strategies as st
from msgspec.structs import replace

from distrl.core.types import Claim, Decision, Finish, Observation, Screen, Step, Swipe, Tap, Trajectory, TypeText
from distrl.replay.packing import with_screens
from distrl.runtime.wire import LARGEST_NUMBER

from ..replay.episodes import episode

numbers = st.floats(-LARGEST_NUMBER, LARGEST_NUMBER)
raw_screens = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda size: st.binary(min_size=3 * size[0] * size[1], max_size=3 * size[0] * size[1]).map(
        lambda data: Screen(data=data, width=size[0], height=size[1])
    )
)
encoded_screens = st.builds(
    Screen,
    data=st.binary(max_size=20),
    width=st.integers(1, 999),
    height=st.integers(1, 999),
    encoding=st.sampled_from(["png", "jpeg", "webp"]),
)
decisions = st.builds(
    Decision,
    action=st.sampled_from([Tap(x=0.0, y=1.0), Swipe(x=0.0, y=0.5, to_x=1.0, to_y=0.25), TypeText(text="Grüße\n")])
    | st.just(Finish(claim=Claim.COMPLETE)),
    raw=st.text(max_size=9),
    tokens=st.lists(st.integers(0, 2**31), max_size=4).map(tuple),
    token_log_probs=st.lists(numbers, max_size=4).map(tuple),
    log_prob=numbers,
    policy_version=st.integers(0, 2**64 - 1),
)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    """Up to five steps on a few screens of all encodings, so that some are seen again."""
    seen = st.sampled_from(draw(st.lists(raw_screens | encoded_screens, min_size=1, max_size=4)))
    steps = tuple(
        Step(
            observation=Observation(screen=draw(seen), activity=draw(st.text(max_size=5)), time_s=draw(numbers)),
            decision=draw(decisions),
            rewards=draw(st.dictionaries(st.text(max_size=5), numbers, max_size=3)),
        )
        for _ in range(draw(st.integers(1, 5)))
    )
    made = replace(episode(), steps=steps, group=draw(st.text(max_size=5)), purpose=draw(st.text(max_size=5)))
    return with_screens(made, [draw(seen) for _ in range(len(steps) + 1)])
