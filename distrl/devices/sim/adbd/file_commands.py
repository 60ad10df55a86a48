"""Commands about the phone's own files and about text: cat, ls, mkdir, rm, echo, grep and what scripts lean upon."""

import re

from distrl.devices.sim.adbd.android import Android, Result, complain, say
from distrl.devices.sim.adbd.files import FileError

MAX_PATTERN = 200
MAX_REPEATS = 2
_REPEAT = re.compile(r"[*+{]")
_REPEATED_GROUP = re.compile(r"\)[*+?{]")


def cat(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """What files hold."""
    out, err = b"", ""
    for path in arguments:
        try:
            out += android.files.read(path)
        except FileError as error:
            err += f"cat: {path}: {error}\n"
    return Result(out=out if arguments else stdin, err=err.encode(), status=1 if err else 0)


def ls(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """What folders hold."""
    out, err = "", ""
    for path in [a for a in arguments if not a.startswith("-")] or ["/"]:
        mode = android.files.stat(path)[0]
        if not mode:
            err += f"ls: {path}: No such file or directory\n"
        elif mode & 0o040000:
            out += "".join(f"{name}\n" for name in android.files.names(path))
        else:
            out += f"{path}\n"
    return Result(out=out.encode(), err=err.encode(), status=1 if err else 0)


def mkdir(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """Make folders."""
    for path in arguments:
        if not path.startswith("-"):
            android.files.make_folder(path)
    return Result()


def rm(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """Remove files, and folders with -r."""
    err = ""
    is_forced = any(a.startswith("-") and "f" in a for a in arguments)
    for path in [a for a in arguments if not a.startswith("-")]:
        try:
            android.files.remove(path)
        except FileError as error:
            err += "" if is_forced else f"rm: {path}: {error}\n"
    return Result(err=err.encode(), status=1 if err else 0)


def echo(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """Say it again."""
    ends = arguments[:1] != ["-n"]
    return say(" ".join(arguments if ends else arguments[1:]) + ("\n" if ends else ""))


def grep(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """The lines that match; of a pipe only."""
    flags = "".join(a[1:] for a in arguments if a.startswith("-") and len(a) > 1)
    words = [a for a in arguments if not a.startswith("-")]
    if len(words) != 1 or len(words[0]) > MAX_PATTERN or set(flags) - set("EFivoqe"):
        return complain("usage: ... | grep [-EFivoq] PATTERN\n", status=2)
    if "F" not in flags and (len(_REPEAT.findall(words[0])) > MAX_REPEATS or _REPEATED_GROUP.search(words[0])):
        # Such a pattern may take for ever, and everybody else's commands with it.
        return complain(f"grep: REGEX '{words[0]}' repeats too much for this phone\n", status=2)
    try:
        pattern = re.compile(re.escape(words[0]) if "F" in flags else words[0], re.IGNORECASE if "i" in flags else 0)
    except re.error as error:
        return complain(f"grep: bad REGEX '{words[0]}': {error}\n", status=2)
    lines = stdin.decode(errors="replace").splitlines()
    kept = [line for line in lines if bool(pattern.search(line)) != ("v" in flags)]
    if "o" in flags:
        kept = [match[0] for line in kept for match in pattern.finditer(line)]
    return say("" if "q" in flags else "".join(f"{line}\n" for line in kept), status=0 if kept else 1)


def head(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """The first lines of a pipe."""
    digits = "".join(c for a in arguments for c in a if c.isdecimal())
    lines = stdin.splitlines(keepends=True)
    return Result(out=b"".join(lines[: int(digits[:6] or 10)]))


def succeed(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """Nothing, well."""
    return Result()


def fail(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """Nothing, badly."""
    return Result(status=1)


def leave(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """An exit status."""
    digits = arguments[0] if arguments else "0"
    return Result(status=int(digits[:6]) & 0xFF if digits.isdecimal() else 2)


FILE_COMMANDS = {
    "cat": cat,
    "ls": ls,
    "mkdir": mkdir,
    "rm": rm,
    "echo": echo,
    "grep": grep,
    "head": head,
    "true": succeed,
    ":": succeed,
    "export": succeed,
    "cd": succeed,
    "false": fail,
    "exit": leave,
}
