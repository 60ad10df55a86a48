"""Compression: zstd at a level that is quicker than the drawing of a screen (docs/replay.md has the measurements)."""

import zstandard

LEVEL = -1
"""0.4 % more bytes than level 1 in about three quarters of its time."""


class Compression:
    """Bytes in, fewer bytes out, and back. One for each owner: two threads must not use it at once."""

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=False)
        self._decompressor = zstandard.ZstdDecompressor()

    def compress(self, data: bytes) -> bytes:
        """Fewer bytes. A copy of what zstandard returns, which goes on occupying all the room it might have needed."""
        return bytes(memoryview(self._compressor.compress(data)))

    def decompress(self, packed: bytes) -> bytes:
        """What was compressed; a `ValueError` if that cannot be."""
        try:
            return self._decompressor.decompress(packed)
        except zstandard.ZstdError as error:
            raise ValueError(f"compressed data is damaged: {error}") from error
