"""Connected devices: Bluetooth, pairing, what is connected now."""

from distrl.devices.sim.app import Ui, do, go
from distrl.devices.sim.apps.settings.parts import heading, hint, link, page, panel, switch
from distrl.devices.sim.nodes import Box, Icon, View
from distrl.devices.sim.widgets import button, buttons, dialog, icon_button, row

KINDS = {
    "buds": "headphones",
    "head": "headphones",
    "speaker": "speaker",
    "keyboard": "keyboard",
    "car": "car",
    "watch": "watch",
    "tv": "television",
    "printer": "printer",
    "laptop": "laptop",
}


def device_icon(name: str) -> str:
    """The picture for a device, told by its name."""
    return next((icon for word, icon in KINDS.items() if word in name.casefold()), "bluetooth")


def connected(ui: Ui) -> View:
    """Bluetooth and the devices that the phone knows."""
    settings = ui.settings
    top = panel(
        switch(ui, "Bluetooth", "bluetooth", icon="bluetooth"),
        link("Pair new device", "Bluetooth will be turned on to pair", "pair", icon="plus"),
    )
    rows = tuple(_device_row(ui, name) for name in settings.paired)
    saved = (heading("Saved devices"), panel(*rows)) if rows else (hint("No devices yet. Pair one to see it here."),)
    return page(
        "Connected devices", top, *saved, heading("Other connections"), panel(switch(ui, "NFC", "nfc", icon="nfc"))
    )


def _device_row(ui: Ui, name: str) -> Box:
    here = ui.settings.connected == name and ui.settings.bluetooth
    icon = Icon(device_icon(name), 72, "primary" if here else "text2")
    cog = icon_button("cog_outline", f"Details of {name}", go("device", name), color="text2", id=f"details:{name}")
    words = "Connected" if here else "Not connected"
    return row(name, words, lead=icon, trail=cog, tap=do(connect, name), id=f"device:{name}")


def connect(ui: Ui, name: str) -> None:
    """Use a device that is paired; Bluetooth goes on for it."""
    settings = ui.settings
    settings.bluetooth = True
    settings.connected = name
    ui.toast(f"Connected to {name}")


def pair(ui: Ui) -> View:
    """The devices around that can be paired."""
    settings = ui.settings
    rows = tuple(
        row(name, lead=Icon(device_icon(name), 72), tap=go("confirm_pair", name), id=f"nearby:{name}")
        for name in settings.nearby
        if name not in settings.paired
    )
    return page(
        "Pair new device",
        panel(row("Device name", settings.device_name, lead=Icon("cellphone", 72))),
        heading("Available devices"),
        panel(*rows) if rows else hint("No devices nearby."),
        hint("Make sure that the device is on and ready to pair."),
    )


def confirm_pair(ui: Ui) -> View:
    """Asks before two devices know each other."""
    code = 100_000 + sum(ord(c) * (k + 7) * 37 for k, c in enumerate(ui.arg)) % 900_000
    return dialog(
        f"Pair with {ui.arg}?",
        f"Bluetooth pairing code: {code}",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Pair", do(_pair), style="text", id="confirm"),
        icon="bluetooth",
    )


def _pair(ui: Ui) -> None:
    if ui.arg not in ui.settings.paired:
        ui.settings.paired.insert(0, ui.arg)
    ui.back(2)
    connect(ui, ui.arg)


def device(ui: Ui) -> View:
    """One device that is paired."""
    here = ui.settings.connected == ui.arg and ui.settings.bluetooth
    use = (
        button("Disconnect", do(_disconnect), style="tonal", icon="close", id="disconnect")
        if here
        else button("Connect", do(connect, ui.arg), style="tonal", icon="bluetooth_connect", id="connect")
    )
    return page(
        "Device details",
        panel(row(ui.arg, "Connected" if here else "Not connected", lead=Icon(device_icon(ui.arg), 96, "primary"))),
        buttons(
            use,
            button("Forget", go("forget_device", ui.arg), style="tonal", icon="delete_outline", id="forget"),
            justify="center",
        ),
    )


def _disconnect(ui: Ui) -> None:
    ui.settings.connected = ""
    ui.toast(f"Disconnected from {ui.arg}")


def forget_device(ui: Ui) -> View:
    """Asks before a device is forgotten."""
    return dialog(
        "Forget device?",
        f"Your phone will no longer be paired with {ui.arg}.",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Forget device", do(_forget), style="text", id="confirm"),
    )


def _forget(ui: Ui) -> None:
    settings = ui.settings
    settings.paired = [name for name in settings.paired if name != ui.arg]
    settings.connected = "" if settings.connected == ui.arg else settings.connected
    ui.back(2)
    ui.toast(f"{ui.arg} forgotten")
