"""What holds for all tests: no example of hypothesis has to be quick, since the machine may be busy."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
