"""A process with a lifeline stops in order when the one who started it is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

CHILD = """
import signal, sys
from ottla.lifeline import end_with_stdin

def stop(*_):
    print("stopped in order", flush=True)
    sys.exit(0)

signal.signal(signal.SIGTERM, stop)
end_with_stdin()
print("running", flush=True)
signal.pause()
"""


def child(stdin: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-c", CHILD], stdin=stdin, stdout=subprocess.PIPE, text=True
    )


def test_it_stops_in_order_when_its_standard_input_ends() -> None:
    ours, theirs = os.pipe()
    with child(ours) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        os.close(theirs)
        assert process.stdout.read() == "stopped in order\n"
    os.close(ours)


def test_it_ends_with_a_parent_that_was_killed() -> None:
    parent_code = (
        "import subprocess, sys, signal\n"
        f"child = subprocess.Popen([sys.executable, '-P', '-c', {CHILD!r}],"
        " stdin=subprocess.PIPE)\n"
        "signal.pause()\n"
    )
    command = [sys.executable, "-P", "-c", parent_code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "running\n"
        parent.send_signal(signal.SIGKILL)
        # The child holds the pipe open: this returns when it, too, is gone.
        assert parent.stdout.read() == "stopped in order\n"
