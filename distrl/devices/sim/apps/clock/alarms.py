"""The alarms: a list with switches, and a page to set one."""

from distrl.devices.sim.app import Ui, choose, do, go
from distrl.devices.sim.apps.clock.state import DAYS, Alarm, ClockState, minutes_of, parse_time
from distrl.devices.sim.nodes import Box, Text, View
from distrl.devices.sim.widgets import EDGE, bar, button, card, dialog, empty, icon_button, section, switch_mark, wide


def when(alarm: Alarm) -> str:
    """The days of an alarm in words."""
    if not alarm.days:
        return "Once"
    if len(alarm.days) == 7:
        return "Every day"
    if alarm.days == list(DAYS[:5]):
        return "Weekdays"
    return ", ".join(alarm.days)


def alarm_list(ui: Ui) -> tuple[Box, ...]:
    """All alarms, the earliest first."""
    alarms = sorted(ui.get(ClockState).alarms, key=lambda a: minutes_of(a.time))
    return tuple(_card(alarm) for alarm in alarms) or (empty("alarm", "No alarms"),)


def _card(alarm: Alarm) -> Box:
    color = "text" if alarm.on else "text2"
    words = Box(
        (
            Text(alarm.label or "Alarm", 46, color, "medium"),
            Text(alarm.time, 120, color),
            Text(when(alarm), 44, "text2"),
        ),
        gap=4,
        grow=1,
    )
    mark = Box(
        (switch_mark(alarm.on),),
        width=180,
        height=140,
        align="end",
        justify="center",
        tap=do(flip, alarm.time, alarm.label),
        kind="switch",
        checked=alarm.on,
        label=f"Alarm {alarm.time}",
        id=f"switch:{alarm.time}",
    )
    return card(Box((words, mark), row=True), tap=go("edit", alarm.time), id=f"alarm:{alarm.time}")


def flip(ui: Ui, time: str, label: str) -> None:
    """On or off."""
    for alarm in ui.get(ClockState).alarms:
        if (alarm.time, alarm.label) == (time, label):
            alarm.on = not alarm.on
            ui.toast(f"Alarm {time} is {'on' if alarm.on else 'off'}")
            return


def add(ui: Ui) -> None:
    """A new alarm, with the keyboard up for its time."""
    ui.go("edit")
    ui.focus("time")


def _find(ui: Ui) -> Alarm | None:
    return next((a for a in ui.get(ClockState).alarms if a.time == ui.arg), None)


def edit(ui: Ui) -> View:
    """One alarm. The page fills its fields when it is first shown."""
    alarm = _find(ui)
    if alarm and "time" not in ui.page.fields:
        ui.fill("time", alarm.time)
        ui.fill("label", alarm.label)
        for day in alarm.days:
            ui.choose(f"day:{day}", True)
    actions = [icon_button("check", "Save", do(save), id="save")]
    if alarm:
        actions.insert(0, icon_button("delete_outline", "Delete", go("delete", alarm.time), id="delete"))
    days = Box(tuple(_day(ui, day) for day in DAYS), row=True, pad=(EDGE, 12, EDGE, 12), justify="between")
    shown = parse_time(ui.typed("time")) or "--:--"
    face = Box((Text(shown, 220, "primary", "light", "center"),), pad=(EDGE, 24, EDGE, 24))
    return View(
        bar=bar("Edit alarm" if alarm else "Add alarm", *actions),
        body=(
            face,
            wide(ui.field("time", "Time, for example 7:30", submit=do(_check))),
            wide(ui.field("label", "Label")),
            section("Repeat"),
            days,
        ),
    )


def _check(ui: Ui) -> None:
    if not parse_time(ui.typed("time")):
        ui.toast("Enter a time such as 7:30")


def _day(ui: Ui, day: str) -> Box:
    on = ui.chosen(f"day:{day}", False)
    return Box(
        (Text(day[:2], 44, "on_primary" if on else "text", "medium", "center"),),
        width=124,
        height=124,
        radius=62,
        fill="primary" if on else "container",
        justify="center",
        tap=choose(f"day:{day}", not on),
        kind="chip",
        checked=on,
        label=day,
        id=f"day:{day}",
    )


def save(ui: Ui) -> None:
    """Keep the alarm; one that is saved is on."""
    time = parse_time(ui.typed("time"))
    if not time:
        ui.toast("Enter a time such as 7:30")
        return
    days = [day for day in DAYS if ui.chosen(f"day:{day}", False)]
    made = Alarm(time, ui.typed("label").strip(), days)
    state, old = ui.get(ClockState), _find(ui)
    state.alarms = [a for a in state.alarms if a is not old] + [made]
    ui.back()
    ui.toast(f"Alarm set for {time}")


def delete(ui: Ui) -> View:
    """Asks before an alarm is gone."""
    return dialog(
        "Delete alarm?",
        f"The alarm at {ui.arg} will be deleted.",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Delete", do(_delete_now), style="text", id="confirm"),
        icon="alarm_off",
    )


def _delete_now(ui: Ui) -> None:
    state, old = ui.get(ClockState), _find(ui)
    state.alarms = [a for a in state.alarms if a is not old]
    ui.back(2)
    ui.toast("Alarm deleted")
