"""Android emulators that a run starts, restores and ends.

The SDK is found (sdk.py), a virtual device is made or cloned (avd.py), a slot of the machine is taken (slots.py), a
process is started and watched (process.py), spoken to on its console (console.py), and is a `Device` (device.py).
"""
