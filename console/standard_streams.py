"""Puts /dev/null in the place of standard streams that are closed, as a process begins."""

from __future__ import annotations

import os
import sys

_STREAMS = ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w"))


def fill_closed_streams() -> None:
    """Open /dev/null for each standard stream that is closed.

    Otherwise the next file that is opened, such as the log of a partition, has the descriptor of
    standard error; and Python's `sys.stderr` is None, so that each line raises.
    """
    for descriptor, name, mode in _STREAMS:
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest that is free: this one
            os.set_inheritable(opened, True)
            if getattr(sys, name) is None:
                stream = open(opened, mode, closefd=False)  # noqa: SIM115 # for the whole process
                setattr(sys, name, stream)
                setattr(sys, f"__{name}__", stream)
