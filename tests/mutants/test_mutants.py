"""Planted bugs fit the present source, and the script reports bugs that no test finds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from .__main__ import main
from .mutant import Mutant, StaleMutant
from .planted import MUTANTS
from .workshop import ROOT

SOURCE = "def add(one, other):\n    return one + other\n"
TEST = "from ottla.broker.sums import add\n\ndef test_a_sum():\n    assert add(2, {}) == {}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of one module and one test."""
    files = {
        "src/ottla/__init__.py": "",
        "testing/__init__.py": "",
        "testing/pytest_plugin.py": "",
        "broker/__init__.py": "",
        "broker/sums.py": SOURCE,
        "tests/test_sums.py": TEST.format(3, 5),
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['--import-mode=importlib']\n",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    for room in ("broker", "testing"):
        (tmp_path / "src" / "ottla" / room).symlink_to(tmp_path / room)
    return tmp_path


def mutant(right: str, wrong: str, name: str = "a-bug") -> Mutant:
    return Mutant(name, "broker/sums.py", right, wrong, "sums are wrong", ("tests/test_sums.py",))


FOUND = mutant("one + other", "one - other", "found")
SURVIVES = mutant("one + other", "other + one", "survives")
STALE = mutant("one * other", "one", "stale")


def test_every_planted_bug_fits_the_source_and_there_are_many() -> None:
    for each in MUTANTS:
        each.check(ROOT)
    assert [name for name, times in Counter(m.name for m in MUTANTS).items() if times > 1] == []
    assert len(MUTANTS) >= 120


def test_a_bug_that_no_test_finds_has_survived_and_the_others_are_tried(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Both have one size and time, so Python must not use the bytecode of the other one.
    assert main(["--jobs", "1"], mutants=[FOUND, SURVIVES, FOUND], root=root) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["found", "SURVIVED", "found"]
    assert lines[1].endswith("(broker/sums.py): sums are wrong")


def test_a_bug_that_does_not_fit_is_reported_and_the_others_are_found_by_the_tests_that_fail(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def content() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}

    before = content()
    assert main([], mutants=[STALE, FOUND], root=root) == 2
    told = capsys.readouterr().out
    assert "STALE     stale: its text is 0 times in broker/sums.py, not once" in told
    assert "found     found: tests/test_sums.py::test_a_sum" in told
    assert content() == before, "the working tree does not change"


def test_tests_that_fail_without_a_bug_do_not_count(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "tests/test_sums.py").write_text(TEST.format(3, 6))
    assert main([], mutants=[FOUND], root=root) == 2
    assert "without any bug the tests fail" in capsys.readouterr().out


def test_a_bug_that_breaks_the_import_does_not_count(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([], mutants=[mutant("def add", "import nothing\ndef add")], root=root) == 2
    assert "NOT TRIED a-bug" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("bug", "why"),
    [
        (STALE, "0 times"),
        (mutant("one", "two"), "2 times"),
        (mutant("one + other", "one + other"), "changes nothing"),
        (mutant("one + other", "one +"), "no Python"),
    ],
)
def test_a_bug_that_cannot_be_planted_is_refused(root: Path, bug: Mutant, why: str) -> None:
    with pytest.raises(StaleMutant, match=why):
        bug.check(root)
