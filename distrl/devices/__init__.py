"""Devices: the built-in phone, and what stands behind the same interface."""
