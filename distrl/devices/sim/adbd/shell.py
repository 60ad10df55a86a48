"""The shell of the phone: a line in, what its commands say out.

Knows `;`, `&&`, `||`, pipes and redirection to the phone's own files, and runs functions of this package by name.
Anything else is `not found`, with exit status 127, as in Android.
"""

from collections.abc import Callable

import msgspec

from distrl.devices.sim.adbd.android import Android, Result, complain
from distrl.devices.sim.adbd.file_commands import FILE_COMMANDS
from distrl.devices.sim.adbd.files import FileError
from distrl.devices.sim.adbd.input_commands import INPUT_COMMANDS
from distrl.devices.sim.adbd.package_commands import PACKAGE_COMMANDS
from distrl.devices.sim.adbd.screen_commands import SCREEN_COMMANDS
from distrl.devices.sim.adbd.system_commands import SYSTEM_COMMANDS
from distrl.devices.sim.adbd.truth_commands import TRUTH_COMMANDS
from distrl.devices.sim.adbd.words import STATUS, Operator, ShellSyntaxError, Token, tokenise

CommandFn = Callable[[Android, list[str], bytes], Result]
COMMANDS: dict[str, CommandFn] = {
    **FILE_COMMANDS,
    **INPUT_COMMANDS,
    **PACKAGE_COMMANDS,
    **SCREEN_COMMANDS,
    **SYSTEM_COMMANDS,
    **TRUTH_COMMANDS,
}
REDIRECTIONS = frozenset({">", ">>", "2>", "2>&1", "<"})


class Simple(msgspec.Struct, kw_only=True):
    """One command: its words, and where its output goes."""

    words: list[str] = []
    redirections: list[tuple[str, str]] = []


def run_line(android: Android, line: str, *, is_merged: bool = False) -> Result:
    """Run a line to its end. Merged, errors stand among the output, where they were said, as on a terminal."""
    try:
        tokens = tokenise(line)
        result = Result()
        for connector, pipeline in _pipelines(tokens):
            if (connector == "&&" and result.status) or (connector == "||" and not result.status):
                continue
            done = _run_pipeline(android, pipeline, result.status)
            if is_merged:
                done = Result(out=done.out + done.err, status=done.status, tail=done.tail)
            result = Result(out=result.out + done.out, err=result.err + done.err, status=done.status, tail=done.tail)
            if pipeline[-1].words[:1] == ["exit"]:
                break
    except ShellSyntaxError as error:
        return complain(f"/system/bin/sh: {error}\n", status=2)
    except FileError as error:
        return complain(f"/system/bin/sh: {error}\n")
    return result


def _pipelines(tokens: list[Token]) -> list[tuple[str, list[Simple]]]:
    """What stands between `;`, `&&` and `||`, each with what stands before it."""
    made: list[tuple[str, list[Simple]]] = [(";", [Simple()])]
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        pipeline = made[-1][1]
        if not isinstance(token, Operator):
            pipeline[-1].words.append(token)
        elif token.sign == "|":
            pipeline.append(Simple())
        elif token.sign == "2>&1":
            pipeline[-1].redirections.append((token.sign, ""))
        elif token.sign in REDIRECTIONS:
            target = tokens[at] if at < len(tokens) else None
            if not isinstance(target, str):
                raise ShellSyntaxError(f"syntax error: nothing after '{token.sign}'")
            pipeline[-1].redirections.append((token.sign, target))
            at += 1
        else:
            made.append((token.sign, [Simple()]))
    return [(sign, pipeline) for sign, pipeline in made if any(s.words or s.redirections for s in pipeline)]


def _run_pipeline(android: Android, pipeline: list[Simple], status: int) -> Result:
    """Each command with what the one before said; `$?` is the status of what ran before them."""
    stdin, errors = b"", b""
    result = Result()
    for simple in pipeline:
        words = [word.replace(STATUS, str(status)) for word in simple.words]
        result = _redirect(android, _run(android, words, stdin), simple)
        stdin, errors = result.out, errors + result.err
    return Result(out=result.out, err=errors, status=result.status, tail=result.tail)


def _run(android: Android, words: list[str], stdin: bytes) -> Result:
    while words and (words[0] == "exec" or _is_assignment(words[0])):
        words = words[1:]
    if not words:
        return Result()
    name, *arguments = words
    command = COMMANDS.get(name.removeprefix("/system/bin/"))
    if command is None:
        return complain(f"/system/bin/sh: {name}: inaccessible or not found\n", status=127)
    return command(android, arguments, stdin)


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _redirect(android: Android, result: Result, simple: Simple) -> Result:
    out, err = result.out, result.err
    for sign, target in simple.redirections:
        if sign == "<":
            raise ShellSyntaxError("reading from a file is not part of this phone; use cat")
        if sign == "2>&1":
            out, err = out + err, b""
        elif sign == "2>":
            _store(android, target, err, appends=False)
            err = b""
        else:
            _store(android, target, out, appends=sign == ">>")
            out = b""
    return Result(out=out, err=err, status=result.status, tail=result.tail)


def _store(android: Android, path: str, data: bytes, *, appends: bool) -> None:
    if path == "/dev/null":
        return
    before = android.files.read(path) if appends and android.files.stat(path)[0] else b""
    android.files.write(path, before + data)
