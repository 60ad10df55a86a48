"""Settings: nested pages for everything a phone can be told, and a search over them."""

from random import Random

from distrl.devices.sim.app import App
from distrl.devices.sim.apps.settings import app_pages, connected, device, display, network
from distrl.devices.sim.apps.settings.home import home
from distrl.devices.sim.apps.settings.parts import level_dialog
from distrl.devices.sim.state import DeviceSettings

NETWORKS = {
    "Harbor-5G": "saltwater7",
    "Cafe Aurora": "",
    "Maple House": "redmaple19",
    "Riverside Guest": "welcome2026",
    "Studio 4B": "paintbrush88",
    "Pension Alva": "sunnyroom5",
}
DEVICES = ("Pebble Buds", "Nova Speaker", "Orbit Watch", "Canvas TV", "Tern Keyboard", "City Car Audio")


def fresh(rng: Random) -> DeviceSettings:
    """A phone in use: it is in one network, knows two, and has been paired with two devices."""
    devices = rng.sample(DEVICES, len(DEVICES))
    return DeviceSettings(
        networks=dict(NETWORKS),
        saved_networks=["Harbor-5G", rng.choice(["Maple House", "Studio 4B"])],
        paired=devices[:2],
        nearby=devices[2:],
        battery=rng.randint(55, 92),
    )


APP = App(
    id="settings",
    name="Settings",
    icon="cog",
    color="#607D8B",
    fresh=fresh,
    pages={
        "home": home,
        "level": level_dialog,
        "network": network.network,
        "internet": network.internet,
        "wifi_password": network.wifi_password,
        "wifi_details": network.wifi_details,
        "forget_network": network.forget_network,
        "hotspot": network.hotspot,
        "hotspot_name": network.hotspot_name,
        "hotspot_password": network.hotspot_password,
        "connected": connected.connected,
        "pair": connected.pair,
        "confirm_pair": connected.confirm_pair,
        "device": connected.device,
        "forget_device": connected.forget_device,
        "apps": app_pages.apps,
        "app": app_pages.app,
        "force_stop": app_pages.force_stop,
        "permissions": app_pages.permissions,
        "app_storage": app_pages.app_storage,
        "notifications": app_pages.notifications,
        "battery": device.battery,
        "storage": device.storage,
        "sound": display.sound,
        "ringtone": display.ringtone,
        "display": display.display,
        "font": display.font,
        "timeout": display.timeout,
        "wallpaper": display.wallpaper,
        "security": device.security,
        "screen_lock": device.screen_lock,
        "set_pin": device.set_pin,
        "location": device.location,
        "language": device.language,
        "system": device.system,
        "about": device.about,
        "device_name": device.device_name,
    },
)
ORDER = 30
