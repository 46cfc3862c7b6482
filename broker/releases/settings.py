"""Gives the tables of settings the rows, defaults and types of a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..settings.broker_settings import BROKER_SETTINGS
from ..settings.definitions import Kind, Mode, Setting, Table, Wrong
from ..settings.topic_settings import BROKER_NAMES, GROUP_SETTINGS, METRICS_SETTINGS, TOPIC_SETTINGS
from .api_rows import COLUMNS
from .release import Release
from .setting_rows import ROWS, SINCE

TABLES: Final[Mapping[str, Table]] = {
    "broker": BROKER_SETTINGS,
    "topic": TOPIC_SETTINGS,
    "group": GROUP_SETTINGS,
    "client metrics": METRICS_SETTINGS,
}
_HARMLESS: Final = "harmless"
_LEAST_SEGMENT_BYTES: Final = "14.."  # 1 MiB since Kafka 4.0 (KIP-1030)
_FAR: Final = str((1 << 63) - 1)
# Topic settings that have ended with Kafka 4.0, and the broker settings that give their defaults.
_ENDED: Final = {
    name: f"log.{name}"
    for name in (
        "message.downconversion.enable",
        "message.format.version",
        "message.timestamp.difference.max.ms",
    )
}

# The next assignment of a group waits for nothing before Kafka 4.3 (KIP-1263).
_INTERVALS: Final = tuple(
    f"group.{kind}.assignment.interval.ms" for kind in ("consumer", "share", "streams")
)


def use_settings(release: Release) -> None:
    """Change the tables of this process: a broker that answers as a release runs alone in it."""
    for kind, table in TABLES.items():
        table.leave_out(
            name
            for since, names in SINCE[kind].items()
            if _is_before(release, since)
            for name in names.split()
        )
        for row in ROWS[kind].split("\n"):
            if row and _has(release, row.split()[0]):
                _put(table, row)
    if _is_before(release, "4.1"):
        _use_older_limits()
    if _is_before(release, "4.3"):
        for name in _INTERVALS:
            BROKER_SETTINGS.put(_row(name)._replace(default="0"))


def _row(name: str) -> Setting:
    """The row of a setting that clients may not see."""
    row = BROKER_SETTINGS.row(name)
    assert row is not None
    return row


def _is_before(release: Release, name: str) -> bool:
    return COLUMNS.index(release.settings_name) < COLUMNS.index(name)


def _has(release: Release, span: str) -> bool:
    first, _, last = span.partition("..")
    column = COLUMNS.index(release.settings_name)
    return COLUMNS.index(first) <= column <= COLUMNS.index(last)


def _put(table: Table, row: str) -> None:
    _, name, kind_name, default, mode = row.split()
    kind, text = Kind[kind_name.upper()], {"null": None, '""': ""}.get(default, default)
    known = table.row(name)
    if known is None:
        table.put(Setting(name, kind, text, "-", Mode[mode.upper()], _HARMLESS))
    else:
        earlier = None if kind is known.kind else kind
        is_read_only = Mode[mode.upper()] is Mode.STATIC
        own_mode = known.mode if known.read_only == is_read_only else Mode[mode.upper()]
        replaced = known._replace(default=text, mode=own_mode, earlier_kind=earlier)
        table.put(replaced if _is_legal(replaced) else replaced._replace(check="-"))


def _is_legal(setting: Setting) -> bool:
    """Whether the default fits the check, which is that of 4.4."""
    try:
        return setting.default is None or setting.parse(setting.default) is not None
    except Wrong:
        return False


def _use_older_limits() -> None:
    """What Kafka 4.0 has made stricter (KIP-1030)."""
    BROKER_NAMES.update(_ENDED)
    for table, name in ((BROKER_SETTINGS, "log.segment.bytes"), (TOPIC_SETTINGS, "segment.bytes")):
        table.put(table[name]._replace(check=_LEAST_SEGMENT_BYTES))
    for table, name in (
        (BROKER_SETTINGS, "log.message.timestamp.after.max.ms"),
        (TOPIC_SETTINGS, "message.timestamp.after.max.ms"),
    ):
        table.put(table[name]._replace(default=_FAR))
    verification = BROKER_SETTINGS["transaction.partition.verification.enable"]
    if verification.name not in BROKER_SETTINGS:  # it came with Kafka 3.6
        BROKER_SETTINGS.put(verification._replace(default="false"))
