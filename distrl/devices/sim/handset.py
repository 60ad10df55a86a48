"""The phone as its parts see it: what handlers, touch and variations may ask of it (phone.py implements it)."""

from typing import Any, Protocol

from distrl.devices.sim.frame import Frame
from distrl.devices.sim.state import DeviceSettings, Page, System


class Handset(Protocol):
    """A phone, without its apps."""

    system: System

    @property
    def settings(self) -> DeviceSettings:
        """The switches of the phone."""
        ...

    def state_of(self, kind: type) -> Any:
        """The state of this type."""
        ...

    def tiles(self) -> tuple[Any, ...]:
        """The icons of the launcher, in order."""
        ...

    def app_name(self, app_id: str) -> str:
        """What people call an app."""
        ...

    def frame(self) -> Frame:
        """The screen as it is now."""
        ...

    def stack(self) -> list[Page]:
        """The pages of the app in front."""
        ...

    def top(self) -> Page:
        """The page that is touched now."""
        ...

    def push(self, page: Page) -> None:
        """Open a page on top."""
        ...

    def pop(self, app_id: str) -> None:
        """Leave the top page of an app."""
        ...

    def home(self) -> None:
        """To the launcher."""
        ...

    def open_app(self, app_id: str) -> None:
        """Bring an app to the front."""
        ...

    def submit(self) -> None:
        """Enter in the focused field."""
        ...
