"""The first line of the log, which imports what it needs."""

from __future__ import annotations

import json
import subprocess
import sys

FIRST_LINE = """
import sys
from ottla.broker.log_output import Log
Log("room").warning("something", number=7)
assert "rich" not in sys.modules, "the event loop waits for that"
import rich.table
"""


def test_the_first_line_imports_nothing_that_only_a_terminal_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_LINE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    line = json.loads(done.stderr)
    assert (line["event"], line["room"], line["number"]) == ("something", "room", 7)
