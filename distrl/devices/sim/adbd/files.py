"""The files of a phone: a dictionary from path to bytes, bounded; nothing of the host's disk is ever touched."""

import posixpath
import stat

import msgspec

MAX_BYTES = 64 << 20
FOLDERS = ("/", "/sdcard", "/sdcard/Download", "/data", "/data/local", "/data/local/tmp")


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file's bytes and when it was changed last, in seconds."""

    data: bytes
    mode: int = stat.S_IFREG | 0o644
    changed_s: int = 0


class FileError(Exception):
    """What cannot be done, as Android says it."""


class Files:
    """Files by absolute path; folders are there when something is in them, or were made."""

    def __init__(self) -> None:
        self._files: dict[str, File] = {}
        self._folders = set(FOLDERS)

    def write(self, path: str, data: bytes, *, mode: int = 0o644, changed_s: int = 0) -> None:
        """Put a file there, and make the folders it is in."""
        path = _normal(path)
        if path in self._folders:
            raise FileError(f"couldn't create file: {path}: Is a directory")
        self.check_room(len(data))
        self._files[path] = File(data=data, mode=stat.S_IFREG | (mode & 0o777), changed_s=changed_s)
        while path != "/":
            path = posixpath.dirname(path)
            self._folders.add(path)

    def check_room(self, num_bytes: int) -> None:
        """Refuse what would fill the phone."""
        if self.used_bytes + num_bytes > MAX_BYTES:
            raise FileError("couldn't write: No space left on device")

    def read(self, path: str) -> bytes:
        """What a file holds."""
        found = self._files.get(_normal(path))
        if found is None:
            raise FileError("Is a directory" if _normal(path) in self._folders else "No such file or directory")
        return found.data

    def stat(self, path: str) -> tuple[int, int, int]:
        """Mode, size and time of change; zeros if there is nothing."""
        found = self._files.get(_normal(path))
        if found:
            return found.mode, len(found.data), found.changed_s
        return (stat.S_IFDIR | 0o771, 4096, 0) if _normal(path) in self._folders else (0, 0, 0)

    def names(self, path: str) -> list[str]:
        """What is in a folder."""
        folder = _normal(path)
        inside = (p for p in (*self._files, *self._folders) if p != "/" and posixpath.dirname(p) == folder)
        return sorted(posixpath.basename(p) for p in inside)

    def make_folder(self, path: str) -> None:
        """A folder, and those it is in."""
        path = _normal(path)
        while path != "/":
            self._folders.add(path)
            path = posixpath.dirname(path)

    def remove(self, path: str) -> None:
        """A file, or a folder with what is in it."""
        path = _normal(path)
        if self.stat(path) == (0, 0, 0):
            raise FileError("No such file or directory")
        self._files = {p: f for p, f in self._files.items() if p != path and not p.startswith(path + "/")}
        self._folders = {p for p in self._folders if p != path and not p.startswith(path + "/")} | set(FOLDERS)

    @property
    def used_bytes(self) -> int:
        """How much all files hold."""
        return sum(len(file.data) for file in self._files.values())


def _normal(path: str) -> str:
    if len(path) > 1024:
        raise FileError("File name too long")
    return posixpath.normpath("/" + path.lstrip("/"))
