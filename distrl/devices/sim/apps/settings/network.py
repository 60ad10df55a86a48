"""Network & internet: Wi-Fi with its networks, mobile data, airplane mode, hotspot."""

from distrl.devices.sim.app import Ui, do, go
from distrl.devices.sim.apps.settings.parts import ask, heading, hint, link, page, panel, question, switch
from distrl.devices.sim.nodes import Box, Icon, View
from distrl.devices.sim.widgets import button, buttons, dialog, icon_button, row


def network(ui: Ui) -> View:
    """Everything that connects the phone to the world."""
    settings = ui.settings
    joined = (
        settings.wifi_network
        if settings.wifi and settings.wifi_network
        else "Not connected"
        if settings.wifi
        else "Off"
    )
    return page(
        "Network & internet",
        panel(
            link("Internet", joined, "internet", icon="wifi"),
            switch(ui, "Airplane mode", "airplane", icon="airplane"),
            link("Hotspot & tethering", "On" if settings.hotspot else "Off", "hotspot", icon="access_point"),
        ),
        heading("Mobile network"),
        panel(
            switch(ui, "Mobile data", "mobile_data", "Access data using the mobile network", icon="signal_cellular_3"),
            switch(ui, "Roaming", "roaming", "Connect to data services abroad", icon="earth"),
            switch(ui, "Data Saver", "data_saver", "Apps in the background wait for Wi-Fi", icon="database"),
        ),
    )


def internet(ui: Ui) -> View:
    """Wi-Fi: a switch and the networks in reach."""
    settings = ui.settings
    top = panel(switch(ui, "Wi-Fi", "wifi"))
    if not settings.wifi:
        return page("Internet", top, hint("To see the networks around you, turn on Wi-Fi."))
    joined = settings.wifi_network
    blocks = [top]
    if joined:
        cog = icon_button(
            "cog_outline", f"Details of {joined}", go("wifi_details", joined), color="text2", id="details"
        )
        blocks += [
            heading("Connected"),
            panel(row(joined, "Connected", lead=Icon("wifi_strength_4", 72, "primary"), trail=cog)),
        ]
    others = tuple(_network_row(ui, name, k) for k, name in enumerate(settings.networks) if name != joined)
    return page("Internet", *blocks, heading("Available networks"), panel(*others))


def _network_row(ui: Ui, name: str, rank: int) -> Box:
    saved, locked = name in ui.settings.saved_networks, bool(ui.settings.networks[name])
    strength = max(4 - rank // 2, 1)
    words = "Saved" if saved else "Secured" if locked else "Open"
    icon = f"wifi_strength_{strength}_lock" if locked else f"wifi_strength_{strength}"
    return row(name, words, lead=Icon(icon, 72), tap=do(_choose_network, name), id=f"network:{name}")


def _choose_network(ui: Ui, name: str) -> None:
    if ui.settings.networks[name] and name not in ui.settings.saved_networks:
        ui.go("wifi_password", name)
        ui.focus("password")
    else:
        _join(ui, name)


def _join(ui: Ui, name: str) -> None:
    settings = ui.settings
    settings.wifi_network = name
    if name not in settings.saved_networks:
        settings.saved_networks.append(name)
    ui.toast(f"Connected to {name}")


def wifi_password(ui: Ui) -> View:
    """Asks for the key of a network."""
    return ask(ui, ui.arg, "password", "Password", do(_connect), words="Connect")


def _connect(ui: Ui) -> None:
    if ui.typed("password").strip() != ui.settings.networks.get(ui.arg, ""):
        ui.toast("Wrong password, try again")
        return
    ui.back()
    _join(ui, ui.arg)


def wifi_details(ui: Ui) -> View:
    """The network that the phone is in."""
    return page(
        "Network details",
        panel(
            row(ui.arg, "Connected", lead=Icon("wifi_strength_4", 84, "primary")),
            row("Signal strength", "Excellent"),
            row("Security", "WPA2-Personal" if ui.settings.networks.get(ui.arg) else "None"),
            row("IP address", "192.168.1.24"),
        ),
        buttons(
            button("Disconnect", do(_leave), style="tonal", icon="close", id="disconnect"),
            button("Forget", go("forget_network", ui.arg), style="tonal", icon="delete_outline", id="forget"),
            justify="center",
        ),
    )


def _leave(ui: Ui) -> None:
    ui.settings.wifi_network = ""
    ui.back()
    ui.toast(f"Disconnected from {ui.arg}")


def forget_network(ui: Ui) -> View:
    """Asks before a password is forgotten."""
    return dialog(
        "Forget network?",
        f"The password of “{ui.arg}” will be deleted.",
        button("Cancel", do(Ui.back, 1), style="text"),
        button("Forget", do(_forget), style="text", id="confirm"),
    )


def _forget(ui: Ui) -> None:
    settings = ui.settings
    settings.saved_networks = [n for n in settings.saved_networks if n != ui.arg]
    settings.wifi_network = "" if settings.wifi_network == ui.arg else settings.wifi_network
    ui.back(2)
    ui.toast(f"{ui.arg} forgotten")


def hotspot(ui: Ui) -> View:
    """Sharing the connection."""
    settings = ui.settings
    return page(
        "Hotspot & tethering",
        panel(
            switch(ui, "Wi-Fi hotspot", "hotspot", "Share your internet with other devices"),
            question("Hotspot name", settings.hotspot_name, "hotspot_name", "name"),
            question("Hotspot password", settings.hotspot_password, "hotspot_password", "password"),
        ),
        hint("A hotspot uses mobile data and battery."),
    )


def hotspot_name(ui: Ui) -> View:
    """Asks for the name that others see."""
    return ask(ui, "Hotspot name", "name", "New name", do(_save_name))


def _save_name(ui: Ui) -> None:
    name = ui.typed("name").strip()
    if not name:
        ui.toast("Enter a name")
        return
    ui.settings.hotspot_name = name
    ui.back()
    ui.toast("Hotspot name saved")


def hotspot_password(ui: Ui) -> View:
    """Asks for the key that others need."""
    return ask(ui, "Hotspot password", "password", "At least 8 characters", do(_save_password))


def _save_password(ui: Ui) -> None:
    password = ui.typed("password").strip()
    if len(password) < 8:
        ui.toast("At least 8 characters are needed")
        return
    ui.settings.hotspot_password = password
    ui.back()
    ui.toast("Hotspot password saved")
