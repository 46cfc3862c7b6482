"""What the verifiable producer and consumer have alike: lines of JSON, their end, old options."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ..options import CommandParser
from ..records.record_json import json_line
from ..session import properties_in
from ..texts import line


def print_event(name: str, **more: Any) -> None:  # Any: values of JSON
    """Print an event with its time, at once: programs follow these lines."""
    event = {"timestamp": time.time_ns() // 1_000_000, "name": name, **more}
    line(json_line(event))
    sys.stdout.flush()


def settings_of(given: argparse.Namespace, options: CommandParser, old: str) -> dict[str, str]:
    """The properties of the client, in the file of --command-config or of the option's old name.

    Raises:
        SystemExit: both were given. Failure: the file cannot be read.
    """
    if given.old_config is not None and given.command_config is not None:
        options.error(f"Options {old} and --command-config are mutually exclusive.")
    if given.old_config is not None:
        line(
            f"Option {old} has been deprecated and will be removed in a future version."
            " Use --command-config instead."
        )
    return properties_in(given.command_config or given.old_config)


@contextmanager
def end_asked_for() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set, so that the tool ends between two requests."""
    asked = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        asked.set()

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {each: signal.signal(each, ask) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield asked
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
