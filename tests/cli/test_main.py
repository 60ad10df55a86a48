"""The command line as a shell sees it: every test is a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from distrl import __version__
from distrl.core.config import Config

FIVE_MISTAKES = """\
sede = 1
[phone]
scale = 2.0
latency = "emulater"
[tasks]
suit = "general"
[env]
keep_last_actions = "4"
"""


def distrl(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DISTRL_")}
    command = [sys.executable, "-c", "from distrl.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=kept | variables, timeout=60)


def test_five_mistakes_are_all_told_with_their_places_and_exit_status_2(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(FIVE_MISTAKES)
    result = distrl("config", "check", "--config", str(file))
    assert result.returncode == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    headline, *told = result.stderr.splitlines()
    assert headline == "error: 5 mistakes in the configuration"
    assert told == [
        f"{file}:1: sede: unknown key (expected one of {', '.join(Config.model_fields)}, got sede); did you mean seed?",
        f"{file}:3: phone.scale: wrong value (expected less than or equal to 1, got 2.0)",
        f"{file}:4: phone.latency: unknown value (expected one of instant, emulator, slow-emulator, phone, even, lab, "
        'rough, got "emulater"); did you mean emulator?',
        f"{file}:6: tasks.suit: unknown key (expected one of suite, split, max_difficulty, templates, got suit); "
        "did you mean tasks.suite?",
        f'{file}:8: env.keep_last_actions: wrong value (expected a whole number, got "4")',
    ]


def test_check_as_json_gives_the_mistakes_as_data_and_exit_status_2() -> None:
    result = distrl("config", "check", "--set", "phone.scal=1", "--json")
    assert result.returncode == 2
    (mistake,) = json.loads(result.stdout)["mistakes"]
    assert (mistake["place"], mistake["key"]) == ("--set phone.scal=1", "phone.scal")
    assert mistake["suggestion"] == "phone.scale"


def test_check_says_ok() -> None:
    result = distrl("config", "check")
    assert (result.returncode, result.stdout, result.stderr) == (0, "ok\n", "")


def test_show_prints_toml_that_can_be_given_back(tmp_path: Path) -> None:
    first = distrl("config", "show", "--set", "phone.scale=0.5")
    file = tmp_path / "run.toml"
    file.write_text(first.stdout)
    again = distrl("config", "show", DISTRL_CONFIG=str(file))
    assert again.stdout == first.stdout
    assert "scale = 0.5" in first.stdout


def test_show_as_json_holds_environment_and_overrides() -> None:
    result = distrl("config", "show", "--json", "--set", "seed=3", DISTRL_PHONE__SCALE="0.5", DISTRL_SEED="1")
    shown = json.loads(result.stdout)
    assert (shown["seed"], shown["phone"]["scale"]) == (3, 0.5)


def test_options_are_variables_named_for_their_verb() -> None:
    result = distrl("config", "show", DISTRL_CONFIG_SHOW_JSON="1", DISTRL_CONFIG_SHOW_SET="seed=3 phone.scale=0.5")
    shown = json.loads(result.stdout)
    assert (shown["seed"], shown["phone"]["scale"]) == (3, 0.5)


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["config", "-h"], ["config", "show", "--help"]])
def test_help_is_plain_text_on_stdout(arguments: list[str]) -> None:
    result = distrl(*arguments)
    assert result.returncode == 0
    assert result.stdout.startswith("Usage: distrl")
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


def test_help_imports_nothing_heavy() -> None:
    heavy = {"numpy", "pydantic", "PIL", "gymnasium", "rich", "torch", "msgspec", "starlette", "asyncio"}
    program = (
        "import sys\nfrom distrl.cli.main import main\nsys.argv = ['distrl', '--help']\n"
        "try:\n    main()\nfinally:\n    print('MODULES', *sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    loaded = set(result.stdout.rpartition("MODULES")[2].split())
    assert "typer" in loaded
    assert loaded & heavy == set()


def test_version_is_that_of_the_package() -> None:
    assert distrl("--version").stdout == f"distrl {__version__}\n"


def test_an_unknown_command_or_option_is_the_users_mistake() -> None:
    for arguments in (["fly"], ["config", "show", "--bogus"]):
        result = distrl(*arguments)
        assert result.returncode == 2
        assert "Traceback" not in result.stderr


def run_failing(error: str) -> subprocess.CompletedProcess[str]:
    program = (
        "import sys\nfrom distrl.cli import main as cli\nfrom distrl.core.errors import *\n"
        f"@cli.app.command()\ndef fail() -> None:\n    raise {error}\n"
        "sys.argv = ['distrl', 'fail']\ncli.main()"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        ("UserError('wrong')", 2, "error: wrong\n"),
        ("UnknownNameError('app', 'Clok', ['Clock'])", 2, "error: unknown app 'Clok': did you mean Clock?\n"),
        ("DeviceError('hung', 'no answer')", 1, "error: no answer\n"),
        ("KeyboardInterrupt", 130, ""),
    ],
)
def test_errors_become_exit_statuses_without_a_traceback(error: str, status: int, said: str) -> None:
    result = run_failing(error)
    assert (result.returncode, result.stderr) == (status, said)


def test_a_bug_keeps_its_traceback() -> None:
    result = run_failing("RuntimeError('bug')")
    assert result.returncode == 1
    assert "Traceback" in result.stderr
