"""The file ottla.pyz unpacks its packages once, and runs from there; here with a tiny package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.release import one_file

PROGRAM = """
import sys
from pathlib import Path

from . import NUMBER

def main():
    print(NUMBER, *sys.argv[1:], Path(__file__).parent.parent, sys.executable, sep="|")
    return 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    package = tmp_path / "packages/ottla"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("NUMBER = 7\n")
    (package / "__main__.py").write_text(PROGRAM)
    path = tmp_path / "dist/ottla.pyz"
    one_file.pack(package.parent, path)
    return path


def started(file: Path, caches: Path, *words: str) -> subprocess.Popen[str]:
    environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(caches)}
    return subprocess.Popen(
        [sys.executable, str(file), *words],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_several_first_starts_unpack_one_copy_that_later_ones_use(
    file: Path, tmp_path: Path
) -> None:
    caches = tmp_path / "caches"
    first = [started(file, caches, "serve", str(number)) for number in range(3)]
    outputs = [each.communicate(timeout=60) for each in first]
    (place,) = (caches / "ottla").iterdir()
    modified_ns = place.stat().st_mtime_ns
    later = started(file, caches, "serve", "3")
    outputs.append(later.communicate(timeout=60))
    for number, (each, (text, errors)) in enumerate(zip([*first, later], outputs, strict=True)):
        assert (each.returncode, errors) == (3, "")
        told = text.strip().split("|")
        assert told[:3] == ["7", "serve", str(number)]
        assert Path(told[3]).parents[2] == place
        assert Path(told[4]) == place / "bin/python"
    assert place.stat().st_mtime_ns == modified_ns
    assert place.stat().st_mode & 0o077 == 0


def test_processes_of_ottla_find_the_packages(file: Path, tmp_path: Path) -> None:
    text, _ = started(file, tmp_path / "caches").communicate(timeout=60)
    python = text.strip().split("|")[-1]
    imported = [python, "-P", "-c", "import ottla; print(ottla.NUMBER)"]
    done = subprocess.run(imported, capture_output=True, text=True, check=True, env={})
    assert done.stdout == "7\n"


def test_another_python_and_a_cache_that_is_a_file_are_one_line(file: Path, tmp_path: Path) -> None:
    (tmp_path / "caches").write_text("")
    broken = started(file, tmp_path / "caches")
    _, errors = broken.communicate(timeout=60)
    assert (broken.returncode, errors.count("\n")) == (2, 1)
    assert "cannot be written: Not a directory" in errors
    one_file.pack(tmp_path / "packages", file, python="2.7")
    other = started(file, tmp_path / "other")
    _, errors = other.communicate(timeout=60)
    assert other.returncode == 2
    assert errors.startswith("ottla.pyz is built for Python 2.7, and this is 3.")
