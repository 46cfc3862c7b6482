"""Log levels that clients read and set by the admin API (KIP-412), lost at the end of the process.

The loggers and their levels belong to the process: with several nodes, a change on one of them
holds for all. Source: org.apache.kafka.server.logger.LoggingController, ConfigAdminManager.
"""

from __future__ import annotations

from ...protocol.errors import Code, Refused
from ..log_names import LEVELS, NAMES, ROOT
from ..log_output import Log, level_of, set_level

_log = Log("settings")


def logger_levels() -> dict[str, str]:
    """Kafka's name of the level of each logger: its own, or that of the logger above it."""
    return {name: level_of(name) for name in NAMES}


def check_level(logger: str, level: str | None) -> None:
    """Raise Refused for an unknown logger or level; a level of None asks to remove the level."""
    if logger not in NAMES:
        raise Refused(Code.INVALID_CONFIG, f"Logger {logger} does not exist!")
    if level is None:
        if logger == ROOT:
            why = "Removing the log level of the root logger is not allowed"
            raise Refused(Code.INVALID_REQUEST, why)
    elif level not in LEVELS:
        known = ", ".join(sorted(LEVELS))
        why = f"Cannot set the log level of {logger} to {level} as it is not a supported log level."
        raise Refused(Code.INVALID_CONFIG, f"{why} Valid log levels are {known}")


def change_level(logger: str, level: str | None) -> None:
    """Set the level of a logger, as `check_level` allows; None removes it.

    As in Kafka, the change itself is logged.
    """
    set_level(logger, level)
    _log.warning("the level of a logger has changed", of=logger, to=level_of(logger))
