"""Keys and values of records as the decoders of kafka-dump-log show them."""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from ...protocol import codec
from ...protocol.errors import Malformed
from ...protocol.messages import decode_data
from ...protocol.records import Record
from ...protocol.schema_reader import read_definition, snake_case
from ...protocol.schemas import DIRECTORY
from ...protocol.varints import read_unsigned
from ..session import Failure
from .record_json import (
    GROUP_TOPIC,
    Unreadable,
    fields_json,
    json_line,
    key_of,
    value_of,
)

_TYPE: Final = struct.Struct(">hh")
_MARKER: Final = struct.Struct(">hi")
_ABORT: Final = 0
_COMMIT: Final = 1
# The other types of control records: their word, and their schema (ControlRecordType).
_CONTROL: Final = {
    2: ("LeaderChange: ", "LeaderChangeMessage"),
    3: ("SnapshotHeader ", "SnapshotHeaderRecord"),
    4: ("SnapshotFooter ", "SnapshotFooterRecord"),
    5: ("KRaftVersion ", "KRaftVersionRecord"),
    6: ("KRaftVoters ", "VotersRecord"),
}

Texts = tuple[str | None, str | None]
"""A key and a value; None: there is none, or it is not shown."""


def control_text(record: Record) -> str:
    """The content of a control record: a marker, a change of the leader, and so on."""
    if record.key is None or len(record.key) < _TYPE.size:
        return "controlType: UNKNOWN(-1)"
    _, kind = _TYPE.unpack_from(record.key)
    value = record.value or b""
    if kind in (_ABORT, _COMMIT) and len(value) >= _MARKER.size:
        word = "COMMIT" if kind == _COMMIT else "ABORT"
        return f"endTxnMarker: {word} coordinatorEpoch: {_MARKER.unpack_from(value)[1]}"
    if kind not in _CONTROL:
        return f"controlType: UNKNOWN({kind})"
    word, name = _CONTROL[kind]
    version = int.from_bytes(value[:2], "big")  # a field of these messages, too
    try:
        found, _ = codec.decoder(codec.data_class(name), version)(memoryview(value), 0)
    except (Malformed, struct.error, IndexError):
        return f"controlType: {word.strip(': ')} (unreadable)"
    return word + json_line(fields_json(read_definition(name), version, found))


def decode_text(record: Record) -> Texts:
    """Keys and values as text (StringDecoder)."""
    return _text(record.key), _text(record.value)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


def _number(data: bytes | None) -> str | None:
    return None if data is None else str(int.from_bytes(data, "big", signed=True))


_DECODERS: Final[dict[str, Callable[[bytes | None], str | None]]] = {
    "StringDecoder": _text,
    "DefaultDecoder": lambda data: None if data is None else str(list(data)),
    "LongDecoder": _number,
    "IntegerDecoder": _number,
}


def decoder_of(key_class: str | None, value_class: str | None) -> Callable[[Record], Texts]:
    """The decoder of two classes of org.apache.kafka.tools.api. Raises Failure for another one."""
    found = []
    for name in (key_class, value_class):
        short = "StringDecoder" if name is None else name.rpartition(".")[2]
        if short not in _DECODERS:
            raise Failure(
                f"{name}: this tool has only {', '.join(sorted(_DECODERS))}",
                "java.lang.ClassNotFoundException",
            )
        found.append(_DECODERS[short])
    of_key, of_value = found
    return lambda record: (of_key(record.key), of_value(record.value))


def decode_group_record(record: Record) -> Texts:
    """A record of __consumer_offsets; of classic groups with what members subscribe to and have."""
    return _coordinator_record(GROUP_TOPIC, record)


def decode_transaction(record: Record) -> Texts:
    """A record of __transaction_state."""
    return _coordinator_record("__transaction_state", record)


def decode_share(record: Record) -> Texts:
    """A record of __share_group_state."""
    return _coordinator_record("__share_group_state", record)


def _coordinator_record(topic: str, record: Record) -> Texts:
    if record.key is None:
        raise Failure(
            f"Failed to decode message at offset {record.offset} using the specified decoder"
            " (message had a missing key)",
            "java.lang.RuntimeException",
        )
    try:
        number, name, fields = key_of(topic, record.key)
        key = json_line({"type": str(number), "data": fields})
        if record.value is None:
            return key, "<DELETE>"
        version, content = value_of(name, record.value)
    except Unreadable as wrong:
        return f"<ERROR: {wrong}>", None
    if name == "GroupMetadata" and content.get("protocolType") == "consumer":
        for member in content["members"]:
            _open(member)
    return key, json_line({"version": str(version), "data": content})


def _open(member: dict[str, Any]) -> None:
    """Decode subscription and assignment of a classic consumer group's member."""
    for field in ("subscription", "assignment"):
        name, data = f"ConsumerProtocol{field.capitalize()}", b64decode(member[field])
        version = int.from_bytes(data[:2], "big", signed=True)
        try:
            found = decode_data(name, data)
        except Malformed:
            continue
        member[field] = fields_json(read_definition(name), version, found)


def decode_metadata(record: Record) -> Texts:
    """A record of __cluster_metadata, which has no key."""
    if record.value is None:
        return None, None
    view = memoryview(record.value)
    try:
        _, position = read_unsigned(view, 0)
        number, position = read_unsigned(view, position)
        version, position = read_unsigned(view, position)
        name = _metadata_names()[number]
        found, _ = codec.decoder(codec.data_class(name), version)(view, position)
    except (IndexError, KeyError, Malformed) as wrong:
        return None, f"Error at {record.offset}, skipping. {wrong}"
    content = fields_json(read_definition(name), version, found)
    return None, json_line({"type": _record_type(name), "version": version, "data": content})


@cache
def _metadata_names() -> dict[int, str]:
    """The schemas of the metadata log by their numbers."""
    found = {}
    for path in Path(DIRECTORY).glob("*Record.json"):
        definition = read_definition(path.stem)
        if definition["type"] == "metadata":
            found[int(definition["apiKey"])] = path.stem
    return found


def _record_type(name: str) -> str:
    """FeatureLevelRecord is FEATURE_LEVEL_RECORD (MetadataRecordType)."""
    return snake_case(name).upper()
