"""Timer and stopwatch."""

from distrl.devices.sim.app import Ui, do
from distrl.devices.sim.apps.clock.state import ClockState, duration
from distrl.devices.sim.nodes import Box, Do, Text
from distrl.devices.sim.widgets import EDGE, button, chips, row, section

PRESETS_MIN = (1, 5, 10, 30)


def _ring(time: str, words: str, color: str) -> Box:
    inner = Box(
        (Text(time, 168, weight="light", align="center"), Text(words, 46, "text2", align="center")),
        width=712,
        height=712,
        radius=356,
        fill="bg",
        gap=8,
        justify="center",
    )
    outer = Box((inner,), width=760, height=760, radius=380, fill=color, align="center", justify="center")
    return Box((outer,), pad=(0, 100, 0, 80), align="center")


def _controls(*items: Box) -> Box:
    return Box(items, row=True, gap=32, pad=(EDGE, 16, EDGE, 16), justify="center")


def timer(ui: Ui) -> tuple[Box, ...]:
    """Asks for a time, or counts it down."""
    state = ui.get(ClockState)
    if not state.timer_s:
        return _timer_setting(ui)
    left = max(state.timer_ends_s - ui.now_s, 0.0) if state.timer_ends_s else state.timer_left_s
    more: tuple[Box, ...] = ()
    if not left:
        ring = _ring("00:00", "Time is up", "error")
    elif state.timer_ends_s:
        ring = _ring(duration(left), f"of {duration(state.timer_s)}", "primary")
        more = (button("Pause", do(pause_timer), icon="pause", id="pause"),)
    else:
        ring = _ring(duration(left), "Paused", "outline")
        more = (button("Resume", do(resume_timer), icon="play", id="resume"),)
    reset = button("Reset", do(reset_timer), style="tonal", icon="restart", id="reset")
    return ring, _controls(*more, reset)


def _timer_setting(ui: Ui) -> tuple[Box, ...]:
    minutes, seconds = ui.typed("minutes") or "0", ui.typed("seconds") or "0"
    face = Text(f"{minutes:0>2}:{seconds:0>2}", 220, "primary", "light", "center")
    fields = Box(
        (
            Box((Text("Minutes", 44, "text2"), ui.field("minutes", "0", submit=do(start_timer))), gap=8, grow=1),
            Box((Text("Seconds", 44, "text2"), ui.field("seconds", "0", submit=do(start_timer))), gap=8, grow=1),
        ),
        row=True,
        gap=32,
        pad=(EDGE, 16, EDGE, 16),
    )
    presets = chips(*((f"{m} min", ui.typed("minutes") == str(m), _preset(m)) for m in PRESETS_MIN))
    start = button("Start", do(start_timer), icon="play", id="start")
    return Box((face,), pad=(EDGE, 60, EDGE, 32)), fields, presets, Box(height=32), _controls(start)


def _preset(minutes: int) -> Do:
    return do(_choose_preset, minutes)


def _choose_preset(ui: Ui, minutes: int) -> None:
    ui.fill("minutes", str(minutes))
    ui.fill("seconds", "")
    ui.blur()


def start_timer(ui: Ui) -> None:
    """Count down from what was typed."""
    minutes, seconds = ui.typed("minutes").strip() or "0", ui.typed("seconds").strip() or "0"
    total = int(minutes) * 60 + int(seconds) if minutes.isdecimal() and seconds.isdecimal() else 0
    if not 0 < total < 86_400:
        ui.toast("Set a time first")
        return
    state = ui.get(ClockState)
    state.timer_s, state.timer_ends_s, state.timer_left_s = total, ui.now_s + total, 0.0
    ui.fill("minutes", "")
    ui.fill("seconds", "")
    ui.blur()


def pause_timer(ui: Ui) -> None:
    """Keep what is left."""
    state = ui.get(ClockState)
    state.timer_left_s, state.timer_ends_s = max(state.timer_ends_s - ui.now_s, 0.0), 0.0


def resume_timer(ui: Ui) -> None:
    """Go on with what is left."""
    state = ui.get(ClockState)
    state.timer_ends_s, state.timer_left_s = ui.now_s + state.timer_left_s, 0.0


def reset_timer(ui: Ui) -> None:
    """Back to no timer."""
    state = ui.get(ClockState)
    state.timer_s, state.timer_ends_s, state.timer_left_s = 0, 0.0, 0.0


def _watched_s(ui: Ui) -> float:
    state = ui.get(ClockState)
    return state.watch_s + (ui.now_s - state.watch_started_s if state.watch_started_s else 0.0)


def stopwatch(ui: Ui) -> tuple[Box, ...]:
    """Counts up, with laps."""
    state = ui.get(ClockState)
    running = bool(state.watch_started_s)
    total = _watched_s(ui)
    ring = _ring(duration(total), "Running" if running else "Stopped", "primary" if running else "outline")
    if running:
        controls = _controls(
            button("Stop", do(stop_watch), icon="pause", id="stop"),
            button("Lap", do(lap), style="tonal", icon="flag_outline", id="lap"),
        )
    else:
        reset = button("Reset", do(reset_watch), style="tonal", icon="restart", id="reset", enabled=total > 0)
        controls = _controls(button("Start", do(start_watch), icon="play", id="start"), reset)
    laps = tuple(row(f"Lap {k + 1}", trail=Text(duration(at), 54)) for k, at in enumerate(state.laps))
    return (ring, controls, *((section("Laps"), *reversed(laps)) if laps else ()))


def start_watch(ui: Ui) -> None:
    """Start or go on."""
    ui.get(ClockState).watch_started_s = ui.now_s


def stop_watch(ui: Ui) -> None:
    """Keep what has been counted."""
    state = ui.get(ClockState)
    state.watch_s, state.watch_started_s = _watched_s(ui), 0.0


def lap(ui: Ui) -> None:
    """Remember this moment."""
    ui.get(ClockState).laps.append(_watched_s(ui))


def reset_watch(ui: Ui) -> None:
    """Back to nothing."""
    state = ui.get(ClockState)
    state.watch_s, state.watch_started_s, state.laps = 0.0, 0.0, []
