"""Kafka's messages and records as classes, each made from its schema at first use.

A class holds what the codec knows of its message: the fields, and its versions. `decoding.py` makes
its objects, `encoding.py` takes dicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from . import encoding
from .api_keys import ApiKey
from .decoding import Decoder, compiled
from .encoding import Encoder
from .schema_reader import (
    Definition,
    Field,
    class_of_struct,
    key_number,
    read_definition,
    versions,
)

# Bit fields of authorized operations, which are sets here.
_WITH_OPERATIONS: Final = frozenset(
    {"MetadataResponse", "DescribeClusterResponse", "DescribeGroupsResponse"}
)

# Fields that only versions had which Kafka 4 has dropped, and captures of older clients have: the
# structs around a field, the name of the field behind it (None: it is the last), and itself.
_DROPPED: Final[Mapping[str, tuple[tuple[str, ...], str | None, Definition]]] = {
    "DescribeConfigsResponse": (
        ("Results", "Configs"), "ConfigSource",
        {"name": "IsDefault", "type": "bool", "versions": "0"},
    ),
    "ListOffsetsRequest": (
        ("Topics", "Partitions"), None,
        {"name": "MaxNumOffsets", "type": "int32", "versions": "0", "default": "1"},
    ),
    "ListOffsetsResponse": (
        ("Topics", "Partitions"), None,
        {"name": "OldStyleOffsets", "type": "[]int64", "versions": "0"},
    ),
    "OffsetCommitRequest": (
        ("Topics", "Partitions"), "CommittedMetadata",
        {"name": "CommitTimestamp", "type": "int64", "versions": "1", "default": "-1"},
    ),
}  # fmt: skip


def api_name(api_key: ApiKey) -> str:
    """The API's name as Kafka spells it: `ApiKey.ADD_PARTITIONS_TO_TXN` is `AddPartitionsToTxn`."""
    return "".join(word.capitalize() for word in api_key.name.split("_"))


def message_class(api_key: ApiKey, kind: str) -> Any:
    """The class for an API's messages, cached.

    Args:
        kind: `Request` or `Response`.

    Raises:
        FileNotFoundError: the API has no schema.
    """
    return data_class(api_name(api_key) + kind)


@cache
def data_class(name: str) -> Any:
    """The class of a message, or of a record's key or value, from `schemas/NAME.json`; cached.

    Raises:
        FileNotFoundError: no such schema exists.
    """
    definition = read_definition(name)
    if name in _WITH_OPERATIONS:
        _as_set(definition["fields"])
    if name in _DROPPED:
        _add_dropped(definition["fields"], *_DROPPED[name])
    number = key_number(definition)
    made: Any = class_of_struct(name, Field(definition, number))
    made.valid_versions = versions(definition["validVersions"], number)
    made.flexible_versions = versions(definition["flexibleVersions"], number)
    return made


def _as_set(fields: Iterable[Definition]) -> None:
    for field in fields:
        if field["name"].endswith("AuthorizedOperations"):
            field |= {"name": "authorized_operations", "type": "bitfield"}
        _as_set(field.get("fields", ()))


def _add_dropped(
    fields: list[Definition], structs: Iterable[str], behind: str | None, dropped: Definition
) -> None:
    for struct in structs:
        fields = next(field["fields"] for field in fields if field["name"] == struct)
    names = [field["name"] for field in fields]
    fields.insert(len(names) if behind is None else names.index(behind), dropped)


def is_flexible(cls: Any, version: int) -> bool:
    """Whether a message has tagged fields and compact lengths in a version (KIP-482)."""
    lowest, highest = cls.flexible_versions
    return bool(lowest <= version <= highest)


@cache
def decoder(cls: Any, version: int) -> Decoder:
    """The compiled function (data, position, elements left) -> (message, end position)."""
    return compiled(cls._struct, version, cls, flexible=is_flexible(cls, version))


@cache
def encoder(cls: Any, version: int) -> Encoder:
    """The compiled function that appends a dict to a bytearray."""
    return encoding.compiled(cls._struct, version, flexible=is_flexible(cls, version))
