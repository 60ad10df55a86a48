"""What holds for all tests: no example of hypothesis has to be quick, since the machine may be busy."""

import os

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# Virtual machines may announce matrix instructions (AMX) that they do not let through: the first product in 16 bits
# would end the process. It has to be said before torch computes anything, here and in every process of a test.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
