"""An app of your own in one file: a jar that counts tips. Try it: distrl phone --app examples/tip_jar.py

State is a struct, a page is a function from `Ui` to `View`, a handler changes state: see docs/how-to/new-app.md.
"""

from random import Random

import msgspec

from distrl.devices.sim.app import App, Ui, do, go
from distrl.devices.sim.nodes import Box, Icon, Text, View
from distrl.devices.sim.widgets import bar, button, buttons, dialog, empty, fab, icon_button, row, wide


class Tip(msgspec.Struct):
    """A tip and who gave it."""

    giver: str
    cents: int


class TipJarState(msgspec.Struct):
    """What is in the jar."""

    tips: list[Tip] = []


def fresh(rng: Random) -> TipJarState:
    """A new phone has one tip or two in the jar."""
    givers = rng.sample(["Ana", "Bruno", "Chiara", "David"], rng.randint(1, 2))
    return TipJarState(tips=[Tip(giver, rng.randrange(50, 500, 50)) for giver in givers])


def home(ui: Ui) -> View:
    """The jar and what is in it."""
    tips = ui.get(TipJarState).tips
    total = sum(tip.cents for tip in tips)
    jar = Box(
        (Icon("piggy_bank", 260, "primary"), Text(f"${total / 100:.2f}", 110, align="center")),
        gap=8,
        align="center",
        pad=(48, 40, 48, 40),
    )
    rows = tuple(row(tip.giver, f"${tip.cents / 100:.2f}", lead=Icon("account_heart", 84, "primary")) for tip in tips)
    return View(
        bar=bar("Tip jar", icon_button("delete_outline", "Empty the jar", go("spend"), id="spend"), up=False),
        body=(jar, *(rows or (empty("piggy_bank_outline", "Nothing yet"),))),
        fab=fab("plus", "Add a tip", go("add")),
    )


def add(ui: Ui) -> View:
    """A form with two fields."""
    return View(
        bar=bar("New tip"),
        body=(
            wide(ui.field("giver", "Who gave it")),
            wide(ui.field("dollars", "Dollars", submit=do(save))),
            buttons(button("Save", do(save), id="save")),
        ),
    )


def save(ui: Ui) -> None:
    """Put the tip into the jar, if it can be read."""
    try:
        cents = round(float(ui.typed("dollars")) * 100)
    except (ValueError, OverflowError):
        ui.toast("Type an amount, such as 2.50")
        return
    ui.get(TipJarState).tips.insert(0, Tip(ui.typed("giver").strip() or "Somebody", cents))
    ui.back()
    ui.toast("Thank you!")


def spend(ui: Ui) -> View:
    """Asks first."""
    return dialog(
        "Empty the jar?", "", button("Keep", do(Ui.back, 1), style="text"), button("Empty", do(empty_jar), style="text")
    )


def empty_jar(ui: Ui) -> None:
    """Nothing is left."""
    ui.get(TipJarState).tips.clear()
    ui.back()


APP = App(
    id="tip_jar",
    name="Tip jar",
    icon="piggy_bank",
    color="#8D6E63",
    fresh=fresh,
    pages={"home": home, "add": add, "spend": spend},
)
