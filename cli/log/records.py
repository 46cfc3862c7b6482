"""Formats one record of a log as text: decoded in internal topics, else key and value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from ...protocol.errors import Malformed, Refused
from ...protocol.records import Record

_TEXT_LIMIT = 200


def described(topic: str, record: Record) -> str:
    """Key, value and headers of a record as one short line."""
    try:
        if topic == "__cluster_metadata":
            from ...metadata.records import ForeignRecord
            from ...metadata.records import decode as decode_metadata

            known: Any = decode_metadata(record.value or b"")
            if isinstance(known, ForeignRecord):
                known = None
        elif topic == "__transaction_state":
            from ...coordinator.transactions.records import decode as decode_transaction

            known = decode_transaction(record.key or b"", record.value)
        elif topic == "__consumer_offsets":
            from ...coordinator.group_records import decode as decode_group

            known = decode_group(record.key or b"", record.value)
        else:
            return f"{shown_bytes(record.key)} = {shown_bytes(record.value)}{_headers(record)}"
    except (Malformed, Refused, ValueError, LookupError) as wrong:
        return (
            f"cannot be decoded ({wrong}): {shown_bytes(record.key)} = {shown_bytes(record.value)}"
        )
    if known is None:
        return f"of a type unknown to Ottla: {shown_bytes(record.value)}"
    return _shown(known)


def _headers(record: Record) -> str:
    if not record.headers:
        return ""
    return f" {{{', '.join(f'{name}: {shown_bytes(value)}' for name, value in record.headers)}}}"


def shown_bytes(data: bytes | None) -> str:
    """Bytes as a quoted text, or in hexadecimal; cut if they are many."""
    if data is None:
        return "null"
    try:
        text = bytes(data).decode()
        if not text.isprintable():
            raise ValueError
        text = repr(text)
    except ValueError:
        text = bytes(data).hex(" ", 4)
    return text if len(text) <= _TEXT_LIMIT else f"{text[:_TEXT_LIMIT]}... {len(data)} bytes"


def _field_names(value: Any) -> Sequence[str] | None:
    """The public fields of a dataclass or a named tuple; None for other values."""
    if isinstance(value, tuple):
        named: Sequence[str] | None = getattr(value, "_fields", None)
        return named
    if is_dataclass(value) and not isinstance(value, type):
        return [each.name for each in fields(value) if not each.name.startswith("_")]
    return None


def _shown(value: Any) -> str:
    if isinstance(value, Enum):
        return value.name
    names = _field_names(value)
    if names is not None:
        inner = ", ".join(f"{name}={_shown(getattr(value, name))}" for name in names)
        return f"{type(value).__name__}({inner})"
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(sorted(map(_shown, value))) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    if isinstance(value, bytes):
        return shown_bytes(value)
    return str(value)
