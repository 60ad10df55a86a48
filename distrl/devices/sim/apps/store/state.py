"""The state of the store: its catalogue, and by name what is installed, outdated, wished for and rated."""

from random import Random

import msgspec

from distrl.devices.sim.app import Tile, Ui, do
from distrl.devices.sim.apps.store.catalogue import StoreApp, catalogue


class StoreState(msgspec.Struct):
    """Everything but the catalogue goes by the name of an app, so that a task can set it in one line."""

    catalogue: list[StoreApp] = []
    scores: dict[str, float] = {}
    installed: list[str] = []
    updates: list[str] = []
    wish_list: list[str] = []
    my_ratings: dict[str, int] = {}
    my_reviews: dict[str, str] = {}
    opened: list[str] = []
    auto_update: bool = False

    def find(self, name: str) -> StoreApp:
        """The app of this name; one that is gone looks like an empty page."""
        return next((a for a in self.catalogue if a.name == name), _GONE)

    def score(self, name: str) -> float:
        """What others think of it, 1 to 5."""
        return self.scores.get(name, 4.0)


_GONE = StoreApp("Not found", "", "Games", 0, "help", "#607D8B", "0")


def fresh(rng: Random) -> StoreState:
    """A phone on which six apps are installed and three of them are old."""
    offered = catalogue()
    names = [a.name for a in offered]
    free = [a.name for a in offered if not a.price]
    installed = rng.sample(free, 6)
    return StoreState(
        catalogue=offered,
        scores={name: rng.randint(31, 49) / 10 for name in names},
        installed=installed,
        updates=installed[:3],
    )


def tiles(ui: Ui) -> tuple[Tile, ...]:
    """The icons that installed apps have on the launcher."""
    state = ui.get(StoreState)
    found = [state.find(name) for name in state.installed]
    return tuple(Tile(a.name, a.icon, a.color, do(launch, a.name)) for a in found)


def launch(ui: Ui, name: str) -> None:
    """Start an installed app."""
    ui.get(StoreState).opened.append(name)
    ui.open("store", "run", name)
