"""Kills the process groups of another process when that ends (`ottla.trials.process_groups`).

A script, so that it starts in a few milliseconds: it imports nothing of the project. Each line of
standard input is `+GROUP` or `-GROUP`; its end is the end of the other process. The argument is the
variable that marks the other process's programs: `NAME=VALUE`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress

_PROCESSES = "/proc"  # of Linux


def main(mark: str) -> None:
    """Read to the end, and kill what is left."""
    left: set[int] = set()
    for line in sys.stdin:
        change = left.add if line[0] == "+" else left.discard
        change(int(line[1:]))
    for group in left:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    killed: set[int] = set()
    while found := {*_marked(mark)} - killed:  # again: they may have started others meanwhile
        killed |= found
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _marked(mark: str) -> Iterator[int]:
    """The processes with this variable."""
    wanted = mark.encode()
    with suppress(OSError):
        for name in filter(str.isdecimal, os.listdir(_PROCESSES)):
            with suppress(OSError), open(f"{_PROCESSES}/{name}/environ", "rb") as variables:
                if wanted in variables.read().split(b"\0"):
                    yield int(name)


if __name__ == "__main__":
    main(sys.argv[1])
