"""The networks that act, and the codec between what they write and what a device can do."""
