"""Devices that adb reaches: emulators, real phones, our own sim behind its adbd.

We speak to the adb server itself (server.py) instead of starting a program for each call; device.py is the `Device`.
"""
