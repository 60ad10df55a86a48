"""Seeds: every source of randomness is derived from one number and the names of who wants it."""

import hashlib
import random


def derive_seed(seed: int, *names: str | int) -> int:
    """A 63-bit seed for this purpose; equal arguments give equal seeds in every process and version of Python."""
    text = "\x1f".join(str(part) for part in (seed, *names))
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "big") >> 1


def derive_random(seed: int, *names: str | int) -> random.Random:
    """A generator of its own for this purpose."""
    return random.Random(derive_seed(seed, *names))
