"""The verbs about tasks and the phone, as a user calls them."""

import contextlib
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from PIL import Image

from distrl.devices.sim.adbd.packets import VERSION, Packet, encode


def distrl(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from distrl.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=100, check=False)


def test_tasks_list_gives_the_promised_fields() -> None:
    done = distrl("tasks", "list", "--suite", "install", "--split", "test", "--json")
    tasks = json.loads(done.stdout)
    assert len(tasks) >= 50
    assert set(tasks[0]) == {"id", "suite", "split", "instruction", "template", "difficulty", "max_steps"}


def test_tasks_show_prints_a_task_and_names_the_next_step() -> None:
    done = distrl("tasks", "show", "general-train-0000")
    assert "general-train-0000" in done.stdout
    assert "distrl phone --task general-train-0000" in done.stderr


def test_tasks_check_gives_shares() -> None:
    done = distrl("tasks", "check", "--suite", "system", "--split", "test", "--sample", "6", "--seed", "3", "--json")
    report = json.loads(done.stdout)
    assert set(report) == {"n", "expert", "idle", "random", "expert_after_random"}
    assert (report["n"], report["expert"], report["idle"]) == (6, 1.0, 0.0)


def test_equal_seeds_check_alike() -> None:
    arguments = ("tasks", "check", "--suite", "install", "--sample", "4", "--seed", "9", "--json")
    assert distrl(*arguments).stdout == distrl(*arguments).stdout


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("tasks", "list", "--suite", "generl"), "general"),
        (("tasks", "list", "--split", "tset"), "test"),
        (("tasks", "show", "general-train-9999"), "general-train-"),
        (("tasks", "check", "--suite", "web"), "web_shopping"),
        (("phone", "--task", "nothing"), "unknown task"),
        (("phone", "--variation", "drak", "--no-browser"), "dark"),
        (("phone", "--app", "no/such/file.py", "--no-browser"), "no/such/file.py"),
        (("phone", "--record", "film.webp"), "--task"),
        (("phone", "--task", "general-train-0000", "--record", "film.mp4"), ".webp"),
        (("tasks", "import", "no-such-file.txt"), "no-such-file.txt"),
    ],
)
def test_mistakes_exit_with_2_a_hint_and_no_traceback(arguments: tuple[str, ...], hint: str, tmp_path: Path) -> None:
    done = distrl(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_importing_a_list_says_that_it_needs_a_judge(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("Open the pod bay doors\n# a comment\nSing a song\n")
    done = distrl("tasks", "import", str(tmp_path / "mine.txt"))
    assert "Sing a song" in done.stdout
    assert "judge" in done.stderr


def test_recording_makes_a_film_of_the_solved_task(tmp_path: Path) -> None:
    film = tmp_path / "film.webp"
    done = distrl("phone", "--task", "general-train-0001", "--record", str(film), "--scale", "0.2")
    assert done.returncode == 0
    assert "solved" in done.stdout
    with Image.open(film) as image:
        assert image.size == (216, 480 + 64)
        assert getattr(image, "n_frames", 1) >= 3


@contextlib.contextmanager
def served(*arguments: str) -> Iterator[str]:
    """The address of a phone that is being served."""
    command = [sys.executable, "-c", "from distrl.cli.main import main; main()", "phone", "--no-browser", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)


def test_the_phone_can_be_played_over_http() -> None:
    with served("--task", "general-train-0000") as address:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
        start = httpx.get(f"{address}/status").json()
        assert start["instruction"]
        assert start["solved"] is False
        opened = httpx.post(f"{address}/act", json={"type": "OpenApp", "app": "Clock"}).json()
        assert "clock" in opened["activity"]
        assert httpx.get(f"{address}/screen.png").content.startswith(b"\x89PNG")
        assert "<title>distrl phone</title>" in httpx.get(address).text
        httpx.post(f"{address}/restart")
        for _ in range(15):
            status = httpx.post(f"{address}/hint").json()
        assert status["solved"] is True


def test_the_page_refuses_strangers_and_nonsense() -> None:
    with served() as address:
        assert httpx.get(f"{address}/status", headers={"Host": "evil.example"}).status_code == 403
        evil = httpx.post(f"{address}/act", json={"type": "Wait"}, headers={"Origin": "http://evil.example"})
        assert evil.status_code == 403
        for body in (b"", b"{", b'{"type":"Tap","x":2,"y":0}', b'{"type":"Nope"}'):
            assert httpx.post(f"{address}/act", content=body).status_code == 400
        assert httpx.post(f"{address}/act", content=b"x" * 100_000).status_code == 413


def test_two_phones_run_side_by_side_and_a_taken_port_is_explained() -> None:
    with served() as first, served() as second:
        assert first != second
        done = distrl("phone", "--no-browser", "--port", first.rpartition(":")[2])
        assert done.returncode == 2
        assert "--port 0" in done.stderr


def greeting(address: str) -> bytes:
    """What a phone answers to the first packet of an adb server."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(encode(Packet(command="CNXN", arg0=VERSION, arg1=1 << 20, payload=b"host::")))
        return connection.recv(24)[:4]


def test_a_phone_is_served_to_adb_beside_its_page() -> None:
    command = [sys.executable, "-c", "from distrl.cli.main import main; main()", "phone", "--adb", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        page, address = (process.stdout.readline().strip() for _ in range(2))
        assert page.startswith("http://127.0.0.1:")
        assert re.fullmatch(r"127\.0\.0\.1:\d+", address)
        assert greeting(address) == b"CNXN"
        assert httpx.get(f"{page}/status").status_code == 200
        taken = distrl("phone", "--no-browser", "--adb", address.rpartition(":")[2])
        assert taken.returncode == 2
        assert "--adb 0" in taken.stderr
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.slow
def test_demo_films_four_suites(tmp_path: Path) -> None:
    done = distrl("demo", "--out", str(tmp_path / "films"))
    assert done.returncode == 0
    assert len(list((tmp_path / "films").glob("*.webp"))) == 4
