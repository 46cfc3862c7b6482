"""Answers are, byte for byte, what Kafka writes, and clients read in them what was said."""

from __future__ import annotations

import struct
import uuid
from typing import Any

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.protocol.messages import answer, elements_left
from tests.library_classes import library_class
from tests.protocol.golden_bytes import ANSWERS, GoldenAnswer
from tests.protocol.message_values import (
    KINDS,
    SERVED,
    SERVED_IDS,
    Values,
    plain,
    reference_answer,
    schema,
)

every_version = pytest.mark.parametrize(("key", "version"), SERVED, ids=SERVED_IDS)
# kafka-python reads the answer to an ApiVersions that failed as version 0, whatever it is.
READABLE = [golden for golden in ANSWERS if golden.name != "ApiVersions refused"]


def read(key: ApiKey, version: int, frame: bytes | bytearray) -> dict[str, Any]:
    """What kafka-python's client sees in an answer, the size in front."""
    cls = library_class(key, "Response")
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    message = cls.decode(bytes(frame[4:]), version=version, header=True)
    assert message.header.correlation_id == 7
    return plain(cls._struct, message, version)


@every_version
def test_a_client_reads_the_answer(key: ApiKey, version: int) -> None:
    for kind in KINDS:
        said = Values(kind).of_struct(schema(key, "Response"), version)
        if key == ApiKey.API_VERSIONS:
            said["error_code"] = 0
        framed = answer(key, version, 7, said)
        assert framed == reference_answer(key, version, said), kind
        assert read(key, version, framed) == said, kind


def test_the_elements_of_an_answer_are_counted_to_any_depth() -> None:
    body = {"error_code": 0, "topics": [{"name": "a", "partitions": [0, 1, 2]}, {"name": "b"}]}
    assert elements_left(body, 5) == 0
    assert elements_left(body, 4) < 0
    assert elements_left(body, 1) < 0
    assert elements_left({"topics": None, "name": "a", "operations": {1, 2}}, 0) == 0


@every_version
def test_an_empty_answer_has_the_defaults_of_its_schema(key: ApiKey, version: int) -> None:
    seen = read(key, version, answer(key, version, 7, {}))
    fields = schema(key, "Response").fields
    for name, value in seen.items():
        expected = None if fields[name].is_struct() else fields[name].default
        assert value == expected, name


@pytest.mark.parametrize("golden", READABLE, ids=str)
def test_answers_of_kafka_are_encoded_identically(golden: GoldenAnswer) -> None:
    key = ApiKey(int.from_bytes(golden.request[:2], "big"))
    framed = len(golden.answer).to_bytes(4, "big") + golden.answer
    said = read(key, golden.version, framed)
    assert bytes(answer(key, golden.version, 7, said)) == framed


def test_every_api_and_version_that_is_served_was_recorded() -> None:
    recorded = {(int.from_bytes(each.request[:2], "big"), each.version) for each in ANSWERS}
    # Kafka 4.1 has no state to filter by in older versions: its groups at that time would be in it.
    unrecorded = {(int(ApiKey.LIST_GROUPS), version) for version in range(4)}
    assert {(int(key), version) for key, version in SERVED} - recorded == unrecorded


def test_a_refused_api_versions_equals_kafkas() -> None:
    (golden,) = (each for each in ANSWERS if each.name == "ApiVersions refused")
    framed = answer(ApiKey.API_VERSIONS, 3, 7, {"error_code": Code.INVALID_REQUEST})
    assert bytes(framed[4:]) == golden.answer


@pytest.mark.parametrize(
    ("key", "version", "body"),
    [
        (ApiKey.METADATA, 9, {"nonsense": 1}),
        (ApiKey.METADATA, 9, {"brokers": [{"node_id": 1, "hosts": "a"}]}),
        (ApiKey.FETCH, 12, {"responses": [{"partitions": [{"diverging_epoch": {"end": 1}}]}]}),
    ],
    ids=["at the top", "in an array", "in a tagged struct"],
)
def test_a_field_that_the_answer_does_not_have_is_a_fault(
    key: ApiKey, version: int, body: dict[str, Any]
) -> None:
    with pytest.raises(KeyError, match="has no field"):
        answer(key, version, 7, body)


@pytest.mark.parametrize(
    ("key", "version", "body"),
    [
        (ApiKey.JOIN_GROUP, 6, {"protocol_name": None}),
        (ApiKey.METADATA, 9, {"brokers": [{"host": None}]}),
        (ApiKey.METADATA, 1, {"topics": [{"name": "t", "partitions": None}]}),
    ],
    ids=["a string", "in an array", "an array"],
)
def test_null_where_no_client_expects_it_is_a_fault(
    key: ApiKey, version: int, body: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="may not be null"):
        answer(key, version, 7, body)


def test_null_is_written_where_clients_expect_it() -> None:
    framed = answer(ApiKey.JOIN_GROUP, 7, 7, {"protocol_name": None})
    assert read(ApiKey.JOIN_GROUP, 7, framed)["protocol_name"] is None


def test_a_field_of_another_version_is_left_out() -> None:
    said = {"throttle_time_ms": 5, "error_code": 0, "api_keys": []}
    assert "throttle_time_ms" not in read(
        ApiKey.API_VERSIONS, 0, answer(ApiKey.API_VERSIONS, 0, 7, said)
    )


def test_codes_and_keys_need_no_conversion() -> None:
    said = {"error_code": Code.INVALID_REQUEST}
    framed = answer(ApiKey.HEARTBEAT, 0, 7, said)
    assert read(ApiKey.HEARTBEAT, 0, framed) == {"error_code": 42}


@pytest.mark.parametrize("records", [None, b"", b"abc", bytearray(b"abc"), memoryview(b"abc")])
def test_records_may_be_any_bytes(records: Any) -> None:
    said = {"responses": [{"partitions": [{"partition_index": 1, "records": records}]}]}
    for version in (4, 11, 12, 17):
        framed = answer(ApiKey.FETCH, version, 7, said)
        partition = read(ApiKey.FETCH, version, framed)["responses"][0]["partitions"][0]
        assert partition["records"] == (None if records is None else bytes(records))


@pytest.mark.parametrize("size", [65_000, 65_535, 65_536, 200_000, 3_000_000])
def test_an_answer_may_be_of_any_size(size: int) -> None:
    records = [bytes([number % 251]) * (size // 3) for number in range(3)]
    said = {
        "responses": [
            {
                "topic": f"topic-{number}",
                "partitions": [{"partition_index": number, "records": each}],
            }
            for number, each in enumerate(records)
        ]
    }
    for version in (4, 12):
        seen = read(ApiKey.FETCH, version, answer(ApiKey.FETCH, version, 7, said))
        assert [each["partitions"][0]["records"] for each in seen["responses"]] == records


def test_many_partitions_and_long_texts_fit() -> None:
    partitions = [
        {"partition_index": index, "replica_nodes": [1] * 40, "offline_replicas": [2]}
        for index in range(2000)
    ]
    said = {
        "topics": [{"name": "☃" * 10_000, "topic_id": uuid.UUID(int=1), "partitions": partitions}]
    }
    for version in (8, 12):
        (topic,) = read(ApiKey.METADATA, version, answer(ApiKey.METADATA, version, 7, said))[
            "topics"
        ]
        assert topic["name"] == "☃" * 10_000
        assert [each["partition_index"] for each in topic["partitions"]] == list(range(2000))


def test_tagged_fields_may_be_longer_than_a_byte_can_count() -> None:
    endpoints = [
        {"node_id": number, "host": "host" * 20, "port": 9092, "rack": None}
        for number in range(300)
    ]
    said = {"responses": [], "node_endpoints": endpoints}
    framed = answer(ApiKey.FETCH, 16, 7, said)
    assert read(ApiKey.FETCH, 16, framed)["node_endpoints"] == endpoints


def test_tagged_structs_are_left_out_unless_they_say_something() -> None:
    def partition(**more: Any) -> bytes:
        said = {"responses": [{"topic": "t", "partitions": [{"partition_index": 0, **more}]}]}
        return bytes(answer(ApiKey.FETCH, 12, 7, said))

    without = partition()
    diverging = partition(diverging_epoch={"epoch": 3, "end_offset": 9})
    leader = partition(current_leader={"leader_id": 1, "leader_epoch": 2})
    both = partition(
        diverging_epoch={"epoch": 3, "end_offset": 9},
        current_leader={"leader_id": 1, "leader_epoch": 2},
    )
    assert len(diverging) == len(without) + 2 + 13
    assert len(leader) == len(without) + 2 + 9
    assert len(both) == len(without) + 2 + 13 + 2 + 9
    seen = read(ApiKey.FETCH, 12, both)["responses"][0]["partitions"][0]
    assert seen["diverging_epoch"] == {"epoch": 3, "end_offset": 9}
    assert seen["current_leader"] == {"leader_id": 1, "leader_epoch": 2}


def test_authorized_operations_are_bits_and_not_asked_is_the_lowest_number() -> None:
    asked = answer(ApiKey.DESCRIBE_CLUSTER, 0, 7, {"authorized_operations": {3, 8}})
    not_asked = answer(ApiKey.DESCRIBE_CLUSTER, 0, 7, {"authorized_operations": None})
    assert asked[-5:-1] == (1 << 3 | 1 << 8).to_bytes(4, "big")
    assert not_asked[-5:-1] == b"\x80\0\0\0"


def test_an_answer_that_fails_leaves_the_next_one_whole() -> None:
    before = answer(ApiKey.METADATA, 9, 7, {"cluster_id": "a"})
    with pytest.raises(struct.error):
        answer(ApiKey.METADATA, 9, 7, {"cluster_id": "b", "controller_id": "no number"})
    assert answer(ApiKey.METADATA, 9, 7, {"cluster_id": "a"}) == before


def test_answers_do_not_share_their_bytes() -> None:
    first = answer(ApiKey.HEARTBEAT, 0, 1, {})
    kept = bytes(first)
    second = answer(ApiKey.HEARTBEAT, 0, 2, {"error_code": 5})
    assert (bytes(first), first is second) == (kept, False)


def error_messages(described: Any, version: int, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of all fields of a response that are messages for people."""
    found = []
    for field in described.fields.values():
        if field.for_version_q(version):
            path = (*at, field.name)
            if field.is_struct_array() or field.is_struct():
                found += error_messages(field, version, path)
            elif field.name.endswith("error_message"):
                found.append(path)
    return found


LONG = ("x" * 32_767, "x" * 40_000, "é" * 20_000, "🦉" * 9_000)


@every_version
def test_a_message_that_quotes_a_long_text_is_cut_to_the_limit_of_a_string(
    key: ApiKey, version: int
) -> None:
    for path in error_messages(schema(key, "Response"), version):
        for text in LONG:
            body = Values("full").of_struct(schema(key, "Response"), version)
            at: Any = body
            for name in path[:-1]:
                at = at[name][0]
            at[path[-1]] = text
            told: Any = read(key, version, answer(key, version, 7, body))
            for name in path[:-1]:
                told = told[name][0]
            assert told[path[-1]] == cut(text)


def cut(text: str) -> str:
    whole = text.encode()
    if len(whole) <= 32_767:
        return text
    return whole[: 32_767 - 3].decode(errors="ignore") + "..."
