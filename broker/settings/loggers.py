"""Log levels that clients read and set by the admin API (KIP-412), lost at the end of the process.

Ottla has one logger, the root. Its levels are those of `log_output`, under Kafka's names.
"""

from __future__ import annotations

from ...protocol.errors import Code, Refused
from .. import log_output as logs

ROOT = "root"
# Ottla's level for each level of Kafka; a level is shown under the first name that maps to it.
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
    """Kafka's name of the level of each logger: the name that was set, while that level holds."""
    if LEVELS[_asked_for] == logs.level():
        return {ROOT: _asked_for}
    return {ROOT: next(name for name, ours in LEVELS.items() if ours == logs.level())}


def check_level(logger: str, level: str | None) -> None:
    """Raise Refused for an unknown logger or level; a level of None asks to remove the level."""
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
    """Set the level of the root logger, a key of LEVELS."""
    global _asked_for
    _asked_for = level
    logs.set_level(LEVELS[level])
