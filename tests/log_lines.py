"""The log lines of a test, caught where they leave the broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ottla.broker import log_output
from ottla.broker.log_names import DEFAULT_LEVELS

Line = tuple[str, str, dict[str, Any]]


class LogLines:
    """Log lines of the broker, the earliest first.

    Args:
        caught: the lines of all parts of the broker, each with its part ("room"); it may grow.
        rooms: the parts whose lines count; none: all.
    """

    def __init__(self, caught: list[tuple[str, Line]], *rooms: str) -> None:
        self._caught = caught
        self._rooms = rooms

    @property
    def lines(self) -> list[Line]:
        """The lines so far, as (level, event, fields)."""
        return [line for room, line in self._caught if not self._rooms or room in self._rooms]

    def of(self, *rooms: str) -> LogLines:
        """The lines of these parts only, also those still to come."""
        return LogLines(self._caught, *rooms)


class _Output:
    def __init__(self) -> None:
        self.caught: list[tuple[str, Line]] = []

    def trace(self, event: str, **fields: object) -> None:
        self._catch("trace", event, fields)

    def debug(self, event: str, **fields: object) -> None:
        self._catch("debug", event, fields)

    def info(self, event: str, **fields: object) -> None:
        self._catch("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._catch("warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        self._catch("error", event, fields)

    def _catch(self, level: str, event: str, fields: dict[str, Any]) -> None:
        self.caught.append((fields.pop("room"), (level, event, fields)))


@pytest.fixture
def log_lines() -> Iterator[LogLines]:
    """The log lines of the broker during the test, from DEBUG on; none reaches stderr."""
    output, levels = _Output(), log_output.levels()
    before = log_output.write_to(output)
    log_output.set_level("root", "DEBUG")
    try:
        yield LogLines(output.caught)
    finally:
        log_output.set_levels(levels)
        log_output.write_to(before)


@contextmanager
def quiet_log() -> Iterator[None]:
    """No log line reaches stderr; the levels are those of a broker that has just started."""
    levels, before = log_output.levels(), log_output.write_to(_Output())
    log_output.set_levels(DEFAULT_LEVELS)
    try:
        yield
    finally:
        log_output.set_levels(levels)
        log_output.write_to(before)
