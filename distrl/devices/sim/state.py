"""The state of a phone: plain data that can be copied, compared and stored.

Each app adds a struct of its own (apps/*.py); the two here belong to the phone itself.
"""

import msgspec

START_TIME_S = 34_860.0
"""The phone starts at 09:41 of its first day."""


class Page(msgspec.Struct):
    """A page on an app's stack: where it is scrolled to, what was typed into it, what is selected on it."""

    app: str
    name: str
    arg: str = ""
    scroll: int = 0
    fields: dict[str, str] = {}
    chosen: dict[str, str | int | bool] = {}
    ready_s: float = 0.0


class Alert(msgspec.Struct):
    """A notification in the shade."""

    app: str
    title: str
    body: str


class System(msgspec.Struct):
    """What the phone shows and remembers beside its apps."""

    seed: int = 0
    time_s: float = START_TIME_S
    foreground: str = "launcher"
    stacks: dict[str, list[Page]] = {}
    popups: list[Page] = []
    focus: str = ""
    shift: bool = False
    symbols: bool = False
    toast: str = ""
    toast_until_s: float = 0.0
    alerts: list[Alert] = []
    variations: list[str] = []
    visited: list[str] = []
    due: dict[str, float] = {}


class DeviceSettings(msgspec.Struct):
    """The switches of the phone, as the Settings app and the quick settings show them.

    `networks` are the Wi-Fi networks in reach with their passwords (none if open), `nearby` the Bluetooth devices that
    can be paired. Apps are listed by the name people see; only `permissions` are by app id: `maps:location`.
    """

    wifi: bool = True
    wifi_network: str = "Harbor-5G"
    networks: dict[str, str] = {}
    saved_networks: list[str] = []
    mobile_data: bool = True
    roaming: bool = False
    data_saver: bool = False
    airplane: bool = False
    hotspot: bool = False
    hotspot_name: str = "Phone P8 hotspot"
    hotspot_password: str = "quiet-river-42"
    bluetooth: bool = False
    nearby: list[str] = []
    paired: list[str] = []
    connected: str = ""
    nfc: bool = True
    dark_theme: bool = False
    font_percent: int = 100
    brightness: int = 60
    adaptive_brightness: bool = True
    screen_timeout_s: int = 60
    auto_rotate: bool = False
    night_light: bool = False
    media_volume: int = 50
    call_volume: int = 60
    ring_volume: int = 70
    alarm_volume: int = 80
    vibrate: bool = True
    touch_sounds: bool = True
    do_not_disturb: bool = False
    ringtone: str = "Morning dew"
    battery: int = 80
    battery_saver: bool = False
    battery_percentage: bool = False
    adaptive_battery: bool = True
    location: bool = True
    precise_location: bool = True
    wifi_scanning: bool = False
    screen_lock: str = "Swipe"
    lock_pin: str = ""
    fingerprint: bool = False
    find_device: bool = True
    camera_access: bool = True
    microphone_access: bool = True
    flashlight: bool = False
    language: str = "English"
    three_buttons: bool = False
    automatic_time: bool = True
    automatic_updates: bool = True
    wallpaper: int = 0
    device_name: str = "Phone P8"
    lock_screen_notifications: bool = True
    notification_dots: bool = True
    bubbles: bool = False
    blocked_notifications: list[str] = []
    stopped: list[str] = []
    cache_mb: dict[str, int] = {}
    permissions: dict[str, bool] = {}
