"""distrl: asynchronous reinforcement learning for models that operate phones."""

__version__ = "0.1.0"
