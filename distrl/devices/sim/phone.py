"""The phone itself: holds the state, draws it, and changes it when touched.

Actions go in; pictures, elements and plain data come out. It is synchronous, deterministic and instant: latency and
faults are added by the device around it (device.py).
"""

from collections.abc import Hashable
from typing import Any

import msgspec

from distrl.core.errors import UnknownNameError, UserError
from distrl.core.interfaces import Plain
from distrl.core.seeds import derive_random
from distrl.core.types import Action, Button, Element, LongPress, OpenApp, Press, Swipe, Tap, TypeText, Wait
from distrl.devices.sim import touch, variations
from distrl.devices.sim.app import App, NoState, Tile, Ui, find_page
from distrl.devices.sim.chrome import make_chrome
from distrl.devices.sim.elements import candidates
from distrl.devices.sim.frame import Frame, compose, draw
from distrl.devices.sim.keyboard import type_text
from distrl.devices.sim.nodes import Do, View
from distrl.devices.sim.paint import Style
from distrl.devices.sim.state import DeviceSettings, Page, System
from distrl.devices.sim.variations import loading_view

STEP_S = 1.0
WAIT_S = 3.0
MAX_FRESH = 256
_FRESH: dict[Hashable, tuple[tuple[App, ...], dict[type, str], bytes]] = {}
"""Snapshots of new phones by apps, seed and variations: making one takes longer than anything else a phone does."""


class Phone:
    """A phone with these apps. `scale` is drawn over logical size: 0.25 gives 270 x 600."""

    def __init__(self, apps: dict[str, App], *, seed: int = 0, scale: float = 0.25) -> None:
        self.apps = apps
        self.scale = scale
        self.system = System()
        self.states: dict[str, Any] = {}
        self._by_type: dict[type, str] = {}
        self._frame: Frame | None = None
        self._is_settled = False
        self.wipe(seed=seed)

    # ---- state

    def wipe(self, *, seed: int, variation_names: tuple[str, ...] = ()) -> None:
        """A new phone of this seed, on its first home screen."""
        apps = tuple(self.apps.values())
        key = (*map(id, apps), seed, variation_names)
        found = _FRESH.get(key)
        if found is None:
            self._make(seed, variation_names)
            # The apps are kept with it, so that their ids cannot come to mean others.
            found = _FRESH[key] = (apps, self._by_type, self.snapshot())
            if len(_FRESH) > MAX_FRESH:
                del _FRESH[next(iter(_FRESH))]
        self._by_type = found[1]
        # A round trip checks what apps made against their types, and gives equal phones equal snapshots.
        self.restore(found[2])

    def _make(self, seed: int, variation_names: tuple[str, ...]) -> None:
        self.system = System(seed=seed, variations=list(variation_names))
        self.states = {app.id: app.fresh(derive_random(seed, app.id)) for app in self.apps.values()}
        self._by_type = {type(state): app_id for app_id, state in self.states.items() if type(state) is not NoState}
        assert len({type(s) for s in self.states.values()} - {NoState}) == sum(
            type(s) is not NoState for s in self.states.values()
        ), "two apps share a state type"
        self._changed()
        variations.prepare(self)

    def state_of(self, kind: type) -> Any:
        """The state of this type."""
        return self.states[self._by_type[kind]]

    @property
    def settings(self) -> DeviceSettings:
        """The switches of the phone."""
        state: DeviceSettings = self.states["settings"]
        return state

    def arrange(self, world: Plain) -> None:
        """Set fields of apps from plain data, checked against their types."""
        for app_id, fields in world.items():
            current = self._state(app_id)
            known = {f.name: f.type for f in msgspec.structs.fields(current)}
            for name, value in fields.items():
                if name not in known:
                    raise UnknownNameError(f"field of {app_id}", name, known)
                try:
                    setattr(current, name, msgspec.convert(value, known[name]))
                except msgspec.ValidationError as error:
                    raise UserError(f"{app_id}.{name}: {error}") from error
        self._changed()

    def inspect(self, app_id: str) -> dict[str, Any]:
        """The state of an app as plain data; `phone` is the system's own."""
        plain: dict[str, Any] = msgspec.to_builtins(self._state(app_id))
        return plain

    def _state(self, app_id: str) -> Any:
        if app_id == "phone":
            return self.system
        if app_id not in self.states:
            raise UnknownNameError("app", app_id, self.states)
        return self.states[app_id]

    def snapshot(self) -> bytes:
        """Everything there is to know about this phone."""
        if not self._is_settled:
            # Showing a page for the first time may scroll it: do so before, or looking at a phone would change it.
            self.frame()
        return msgspec.msgpack.encode(
            [self.system, {k: msgspec.Raw(_ENCODER.encode(s)) for k, s in self.states.items()}]
        )

    def restore(self, snapshot: bytes) -> None:
        """Back to a snapshot of a phone with the same apps."""
        system, states = msgspec.msgpack.decode(snapshot, type=tuple[System, dict[str, msgspec.Raw]])
        types = {app_id: kind for kind, app_id in self._by_type.items()}
        self.states = {k: msgspec.msgpack.decode(raw, type=types.get(k, NoState)) for k, raw in states.items()}
        self.system = system
        self._frame, self._is_settled = None, True

    def _changed(self) -> None:
        """The screen has to be put together anew."""
        self._frame, self._is_settled = None, False

    # ---- navigation (called by handlers)

    def stack(self) -> list[Page]:
        """The pages of the app in front, the topmost last."""
        return self.system.stacks.setdefault(self.system.foreground, [Page(self.system.foreground, "home")])

    def top(self) -> Page:
        """The page that is touched now."""
        return self.system.popups[-1] if self.system.popups else self.stack()[-1]

    def push(self, page: Page) -> None:
        """Open a page on top of the app in front."""
        self.system.focus = ""
        self._changed()
        if page.app == "system":
            self.system.popups.append(page)
            return
        find_page(self.apps, page)
        page.ready_s = self.system.time_s
        self.stack().append(page)
        variations.on_page(self, page)

    def pop(self, app_id: str) -> None:
        """Leave the top page of an app; leaving its last one goes home."""
        self.system.focus = ""
        self._changed()
        if app_id == "system":
            if self.system.popups:
                self.system.popups.pop()
            return
        stack = self.system.stacks.get(app_id, [])
        if len(stack) > 1:
            stack.pop()
        else:
            self.home()

    def home(self) -> None:
        """To the launcher's first page, whatever is in the way."""
        self.system.focus = ""
        self._changed()
        self.system.popups.clear()
        self.system.foreground = "launcher"
        self.system.stacks["launcher"] = [Page("launcher", "home")]

    def open_app(self, app_id: str) -> None:
        """Bring an app to the front, where it was left."""
        if app_id not in self.apps:
            raise UnknownNameError("app", app_id, self.apps)
        self._changed()
        self.system.focus = ""
        self.system.foreground = app_id
        self.stack()
        variations.on_open(self, app_id, self.apps[app_id].asks_for)

    def tiles(self) -> tuple[Tile, ...]:
        """The icons of the launcher: the apps, then what they add (the store adds what was installed)."""
        made = [Tile(a.name, a.icon, a.color, Do(_open, (a.id,))) for a in self.apps.values() if not a.hidden]
        for app in self.apps.values():
            made += app.more_tiles(Ui(self, Page(app.id, "home")))
        if "shuffled_icons" in self.system.variations:
            derive_random(self.system.seed, "icons").shuffle(made)
        return tuple(made)

    def app_name(self, app_id: str) -> str:
        """What people call an app."""
        return self.apps[app_id].name

    def submit(self) -> None:
        """Enter in the focused field: do what it is for, and put the keyboard away."""
        focus = self.system.focus
        page = self.top()
        handler = next((h.box.submit for h in self.frame().hits if h.box and h.box.id == focus and h.box.submit), None)
        self.system.focus = ""
        if handler:
            handler.fn(Ui(self, page), *handler.args)

    # ---- what is seen

    def frame(self) -> Frame:
        """The screen as it is now."""
        if self._frame is None:
            self._frame = self._compose()
        return self._frame

    def _views(self) -> tuple[list[View], list[Page]]:
        """The page in front, the dialogs above it, then the system's pop-ups."""
        pages: list[Page] = []
        views: list[View] = []
        for page in reversed(self.stack()):
            view = self._view(page)
            pages.insert(0, page)
            views.insert(0, view)
            if not view.dialog:
                break
        for page in self.system.popups:
            pages.append(page)
            views.append(self._view(page))
        return views, pages

    def _view(self, page: Page) -> View:
        view = find_page(self.apps, page)(Ui(self, page))
        is_loading = page.ready_s > self.system.time_s and not view.dialog
        return loading_view() if is_loading else view

    def _compose(self) -> Frame:
        views, pages = self._views()
        system = self.system
        chrome = make_chrome(self)
        for view, page in zip(views, pages, strict=True):
            if view.starts_at_end and page.scroll == 0:
                page.scroll = -1
        scrolls = tuple(10**6 if page.scroll < 0 else page.scroll for page in pages)
        frame = compose(tuple(views), scrolls, chrome, self.settings.font_percent / 100)
        top = pages[-1]
        if 0 <= frame.max_scroll < top.scroll:
            top.scroll = frame.max_scroll
        if system.focus and not any(h.box and h.box.id == system.focus for h in frame.hits):
            return self._reveal_focus(top, frame)
        return frame

    def _reveal_focus(self, top: Page, frame: Frame) -> Frame:
        """A field that the keyboard covers is scrolled into sight; one that is gone loses the focus."""
        if top.scroll >= 0 and top.scroll < frame.max_scroll:
            top.scroll = min(top.scroll + 400, frame.max_scroll)
        else:
            self.system.focus = ""
        return self._compose()

    def style(self) -> Style:
        """How this phone is drawn now."""
        settings = self.settings
        return Style(scale=self.scale, dark=settings.dark_theme, font_scale=settings.font_percent / 100)

    def render(self) -> bytes:
        """The screen as raw RGB."""
        return draw(self.frame().layers, self.style())

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in drawn pixels."""
        return round(1080 * self.scale), round(2400 * self.scale)

    def elements(self) -> tuple[Element, ...]:
        """Everything on the screen, top to bottom, as the ui tree knows it."""
        return self.frame().elements

    def candidates(self) -> tuple[Element, ...]:
        """The elements a policy chooses from."""
        return candidates(self.elements())

    @property
    def activity(self) -> str:
        """The page in front: app/page, and what it shows if it was opened with something."""
        page = self.top()
        return f"{page.app}/{page.name}" + (f"/{page.arg}" if page.arg else "")

    # ---- what is done

    def perform(self, action: Action) -> None:
        """Do an action. What makes no sense here does nothing, as on a real phone."""
        match action:
            case Tap():
                touch.tap(self, action.x, action.y)
            case LongPress():
                touch.long_press(self, action.x, action.y)
            case Swipe():
                touch.swipe(self, action)
            case TypeText():
                self._type(action.text)
            case Press(button=Button.BACK):
                touch.press_back(self)
            case Press(button=Button.HOME):
                self.home()
            case Press(button=Button.ENTER):
                self.submit()
            case OpenApp():
                self._open_by_name(action.app)
            case _:
                pass
        self.system.time_s += WAIT_S if isinstance(action, Wait) else STEP_S
        variations.on_step(self)
        self._changed()

    def _type(self, text: str) -> None:
        page = self.top()
        (type_text if self.system.focus else self.apps[page.app].keys)(Ui(self, page), text)

    def _open_by_name(self, name: str) -> None:
        wanted = name.strip().casefold()
        for app in self.apps.values():
            if not app.hidden and wanted in (app.id, app.name.casefold()):
                self.open_app(app.id)


def _open(ui: Ui, app_id: str) -> None:
    ui.phone.open_app(app_id)


_ENCODER = msgspec.msgpack.Encoder()
