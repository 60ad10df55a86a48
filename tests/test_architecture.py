"""The rules of the house, kept by machine."""

import re
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "distrl"
SOURCES = sorted(PACKAGE.rglob("*.py"))

BANNED = {
    "unpickling runs whatever the file says": r"\b(import|from)\s+(cloud)?pickle\b|\bpickle\.",
    "evaluated text is code": r"(?<![\w.])(eval|exec)\(",
    "a shell on the host": r"shell\s*=\s*True|\bos\.(system|popen)\(",
    "waiting goes through the clock": r"\btime\.sleep\b",
    "the global generator has no seed of ours": (
        r"(?<![\w.])random\.(?!Random\b)\w+\(|\bnp\.random\.(?!Generator\b|default_rng\b)"
    ),
    "a generator needs a seed": r"\bRandom\(\)|\bdefault_rng\(\)",
    "torch.load unpickles": r"\btorch\.load\b",
    "the library never prints": r"(?<![\w.])print\(",
}


def test_every_contract_about_who_imports_whom_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True) == 0


@pytest.mark.parametrize("reason", BANNED)
def test_banned_constructs_appear_nowhere_in_the_package(reason: str) -> None:
    pattern = re.compile(BANNED[reason])
    found = [
        f"{source.relative_to(ROOT)}:{number}: {line.strip()}"
        for source in SOURCES
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]
    assert found == [], reason


@pytest.mark.parametrize(
    "line",
    ["import pickle", "x = eval(text)", "run(c, shell=True)", "time.sleep(1)", "random.choice(x)", "np.random.rand(3)"],
)
def test_the_ban_recognises_what_it_bans(line: str) -> None:
    assert any(re.search(pattern, line) for pattern in BANNED.values())


@pytest.mark.parametrize("line", ["model.eval()", "rng.random()", "random.Random(seed)", "re.compile(x)"])
def test_the_ban_lets_through_what_is_fine(line: str) -> None:
    assert not any(re.search(pattern, line) for pattern in BANNED.values())


def test_files_are_short_enough_to_read() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: length for name, length in lengths.items() if length >= 400} == {}


def test_files_are_named_for_what_they_hold() -> None:
    empty_names = {"utils", "helpers", "common", "misc", "base", "manager"}
    assert [str(path.relative_to(ROOT)) for path in SOURCES if {path.stem, path.parent.name} & empty_names] == []


def test_every_module_opens_with_what_it_is() -> None:
    silent = [str(path.relative_to(ROOT)) for path in SOURCES if not path.read_text(encoding="utf-8").startswith('"""')]
    assert silent == []
