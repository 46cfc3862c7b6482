"""Loggers as Kafka's admin API sees them (KIP-412): names with a level each, kept until the end.

Ottla has one, the root; its levels are those of `logs`, under Kafka's names.
"""

from __future__ import annotations

from ...protocol.errors import Code, Refused
from .. import log_output as logs

ROOT = "root"
# What each of Kafka's levels is here; the first of each is how a level is shown.
LEVELS = {
    "DEBUG": "debug",
    "INFO": "info",
    "WARN": "warning",
    "ERROR": "error",
    "TRACE": "debug",
    "FATAL": "error",
}


_asked_for = "INFO"


def logger_levels() -> dict[str, str]:
    """Kafka's name of the level of each logger: the one asked for, while it is that."""
    if LEVELS[_asked_for] == logs.level():
        return {ROOT: _asked_for}
    return {ROOT: next(name for name, ours in LEVELS.items() if ours == logs.level())}


def check_level(logger: str, level: str | None) -> None:
    """Raise Refused for a logger there is not, or a level no logger has; None takes one away."""
    if logger != ROOT:
        raise Refused(Code.INVALID_CONFIG, f"Logger {logger} does not exist!")
    if level is None:
        why = "Removing the log level of the root logger is not allowed"
        raise Refused(Code.INVALID_REQUEST, why)
    if level not in LEVELS:
        known = ", ".join(sorted(LEVELS))
        why = f"Cannot set the log level of {logger} to {level} as it is not a supported log level."
        raise Refused(Code.INVALID_CONFIG, f"{why} Valid log levels are {known}")


def set_level(level: str) -> None:
    """Set the root's level, one of LEVELS."""
    global _asked_for
    _asked_for = level
    logs.set_level(LEVELS[level])
