"""Frames and headers that no codec sends."""

from __future__ import annotations

import struct
import time
from typing import Any

from ..broker import Broker
from ..client import Answer, Closed, encode, error_name, framed, header
from ..registry import case

API_VERSIONS, METADATA, FIND_COORDINATOR, INIT_PRODUCER_ID = 18, 3, 10, 22


def heard(broker: Broker, data: bytes, api: str = "ApiVersions", version: int = 0) -> str:
    """The result of raw bytes: an error name, 'answer', 'closed' or 'silent'."""
    answer = broker.outcome_of(data, api, version)
    if isinstance(answer, str):
        return answer
    return error_name(answer["error_code"]) if "error_code" in answer else "answer"


def waiting_fetch(topic: str, max_wait_ms: int) -> Answer:
    """A Fetch 12 body that waits for a record."""
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    return {
        "max_wait_ms": max_wait_ms,
        "min_bytes": 1,
        "max_bytes": 1000,
        "topics": [{"topic": topic, "partitions": [part]}],
    }


@case
def frame__unknown_api_key(broker: Broker) -> Any:
    keys = (999, -1, 32767)
    return [heard(broker, framed(header(key, 0))) for key in keys] + [broker.is_alive()]


@case
def frame__unsupported_version(broker: Broker) -> Any:
    """Unknown versions of APIs except ApiVersions close the connection."""
    asked = {
        "metadata_99": (3, 99),
        "metadata_minus1": (3, -1),
        "produce_2": (0, 2),
        "produce_99": (0, 99),
        "fetch_3": (1, 3),
        "list_offsets_0": (2, 0),
        "init_pid_6": (22, 6),
        "add_partitions_6": (24, 6),
        "write_markers_0": (27, 0),
        "join_99": (11, 99),
    }
    return {
        name: heard(broker, framed(header(key, version) + b"\0" * 8))
        for name, (key, version) in asked.items()
    }


@case
def frame__one_version_beyond(broker: Broker) -> Any:
    """The first version above the offered ones, of every API."""
    offered = broker.call("ApiVersions", 0)["api_keys"]
    answers = {
        heard(broker, framed(header(api["api_key"], api["max_version"] + 1) + b"\0" * 16))
        for api in offered
        if api["api_key"] != API_VERSIONS
    }
    return sorted(answers)


@case
def frame__removed_or_internal_apis(broker: Broker) -> Any:
    """LeaderAndIsr, ..., Vote, AlterPartition, Envelope, ... on a client's listener."""
    keys = (4, 5, 6, 7, 52, 56, 58, 62, 63, 67)
    return {key: heard(broker, framed(header(key, 0) + b"\0" * 16)) for key in keys}


@case
def frame__body_too_short(broker: Broker) -> Any:
    """Metadata 1 with a count of 3 and no element; a Produce cut in the middle."""
    return [
        heard(broker, framed(header(METADATA, 1) + struct.pack(">i", 3))),
        heard(broker, framed(header(0, 3) + b"\xff\xff\xff\xff")),
        broker.is_alive(),
    ]


@case
def frame__lengths(broker: Broker) -> Any:
    """Frames of size 0, negative size, too short for a header, and far too long."""
    return {
        "zero": heard(broker, struct.pack(">i", 0)),
        "negative": heard(broker, struct.pack(">i", -1)),
        "lowest": heard(broker, struct.pack(">i", -(2**31))),
        "one_byte": heard(broker, framed(b"\0")),
        "seven_bytes": heard(broker, framed(header(API_VERSIONS, 0)[:7])),
        "header_cut": heard(broker, framed(header(API_VERSIONS, 0)[:11])),
        "2_gb": heard(broker, struct.pack(">i", 2**31 - 1) + b"x"),
        "over_the_limit": heard(broker, struct.pack(">i", 104_857_601) + b"x"),
        "alive": broker.is_alive(),
    }


@case
def frame__other_protocols(broker: Broker) -> Any:
    """First bytes of browsers and TLS clients."""
    return {
        "http": heard(broker, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        "tls": heard(broker, bytes.fromhex("16030100c8010000c40303") + bytes(200)),
        "zeros": heard(broker, bytes(64)),
        "alive": broker.is_alive(),
    }


@case
def frame__client_ids(broker: Broker) -> Any:
    """Null, empty, long and invalid UTF-8; and lengths that are too long or below -1."""
    ids = {"null": None, "empty": b"", "long": b"x" * 32767, "latin1": b"\xe9\xff"}
    out = {
        name: heard(broker, framed(header(API_VERSIONS, 0, client_id=value)))
        for name, value in ids.items()
    }
    start = struct.pack(">hhi", API_VERSIONS, 0, 1)
    out["too_long"] = heard(broker, framed(start + struct.pack(">h", 100) + b"short"))
    out["minus_2"] = heard(broker, framed(start + struct.pack(">h", -2)))
    return out


@case
def frame__null_arrays(broker: Broker) -> Any:
    """Arrays that may not be null, plain and compact."""
    null = struct.pack(">i", -1)
    return {
        "fetch_4": heard(
            broker, framed(header(1, 4) + struct.pack(">iiiib", -1, 0, 0, 9, 0) + null)
        ),
        "list_offsets_1": heard(broker, framed(header(2, 1) + struct.pack(">i", -1) + null)),
        "create_topics_2": heard(broker, framed(header(19, 2) + null + bytes(5))),
        "create_topics_7": heard(broker, framed(header(19, 7, flexible=True) + bytes(7))),
        "offset_commit_2": heard(broker, framed(header(8, 2) + bytes(100)[:14] + null)),
        "alive": broker.is_alive(),
    }


@case
def frame__huge_arrays(broker: Broker) -> Any:
    """Counts that are too large for any frame, plain and compact."""
    huge = struct.pack(">i", 0x7FFFFFFF)
    compact = b"\xff\xff\xff\xff\x0f"
    return {
        "metadata_1": heard(broker, framed(header(METADATA, 1) + huge)),
        "metadata_12": heard(broker, framed(header(METADATA, 12, flexible=True) + compact)),
        "metadata_9_over": heard(
            broker, framed(header(METADATA, 9, flexible=True) + b"\xff" * 9 + b"\x01")
        ),
        "create_topics_2": heard(broker, framed(header(19, 2) + huge)),
        "tags": heard(
            broker, framed(header(API_VERSIONS, 3) + b"\0" + b"\x02a\x02b" + compact), version=3
        ),
        "alive": broker.is_alive(),
    }


@case
def frame__trailing_bytes(broker: Broker) -> Any:
    """Bytes after a complete request body."""
    return [
        heard(broker, framed(header(API_VERSIONS, 0) + b"abcdef")),
        heard(
            broker, framed(header(METADATA, 1) + struct.pack(">i", 0) + b"abcdef"), "Metadata", 1
        ),
    ]


@case
def frame__correlation_ids(broker: Broker) -> Any:
    """The answer has the same correlation id, for any 32-bit value, also twice the same."""
    out = []
    for number in (0, -1, -(2**31), 2**31 - 1, 5, 5):
        broker.connection.send_raw(framed(header(API_VERSIONS, 0, correlation_id=number)))
        out.append(broker.connection.receive("ApiVersions", 0)[0] == number)
    return out


@case
def frame__unknown_tagged_fields(broker: Broker) -> Any:
    """Unknown tags in the header and in the body of a flexible request are skipped."""
    tags = b"\x02\x05\x03abc\x09\x01z"  # two tags
    body = b"\x02" + b"a" + b"\x02" + b"1"
    start = header(API_VERSIONS, 3)
    return [
        heard(broker, framed(start + head + body + tail), version=3)
        for head, tail in ((b"\0", b"\0"), (tags, b"\0"), (b"\0", tags))
    ]


@case
def frame__broken_tagged_fields(broker: Broker) -> Any:
    """Tags out of order, a tag twice, and a tag longer than the frame."""
    body = b"\x02" + b"a" + b"\x02" + b"1"
    broken = {
        "out_of_order": b"\x02\x09\x01z\x05\x03abc",
        "twice": b"\x02\x05\x01a\x05\x01b",
        "too_long": b"\x01\x05\x7fabc",
        "missing": b"",
        "cut": b"\x01",
    }
    return {
        name: heard(broker, framed(header(API_VERSIONS, 3) + b"\0" + body + tags), version=3)
        for name, tags in broken.items()
    }


@case
def frame__compact_lengths_beyond_31_bits(broker: Broker) -> Any:
    """Java's number of 32 bits is negative: null, where null is allowed."""
    lengths = {
        "2^31": b"\x80\x80\x80\x80\x08",
        "2^31+1": b"\x81\x80\x80\x80\x08",
        "2^32-1": b"\xff\xff\xff\xff\x0f",
        "2^32": b"\x80\x80\x80\x80\x10",
        "2^35-1": b"\xff\xff\xff\xff\x7f",
    }
    init = header(INIT_PRODUCER_ID, 3, flexible=True), struct.pack(">iqhb", 1000, -1, -1, 0)
    topics = header(METADATA, 12, flexible=True), b"\x01\0\0"
    keys = header(FIND_COORDINATOR, 4, flexible=True) + b"\0", b"\0"
    return {
        name: [
            heard(broker, framed(length.join(init)), "InitProducerId", 3),
            heard(broker, framed(length.join(topics)), "Metadata", 12),
            heard(broker, framed(length.join(keys)), "FindCoordinator", 4),
        ]
        for name, length in lengths.items()
    }


@case
def frame__pipelined_in_order(broker: Broker) -> Any:
    """50 requests in one write."""
    data, numbers = b"", list(range(100, 150))
    for i, number in enumerate(numbers):
        if i % 2:
            data += framed(header(API_VERSIONS, 0, correlation_id=number))
        else:
            start = header(METADATA, 1, correlation_id=number)
            data += framed(start + struct.pack(">i", 0))
    broker.connection.send_raw(data)
    return [struct.unpack_from(">i", broker.connection.frame())[0] for _ in numbers] == numbers


@case
def frame__order_behind_long_poll(broker: Broker, topic: str) -> Any:
    """A waiting Fetch, then ApiVersions on the same connection: answered in order."""
    connection = broker.connection
    first = connection.send("Fetch", 12, waiting_fetch(topic, 500))
    started = time.monotonic()
    second = connection.send("ApiVersions", 0)
    got = [struct.unpack_from(">i", connection.frame())[0] for _ in range(2)]
    return [got == [first, second], time.monotonic() - started > 0.4]


@case
def frame__other_connections_during_long_poll(broker: Broker, topic: str) -> Any:
    broker.connection.send("Fetch", 12, waiting_fetch(topic, 2000))
    started = time.monotonic()
    return [broker.is_alive(), time.monotonic() - started < 1.0]


@case
def frame__byte_by_byte(broker: Broker) -> Any:
    for byte in framed(header(API_VERSIONS, 0, correlation_id=9)):
        broker.connection.send_raw(bytes([byte]))
        time.sleep(0.002)
    return broker.connection.receive("ApiVersions", 0)[0]


@case
def frame__half_then_gone(broker: Broker) -> Any:
    """100 connections send half a frame and close."""
    for _ in range(100):
        connection = broker.connect()
        connection.send_raw(struct.pack(">i", 500) + b"\0" * 100)
        connection.close()
    return broker.is_alive()


@case
def frame__good_then_bad(broker: Broker) -> Any:
    """Two good requests and a bad one in one write: two answers, then the connection closes."""
    good = [framed(header(API_VERSIONS, 0, correlation_id=number)) for number in (1, 2)]
    connection = broker.connect(3.0)
    connection.send_raw(b"".join(good) + framed(header(999, 0)))
    answered = 0
    try:
        while True:
            connection.receive("ApiVersions", 0)
            answered += 1
    except Closed:
        return ["closed", answered <= 2]


@case
def frame__negative_string_length(broker: Broker) -> Any:
    """A non-nullable string sent as null: FindCoordinator 0."""
    data = framed(header(FIND_COORDINATOR, 0) + struct.pack(">h", -1))
    return [heard(broker, data, "FindCoordinator", 0), broker.is_alive()]


@case
def frame__many_connections(broker: Broker) -> Any:
    """200 connections at once send a request each."""
    connections = [broker.connect() for _ in range(200)]
    data = encode("ApiVersions", 0, {}, correlation_id=3)
    for connection in connections:
        connection.send_raw(data)
    return sum(connection.receive("ApiVersions", 0)[0] == 3 for connection in connections)
