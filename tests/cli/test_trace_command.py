"""`ottla trace show` on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

EVENT = {"seq": 1, "at_ms": 0, "kind": "leaders_changed", "topic": "t", "leaders": []}


@pytest.mark.parametrize("no_color", [False, True])
def test_colours_are_for_terminals_without_no_color(no_color: bool, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text(json.dumps(EVENT) + "\n")
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    if no_color:
        environment["NO_COLOR"] = "1"
    here, terminal = pty.openpty()
    command = [sys.executable, "-m", "ottla", "trace", "show", str(file)]
    try:
        subprocess.run(command, stdout=terminal, env=environment, check=True)
        shown = os.read(here, 1000)
    finally:
        os.close(terminal)
        os.close(here)
    assert (b"\033[" in shown) is not no_color
