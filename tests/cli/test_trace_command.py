"""`ottla trace show` on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.cli.app import run

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


def test_lanes_are_those_of_the_kinds_that_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trace.jsonl"
    states = {"kind": "group_transition", "group_id": "g", "before": "Empty", "after": "Dead"}
    file.write_text(json.dumps({"seq": 1, "at_ms": 0, **states}) + "\n")
    assert run(["trace", "show", str(file), "--lanes", "--by", "group", "--by", "client"]) == 0
    assert capsys.readouterr().out.split()[:2] == ["group", "g"]
    assert run(["trace", "show", str(file), "--by", "group"]) == 2
    assert "trace show --by: expected --lanes, too" in capsys.readouterr().err
