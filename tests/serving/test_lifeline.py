"""A process with a lifeline stops cleanly when the process that started it ends."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CHILD = """
import os, signal, sys
from ottla.serving.lifeline import end_with_stdin

def stop(*_):
    print("stopped in order", flush=True)
    sys.exit(0)

signal.signal(signal.SIGTERM, stop)
end_with_stdin()
print(os.getpid(), flush=True)
signal.pause()
"""
PARENT = f"""
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-P", "-c", {CHILD!r}], stdin=subprocess.PIPE)
signal.pause()
"""


@contextmanager
def running(code: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process of this code, and the id of the one with the lifeline; neither outlives a test."""
    command = [sys.executable, "-P", "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        try:
            yield process, pid
        finally:
            for each in (pid, process.pid):
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)


def last_words(process: subprocess.Popen[bytes]) -> bytes:
    """Its further output; empty if it goes on without output."""
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], 10)
    return process.stdout.readline() if readable else b""


def test_a_broker_stops_cleanly_at_the_end_of_its_standard_input() -> None:
    with running(CHILD) as (process, _):
        assert process.stdin is not None
        process.stdin.close()
        assert last_words(process) == b"stopped in order\n"
        assert process.wait(10) == 0


def test_a_broker_ends_with_its_killed_parent() -> None:
    with running(PARENT) as (parent, child_pid):
        assert child_pid != parent.pid
        parent.kill()
        assert last_words(parent) == b"stopped in order\n"
