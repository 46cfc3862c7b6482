"""Writes log lines to stderr, as readable text or as JSON; stdout has only the ready line.

A line never blocks or breaks what it tells of: `text_stream.py` has the reasons.

Each part of the broker has a `Log`, and each `Log` writes to a logger with Kafka's name
(log_names.py). A logger without a level of its own has that of the nearest one above it
(`org.apache.kafka` is above `org.apache.kafka.controller`), and in the end that of the root, as in
Log4j. Levels may change at run time; `settings/loggers.py` has the rules for clients.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Final, Protocol, TextIO

from ..protocol.shown_text import shown, shown_lines
from .clock import utc_timestamp
from .log_names import DEFAULT_LEVELS, LEVELS, LOGGERS, ROOT
from .text_stream import TextStream

AUTO: Final = "auto"
CONSOLE: Final = "console"
JSON: Final = "json"
FORMATS: Final = (AUTO, CONSOLE, JSON)
DRAIN_S: Final = 0.5

_TRACE, _DEBUG, _INFO, _WARN, _ERROR = (
    LEVELS[name] for name in ("TRACE", "DEBUG", "INFO", "WARN", "ERROR")
)


class Output(Protocol):
    """Takes log lines; the fields include `room`, the part of the broker."""

    def trace(self, event: str, **fields: object) -> object: ...
    def debug(self, event: str, **fields: object) -> object: ...
    def info(self, event: str, **fields: object) -> object: ...
    def warning(self, event: str, **fields: object) -> object: ...
    def error(self, event: str, **fields: object) -> object: ...


_output: Output | None = None
_levels: dict[str, str] = dict(DEFAULT_LEVELS)
_format = AUTO
_render: Callable[[dict[str, object]], str] | None = None  # made at the first line
_observers: list[Callable[[], None]] = []


def levels() -> dict[str, str]:
    """The loggers that have a level of their own, with Kafka's name of the level."""
    return dict(_levels)


def set_levels(wanted: Mapping[str, str]) -> None:
    """Give these loggers a level of their own, and all other loggers none.

    Args:
        wanted: names of LEVELS by logger; the root must be one of the loggers.
    """
    _levels.clear()
    _levels.update(wanted)
    for log in Log.all:
        log.lowest = LEVELS[level_of(log.logger)]
    for observer in _observers:
        observer()


def set_level(logger: str, level: str | None) -> None:
    """Change the level of one logger; None: it has that of the logger above it."""
    wanted = {name: given for name, given in _levels.items() if name != logger}
    set_levels(wanted if level is None else {**wanted, logger: level})


def level_of(logger: str) -> str:
    """The level of a logger: its own, or that of the nearest one above it."""
    name = logger
    while name not in _levels:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return _levels[ROOT]
    return _levels[name]


def on_levels_changed(observer: Callable[[], None]) -> Callable[[], None]:
    """Call a function after each change of levels; the result ends that."""
    _observers.append(observer)

    def end() -> None:
        with suppress(ValueError):
            _observers.remove(observer)

    return end


def set_format(name: str) -> None:
    """Use one of FORMATS; `auto` is readable text on a terminal and JSON otherwise."""
    global _format, _render
    _format, _render = name, None


def write_to(output: Output | None) -> Output | None:
    """Send all lines to `output` instead of stderr; None: to stderr again.

    Args:
        output: takes each line's event and fields, of which `room` is one.

    Returns:
        The output before.
    """
    global _output
    before, _output = _output, output
    return before


def _write(level: str, log: Log, event: str, fields: dict[str, object]) -> None:
    if _output is not None:
        getattr(_output, level)(event, room=log.room, **fields)
        return
    try:
        text = _rendered(level, log.logger, event, fields)
    except Exception:  # a field that cannot be shown, no memory: a line never breaks its subject
        _stderr.lost += 1
        return
    write_error(text)


def _rendered(level: str, logger: str, event: str, fields: dict[str, object]) -> str:
    global _render
    if _render is None:
        _render = _renderer()
    line = {"level": level, "event": event, "timestamp": utc_timestamp(), "logger": logger}
    fault = fields.pop("exc_info", None)
    if isinstance(fault, BaseException):
        import traceback

        fields["exception"] = "".join(traceback.format_exception(fault)).rstrip()
    return _render(line | fields) + "\n"


def _lost_line(lost: int) -> str:
    event = "lines of the log were lost: nobody read them, or they could not be written"
    try:
        return _rendered("warning", LOGGERS["server"], event, {"count": lost})
    except Exception:
        return f"ottla: {lost} {event}\n"


_stderr: Final = TextStream(2, _lost_line)
_stdout: Final = TextStream(1, lambda lost: "")


def write_error(text: str) -> None:
    """Write lines that are no log lines to standard error, without waiting for its reader."""
    _write_text(_stderr, sys.stderr, sys.__stderr__, text)


def write_output(text: str) -> None:
    """Write lines to standard output, without waiting for its reader."""
    _write_text(_stdout, sys.stdout, sys.__stdout__, text)


def _write_text(stream: TextStream, current: TextIO | None, own: TextIO | None, text: str) -> None:
    """Write to the process's own stream, or to what a program has put in its place."""
    if current is own:
        stream.write(text)
    elif current is not None:
        with suppress(Exception):  # it is closed, or has no such character
            current.write(text)
            current.flush()


def drain_output() -> None:
    """Wait until the lines are written, before the process ends; not for a reader that stalls."""
    if _stderr.drain(DRAIN_S):
        _stdout.drain(DRAIN_S)


def _renderer() -> Callable[[dict[str, object]], str]:
    terminal = sys.stderr.isatty()
    if _format == JSON or (_format == AUTO and not terminal):
        from json import dumps

        return lambda line: dumps(line, default=str)
    structlog = _imported(with_rich=terminal)
    styles = structlog.dev.ConsoleRenderer.get_default_level_styles(colors=terminal)
    styles["trace"] = styles["debug"]
    renderer = structlog.dev.ConsoleRenderer(
        colors=terminal, level_styles=styles, exception_formatter=structlog.dev.plain_traceback
    )
    return lambda line: str(renderer(None, str(line["level"]), _escaped(line)))


def _escaped(line: dict[str, object]) -> dict[str, object]:
    """The line without what a terminal obeys: clients choose their ids."""
    return {
        name: (shown_lines if name == "exception" else shown)(value)
        if isinstance(value, str)
        else value
        for name, value in line.items()
    }


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
    """The log lines of one part of the broker: an event, and its fields by keyword.

    A line that is not wanted costs one comparison. Where its fields cost something, the caller
    checks `lowest` first.

    Args:
        room: the part, a key of LOGGERS.

    Attributes:
        logger: the name of its logger.
        lowest: the number of the lowest level that is written, see LEVELS.
    """

    all: Final[list[Log]] = []
    __slots__ = ("logger", "lowest", "room")

    def __init__(self, room: str) -> None:
        self.room = room
        self.logger = LOGGERS[room]
        self.lowest = LEVELS[level_of(self.logger)]
        Log.all.append(self)

    def trace(self, event: str, **fields: object) -> None:
        if self.lowest <= _TRACE:
            _write("trace", self, event, fields)

    def debug(self, event: str, **fields: object) -> None:
        if self.lowest <= _DEBUG:
            _write("debug", self, event, fields)

    def info(self, event: str, **fields: object) -> None:
        if self.lowest <= _INFO:
            _write("info", self, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        if self.lowest <= _WARN:
            _write("warning", self, event, fields)

    def error(self, event: str, **fields: object) -> None:
        if self.lowest <= _ERROR:
            _write("error", self, event, fields)
