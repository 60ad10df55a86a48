"""The contract of every device: the sim directly on virtual time, and the same phone through the real adb server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from distrl.core.clock import run_virtual
from distrl.core.config import Config
from distrl.core.interfaces import Device
from distrl.core.types import (
    Action,
    Button,
    Claim,
    Finish,
    Invalid,
    LongPress,
    Observation,
    OpenApp,
    Press,
    Swipe,
    Tap,
    TypeText,
    Wait,
)
from distrl.runtime.build import make_sim_device

from .adb_bench import Tool, connected, make_adbd

T = TypeVar("T")
Run = Callable[[Callable[[Device], Awaitable[T]]], T]
KINDS = ("sim", pytest.param("adb", marks=pytest.mark.adb))


@pytest.fixture(params=KINDS)
def run(request: pytest.FixtureRequest) -> Callable[..., object]:
    """Runs a use of a device of each kind."""

    def on_sim(use: Callable[[Device], Awaitable[T]]) -> T:
        async def main() -> T:
            return await use(make_sim_device(Config()))

        return run_virtual(main())

    def through_adb(use: Callable[[Device], Awaitable[T]]) -> T:
        adb: Tool = request.getfixturevalue("adb")

        async def main() -> T:
            async with connected(adb, make_adbd()) as device:
                return await use(device)

        return asyncio.run(main())

    return on_sim if request.param == "sim" else through_adb


def test_it_is_a_device(run: Run[bool]) -> None:
    async def use(made: Device) -> bool:
        return isinstance(made, Device) and bool(made.name)

    assert run(use)


def test_a_device_shows_what_was_done_and_reset_undoes_it(run: Run[tuple[Observation, ...]]) -> None:
    async def use(made: Device) -> tuple[Observation, ...]:
        await made.reset()
        start = await made.observe()
        await made.perform(OpenApp(app="Clock"))
        opened = await made.observe()
        await made.reset()
        again = await made.observe()
        await made.close()
        await made.close()
        return start, opened, again

    start, opened, again = run(use)
    assert start.screen == again.screen != opened.screen
    assert start.activity == again.activity != opened.activity


def test_finish_and_invalid_touch_nothing(run: Run[tuple[Observation, ...]]) -> None:
    async def use(made: Device) -> tuple[Observation, ...]:
        await made.reset()
        start = await made.observe()
        await made.perform(Finish(claim=Claim.COMPLETE))
        await made.perform(Invalid(raw="?", reason="?"))
        return start, await made.observe()

    start, after = run(use)
    assert start.screen == after.screen


def test_observations_carry_candidates_within_the_screen(run: Run[Observation]) -> None:
    async def use(made: Device) -> Observation:
        await made.reset()
        return await made.observe()

    seen = run(use)
    assert 0 < len(seen.elements) <= 64
    assert all(0 <= v <= 1 for e in seen.elements for v in e.box)
    assert len(seen.screen.data) == seen.screen.width * seen.screen.height * 3


def test_every_action_can_be_performed_and_an_app_that_is_not_there_does_nothing(run: Run[str]) -> None:
    actions: tuple[Action, ...] = (
        Tap(x=1.0, y=1.0),
        LongPress(x=0.5, y=0.5),
        Swipe(x=0.5, y=0.8, to_x=0.5, to_y=0.2),
        TypeText(text="nobody listens"),
        TypeText(text=""),
        OpenApp(app="no such app; reboot"),
        Wait(),
        *(Press(button=button) for button in Button),
    )

    async def use(made: Device) -> str:
        await made.reset()
        for action in actions:
            await made.perform(action)
        await made.perform(Press(button=Button.HOME))
        return (await made.observe()).activity

    assert "launcher" in run(use)


def test_a_field_is_touched_filled_and_read_back(run: Run[Observation]) -> None:
    async def touch(made: Device, element_id: str) -> None:
        seen = await made.observe()
        x, y = next(e for e in seen.elements if e.id == element_id).center
        await made.perform(Tap(x=x, y=y))

    async def use(made: Device) -> Observation:
        await made.reset()
        await made.perform(OpenApp(app="notes"))
        await touch(made, "fab")
        await touch(made, "body")
        await made.perform(TypeText(text="100 %s sure"))
        return await made.observe()

    field = next(e for e in run(use).elements if e.id == "body")
    assert (field.text, field.kind, field.editable, field.focused) == ("100 %s sure", "field", True, True)


def test_both_kinds_see_the_same_elements(run: Run[Observation]) -> None:
    async def use(made: Device) -> Observation:
        await made.reset()
        await made.perform(OpenApp(app="Settings"))
        return await made.observe()

    async def plain(made: Device) -> Observation:
        return await use(made)

    async def sim() -> Observation:
        return await use(make_sim_device(Config()))

    seen, expected = run(plain), run_virtual(sim())
    assert seen.screen == expected.screen
    assert sorted((e.id, e.text, e.clickable) for e in seen.elements) == sorted(
        (e.id, e.text, e.clickable) for e in expected.elements if e.text or e.clickable
    )
