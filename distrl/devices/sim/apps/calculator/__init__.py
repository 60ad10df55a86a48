"""Calculator: a display, a keypad, and a history of what was calculated."""

from random import Random

import msgspec

from distrl.devices.sim.app import App, Ui, do, go
from distrl.devices.sim.apps.calculator.arithmetic import BadExpressionError, evaluate
from distrl.devices.sim.nodes import Box, Icon, Node, Text, View
from distrl.devices.sim.widgets import EDGE, bar, button, card, dialog, empty, icon_button

KEYS = (
    ("clear", "open", "close", "divide"),
    ("7", "8", "9", "times"),
    ("4", "5", "6", "minus"),
    ("1", "2", "3", "plus"),
    ("0", "point", "backspace", "equals"),
)
SIGNS = {
    "clear": "AC",
    "open": "(",
    "close": ")",
    "percent": "%",
    "divide": "/",
    "times": "*",
    "minus": "-",
    "plus": "+",
    "point": ".",
    "equals": "=",
}
OPERATORS = "+-*/"
TYPED = frozenset("0123456789().%=" + OPERATORS)
MAX_CHARS = 40
PRINTED = str.maketrans({"*": "\N{MULTIPLICATION SIGN}", "/": "\N{DIVISION SIGN}", "-": "\N{MINUS SIGN}"})
"""How signs look on keys and display; the state has them as a keyboard does."""


class Sum(msgspec.Struct):
    """Something that was calculated."""

    expression: str
    result: str


class CalculatorState(msgspec.Struct):
    """What the display shows and what was calculated, the newest first."""

    expression: str = ""
    done: bool = False
    problem: str = ""
    history: list[Sum] = []


def fresh(rng: Random) -> CalculatorState:
    """Somebody split a bill."""
    bill, people = rng.randint(40, 120) * 3, 3
    return CalculatorState(history=[Sum(f"{bill}/{people}", str(bill // people)), Sum("18*1.23", "22.14")])


def home(ui: Ui) -> View:
    """Display and keypad. An update has swapped the history with its place in the corner."""
    state = ui.get(CalculatorState)
    history = icon_button("history", "History", go("history"), id="history")
    percent = icon_button("percent", "Percent", do(press, "%"), id="percent")
    actions = (percent, history) if ui.has("new_layout") else (history, percent)
    shown = (state.expression or "0").translate(PRINTED)
    size = 150 if len(state.expression) < 10 else 108 if len(state.expression) < 16 else 72
    display = Box(
        (
            Text(_preview(state).translate(PRINTED), 64, "text2", align="right"),
            Text(shown, size, "text", "light", "right", lines=2),
            Text(state.problem or " ", 48, "error", align="right"),
        ),
        gap=16,
        pad=(EDGE, 40, EDGE, 40),
        height=640,
        justify="end",
        id="display",
        kind="text",
        label=shown,
    )
    pad = Box(
        tuple(Box(tuple(_key(name) for name in line), row=True, gap=24) for line in KEYS), gap=24, pad=(36, 24, 36, 48)
    )
    return View(bar=bar("Calculator", *actions, up=False), body=(display,), bottom=pad)


def _preview(state: CalculatorState) -> str:
    """The sum behind a result, or the result of an unfinished sum."""
    if state.done and state.history:
        return state.history[0].expression + " ="
    if not any(sign in state.expression[1:] for sign in OPERATORS):
        return " "
    try:
        return "= " + evaluate(state.expression)
    except BadExpressionError:
        return " "


def _key(name: str) -> Box:
    fill, color = "container", "text"
    if name in ("divide", "times", "minus", "plus"):
        fill, color = "tonal", "on_tonal"
    elif name == "equals":
        fill, color = "primary", "on_primary"
    elif name in ("clear", "open", "close"):
        fill, color = "field", "primary"
    sign = SIGNS.get(name, name)
    face: Node = (
        Icon("backspace_outline", 84, color)
        if name == "backspace"
        else Text(sign.translate(PRINTED), 84, color, align="center")
    )
    return Box(
        (face,),
        grow=1,
        height=222,
        radius=111,
        fill=fill,
        align="center" if name == "backspace" else "start",
        justify="center",
        tap=do(press, name if name == "backspace" else sign),
        id=f"calc:{name}",
        label="Delete" if name == "backspace" else sign.translate(PRINTED),
    )


def press(ui: Ui, sign: str) -> None:
    """One key."""
    state = ui.get(CalculatorState)
    state.problem = ""
    if sign == "AC":
        state.expression, state.done = "", False
    elif sign == "=":
        _equals(state)
    elif sign == "backspace":
        state.expression, state.done = ("" if state.done else state.expression[:-1]), False
    else:
        _append(state, sign)


def keys(ui: Ui, text: str) -> None:
    """What is typed presses the keys that there are; other letters do nothing."""
    if ui.page.name == "home":
        for sign in text:
            if sign in TYPED:
                press(ui, sign)


def _append(state: CalculatorState, sign: str) -> None:
    """A digit after a result starts anew; an operator goes on with it, and replaces an operator before it."""
    if state.done and sign not in OPERATORS + "%":
        state.expression = ""
    state.done = False
    shown = state.expression
    if sign in OPERATORS and sign != "-" and (not shown or shown[-1] == "("):
        return
    if sign in OPERATORS and shown and shown[-1] in OPERATORS and not (sign == "-" and shown[-1] in "*/"):
        shown = shown[:-1]
    if len(shown) < MAX_CHARS:
        state.expression = shown + sign


def _equals(state: CalculatorState) -> None:
    """Only what has an operator is a sum worth remembering."""
    shown = state.expression
    if state.done or not any(sign in shown[1:] for sign in OPERATORS + "%"):
        return
    try:
        result = evaluate(shown)
    except BadExpressionError as problem:
        state.problem = str(problem)
        return
    state.history.insert(0, Sum(shown, result))
    state.expression, state.done = result, True


def history(ui: Ui) -> View:
    """What was calculated; a touch takes a result back to the display."""
    sums = ui.get(CalculatorState).history
    cards = tuple(
        card(
            Text(s.expression.translate(PRINTED), 50, "text2", align="right", lines=2),
            Text(f"= {s.result}".translate(PRINTED), 84, align="right"),
            tap=do(_use, s.result),
        )
        for s in sums
    )
    clear = (icon_button("delete_outline", "Clear history", go("clear"), id="clear"),) if sums else ()
    return View(bar=bar("History", *clear), body=cards or (empty("history", "Nothing calculated yet"),))


def _use(ui: Ui, result: str) -> None:
    state = ui.get(CalculatorState)
    state.expression, state.done, state.problem = result, False, ""
    ui.back()


def clear(ui: Ui) -> View:
    """Asks before the history is gone."""
    return dialog(
        "Clear history?",
        "All calculations will be deleted.",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Clear", do(_clear_now), style="text", id="confirm"),
        icon="history",
    )


def _clear_now(ui: Ui) -> None:
    ui.get(CalculatorState).history.clear()
    ui.back(2)
    ui.toast("History cleared")


APP = App(
    id="calculator",
    name="Calculator",
    icon="calculator",
    color="#00897B",
    fresh=fresh,
    pages={"home": home, "history": history, "clear": clear},
    keys=keys,
)
ORDER = 52
