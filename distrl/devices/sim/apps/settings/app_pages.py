"""Apps and notifications: each app's permissions, notifications, storage, and a way to stop it."""

from typing import Any

import msgspec

from distrl.devices.sim.app import Ui, do, go
from distrl.devices.sim.apps.settings.parts import heading, hint, link, page, panel, switch
from distrl.devices.sim.nodes import Box, Icon, View
from distrl.devices.sim.widgets import button, buttons, dialog, row, toggle, wide

WANTS = {
    "browser": ("Camera", "Location", "Microphone"),
    "calendar": ("Contacts", "Location"),
    "contacts": ("Contacts", "Phone"),
    "files": ("Files",),
    "mail": ("Contacts", "Files"),
    "maps": ("Location", "Microphone"),
    "messages": ("Camera", "Contacts", "Files"),
    "music": ("Files", "Microphone"),
    "dialer": ("Contacts", "Microphone"),
    "photos": ("Camera", "Files", "Location"),
    "weather": ("Location",),
}
"""What each app may ask for, by app id."""
ICONS = {
    "Camera": "camera",
    "Contacts": "account_box",
    "Files": "folder",
    "Location": "map_marker",
    "Microphone": "microphone",
    "Phone": "phone",
}


def tiles(ui: Ui) -> list[Any]:
    """The apps of the phone by name."""
    return sorted(ui.phone.tiles(), key=lambda tile: str(tile.name))


def app_id(ui: Ui, name: str) -> str:
    """The id of the app that people call so; apps from the store are known by their name."""
    args = next((tile.tap.args for tile in tiles(ui) if tile.name == name), ())
    return str(args[0]) if args else name


def tile_icon(tile: Any) -> Box:
    """A small picture of an app."""
    inner = Icon(tile.icon, 60, "#FFFFFF")
    return Box((inner,), width=108, height=108, radius=36, fill=tile.color, align="center", justify="center")


def cache_mb(ui: Ui, name: str) -> int:
    """How much an app keeps that it could do without."""
    return ui.settings.cache_mb.get(name, 12 + sum(map(ord, name)) * 7 % 220)


def apps(ui: Ui) -> View:
    """All apps, with a search."""
    query = ui.typed("app_query").casefold()
    found = [tile for tile in tiles(ui) if query in tile.name.casefold()]
    rows = tuple(
        row(
            tile.name,
            f"{cache_mb(ui, tile.name) + 64} MB",
            lead=tile_icon(tile),
            tap=go("app", tile.name),
            id=f"app:{tile.name}",
        )
        for tile in found
    )
    field = msgspec.structs.replace(ui.field("app_query", "Search apps", icon="magnify"), fill="surface")
    return page("Apps", wide(field), panel(*rows) if rows else hint("No app of this name."))


def app(ui: Ui) -> View:
    """One app."""
    name = ui.arg
    tile = next((tile for tile in tiles(ui) if tile.name == name), None)
    stopped = name in ui.settings.stopped
    allowed = [what for what in wanted(ui, name) if is_allowed(ui, name, what)]
    running = "Stopped" if stopped else "Running in the background"
    return page(
        "App info",
        panel(row(name, running, lead=tile_icon(tile) if tile else None)),
        buttons(
            button("Open", do(_open, name), style="tonal", icon="open_in_new", id="open_app"),
            button(
                "Force stop",
                go("force_stop", name),
                style="tonal",
                icon="alert_octagon_outline",
                id="force_stop",
                enabled=not stopped,
            ),
            justify="center",
        ),
        panel(
            notification_switch(ui, name, "Notifications", Icon("bell_outline", 72)),
            link(
                "Permissions",
                ", ".join(allowed) + " allowed" if allowed else "None allowed",
                "permissions",
                icon="shield_key_outline",
                arg=name,
            ),
            link(
                "Storage & cache",
                f"{cache_mb(ui, name) + 64} MB used in internal storage",
                "app_storage",
                icon="harddisk",
                arg=name,
            ),
        ),
    )


def _open(ui: Ui, name: str) -> None:
    tile = next((tile for tile in tiles(ui) if tile.name == name), None)
    if tile:
        ui.settings.stopped = [n for n in ui.settings.stopped if n != name]
        tile.tap.fn(ui, *tile.tap.args)


def force_stop(ui: Ui) -> View:
    """Asks before an app is stopped."""
    return dialog(
        "Force stop?",
        "If you force stop an app, it may misbehave.",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("OK", do(_stop), style="text", id="confirm"),
    )


def _stop(ui: Ui) -> None:
    if ui.arg not in ui.settings.stopped:
        ui.settings.stopped.append(ui.arg)
    if app_id(ui, ui.arg) != "settings":
        ui.phone.system.stacks.pop(app_id(ui, ui.arg), None)
    ui.back()
    ui.toast(f"{ui.arg} stopped")


def notification_switch(ui: Ui, name: str, title: str, lead: Box | Icon | None) -> Box:
    """Whether an app may notify."""
    on = name not in ui.settings.blocked_notifications
    return msgspec.structs.replace(toggle(title, on, do(_flip_notifications, name), lead=lead), id=f"notify:{name}")


def _flip_notifications(ui: Ui, name: str) -> None:
    blocked = ui.settings.blocked_notifications
    if name in blocked:
        blocked.remove(name)
    else:
        blocked.append(name)


def wanted(ui: Ui, name: str) -> tuple[str, ...]:
    """The permissions an app can have."""
    return WANTS.get(app_id(ui, name), ("Files",))


def is_allowed(ui: Ui, name: str, what: str) -> bool:
    """Whether an app has a permission; it has until somebody takes it away."""
    return ui.settings.permissions.get(f"{app_id(ui, name)}:{what.lower()}", True)


def permissions(ui: Ui) -> View:
    """What one app may do."""
    rows = tuple(
        msgspec.structs.replace(
            toggle(what, is_allowed(ui, ui.arg, what), do(_flip_permission, what), lead=Icon(ICONS[what], 72)),
            id=f"permission:{what}",
        )
        for what in wanted(ui, ui.arg)
    )
    return page("App permissions", heading(f"{ui.arg} may use"), panel(*rows))


def _flip_permission(ui: Ui, what: str) -> None:
    key = f"{app_id(ui, ui.arg)}:{what.lower()}"
    ui.settings.permissions[key] = not is_allowed(ui, ui.arg, what)


def app_storage(ui: Ui) -> View:
    """What one app takes."""
    cache = cache_mb(ui, ui.arg)
    return page(
        "Storage & cache",
        heading(ui.arg),
        panel(
            row("App size", "48 MB"),
            row("User data", "16 MB"),
            row("Cache", f"{cache} MB"),
            row("Total", f"{cache + 64} MB"),
        ),
        buttons(
            button("Clear cache", do(_clear_cache), style="tonal", icon="broom", id="clear_cache", enabled=cache > 0),
            justify="center",
        ),
    )


def _clear_cache(ui: Ui) -> None:
    ui.settings.cache_mb[ui.arg] = 0
    ui.toast("Cache cleared")


def notifications(ui: Ui) -> View:
    """Which apps may notify, and where."""
    rows = tuple(notification_switch(ui, tile.name, tile.name, tile_icon(tile)) for tile in tiles(ui))
    return page(
        "Notifications",
        panel(
            switch(ui, "Do Not Disturb", "do_not_disturb", icon="minus_circle_outline"),
            switch(ui, "Notifications on lock screen", "lock_screen_notifications", icon="cellphone_lock"),
            switch(ui, "Notification dots", "notification_dots", "Show a dot on the app's icon", icon="circle_medium"),
            switch(ui, "Bubbles", "bubbles", "Conversations float above other apps", icon="chat_outline"),
        ),
        heading("Apps"),
        panel(*rows),
    )
