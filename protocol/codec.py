"""Kafka's messages as classes, each made from its schema at first use.

The schemas and objects are kafka-python's. Its message classes are not used: they come a dozen per
module, and making all of them would cost more than the rest of a broker's start. `kafka_schemas.py`
loads what is used of the library, without its clients.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from . import encoding
from .api_keys import ApiKey
from .decoding import Decoder, compiled
from .encoding import Encoder

_COMMENT: Final = re.compile(r"^\s*//.*$", re.MULTILINE)

# Bit fields of authorized operations, which are sets here.
_WITH_OPERATIONS: Final = frozenset(
    {"MetadataResponse", "DescribeClusterResponse", "DescribeGroupsResponse"}
)


def api_name(api_key: ApiKey) -> str:
    """The API's name as Kafka spells it: `ApiKey.ADD_PARTITIONS_TO_TXN` is `AddPartitionsToTxn`."""
    return "".join(word.capitalize() for word in api_key.name.split("_"))


_made: dict[str, Any] = {}


def message_class(api_key: ApiKey, kind: str) -> Any:
    """The class for an API's messages, cached.

    Args:
        kind: `Request` or `Response`.

    Raises:
        FileNotFoundError: the API has no schema.
    """
    name = api_name(api_key) + kind
    if name not in _made:
        from .kafka_schemas import DIRECTORY

        try:
            schema = _read_schema(f"{DIRECTORY}/{name}.json")
        except FileNotFoundError:
            schema = _own_schema(name)
        if name in _WITH_OPERATIONS:
            _as_set(schema["fields"])
        _made[name] = _class_from(schema)
    return _made[name]


def data_class(name: str) -> Any:
    """The class of a record's key or value, from `schemas/NAME.json`; cached.

    Raises:
        FileNotFoundError: no such schema exists.
    """
    if name not in _made:
        _made[name] = _class_from(_own_schema(name))
    return _made[name]


def _own_schema(name: str) -> dict[str, Any]:
    from . import schemas

    return _read_schema(f"{schemas.__path__[0]}/{name}.json")


def _read_schema(path: str) -> dict[str, Any]:
    """The content of a schema's file.

    kafka-python's `load_json` causes deprecation warnings on Python 3.11 and 3.12, which fail the
    tests of a project that turns warnings into errors.
    """
    with open(path, encoding="utf-8") as file:
        schema: dict[str, Any] = json.loads(_COMMENT.sub("", file.read()))
    if common := {each["name"]: each["fields"] for each in schema.get("commonStructs", [])}:
        _add_common(schema["fields"], common)
    return schema


def _add_common(fields: list[dict[str, Any]], common: Mapping[str, list[dict[str, Any]]]) -> None:
    """Give the fields that name a common struct the fields of that struct, at any depth."""
    for field in fields:
        if "fields" not in field and (found := common.get(field["type"].removeprefix("[]"))):
            field["fields"] = found
        _add_common(field.get("fields", []), common)


def _as_set(fields: list[dict[str, Any]]) -> None:
    for field in fields:
        if field["name"].endswith("AuthorizedOperations"):
            field |= {"name": "authorized_operations", "type": "bitfield"}
        _as_set(field.get("fields", []))


def _class_from(schema: dict[str, Any]) -> Any:
    """A class whose objects have the schema's fields; the class itself has only the versions."""
    from .kafka_schemas import BaseField, DataContainer, StructField

    own = {
        "_struct": StructField(schema),
        "valid_versions": BaseField.parse_versions(schema["validVersions"]),
        "flexible_versions": BaseField.parse_versions(schema["flexibleVersions"]),
    }
    return type(DataContainer)(schema["name"], (DataContainer,), own)


def is_flexible(cls: Any, version: int) -> bool:
    """Whether a message has tagged fields and compact lengths in a version (KIP-482)."""
    lowest, highest = cls.flexible_versions or (0, -1)
    return bool(lowest <= version <= highest)


@cache
def decoder(cls: Any, version: int) -> Decoder:
    """The compiled function (data, position, elements left) -> (message, end position)."""
    return compiled(cls._struct, version, cls, flexible=is_flexible(cls, version))


@cache
def encoder(cls: Any, version: int) -> Encoder:
    """The compiled function that appends a dict to a bytearray."""
    return encoding.compiled(cls._struct, version, flexible=is_flexible(cls, version))
