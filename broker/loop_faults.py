"""Logs exceptions that reach the event loop, in the format of all log lines.

Without it asyncio writes them as raw text to stderr, without a limit.
"""

from __future__ import annotations

import asyncio

from .clock import Clock
from .complaints import Complaints
from .log_output import Log

_log = Log("server")


def log_loop_faults(loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
    """Log each exception that no caller handles; a repeated one a few times a minute.

    Args:
        loop: runs the broker.
        clock: of the limit.
    """
    complaints = Complaints(clock, name="fault")

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        place, fault = str(context.get("message", "")), context.get("exception")
        if complaints.may_log(repr(fault), "faults of the broker"):
            _log.error("a fault of the broker reaches the event loop", place=place, exc_info=fault)

    loop.set_exception_handler(handle)
