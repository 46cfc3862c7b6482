"""Fields of Kafka's schemas: their versions, names, defaults and structs."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ottla.protocol import schemas
from ottla.protocol.codec import data_class
from ottla.protocol.schema_reader import Field, read_definition, versions

NAMES = sorted(path.stem for path in Path(schemas.DIRECTORY).glob("*.json"))


def field(**definition: Any) -> Field:
    return Field({"name": "AField", "type": "int32", "versions": "0+", **definition})


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3", (3, 3)), ("1-4", (1, 4)), ("2+", (2, 32767)), ("none", (0, -1)), (None, (0, -1))],
)
def test_versions_are_read_as_kafka_writes_them(
    text: str | None, expected: tuple[int, int]
) -> None:
    assert versions(text) == expected


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ({}, 0),
        ({"default": "-1"}, -1),
        ({"default": 7}, 7),
        ({"default": "0x7fffffff"}, 2147483647),
        ({"type": "bool"}, False),
        ({"type": "bool", "default": "true"}, True),
        ({"type": "bool", "default": False}, False),
        ({"type": "float64"}, 0.0),
        ({"type": "string"}, ""),
        ({"type": "string", "default": "Range"}, "Range"),
        ({"type": "string", "default": "null"}, None),
        ({"type": "bytes"}, b""),
        ({"type": "records", "default": "null"}, None),
        ({"type": "uuid"}, None),
        ({"type": "uuid", "default": str(UUID(int=5))}, UUID(int=5)),
        ({"type": "[]int32"}, []),
        ({"type": "[]int32", "default": "null"}, None),
        # As in Kafka's generator: a null of JSON is no default.
        ({"type": "[]int32", "default": None}, []),
        ({"type": "Struct", "fields": []}, None),
    ],
)
def test_a_default_has_the_type_of_its_field(definition: dict[str, Any], expected: object) -> None:
    found = field(**definition).default
    assert (type(found), found) == (type(expected), expected)


def test_a_field_of_unknown_type_is_an_error() -> None:
    with pytest.raises(KeyError, match="int128"):
        field(type="int128")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("TopicId", "topic_id"), ("groupId", "group_id"), ("KRaftVersion", "kraft_version")],
)
def test_names_are_in_snake_case(name: str, expected: str) -> None:
    assert field(name=name).name == expected


def test_a_tagged_field_without_versions_is_in_those_that_tag_it() -> None:
    value = data_class("TransactionLogValue")._struct.fields["next_producer_epoch"]
    assert (value.versions, value.tag, value.tagged_field_q(1)) == ((1, 32767), 3, True)
    assert not value.for_version_q(0)


def test_a_field_of_a_common_struct_has_its_fields() -> None:
    fields = data_class("AddPartitionsToTxnRequest")._struct.fields
    topics = fields["transactions"].fields["topics"]
    assert list(topics.fields) == ["name", "partitions"]


def test_the_key_of_a_coordinators_record_has_its_number_as_its_version() -> None:
    key = data_class("ConsumerGroupMemberMetadataKey")
    assert key.valid_versions == (5, 5)
    assert [each.versions for each in key._struct.fields.values()] == [(5, 5), (5, 5)]
    assert data_class("ConsumerGroupMemberMetadataValue").valid_versions == (0, 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_has_its_name_and_no_descriptions(name: str) -> None:
    definition = read_definition(name)
    assert definition["name"] == name
    assert "about" not in (Path(schemas.DIRECTORY) / f"{name}.json").read_text()


def test_the_schemas_come_with_kafkas_notice() -> None:
    notice = (Path(schemas.DIRECTORY) / "NOTICE").read_text()
    assert "Apache License, Version 2.0" in notice
    assert "The Apache Software Foundation" in notice
