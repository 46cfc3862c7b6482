"""Prints records as the console consumers do (DefaultMessageFormatter)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from ...protocol.records import Header
from ..options import WrongOptions, forbid_both, pairs, take_new_name
from ..session import properties_in
from ..texts import out

_PROPERTIES: Final = frozenset(
    {
        *("print.timestamp", "print.key", "print.offset", "print.epoch", "print.partition"),
        *("print.headers", "print.value", "print.delivery", "key.separator", "line.separator"),
        *("headers.separator", "null.literal", "key.deserializer", "value.deserializer"),
    }
)
_PACKAGE: Final = "org.apache.kafka.tools.consumer"
_FORMATTERS: Final = frozenset(
    f"{package}.DefaultMessageFormatter" for package in (_PACKAGE, "kafka.tools")
)
# Formatters of records of internal topics: the topic, and the types that each prints.
_OF_TOPICS: Final[dict[str, tuple[str, Callable[[int], bool]]]] = {
    f"{_PACKAGE}.OffsetsMessageFormatter": ("__consumer_offsets", lambda kind: kind in (0, 1)),
    f"{_PACKAGE}.GroupMetadataMessageFormatter": ("__consumer_offsets", lambda kind: kind == 2),
    f"{_PACKAGE}.TransactionLogMessageFormatter": ("__transaction_state", lambda _: True),
    f"{_PACKAGE}.group.share.ShareGroupStateMessageFormatter": (
        "__share_group_state",
        lambda _: True,
    ),
}
_SILENT: Final = f"{_PACKAGE}.NoOpMessageFormatter"
_DESERIALIZERS: Final = frozenset(
    f"org.apache.kafka.common.serialization.{kind}Deserializer" for kind in ("String", "ByteArray")
)


class PrintedRecord(Protocol):
    """What a record must have to be printed."""

    @property
    def partition(self) -> int:
        """The partition that it was read from."""

    @property
    def offset(self) -> int:
        """Its offset."""

    @property
    def timestamp_ms(self) -> int:
        """Its time."""

    @property
    def key(self) -> bytes | None:
        """Its key."""

    @property
    def value(self) -> bytes | None:
        """Its value."""

    @property
    def headers(self) -> tuple[Header, ...]:
        """Its headers."""


def formatter_settings(given: argparse.Namespace) -> dict[str, str]:
    """The properties of the formatter: those of its file, and those on the command line.

    Raises:
        WrongOptions: both names of the option are given, or a property has no `=`.
    """
    forbid_both(given, "property", "formatter-property")
    take_new_name(given, "property", "formatter-property")
    return properties_in(given.formatter_config) | pairs(given.formatter_property)


def check_formatter(given: argparse.Namespace, shown: Mapping[str, str]) -> None:
    """Raise WrongOptions if this tool has no such formatter, deserializer or property.

    Args:
        shown: the properties of the formatter.
    """
    if given.formatter not in (None, _SILENT, *_FORMATTERS, *_OF_TOPICS):
        known = sorted(each.rpartition(".")[2] for each in (*_OF_TOPICS, _SILENT))
        raise WrongOptions(
            f"Unable to find the formatter {given.formatter}: this tool has Kafka's"
            f" DefaultMessageFormatter, {', '.join(known)}"
        )
    for name in ("key.deserializer", "value.deserializer"):
        wanted = getattr(given, name.replace(".", "_")) or shown.get(name)
        if wanted is not None and wanted not in _DESERIALIZERS:
            raise WrongOptions(f"{wanted} is not a known {name}: it is String or ByteArray here")
    unknown = sorted(set(shown) - _PROPERTIES)
    if unknown:
        raise WrongOptions(f"{unknown[0]} is not a known property of the formatter")


class RecordPrinter:
    """Prints records, and counts them.

    Args:
        shown: the properties of the formatter, such as print.key.
        formatter: its class; None: DefaultMessageFormatter.
    """

    def __init__(self, shown: Mapping[str, str], formatter: str | None = None) -> None:
        self._formatter = formatter
        self.count = 0
        self._shown = shown
        self._between = shown.get("key.separator", "\t").encode()
        self._end = shown.get("line.separator", "\n").encode()
        self._null = shown.get("null.literal", "null").encode()

    def _has(self, name: str, default: str = "false") -> bool:
        return self._shown.get(name, default).strip().lower() == "true"

    def print(
        self,
        record: PrintedRecord,
        *,
        delivery_count: int | None = None,
        leader_epoch: int | None = None,
    ) -> None:
        """Print one record on standard output.

        Args:
            delivery_count: in a share group.
            leader_epoch: of its batch.
        """
        self.count += 1
        if self._formatter == _SILENT:
            return
        if self._formatter in _OF_TOPICS:
            _write(_decoded(record, *_OF_TOPICS[self._formatter]))
            return
        parts = []
        if self._has("print.timestamp"):
            parts.append(f"CreateTime:{record.timestamp_ms}".encode())
        if self._has("print.partition"):
            parts.append(f"Partition:{record.partition}".encode())
        if self._has("print.offset"):
            parts.append(f"Offset:{record.offset}".encode())
        if self._has("print.delivery"):
            parts.append(f"Delivery:{_or_nothing(delivery_count)}".encode())
        if self._has("print.epoch"):
            parts.append(f"Epoch:{_or_nothing(leader_epoch)}".encode())
        if self._has("print.headers"):
            parts.append(self._headers(record))
        if self._has("print.key"):
            parts.append(self._null if record.key is None else record.key)
        if self._has("print.value", "true"):
            parts.append(self._null if record.value is None else record.value)
        _write(self._between.join(parts) + self._end)

    def _headers(self, record: PrintedRecord) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        separator = self._shown.get("headers.separator", ",").encode()
        return separator.join(
            name.encode() + b":" + (self._null if value is None else value)
            for name, value in record.headers
        )


def _write(data: bytes) -> None:
    sys.stdout.flush()
    output = getattr(sys.stdout, "buffer", None)
    if output is None or sys.stdout.isatty():
        out(data.decode(errors="replace"))
    else:
        output.write(data)


def _decoded(record: PrintedRecord, topic: str, has: Callable[[int], bool]) -> bytes:
    """A record of an internal topic as JSON, without a line end as Kafka's; b"" for others."""
    from .record_json import Unreadable, json_line, key_of, value_of

    if record.key is None:
        return b""
    try:
        kind, name, fields = key_of(topic, record.key)
        if not has(kind):
            return b""
        value = None
        if record.value is not None:
            version, content = value_of(name, record.value)
            value = {"version": version, "data": content}
    except Unreadable:
        return b""
    return json_line({"key": {"type": kind, "data": fields}, "value": value}).encode()


def _or_nothing(number: int | None) -> str:
    return "NOT_PRESENT" if number is None else str(number)
