"""Records of internal topics as JSON, as Kafka's tools print them: fields by their schemas.

(CoordinatorRecordMessageFormatter of the console consumer, and the decoders of DumpLogSegments.)
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from ...protocol.errors import Malformed
from ...protocol.messages import decode_data
from ...protocol.schema_reader import Definition, read_definition, snake_case, versions
from ...protocol.schemas import DIRECTORY
from ...protocol.uuids import uuid_text

_TRANSACTION_STATES: Final = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"),
    *("Dead", "PrepareEpochFence"),
)
_OF_OTHER_TOPICS: Final = {
    "__transaction_state": ("TransactionLog",),
    "__share_group_state": ("ShareSnapshot", "ShareUpdate"),
}
GROUP_TOPIC: Final = "__consumer_offsets"
"""The topic of records of groups."""


class Unreadable(Exception):
    """A record is none of its topic."""


@cache
def _names(topic: str) -> Mapping[int, str]:
    """The name before "Key" and "Value" of each type of record of an internal topic."""
    others = [name for names in _OF_OTHER_TOPICS.values() for name in names]
    names = _OF_OTHER_TOPICS.get(topic, ())
    if topic == GROUP_TOPIC:
        files = (path.stem for path in Path(DIRECTORY).glob("*Key.json"))
        names = tuple(sorted({stem.removesuffix("Key") for stem in files} - set(others)))
    found = {}
    for name in names:
        definition = read_definition(f"{name}Key")
        if definition["type"] == "coordinator-key":
            found[int(definition["apiKey"])] = name
    return found


def key_of(topic: str, key: bytes) -> tuple[int, str, dict[str, Any]]:
    """Type, name of the kind of record, and fields of a key.

    Raises:
        Unreadable: the topic has no such records.
    """
    number = int.from_bytes(key[:2], "big", signed=True)
    name = _names(topic).get(number)
    if name is None:
        raise Unreadable(f"The record type {number} is unknown")
    return number, name, _fields(f"{name}Key", key, 0)


def value_of(name: str, value: bytes) -> tuple[int, dict[str, Any]]:
    """Version and fields of the value of a kind of record. Raises Unreadable."""
    version = int.from_bytes(value[:2], "big", signed=True)
    fields = _fields(f"{name}Value", value, version)
    if name == "TransactionLog":
        fields["transactionStatus"] = _TRANSACTION_STATES[fields["transactionStatus"]]
    return version, fields


def json_line(content: object) -> str:
    """A value as JSON without blanks."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def fields_json(definition: Definition, version: int, found: Any) -> dict[str, Any]:
    """The fields of a decoded message that its version has, under Kafka's names, in its order."""
    flexible = definition.get("flexibleVersions")
    return _struct(definition["fields"], version, found, flexible)


def _fields(name: str, data: bytes, version: int) -> dict[str, Any]:
    try:
        found = decode_data(name, data)
    except (Malformed, IndexError, KeyError, ValueError) as wrong:
        raise Unreadable(str(wrong)) from None
    return fields_json(read_definition(name), version, found)


def _struct(
    fields: list[Definition], version: int, found: Any, flexible: str | None
) -> dict[str, Any]:
    content = {}
    for field in fields:
        low, high = versions(field.get("versions", "0+"))
        name = field["name"]
        value = getattr(found, snake_case(name), None)
        if not low <= version <= high or _is_left_out(field, value):
            continue
        content[name[0].lower() + name[1:]] = _value(field, version, value, flexible)
    return content


def _is_left_out(field: Definition, value: Any) -> bool:
    """Whether Kafka writes no such field: a tagged one with its default, unless it is a struct."""
    is_struct = "fields" in field and not field["type"].startswith("[]")
    return "tag" in field and not is_struct and value == _default(field)


def _default(field: Definition) -> Any:
    text = field.get("default", "")
    if text == "null":
        return None
    kind = field["type"]
    if kind.startswith("[]"):
        return []
    if kind == "string":
        return text
    return int(text or 0) if kind.startswith(("int", "uint")) else None


def _value(field: Definition, version: int, value: Any, flexible: str | None) -> Any:
    kind = field["type"].removeprefix("[]")
    if value is None:
        return uuid_text(UUID(int=0)) if field["type"] == "uuid" else None
    if field["type"].startswith("[]"):
        one = {**field, "type": kind}
        return [_value(one, version, each, flexible) for each in value]
    if kind == "uuid":
        return uuid_text(value)
    if kind == "bytes":
        return b64encode(bytes(value)).decode()
    if "fields" in field:
        return _struct(field["fields"], version, value, flexible)
    return value
