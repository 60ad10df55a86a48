"""What a machine can run out of or get wrong: memory, open files, places to write to, and the time of day."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from distrl.runtime.run_directory import RunDirectory

from ..runtime.runs import as_options, tensorboard_events, tiny
from ..runtime.test_asynchronous import lines, run_fleet, slow, sound
from .test_ray import Run, is_sound, no_process_is_left

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(420)]

DAY_S = 86_400.0
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
/* The time of day, wrong by the seconds in a file; clocks that only count are left alone. */
static long skew(void) {
    char text[32] = {0};
    const char *path = getenv("DISTRL_TEST_SKEW");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    return got > 0 ? atol(text) : 0;
}
int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(id, now);
    if (id == CLOCK_REALTIME && done == 0) now->tv_sec += skew();
    return done;
}
int gettimeofday(struct timeval *now, void *zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
    int done = real(now, zone);
    if (done == 0) now->tv_sec += skew();
    return done;
}
time_t time(time_t *now) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (now) *now = t.tv_sec;
    return t.tv_sec;
}
"""


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Starts runs, and ends whatever is left of them."""
    monkeypatch.setenv("DISTRL_TEST_RUN", str(tmp_path / "run"))
    runs: list[Run] = []

    def start(*more: str, **tables: dict[str, Any]) -> Run:
        runs.append(Run(tmp_path / "run", *more, **tables))
        return runs[-1]

    yield start
    for run in runs:
        if run.process.poll() is None:
            run.process.kill()
            run.process.communicate()


# ---- memory


def test_a_worker_that_runs_out_of_memory_is_started_again_and_the_run_ends_sound(begin: Any) -> None:
    run = begin(train={"num_trajectories": 60})
    run.wait_for_trajectories(8)
    worker = run.pid_of("WorkerActor")
    resource.prlimit(worker, resource.RLIMIT_AS, (1, 1))
    run.pid_of("WorkerActor", other_than=worker)
    status, _, err = run.end()
    assert status == 0, err
    audit = run.audit()
    assert is_sound(audit), audit
    assert audit["stored"] >= 60
    no_process_is_left(run)


# ---- the time of day


def test_a_clock_that_jumps_by_days_changes_no_order_and_no_duration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, jumps = tmp_path / "run", iter(range(10**9))
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + DAY_S * (next(jumps) % 7 - 3))
    config = slow(train={"num_trajectories": 12}, eval={"every_trajectories": 6})
    training = run_fleet(config, path)
    again = run_fleet(slow(train={"num_trajectories": 18}, eval={"every_trajectories": 6}), path)
    assert next(jumps) > 20, "somebody asked for the time"
    assert training.learner.num_received == 12
    assert again.learner.num_received >= 18
    assert sound(path).epochs == 2
    updates = [row["update"] for row in lines(path, "metrics")]
    assert updates == list(range(1, again.learner.num_updates + 1))
    walls_s = [row["wall_s"] for row in lines(path, "evaluations")]
    assert walls_s == sorted(walls_s)
    assert 0.0 <= walls_s[-1] < DAY_S
    times = [line["time"] for line in lines(path, "events")]
    assert times != sorted(times), "events carry the time of day as it was told, and stand in the order they happened"
    assert lines(path, "events")[0]["event"] == "begun"


def test_a_run_on_ray_ends_sound_when_the_clock_jumps_by_days_in_its_middle(
    begin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = shutil.which("cc")
    assert compiler is not None, "this test needs a C compiler: apt-get install gcc"
    library, skew = tmp_path / "clock.so", tmp_path / "skew"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), "-x", "c", "-", "-ldl"]
    subprocess.run(command, input=CLOCK, text=True, check=True)
    skew.write_text("0\n")
    monkeypatch.setenv("DISTRL_TEST_SKEW", str(skew))
    monkeypatch.setenv("LD_PRELOAD", str(library))
    run = begin(train={"num_trajectories": 60})
    monkeypatch.delenv("LD_PRELOAD")
    run.wait_for_trajectories(8)
    skew.write_text(f"{3 * DAY_S:.0f}\n")
    run.wait_for_trajectories(30)
    skew.write_text(f"{-3 * DAY_S:.0f}\n")
    status, _, err = run.end()
    assert status == 0, err
    assert is_sound(run.audit()), run.audit()
    assert run.audit()["stored"] >= 60
    told_s = [event.wall_time for file in (run.path / "tensorboard").iterdir() for event in tensorboard_events(file)]
    assert max(told_s) - min(told_s) > 2 * DAY_S, "the learner saw the jump"
    walls_s = [row["wall_s"] for row in lines(run.path, "evaluations")]
    assert 0.0 <= walls_s[-1] < DAY_S
    no_process_is_left(run)


# ---- open files, places to write to


def distrl_train(run: Path, runtime: str, *, before: str = "", **variables: str) -> tuple[int, str]:
    """`distrl train` in a shell of its own mount namespace, after some commands; status and what it said."""
    program = [sys.executable, "-c", "from distrl.cli.main import main; main()", "train"]
    settings = tiny(train={"num_trajectories": 4}, eval={"episodes": 1, "every_trajectories": 4})
    command = [*program, "--runtime", runtime, "--run-dir", str(run), *as_options(settings)]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f'{before or ":"} && exec "$@"', "sh", *command],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "DISTRL_TEST_RUN": str(run), **variables},
    )
    return done.returncode, done.stderr


def nobody_is_left(run: Path) -> None:
    """No process that was started for a run is there any more."""
    until_s = time.monotonic() + 30.0
    while (left := _of_run(run)) and time.monotonic() < until_s:
        time.sleep(0.2)
    assert left == []


def _of_run(run: Path) -> list[str]:
    mark, found = f"DISTRL_TEST_RUN={run}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("runtime", ["serial", "local"])
def test_a_run_directory_that_is_read_only_is_named_and_nothing_is_started(tmp_path: Path, runtime: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    status, said = distrl_train(disk / "run", runtime, before=f"mount -t tmpfs -o ro distrl-test {disk}")
    assert status == 2, said
    assert f"error: cannot write to the run directory {disk / 'run'}: Read-only file system" in said
    assert "Traceback" not in said
    nobody_is_left(disk / "run")


@pytest.mark.parametrize("runtime", ["serial", "local"])
def test_with_few_open_files_and_no_place_for_temporary_ones_a_run_works_or_says_what_is_wrong(
    tmp_path: Path, runtime: str
) -> None:
    run = tmp_path / "run"
    status, said = distrl_train(run, runtime, before="ulimit -n 64", TMPDIR=str(tmp_path / "missing"))
    assert status in (0, 2), said
    assert "Traceback" not in said
    if status == 0:
        assert json.loads((run / "summary.json").read_text())["trajectories"] >= 4
        assert len(RunDirectory(run).read("evaluations")) >= 1
    else:
        assert "open files" in said
    nobody_is_left(run)
