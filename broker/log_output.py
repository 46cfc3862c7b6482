"""Writes log lines by structlog, which is imported at the first line.

Lines are readable text on a terminal and JSON otherwise, always on stderr: stdout has only the
ready line.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Protocol


class _Logger(Protocol):
    """What structlog's loggers have."""

    def debug(self, event: str, **fields: object) -> object: ...
    def info(self, event: str, **fields: object) -> object: ...
    def warning(self, event: str, **fields: object) -> object: ...
    def error(self, event: str, **fields: object) -> object: ...


LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

_lowest = LEVELS["info"]
_logger: _Logger | None = None  # structlog is imported when the first line is logged
_output: _Logger | None = None


def set_level(name: str) -> None:
    """Omit log lines below `name`, one of LEVELS."""
    global _lowest, _logger
    _lowest, _logger = LEVELS[name], None


def level() -> str:
    """The lowest level that is logged, one of LEVELS."""
    return next(name for name, number in LEVELS.items() if number == _lowest)


def write_to(output: _Logger | None) -> _Logger | None:
    """Send all lines to `output` instead of stderr; None: to stderr again.

    Args:
        output: takes each line's event and fields, of which `room` is one.

    Returns:
        The output before.
    """
    global _output
    before, _output = _output, output
    return before


def _structlog() -> _Logger:
    global _logger
    if _output is not None:
        return _output
    if _logger is None:
        terminal = sys.stderr.isatty()
        structlog = _imported(with_rich=terminal)
        renderer = (
            structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer()
        )
        _logger = structlog.wrap_logger(
            structlog.WriteLogger(sys.stderr),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=not terminal),
                structlog.processors.format_exc_info,
                renderer,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(_lowest),
        )
    return _logger


def _imported(*, with_rich: bool) -> ModuleType:
    """structlog, without rich unless wanted: importing rich blocks the event loop for 50 ms."""
    without = not with_rich and "rich" not in sys.modules
    if without:
        sys.modules["rich"] = None  # type: ignore[assignment]  # None makes the import fail at once
    try:
        import structlog
    finally:
        if without:
            del sys.modules["rich"]
    return structlog


class Log:
    """The log lines of one part of the broker: an event, and its fields by keyword."""

    __slots__ = ("_room",)

    def __init__(self, room: str) -> None:
        self._room = room

    def debug(self, event: str, **fields: object) -> None:
        if _lowest <= LEVELS["debug"]:
            _structlog().debug(event, room=self._room, **fields)

    def info(self, event: str, **fields: object) -> None:
        if _lowest <= LEVELS["info"]:
            _structlog().info(event, room=self._room, **fields)

    def warning(self, event: str, **fields: object) -> None:
        _structlog().warning(event, room=self._room, **fields)

    def error(self, event: str, **fields: object) -> None:
        _structlog().error(event, room=self._room, **fields)
