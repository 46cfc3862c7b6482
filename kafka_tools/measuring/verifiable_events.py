"""The lines of JSON of kafka-verifiable-producer and kafka-verifiable-consumer."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ..records.record_json import json_line
from ..texts import line


def print_event(name: str, **more: Any) -> None:  # Any: values of JSON
    """Print an event with its time, at once: programs follow these lines."""
    event = {"timestamp": time.time_ns() // 1_000_000, "name": name, **more}
    line(json_line(event))
    sys.stdout.flush()


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
