"""The recipes of docs/how-to/other-languages.md start a broker and print its address."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs/how-to/other-languages.md"
LANGUAGES = {
    "java": ("Recipe.java", ["java", "-XX:TieredStopAtLevel=1"]),
    "go": ("recipe.go", ["go", "run"]),
    "javascript": ("recipe.js", ["node"]),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.slow
def test_a_recipe_starts_and_stops_a_broker(language: str, tmp_path: Path) -> None:
    file, command = LANGUAGES[language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT.read_text(), re.M | re.S)
    (tmp_path / file).write_text(text)
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    (bin_dir / "ottla").write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m ottla "$@"\n')
    (bin_dir / "ottla").chmod(0o755)
    done = subprocess.run(
        [*command, file],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{bin_dir}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"bootstrap\.servers=127\.0\.0\.1:\d+\n", done.stdout), done
    assert not list(tmp_path.glob("ottla-*"))
