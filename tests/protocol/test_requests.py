"""Every request of every version that is served is read as it was meant, or is malformed."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.decoding import MOST_IN_A_HEADER, TooManyElements
from ottla.protocol.errors import Malformed
from ottla.protocol.messages import read_request, read_request_header
from tests.library_classes import library_class
from tests.protocol.golden_bytes import ANSWERS, GoldenAnswer
from tests.protocol.message_values import (
    KINDS,
    SERVED,
    SERVED_IDS,
    Values,
    built,
    plain,
    reference_request,
    request_frame,
    schema,
)

every_version = pytest.mark.parametrize(("key", "version"), SERVED, ids=SERVED_IDS)


def read(frame: bytes | bytearray | memoryview) -> Any:
    view = memoryview(frame)
    return read_request(read_request_header(view), view)


def values_of(frame: bytes | memoryview, key: ApiKey, version: int) -> dict[str, Any]:
    return plain(schema(key, "Request"), read(frame), version)


# Who decodes no more than so many elements


def elements_of(value: Any) -> int:
    """Of all arrays of structs and strings; numbers are not counted."""
    if isinstance(value, dict):
        return sum(map(elements_of, value.values()))
    if isinstance(value, list) and value and not isinstance(value[0], int):
        return len(value) + sum(map(elements_of, value))
    return 0


@every_version
def test_a_request_is_decoded_only_up_to_a_number_of_elements(key: ApiKey, version: int) -> None:
    meant = Values("full").of_struct(schema(key, "Request"), version)
    frame = memoryview(request_frame(key, version, meant))
    header, elements = read_request_header(frame), elements_of(meant)
    request = read_request(header, frame, most_elements=elements)
    assert plain(schema(key, "Request"), request, version) == meant
    if elements:
        with pytest.raises(TooManyElements):
            read_request(header, frame, most_elements=elements - 1)


def test_many_numbers_are_many_elements_too() -> None:
    meant = {"topics": [{"name": "a", "partition_indexes": list(range(3200))}], "group_id": "g"}
    frame = memoryview(request_frame(ApiKey.OFFSET_FETCH, 5, meant))
    header = read_request_header(frame)
    assert read_request(header, frame, most_elements=101)
    with pytest.raises(TooManyElements):
        read_request(header, frame, most_elements=100)


def with_tags(frame: bytes, count: int, *, in_header: bool, said: int | None = None) -> memoryview:
    """An ApiVersions request of version 3 with so many unknown tagged fields of no bytes."""
    fields = b"\x64\0" * count
    tags = varint(count if said is None else said) + fields
    start = 8 + 2 + 4
    head, body = frame[:start], frame[start + 1 : -1]
    return memoryview(head + (tags + body + b"\0" if in_header else b"\0" + body + tags))


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


VERSIONS_FRAME = request_frame(
    ApiKey.API_VERSIONS, 3, {"client_software_name": "x", "client_software_version": "1"}
)


def test_unknown_tagged_fields_are_elements_too() -> None:
    frame = with_tags(VERSIONS_FRAME, 100, in_header=False)
    header = read_request_header(frame)
    assert read_request(header, frame, most_elements=100)
    with pytest.raises(TooManyElements):
        read_request(header, frame, most_elements=99)


def test_a_header_has_a_limited_number_of_tagged_fields() -> None:
    assert read(with_tags(VERSIONS_FRAME, MOST_IN_A_HEADER, in_header=True))
    with pytest.raises(Malformed, match="tagged fields"):
        read(with_tags(VERSIONS_FRAME, MOST_IN_A_HEADER + 1, in_header=True))


@pytest.mark.parametrize("in_header", [False, True])
def test_more_tagged_fields_than_there_are_bytes_are_refused_at_once(in_header: bool) -> None:
    with pytest.raises(Malformed, match="tagged fields are cut"):
        read(with_tags(VERSIONS_FRAME, 3, in_header=in_header, said=2**31 - 1))


# Valid requests


@every_version
def test_a_clients_request_is_read_as_it_was_meant(key: ApiKey, version: int) -> None:
    for kind in KINDS:
        meant = Values(kind).of_struct(schema(key, "Request"), version)
        assert values_of(request_frame(key, version, meant), key, version) == meant, kind


@every_version
def test_fields_that_a_version_lacks_have_their_defaults(key: ApiKey, version: int) -> None:
    meant = Values("full").of_struct(schema(key, "Request"), version)
    request = read(request_frame(key, version, meant))
    for field in schema(key, "Request").fields.values():
        if not field.for_version_q(version) and not field.is_struct():
            assert getattr(request, field.name) == field.default, field.name


@pytest.mark.parametrize("golden", ANSWERS, ids=str)
def test_requests_that_kafka_answered_are_read_with_the_clients_values(
    golden: GoldenAnswer,
) -> None:
    key = ApiKey(int.from_bytes(golden.request[:2], "big"))
    cls = library_class(key, "Request")
    theirs = cls.decode(golden.request, version=golden.version, header=True)
    expected = plain(cls._struct, theirs, golden.version)
    assert values_of(golden.request, key, golden.version) == expected


def test_the_header_is_read() -> None:
    frame = struct.pack(">hhih", 18, 3, -5, 8) + "Größe✓"[:6].encode()[:8] + b"\0body"
    header = read_request_header(memoryview(frame))
    assert header[:3] == (18, 3, -5)
    assert header.body_start == 18


@pytest.mark.parametrize(("size", "client_id"), [(-1, None), (-5, None), (0, "")])
def test_a_client_may_have_no_name(size: int, client_id: str | None) -> None:
    header = read_request_header(memoryview(struct.pack(">hhih", 18, 0, 1, size)))
    assert (header.client_id, header.body_start) == (client_id, 10)


@every_version
def test_unknown_tagged_fields_are_skipped(key: ApiKey, version: int) -> None:
    meant = Values("full").of_struct(schema(key, "Request"), version)
    assert reference_request(key, version, meant) == request_frame(key, version, meant)
    unknown = {100: b"", 1000: b"x" * 200, 2**31 - 1: b"\xff"}
    frame = reference_request(key, version, meant, unknown)
    assert values_of(frame, key, version) == meant


def test_bytes_behind_a_request_are_passed_over_as_kafka_does() -> None:
    for golden in ANSWERS:
        key = ApiKey(int.from_bytes(golden.request[:2], "big"))
        alone, followed = (
            values_of(golden.request + behind, key, golden.version) for behind in (b"", b"behind")
        )
        assert followed == alone


# Malformed requests

LONG_FRAME = 150  # bytes; a longer request is cut at a fifth of them, elsewhere in each version


@every_version
def test_a_request_cut_anywhere_is_malformed(key: ApiKey, version: int) -> None:
    meant = Values("full").of_struct(schema(key, "Request"), version)
    unknown = {100: b"xyz"}
    for frame in (
        request_frame(key, version, meant),
        reference_request(key, version, meant, unknown),
    ):
        step = 1 if len(frame) < LONG_FRAME else 5
        for end in range(version % step, len(frame), step):
            with pytest.raises(Malformed):
                read(frame[:end])


def nullable_places(
    field: Any, version: int, values: Any, path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Path of each value that could be null on the wire, and whether its schema lets it."""
    for inner in field.fields.values():
        if not inner.for_version_q(version) or inner.tagged_field_q(version):
            continue
        here = (*path, inner.name)
        if inner.is_array() or inner.type_str in ("string", "bytes", "records"):
            yield here, inner.nullable_for_version_q(version)
        if inner.is_struct_array():
            for index, element in enumerate(values[inner.name]):
                yield from nullable_places(inner, version, element, (*here, index))
        elif inner.is_array() and inner.element_type == "string":
            yield (*here, 1), False
        elif inner.is_struct():
            yield from nullable_places(inner, version, values[inner.name], here)


@every_version
def test_null_is_read_where_it_may_be_and_malformed_elsewhere(key: ApiKey, version: int) -> None:
    meant = Values("full").of_struct(schema(key, "Request"), version)
    for path, allowed in nullable_places(schema(key, "Request"), version, meant):
        with_null = deepcopy(meant)
        place: Any = with_null
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = None
        frame = reference_request(key, version, with_null)
        if allowed:
            assert values_of(frame, key, version) == with_null, path
        else:
            with pytest.raises(Malformed, match="null"):
                read(frame)


def framed(key: ApiKey, version: int, body: bytes, *, client: bytes = b"abc") -> bytes:
    return struct.pack(">hhih", key, version, 5, len(client)) + client + body


METADATA_9_BODY = b"\x01\0\0\0\0"  # no topics, three flags, no tagged fields
METADATA_9_TOPICS = b"\0\0\0\0\0"
TAGGED_HEADER = b"\x01\x07\x03abc"
FETCH_15_BODY = struct.pack(">iiibii", 0, 0, 1000, 0, 0, -1) + b"\x01\x01\x01"
REPLICA_STATE = struct.pack(">iq", -1, -1)
LONG = b"a" * 40000

# Sent to Apache Kafka 4.1.1, which answered the first and closed the connection at the second.
KAFKA_ANSWERS = {
    "a client id that is not UTF-8": framed(ApiKey.API_VERSIONS, 0, b"", client=b"\xff\xfe"),
    "bytes behind the body": framed(ApiKey.API_VERSIONS, 0, b"zzz"),
    "a string that is not UTF-8": framed(ApiKey.API_VERSIONS, 3, b"\0\x02\xff\x021\0"),
    "a nullable array of length -2": framed(ApiKey.METADATA, 1, struct.pack(">i", -2)),
    "a number with needless bytes": framed(
        ApiKey.METADATA, 9, b"\0\x81\x80\x80\x80\x00" + METADATA_9_BODY[1:]
    ),
    "a string of 32767 bytes": framed(
        ApiKey.METADATA, 9, b"\0\x02\x80\x80\x02" + LONG[:32767] + b"\0" + METADATA_9_TOPICS[1:]
    ),
    "an unknown tagged field": framed(
        ApiKey.METADATA, 9, b"\0" + METADATA_9_BODY[:-1] + TAGGED_HEADER
    ),
    "an unknown tagged field in the header": framed(
        ApiKey.METADATA, 9, TAGGED_HEADER + METADATA_9_BODY
    ),
    "two tagged fields of one number": framed(
        ApiKey.METADATA, 9, b"\0" + METADATA_9_BODY[:-1] + b"\x02\x07\x03abc\x07\x01a"
    ),
    "a true of 2": framed(ApiKey.METADATA, 9, b"\0\x01\x02\x02\x02\0"),
    "a tagged struct": framed(
        ApiKey.FETCH, 15, b"\0" + FETCH_15_BODY + b"\x01\x01\x0d" + REPLICA_STATE + b"\0"
    ),
    "a tagged struct with unknown tagged fields": framed(
        ApiKey.FETCH, 15, b"\0" + FETCH_15_BODY + b"\x01\x01\x10" + REPLICA_STATE + b"\x01\x05\x01a"
    ),
    "a tagged struct that lies about its size": framed(
        ApiKey.FETCH, 15, b"\0" + FETCH_15_BODY + b"\x01\x01\x01" + REPLICA_STATE + b"\0"
    ),
    "a struct that is null by -2": framed(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, b"\0\x01" + struct.pack(">i", 10) + b"\xfe\0"
    ),
    "a struct that is there by 0": framed(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0,
        b"\0\x01" + struct.pack(">i", 10) + b"\x00\x02a\0\0\0\0\0\0",
    ),
}  # fmt: skip
KAFKA_CLOSES = {
    "a null string": framed(ApiKey.API_VERSIONS, 3, b"\0\0\x021\0"),
    "null in an array of structs": framed(ApiKey.METADATA, 1, struct.pack(">ih", 1, -1)),
    "null in an array of strings": framed(ApiKey.DELETE_TOPICS, 1, struct.pack(">ihi", 1, -1, 9)),
    "a null array": framed(ApiKey.METADATA, 0, struct.pack(">i", -1)),
    "an array of length -2": framed(ApiKey.CREATE_TOPICS, 2, struct.pack(">ii?", -2, 9, True)),
    "null bytes, by -2": framed(
        ApiKey.JOIN_GROUP, 0,
        struct.pack(">h1sih", 1, b"g", 6000, 0) + struct.pack(">h8si", 8, b"consumer", 1)
        + struct.pack(">h1si", 1, b"r", -2),
    ),
    "a number of six bytes": framed(
        ApiKey.METADATA, 9, b"\0\x81\x80\x80\x80\x80\x00" + METADATA_9_BODY[1:]
    ),
    "a string of 40000 bytes": framed(
        ApiKey.METADATA, 9, b"\0\x02\xc1\xb8\x02" + LONG + b"\0" + METADATA_9_TOPICS[1:]
    ),
    "a cut tagged field": framed(
        ApiKey.METADATA, 9, b"\0" + METADATA_9_BODY[:-1] + TAGGED_HEADER[:-1]
    ),
    "a cut tagged field in the header": framed(
        ApiKey.METADATA, 9, b"\x01\x07\x7fabc" + METADATA_9_BODY
    ),
    "no tagged fields, not even none": framed(ApiKey.METADATA, 9, b"\0" + METADATA_9_BODY[:-1]),
    "very many tagged fields": framed(
        ApiKey.METADATA, 9, b"\0" + METADATA_9_BODY[:-1] + b"\xff\xff\xff\xff\x07"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KAFKA_ANSWERS)
def test_a_request_that_kafka_answers_is_read(name: str) -> None:
    frame = KAFKA_ANSWERS[name]
    assert read(frame)._version == read_request_header(memoryview(frame)).api_version


@pytest.mark.parametrize("name", KAFKA_CLOSES)
def test_a_request_on_which_kafka_closes_the_connection_is_malformed(name: str) -> None:
    with pytest.raises(Malformed):
        read(KAFKA_CLOSES[name])


def test_invalid_utf8_becomes_replacement_characters() -> None:
    view = memoryview(KAFKA_ANSWERS["a client id that is not UTF-8"])
    assert read_request_header(view).client_id == "\ufffd\ufffd"
    request = read(KAFKA_ANSWERS["a string that is not UTF-8"])
    assert request.client_software_name == "\ufffd"


GROWS = b"\xff" * 10_923  # which become 32,769 bytes
GROWN = b"\xff" * 10_922


@pytest.mark.parametrize(
    "frame",
    [
        framed(ApiKey.METADATA, 1, struct.pack(">ih", 1, len(GROWS)) + GROWS),
        framed(ApiKey.DESCRIBE_GROUPS, 0, struct.pack(">ih", 1, len(GROWS)) + GROWS),
    ],
)
def test_invalid_utf8_that_grows_beyond_the_limit_is_malformed(frame: bytes) -> None:
    """An answer or a record that repeats it would have no room for it."""
    with pytest.raises(Malformed, match="is not UTF-8, and too long"):
        read(frame)


def test_a_client_id_that_is_not_utf8_is_cut_to_the_limit_of_a_string() -> None:
    header = read_request_header(memoryview(framed(ApiKey.API_VERSIONS, 0, b"", client=GROWS)))
    assert header.client_id == "\ufffd" * 10_922


def test_invalid_utf8_within_the_limit_is_read() -> None:
    frame = framed(ApiKey.METADATA, 1, struct.pack(">ih", 1, len(GROWN)) + GROWN)
    assert len(read(frame).topics[0].name.encode()) == 32_766


@pytest.mark.parametrize("frame", [b"", b"\0", bytes(9), struct.pack(">hhih", 18, 0, 1, 1)])
def test_a_cut_header_is_malformed(frame: bytes) -> None:
    with pytest.raises(Malformed):
        read_request_header(memoryview(frame))


@given(st.sampled_from(SERVED), st.binary(max_size=200))
@settings(max_examples=500)
def test_any_bytes_are_a_request_or_malformed(served: tuple[ApiKey, int], body: bytes) -> None:
    """No other exception leaves the decoder."""
    key, version = served
    try:
        request = read(framed(key, version, body))
    except Malformed:
        return
    assert request._version == version


@given(st.sampled_from(ANSWERS), st.data())
@settings(max_examples=500)
def test_a_request_with_wrong_bytes_is_a_request_or_malformed(
    golden: GoldenAnswer, data: st.DataObject
) -> None:
    frame = bytearray(golden.request)
    for at in data.draw(st.sets(st.integers(8, len(frame) - 1), min_size=1, max_size=4)):
        frame[at] = data.draw(st.integers(0, 255))
    try:
        request = read(frame)
    except Malformed:
        return
    assert request._version == golden.version


# What would cost time or memory


LIES = {
    "structs": framed(ApiKey.METADATA, 1, struct.pack(">i", 2**31 - 1) + bytes(200_000)),
    "strings": framed(ApiKey.DELETE_TOPICS, 1, struct.pack(">i", 2**31 - 1) + bytes(200_000)),
    "numbers": framed(
        ApiKey.OFFSET_FETCH, 1, struct.pack(">hihi", 0, 1, 0, 2**31 - 1) + bytes(200_000)
    ),
    "compact structs": framed(ApiKey.METADATA, 9, b"\0\xff\xff\xff\xff\x07" + b"\1" * 200_000),
    "compact numbers": framed(
        ApiKey.OFFSET_FETCH, 6, b"\0\x01\x02\x01\xff\xff\xff\xff\x07" + bytes(200_000)
    ),
    "bytes": framed(
        ApiKey.PRODUCE, 3,
        struct.pack(">hhiihiii", -1, 1, 1, 1, 0, 1, 0, 2**31 - 1) + bytes(50),
    ),
    "tagged fields": framed(ApiKey.METADATA, 9, b"\xff\xff\xff\xff\x0f" + b"\1" * 50),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_count_beyond_the_request_fails_at_once_and_takes_no_memory(name: str) -> None:
    with pytest.raises(Malformed):  # compiles the decoder, too
        read(LIES[name])
    tracemalloc.start()
    started = time.thread_time()
    try:
        with pytest.raises(Malformed):
            read(LIES[name])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000
    assert time.thread_time() - started < 0.1


def test_tagged_fields_in_many_structs_cost_no_more_than_the_bytes_they_are() -> None:
    """Twice the structs take about twice the time: the rest is not copied at each."""

    def seconds(count: int) -> float:
        topics = [{"topic_id": None, "name": f"topic-{index}"} for index in range(count)]
        values = {
            "topics": topics,
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": False,
        }
        frame = reference_request(ApiKey.METADATA, 12, values, {50: b"x" * 20})
        started = time.thread_time()
        assert len(read(frame).topics) == count
        return time.thread_time() - started

    seconds(10)
    assert seconds(40_000) < 1.5  # with a copy of the rest at each: 40 GB


def test_values_are_nested_as_by_a_client_library() -> None:
    """The values are put where a client's own constructor puts them."""
    cls = library_class(ApiKey.METADATA, "Request")
    values = {"topics": [{"name": "a"}]}
    topic = built(cls._struct, cls, values, 1).topics[0]
    assert topic.name == "a"
