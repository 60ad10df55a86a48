"""The reaper finds what belongs to a private Ray, also what has written a title over its environment."""

import os
import subprocess
import sys
from pathlib import Path

from distrl.runtime.reaper import SESSION, reap

WAITS = "import sys; sys.stdin.read()"


def test_what_bears_the_mark_is_ended_and_what_is_titled_and_logs_into_the_directory_too(tmp_path: Path) -> None:
    directory = tmp_path / "session"
    directory.mkdir()
    plain = {name: value for name, value in os.environ.items() if name != SESSION}

    def start(title: str, log: Path, **more: str) -> "subprocess.Popen[bytes]":
        command = [title, "-c", WAITS]
        with log.open("w") as out:
            return subprocess.Popen(
                command, executable=sys.executable, stdin=subprocess.PIPE, stdout=out, env=plain | more
            )

    marked = start("python", tmp_path / "a.log", **{SESSION: str(directory)})
    titled = start("ray::DashboardAgent", directory / "b.log")
    spared = [start("ray::DashboardAgent", tmp_path / "c.log"), start("tail", directory / "d.log")]
    try:
        reap(directory, spare={os.getpid()})
        assert (marked.wait(10), titled.wait(10)) == (-9, -9)
        assert [process.poll() for process in spared] == [None, None]
        assert not directory.exists()
    finally:
        for process in (marked, titled, *spared):
            process.kill()
            process.communicate()
