"""What an app is, and what its pages and handlers may do to the phone.

An app is a struct of state and some page functions. A page function takes a `Ui` and gives a `View`; a handler takes a
`Ui` and changes state. Neither sees pixels, time or other phones.
"""

import random
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import msgspec

from distrl.core.errors import UnknownNameError
from distrl.devices.sim.handset import Handset
from distrl.devices.sim.nodes import Box, Do, Icon, Node, Text, View
from distrl.devices.sim.state import Alert, DeviceSettings, Page

P = ParamSpec("P")
S = TypeVar("S")
V = TypeVar("V", str, int, bool)
PageFn = Callable[["Ui"], View]


class Tile(msgspec.Struct, frozen=True):
    """An icon of the launcher."""

    name: str
    icon: str
    color: str
    tap: Do


class NoState(msgspec.Struct):
    """For apps that remember nothing."""


class App(msgspec.Struct, frozen=True, kw_only=True):
    """An app: `pages["home"]` is shown when it opens; `fresh` makes its state on a new phone."""

    id: str
    name: str
    icon: str
    color: str
    pages: dict[str, PageFn]
    fresh: Callable[[random.Random], Any] = lambda rng: NoState()
    asks_for: str = ""
    hidden: bool = False
    more_tiles: Callable[["Ui"], tuple[Tile, ...]] = lambda ui: ()
    keys: Callable[["Ui", str], None] = lambda ui, text: None
    """What typing does where no field is focused, as with a keyboard that is plugged in."""

    def __hash__(self) -> int:
        return hash(self.id)


class Ui:
    """One page of one phone: reads state for a view, changes it for a handler."""

    __slots__ = ("page", "phone")

    def __init__(self, phone: Handset, page: Page) -> None:
        self.phone = phone
        self.page = page

    # ---- state

    def get(self, kind: type[S]) -> S:
        """The state of this type: `ui.get(NotesState)`."""
        return cast(S, self.phone.state_of(kind))

    @property
    def settings(self) -> DeviceSettings:
        """The switches of the phone."""
        return self.get(DeviceSettings)

    @property
    def arg(self) -> str:
        """What the page was opened with."""
        return self.page.arg

    @property
    def now_s(self) -> float:
        """The phone's clock, in seconds since midnight of its first day."""
        return self.phone.system.time_s

    @property
    def age_s(self) -> float:
        """How long this page has been loaded."""
        return self.now_s - self.page.ready_s

    def has(self, variation: str) -> bool:
        """Whether this variation is on."""
        return variation in self.phone.system.variations

    def chosen(self, name: str, default: V) -> V:
        """A choice made on this page: a tab, a filter, a number."""
        return cast(V, self.page.chosen.get(name, default))

    def choose(self, name: str, value: str | int | bool) -> None:
        """Remember a choice on this page."""
        self.page.chosen[name] = value

    def typed(self, field: str, default: str = "") -> str:
        """What a field of this page holds."""
        return self.page.fields.get(field, default)

    def fill(self, field: str, text: str) -> None:
        """Put text into a field."""
        self.page.fields[field] = text

    # ---- going places

    def go(self, name: str, arg: str = "") -> None:
        """Open a page of this app on top."""
        self.phone.push(Page(self.page.app, name, arg))

    def back(self, pages: int = 1) -> None:
        """Leave this page."""
        for _ in range(pages):
            self.phone.pop(self.page.app)

    def open(self, app: str, name: str = "", arg: str = "") -> None:
        """Open another app, on one of its pages if named."""
        self.phone.open_app(app)
        if name:
            self.phone.push(Page(app, name, arg))

    def replace(self, name: str, arg: str = "") -> None:
        """Open a page in place of this one."""
        self.phone.pop(self.page.app)
        self.phone.push(Page(self.page.app, name, arg))

    def popup(self, name: str, arg: str = "") -> None:
        """Show a system dialog above everything."""
        self.phone.system.popups.append(Page("system", name, arg))

    def toast(self, text: str) -> None:
        """A short message at the bottom."""
        self.phone.system.toast = text
        self.phone.system.toast_until_s = self.now_s + 3

    def notify(self, title: str, body: str) -> None:
        """A notification in the shade."""
        self.phone.system.alerts.insert(0, Alert(self.page.app, title, body))

    def focus(self, field: str) -> None:
        """Put the cursor into a field of the page in front."""
        self.phone.system.focus = field

    def blur(self) -> None:
        """Put the keyboard away."""
        self.phone.system.focus = ""

    # ---- widgets that need to know what is typed or focused

    def field(self, name: str, hint: str, *, icon: str = "", submit: Do | None = None, lines: int = 1) -> Box:
        """A text field. It shows what is typed, or its hint; while focused and filled it has a button to clear it."""
        text = self.typed(name)
        focused = self.phone.system.focus == name
        words = (
            Text(text + ("|" if focused else ""), 48, "text", lines=lines)
            if text or focused
            else Text(hint, 48, "text2")
        )
        children: tuple[Node, ...] = (Icon(icon),) if icon else ()
        children += (Box((words,), grow=1),)
        if focused and text:
            children += (_clear_button(name),)
        return Box(
            children,
            row=True,
            gap=28,
            pad=(40, 16, 20, 16),
            height=132,
            fill="field",
            radius=66 if icon else 28,
            border="primary" if focused else "",
            tap=do(Ui.focus, name),
            submit=submit,
            id=name,
            kind="field",
            label=text or hint,
            editable=True,
            focused=focused,
        )


def do(fn: Callable[Concatenate[Ui, P], None], *args: P.args, **kwargs: P.kwargs) -> Do:
    """A touch handler, with its arguments checked by the type checker."""
    assert not kwargs, "handlers take positional arguments"
    return Do(fn, args)


def _clear_button(field: str) -> Box:
    return Box(
        (Icon("close_circle", 60),),
        width=96,
        height=96,
        align="center",
        justify="center",
        tap=do(_clear, field),
        kind="icon",
        id=f"clear:{field}",
        label="Clear",
    )


def slide(fn: Callable[["Ui", int], None]) -> Do:
    """What a slider does: the handler gets the percentage that was touched."""
    return Do(fn)


def _clear(ui: Ui, field: str) -> None:
    ui.fill(field, "")
    ui.focus(field)


def go(name: str, arg: str = "") -> Do:
    """Touch to open a page of this app."""
    return Do(Ui.go, (name, arg))


def back() -> Do:
    """Touch to leave this page."""
    return Do(Ui.back)


def choose(name: str, value: str | int | bool) -> Do:
    """Touch to make a choice on this page."""
    return Do(Ui.choose, (name, value))


def find_page(apps: dict[str, App], page: Page) -> PageFn:
    """The function that draws this page."""
    app = apps.get(page.app)
    if app is None:
        raise UnknownNameError("app", page.app, apps)
    if page.name not in app.pages:
        raise UnknownNameError(f"page of {app.id}", page.name, app.pages)
    return app.pages[page.name]
