"""android_env both ways: its own loop on our phone, and our device on its environments, its fake among them."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dm_env
import numpy as np
import pytest
from android_env import loader
from android_env.components import config_classes

from distrl.core.clock import LoopClock
from distrl.core.errors import DeviceError
from distrl.core.interfaces import Device
from distrl.core.types import Button, LongPress, OpenApp, Press, Swipe, Tap, TypeText, Wait
from distrl.devices.android_env import AndroidEnvDevice
from distrl.devices.sim.adbd.server import Adbd
from distrl.devices.sim.emulator_control import EmulatorControl

from .adb_bench import Tool, make_adbd

pytestmark = pytest.mark.adb


@pytest.fixture
def task(tmp_path: Path) -> Path:
    file = tmp_path / "task.textproto"
    file.write_text('id: "none"\nname: "No task"\nmax_episode_sec: 600\n')
    return file


@contextlib.contextmanager
def served(adb: Tool) -> Iterator[tuple[Adbd, int, int]]:
    """A phone on a loop in a thread, since android_env waits by itself: the phone, its adb port, its gRPC port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)

    async def start() -> tuple[Adbd, EmulatorControl, int, int]:
        adbd = make_adbd(scale=0.1)
        control = EmulatorControl(adbd.android.phone)
        port = await adbd.start()
        _, writer = await asyncio.open_connection("127.0.0.1", adb.port)
        words = f"host:emulator:{port}".encode()
        writer.write(b"%04x" % len(words) + words)
        await writer.drain()
        writer.close()
        return adbd, control, port, await control.start()

    adbd, control, port, grpc_port = run(start())
    try:
        yield adbd, port, grpc_port
    finally:
        run(control.close())
        run(adbd.close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def emulator_config(adb: Tool, task: Path, port: int, grpc_port: int) -> config_classes.AndroidEnvConfig:
    return config_classes.AndroidEnvConfig(
        task=config_classes.FilesystemTaskConfig(path=str(task)),
        simulator=config_classes.EmulatorConfig(
            emulator_launcher=config_classes.EmulatorLauncherConfig(
                adb_port=port, emulator_console_port=port - 1, grpc_port=grpc_port
            ),
            adb_controller=config_classes.AdbControllerConfig(adb_path=str(adb.binary), adb_server_port=adb.port),
        ),
    )


@pytest.fixture(autouse=True)
def environment(adb: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It removes variables from the environment of the process: they come back afterwards."""
    for name in ("ANDROID_HOME", "ANDROID_ADB_SERVER_PORT"):
        monkeypatch.setenv(name, os.environ.get(name, "0"))
    for name in ("HOME", "ANDROID_USER_HOME", "TMPDIR", "ADB_LOCAL_TRANSPORT_MAX_PORT"):
        monkeypatch.setenv(name, adb.environment[name])


def test_android_envs_own_loop_drives_our_phone(adb: Tool, task: Path) -> None:
    with served(adb) as (adbd, port, grpc_port):
        phone = adbd.android.phone
        env = loader.load(emulator_config(adb, task, port, grpc_port))
        try:
            timestep = env.reset()
            assert timestep.first()
            assert timestep.observation["pixels"].tobytes() == phone.render()
            icon = next(e for e in phone.elements() if e.text == "Clock")
            for kind in (0, 1):
                place = np.array(icon.center, dtype=np.float32)
                timestep = env.step({"action_type": np.array(kind), "touch_position": place})
            assert phone.activity == "clock/home"
            assert timestep.observation["pixels"].tobytes() == phone.render()
            assert timestep.observation["orientation"].tolist() == [1, 0, 0, 0]
            spec = env.action_spec()
            rng = np.random.default_rng(0)
            for _ in range(20):  # its own random agent
                action = {"action_type": rng.integers(0, 3), "touch_position": rng.random(2).astype(np.float32)}
                spec["touch_position"].validate(action["touch_position"])
                timestep = env.step(action)
                env.observation_spec()["pixels"].validate(timestep.observation["pixels"])
        finally:
            env.close()


def test_our_device_on_android_env_on_our_phone(adb: Tool, task: Path) -> None:
    with served(adb) as (adbd, port, grpc_port):
        phone = adbd.android.phone
        env = loader.load(emulator_config(adb, task, port, grpc_port))
        device = AndroidEnvDevice("env-0", env, clock=LoopClock())
        assert isinstance(device, Device)

        async def use() -> None:
            await device.reset()
            seen = await device.observe()
            assert seen.screen.data == phone.render()
            assert any(e.text == "Clock" for e in seen.elements)
            await device.perform(OpenApp(app="com.distrl.notes"))
            assert "notes" in (await device.observe()).activity
            x, y = next(e for e in phone.elements() if e.id == "fab").center
            await device.perform(Tap(x=x, y=y))
            x, y = next(e for e in phone.elements() if e.id == "body").center
            await device.perform(Tap(x=x, y=y))
            await device.perform(TypeText(text="50%s $(id) 'a' \"b\" ; reboot"))
            assert phone.top().fields["body"] == "50%s $(id) 'a' \"b\" ; reboot"
            with pytest.raises(DeviceError, match="ASCII"):
                await device.perform(TypeText(text="naïve"))
            await device.perform(Press(button=Button.HOME))
            assert phone.activity == "launcher/home"
            await device.perform(Swipe(x=0.5, y=0.8, to_x=0.5, to_y=0.2))
            await device.perform(LongPress(x=0.5, y=0.5))
            await device.perform(Wait())
            await device.close()

        asyncio.run(use())


def test_a_finger_that_stays_holds_one_that_moves_swipes_and_keys_are_pressed() -> None:
    from android_env.proto import emulator_controller_pb2 as messages

    done: list[Any] = []
    control = EmulatorControl(make_adbd(scale=0.1).android.phone, perform=done.append)

    async def touch(x: int, y: int, *, is_down: bool) -> None:
        await control.sendTouch(
            messages.TouchEvent(touches=[messages.Touch(x=x, y=y, pressure=int(is_down), identifier=0)]), None
        )

    async def use() -> None:
        for path in ([(54, 120)], [(54, 120)] * 8, [(54, 200), (54, 120), (54, 40)]):
            for x, y in path:
                await touch(x, y, is_down=True)
            await touch(*path[-1], is_down=False)
        await touch(1, 1, is_down=False)
        for event in ("keydown", "keyup"):
            kind = messages.KeyboardEvent.KeyEventType.Value(event)
            await control.sendKey(messages.KeyboardEvent(eventType=kind, keyCode=36), None)
        await control.sendKey(messages.KeyboardEvent(text="hi"), None)

    asyncio.run(use())
    assert done == [
        Tap(x=0.5, y=0.5),
        LongPress(x=0.5, y=0.5),
        Swipe(x=0.5, y=200 / 240, to_x=0.5, to_y=40 / 240),
        Press(button=Button.ENTER),
        TypeText(text="hi"),
    ]


def test_our_device_on_android_envs_fake(task: Path) -> None:
    config = config_classes.AndroidEnvConfig(
        task=config_classes.FilesystemTaskConfig(path=str(task)),
        simulator=config_classes.FakeSimulatorConfig(screen_dimensions=(60, 40)),
    )
    device = AndroidEnvDevice("fake", loader.load(config), clock=LoopClock())

    async def use() -> None:
        await device.reset()
        for action in (Tap(x=0.5, y=0.5), Swipe(x=0.1, y=0.1, to_x=0.9, to_y=0.9), Press(button=Button.BACK)):
            await device.perform(action)
            seen = await device.observe()
            assert (seen.screen.width, seen.screen.height, seen.ui_tree) == (40, 60, None)
        await device.close()

    asyncio.run(use())


@pytest.mark.parametrize(
    "timestep",
    [
        dm_env.truncation(reward=0.0, observation=None),
        dm_env.truncation(reward=0.0, observation={"pixels": np.ones((2, 2, 3), np.uint8)}),
        dm_env.transition(reward=0.0, observation={}),
    ],
)
def test_a_truncated_step_is_a_failure_of_the_device(timestep: dm_env.TimeStep) -> None:
    good = dm_env.restart({"pixels": np.ones((2, 2, 3), np.uint8)})
    device = AndroidEnvDevice("x", SimpleNamespace(reset=lambda: good, step=lambda action: timestep), clock=LoopClock())

    async def use() -> str:
        await device.reset()
        with pytest.raises(DeviceError) as error:
            await device.perform(Tap(x=0.5, y=0.5))
        return error.value.cause

    assert asyncio.run(use()) == "android_env"


def test_an_episode_that_its_own_task_ended_goes_on() -> None:
    seen = {"pixels": np.ones((2, 2, 3), np.uint8)}
    touches: list[object] = []

    def step(action: object) -> dm_env.TimeStep:
        touches.append(action)
        return dm_env.termination(1.0, seen)

    env = SimpleNamespace(reset=lambda: dm_env.restart(seen), step=step)
    device = AndroidEnvDevice("x", env, clock=LoopClock())

    async def use() -> tuple[int, int]:
        await device.reset()
        await device.perform(Tap(x=0.5, y=0.5))
        once = len(touches)
        await device.perform(Tap(x=0.5, y=0.5))
        return once, len(touches)

    once, twice = asyncio.run(use())
    assert twice == 2 * once > 0
