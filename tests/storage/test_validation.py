"""Batches of clients: those that are appended, and Kafka's answers to the others."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.protocol.batch import crc_is_right
from ottla.protocol.errors import Refused
from ottla.storage.appended import Origin
from ottla.storage.log import PartitionLog
from ottla.storage.records.client_batch import frame_end
from ottla.storage.records.record_errors import InvalidRecords
from ottla.storage.records.record_walk import walk
from tests.storage.logs import NOW_MS, end_of, everything, in_transaction, open_log
from tests.wire import batches
from tests.wire.batches import record


def batch(values: Any = (b"v",), **fields: Any) -> bytes:
    fields.setdefault("timestamp", NOW_MS)
    return bytes(batches.batch(values, **fields))


def answer(data: bytes, log: PartitionLog | None = None, **config: Any) -> Any:
    """The base offset; or the error's name, with the bad records' places when there are any."""
    if log is None:
        log = open_log(**config)
    end, size = log.log_end_offset, log.size_bytes
    try:
        return log.append(bytearray(data), now_ms=NOW_MS).base_offset
    except Refused as refused:
        assert (log.log_end_offset, log.size_bytes) == (end, size), "a refusal changes nothing"
        if isinstance(refused, InvalidRecords):
            return refused.code.name, [index for index, _ in refused.record_errors]
        return refused.code.name


def with_length(length: int) -> bytes:
    data = batch([b"hello" * 10])
    return data[:8] + struct.pack(">i", len(data) - 12 + length) + data[12:]


WHOLE = len(batch([b"hello" * 10])) - 12
HARMED = batch([b"hello"])[:-1] + b"\xff"

FRAMES = {
    "nothing": (b"", "INVALID_RECORD"),
    "three bytes": (b"\1\2\3", "INVALID_RECORD"),
    "sixteen bytes": (batch()[:16], "INVALID_RECORD"),
    "garbage": (bytes(range(1, 120)), "CORRUPT_MESSAGE"),
    "zeros": (bytes(120), "CORRUPT_MESSAGE"),
    "a harmed record": (HARMED, "CORRUPT_MESSAGE"),
    "a wrong CRC": (batch(crc=0), "CORRUPT_MESSAGE"),
    "bytes behind the batch": (batch() + bytes(5), 0),
    "a second batch": (batch() + batch(), "INVALID_RECORD"),
    "a header behind the batch": (batch() + batch()[:61], 0),
    "zeros behind the batch": (batch() + bytes(12), "CORRUPT_MESSAGE"),
    "a length too short": (with_length(-3), "CORRUPT_MESSAGE"),
    "a length too long": (with_length(3), "INVALID_RECORD"),
    "a length of zero": (with_length(-WHOLE), "CORRUPT_MESSAGE"),
    "a length of -1": (with_length(-WHOLE - 1), "CORRUPT_MESSAGE"),
    "a batch that is no whole header": (with_length(20 - WHOLE)[:32], "CORRUPT_MESSAGE"),
    "format 0": (batch(magic=0), "INVALID_RECORD"),
    "format 1": (batch(magic=1), "INVALID_RECORD"),
    "format 3": (batch(magic=3), "CORRUPT_MESSAGE"),
    "an offset": (batch(base_offset=1000), "INVALID_RECORD"),
    "a negative offset": (batch(base_offset=-1), "INVALID_RECORD"),
    "a leader epoch": (batch(leader_epoch=77), 0),
}


@pytest.mark.parametrize(("data", "expected"), FRAMES.values(), ids=FRAMES)
def test_a_frame_is_one_whole_batch(data: bytes, expected: Any) -> None:
    assert answer(data) == expected


COUNTS = {
    "one more": (batch([b"a"], count=2, last_offset_delta=1), "INVALID_RECORD"),
    "one fewer": (batch([b"a", b"b"], count=1, last_offset_delta=0), "INVALID_RECORD"),
    "another delta": (batch([b"a"], last_offset_delta=3), "INVALID_RECORD"),
    "another count": (batch([b"a", b"b"], count=1), "INVALID_RECORD"),
    "negative": (batch(count=-1), "INVALID_RECORD"),
    "zero": (batch(count=0), "INVALID_RECORD"),
    "no record": (batch([], last_offset_delta=0, count=0), "INVALID_RECORD"),
    "no record, delta -1": (batch([], last_offset_delta=-1, count=0), "INVALID_RECORD"),
    "no record in gzip": (
        batch([], last_offset_delta=0, count=0, compression=1), "INVALID_RECORD",
    ),
    "many, one more": (batch([b"a"] * 99, count=100, last_offset_delta=99), "INVALID_RECORD"),
    "many, one fewer": (batch([b"a"] * 101, count=100, last_offset_delta=99), "INVALID_RECORD"),
    "gzip, one more": (
        batch([b"a"], count=2, last_offset_delta=1, compression=1), "INVALID_RECORD",
    ),
    "a gap inside": (batch([b"a", b"b"], offset_deltas=[0, 5]), 0),
    "a gap in the header": (
        batch([b"a", b"b"], offset_deltas=[0, 5], last_offset_delta=5), "INVALID_RECORD",
    ),
    "a control batch": (batch(control=True), "INVALID_RECORD"),
    "a negative sequence": (batch(producer_id=5, epoch=0, sequence=-1), "INVALID_RECORD"),
    "a negative epoch": (batch(producer_id=5, epoch=-1, sequence=0), 0),
    "a sequence without a producer": (batch(sequence=3), 0),
    "a negative producer": (batch(producer_id=-5, epoch=0, sequence=0), 0),
    "reserved attributes": (batch(attributes=0x40), 0),
}  # fmt: skip


@pytest.mark.parametrize(("data", "expected"), COUNTS.values(), ids=COUNTS)
def test_a_header_agrees_with_its_records(data: bytes, expected: Any) -> None:
    assert answer(data) == expected


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_undefined_codec_is_unknown_server_error_as_in_kafka(codec: int) -> None:
    data = batch(attributes=codec, producer_id=5, epoch=0, sequence=-1)
    assert answer(data) == "UNKNOWN_SERVER_ERROR"
    assert answer(data[:-1] + b"\xff") == "CORRUPT_MESSAGE"


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_payload_that_does_not_decompress_is_kafkas_unknown_error(codec: int) -> None:
    """A client does not try again then, as it does with what the way there has harmed."""
    assert answer(batch(attributes=codec)) == "UNKNOWN_SERVER_ERROR"
    assert answer(batch(attributes=codec), cleanup_policy={"compact"}) == "UNKNOWN_SERVER_ERROR"
    assert answer(batch(attributes=codec), compression_type="gzip") == "UNKNOWN_SERVER_ERROR"


def test_a_batch_over_the_limit_is_too_large() -> None:
    size = len(batch([b"x" * 100]))
    assert answer(batch([b"x" * 100]), max_message_bytes=size) == 0
    assert answer(batch([b"x" * 100]), max_message_bytes=size - 1) == "MESSAGE_TOO_LARGE"


LIMITS: dict[str, Any] = {
    "message_timestamp_before_max_ms": 1000,
    "message_timestamp_after_max_ms": 2000,
}


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([0, 0, 0], 0),
        ([-1000, 2000, 0], 0),
        ([0, -1001, 0], ("INVALID_TIMESTAMP", [1])),
        ([2001, 0, 3000], ("INVALID_TIMESTAMP", [0, 2])),
    ],
)
def test_times_out_of_range_are_named(deltas: list[int], expected: Any) -> None:
    data = batch([b"a"] * 3, timestamp_deltas=deltas)
    assert answer(data, **LIMITS) == expected
    assert answer(data, **LIMITS, message_timestamp_type="LogAppendTime") == 0


def test_an_hour_ahead_is_the_most_unless_configured() -> None:
    assert answer(batch(timestamp=NOW_MS + 3_600_000)) == 0
    assert answer(batch(timestamp=NOW_MS + 3_600_001)) == ("INVALID_TIMESTAMP", [0])
    assert answer(batch(timestamp=0)) == 0
    assert answer(batch(timestamp=-1), **LIMITS) == 0, "no timestamp is no wrong one"


def test_a_lie_about_the_largest_time_is_put_right(log: PartitionLog) -> None:
    answer(batch([b"a", b"b"], timestamp_deltas=[0, 7], max_timestamp=5), log)
    ((header, data),) = everything(log)
    assert header.max_timestamp_ms == NOW_MS + 7
    assert crc_is_right(data, 0, header)


def test_no_time_is_the_least_that_a_batch_can_have(log: PartitionLog) -> None:
    assert answer(batch(timestamp=0, timestamp_deltas=[-3]), log) == 0
    ((header, _),) = everything(log)
    assert (header.base_timestamp_ms, header.max_timestamp_ms) == (0, -1)


def test_the_brokers_time_is_written_into_the_batch() -> None:
    log = open_log(message_timestamp_type="LogAppendTime")
    data = batch([b"a", b"b"], timestamp=1000, timestamp_deltas=[0, 7])
    assert log.append(data, now_ms=NOW_MS).log_append_time_ms == NOW_MS
    ((header, stored),) = everything(log)
    assert (header.base_timestamp_ms, header.max_timestamp_ms) == (1000, NOW_MS)
    assert header.is_log_append_time
    assert crc_is_right(stored, 0, header)


def test_batches_of_the_broker_follow_the_topics_timestamp_type() -> None:
    log = open_log(message_timestamp_type="LogAppendTime")
    log.append(in_transaction(7, 0), now_ms=NOW_MS + 1)
    log.append(in_transaction(7, -1), now_ms=NOW_MS + 2, origin=Origin.COORDINATOR)
    log.append_marker(end_of(7, commit=True), now_ms=NOW_MS + 3)
    found = [header for header, _ in everything(log)]
    assert [header.attributes for header in found] == [0x18, 0x18, 0x38]
    assert [header.max_timestamp_ms - NOW_MS for header in found] == [1, 2, 3]
    assert all(crc_is_right(data, 0, header) for header, data in everything(log))


def test_attributes_that_mean_nothing_go_where_the_header_is_put_right(log: PartitionLog) -> None:
    """As in Kafka, which else lets them be (DefaultRecordBatch.setMaxTimestamp)."""
    for lie in ({}, {"max_timestamp": 5}):
        assert answer(batch(attributes=0x40C0, **lie), log) >= 0
    assert [header.attributes for header, _ in everything(log)] == [0x40C0, 0x40]


def test_a_producer_may_not_say_that_the_time_is_the_brokers(log: PartitionLog) -> None:
    assert answer(batch(attributes=8), log) == 0
    assert not everything(log)[0][0].is_log_append_time
    stamping: dict[str, Any] = {"message_timestamp_type": "LogAppendTime"}
    assert answer(batch(attributes=8), **stamping) == ("INVALID_TIMESTAMP", [0])


def test_a_compacted_topic_wants_keys() -> None:
    compacted: dict[str, Any] = {"cleanup_policy": frozenset({"compact"})}
    data = batch([b"a", b"b", b"c"], keys=[b"k", None, b"l"])
    assert answer(data, **compacted) == ("INVALID_RECORD", [1])
    assert answer(batch(keys=[b"k"]), **compacted) == 0
    assert answer(data) == 0


@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("sent", [0, 1, 2, 3, 4])
def test_a_topic_has_batches_in_its_own_codec(sent: int, wanted: str) -> None:
    log = open_log(compression_type=wanted)
    values = [b"a" * 200, b"b" * 200]
    data = batch(values, compression=sent, producer_id=7, epoch=0, sequence=3, keys=[b"k", None])
    assert answer(data, log) == 0
    ((header, stored),) = everything(log)
    assert header.compression == ["uncompressed", "gzip", "snappy", "lz4", "zstd"].index(wanted)
    (parsed,) = batches.batches_in(stored)
    assert [(r.key, r.value) for r in parsed.records] == [(b"k", values[0]), (None, values[1])]
    assert parsed.crc_is_right
    assert log.append(bytearray(data), now_ms=NOW_MS).is_duplicate


@pytest.mark.parametrize(
    ("codec", "levels"), [("gzip", (1, -1)), ("lz4", (9, 12)), ("zstd", (-5, 1, 3, 22))]
)
def test_the_level_of_the_codec_is_the_topics(codec: str, levels: tuple[int, ...]) -> None:
    """The higher the smaller; lz4's default, 9, is the fast one in Kafka too."""
    chance = Random(1)
    words = [chance.randbytes(chance.randrange(2, 9)) for _ in range(300)]
    value = b"".join(chance.choice(words) for _ in range(20_000))
    sizes = []
    for level in levels:
        settings: dict[str, Any] = {f"compression_{codec}_level": level}
        log = open_log(compression_type=codec, **settings)
        assert answer(batch([value]), log) == 0
        ((_, stored),) = everything(log)
        (parsed,) = batches.batches_in(stored)
        assert parsed.records[0].value == value
        sizes.append(len(stored))
    assert sizes == sorted(set(sizes), reverse=True)


@pytest.mark.parametrize("stamp", ["CreateTime", "LogAppendTime"])
def test_a_batch_in_another_codec_is_written_as_if_it_were_new(stamp: str) -> None:
    """Its base time is that of its first record, its attributes are those that mean something."""
    log = open_log(compression_type="zstd", message_timestamp_type=stamp)
    data = batch(
        [b"a", b"b", None], keys=[b"k", None, b""], timestamp_deltas=[500, 400, 100_000],
        attributes=0x4180, headers=[(b"h", b"v")],
    )  # fmt: skip
    assert answer(data, log) == 0
    ((header, stored),) = everything(log)
    assert header.attributes == 4 | 8 * (stamp == "LogAppendTime")
    assert header.base_timestamp_ms == NOW_MS + 500
    (parsed,) = batches.batches_in(stored)
    told = [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in parsed.records]
    (sent,) = batches.batches_in(data)
    assert parsed.crc_is_right
    times = [NOW_MS + delta for delta in (500, 400, 100_000)]
    if stamp == "LogAppendTime":
        assert header.max_timestamp_ms == NOW_MS
        times = [one.timestamp for one in parsed.records]
    assert told == [
        (r.offset, time_ms, r.key, r.value, r.headers)
        for r, time_ms in zip(sent.records, times, strict=True)
    ]


@pytest.mark.parametrize("size", [500, 50_000])
@pytest.mark.parametrize("wanted", ["uncompressed", "gzip"])
def test_a_batch_in_another_codec_may_be_as_large_as_any_other(size: int, wanted: str) -> None:
    """Packed in one go or piece by piece, of times that stay or of others."""
    for shift in ({}, {"timestamp_deltas": [7]}):
        sent = batch([Random(1).randbytes(size)], compression=4, **shift)
        log = open_log(compression_type=wanted)
        assert answer(sent, log) == 0
        limit = max(log.size_bytes, len(sent))
        assert answer(sent, compression_type=wanted, max_message_bytes=limit) == 0
        smaller = answer(sent, compression_type=wanted, max_message_bytes=limit - 1)
        assert smaller == "MESSAGE_TOO_LARGE"


def test_a_batch_with_the_brokers_time_keeps_the_attributes_that_mean_something() -> None:
    log = open_log(message_timestamp_type="LogAppendTime")
    assert answer(batch(attributes=0x40D0, compression=0), log) == 0
    assert answer(batch(attributes=0x4082, records=batches.compress(2, record())), log) == 1
    assert [header.attributes for header, _ in everything(log)] == [0x58, 0x0A]


def test_a_time_before_the_first_cannot_be_written_anew() -> None:
    data = batch([b"a", b"b"], timestamp_deltas=[-NOW_MS - 2, 0])
    assert answer(data) == 0
    assert answer(data, compression_type="gzip") == "UNKNOWN_SERVER_ERROR"
    without_time = batch([b"a", b"b"], timestamp=-1)
    assert answer(without_time, compression_type="gzip") == 0


def test_a_batch_in_the_topics_codec_keeps_the_bytes_of_its_producer() -> None:
    log = open_log(compression_type="gzip", compression_gzip_level=9)
    data = batch([b"a" * 900], compression=1)
    assert answer(data, log) == 0
    ((_, stored),) = everything(log)
    assert stored[61:] == bytes(data)[61:]


def test_invalid_records_have_kafkas_messages() -> None:
    log = open_log(cleanup_policy=frozenset({"compact"}))
    with pytest.raises(InvalidRecords) as refused:
        log.append(batch([b"v"] * 5), now_ms=NOW_MS)
    no_key = "Compacted topic cannot accept message without key in topic partition orders-0"
    shown = ", ".join(f"RecordError(batchIndex={i}, message='{no_key}')" for i in range(3))
    assert refused.value.why == (
        "One or more records have been rejected due to 5 record errors in total, and only showing"
        f" the first three errors at most: [{shown}]"
    )
    assert refused.value.record_errors == tuple((i, no_key) for i in range(5))
    with pytest.raises(InvalidRecords, match="rejected due to invalid timestamp"):
        open_log().append(batch(timestamp=NOW_MS + 10**9), now_ms=NOW_MS)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (batch(magic=3), "Invalid magic found in record: 3"),
        (batch(magic=-2), "Invalid magic found in record: -2"),
        (bytes(80), "Record size 0 is less than the minimum record overhead (14)"),
    ],
)
def test_a_frame_without_an_end_is_corrupt(data: bytes, why: str) -> None:
    for start, records in ((0, data), (len(batch()), batch() + data)):
        with pytest.raises(Refused) as refused:
            frame_end(records, start)
        assert (refused.value.code.name, refused.value.why) == ("CORRUPT_MESSAGE", why)


def test_a_complete_frame_ends_at_its_length() -> None:
    one = batch()
    for records in (one, batch(magic=0), one + one):
        assert frame_end(records, 0) == len(one)
    assert frame_end(one + one, len(one)) == 2 * len(one)
    for cut in (b"", one[:11], one[:16], one[:-1]):
        assert frame_end(cut, 0) is None


def test_a_batch_that_grows_over_the_limit_is_too_large() -> None:
    data = batch([b"a" * 1000], compression=1)
    assert answer(data, max_message_bytes=500, compression_type="uncompressed") == (
        "MESSAGE_TOO_LARGE"
    )


RECORDS = st.tuples(
    st.one_of(st.none(), st.binary(max_size=3)),
    st.one_of(st.none(), st.binary(max_size=150)),
    st.integers(-(2**40), 2**40) | st.integers(0, 300),
    st.lists(st.tuples(st.binary(max_size=2), st.none() | st.binary(max_size=2)), max_size=2),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(RECORDS, min_size=1, max_size=6), st.integers(1, 40), st.integers(0, 40), st.data())
def test_records_are_followed_to_the_last_byte(
    shapes: list[Any], repeated: int, start: int, data: st.DataObject
) -> None:
    records, largest = [], -(2**63)
    for offset, (key, value, delta, headers) in enumerate(shapes * repeated):
        largest = max(largest, delta)
        records.append(
            record(value, key=key, timestamp_delta=delta, offset_delta=offset, headers=headers)
        )
    payload, count = b"\xff" * start + b"".join(records), len(records)
    assert walk(payload, count, start).largest_delta_ms == largest
    for wrong in (count + 1, count - 1):
        if wrong:
            with pytest.raises(Refused, match="INVALID_RECORD"):
                walk(payload, wrong, start)
    cut = data.draw(st.integers(start, len(payload) - 1))
    with pytest.raises(Refused, match="INVALID_RECORD"):
        walk(payload[:cut], count, start)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 5, 50, 90, 200, 9000]), st.integers(1, 30)),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([1, 3, 40, 90]),
)
def test_runs_of_records_of_one_size_are_followed(
    runs: list[tuple[int, int]], modulus: int
) -> None:
    sizes = [size for size, repeated in runs for _ in range(repeated)]
    payload = b"".join(
        record(b"\0" * size, timestamp_delta=at % modulus, offset_delta=at)
        for at, size in enumerate(sizes)
    )
    largest = min(modulus, len(sizes)) - 1
    assert walk(payload, len(sizes)).largest_delta_ms == largest
    with pytest.raises(Refused, match="INVALID_RECORD"):
        walk(payload, len(sizes) + 1)


BAD = {
    "a key that is too long": b"\0\0\0\x20v",
    "a value that is too short": b"\0\0\0\x01\x00v\0",
    "a negative number of headers": b"\0\0\0\x01\x02v\x01",
    "a negative number of headers, and half of one": b"\0\0\0\x01\x02v\x01\x00",
    "a header that is not there": b"\0\0\0\x01\x02v\x02",
    "a header without a name": b"\0\0\0\x01\x02v\x02\x01\x01",
    "bytes behind the headers": b"\0\0\0\x01\x02v\x00\x00",
    "no headers at all": b"\0\0\0\x01\x02v",
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
@pytest.mark.parametrize("others", [0, 4, 50])
def test_a_record_that_cannot_be_read_is_refused(body: bytes, others: int) -> None:
    payload = record() * others + batches.varint(len(body)) + body
    with pytest.raises(Refused, match="INVALID_RECORD"):
        walk(payload, others + 1)


def test_a_record_of_negative_size_is_refused() -> None:
    for others in (0, 50):
        with pytest.raises(Refused, match="INVALID_RECORD"):
            walk(record() * others + b"\x01" + record(), others + 2)


def padded(number: int, size: int) -> bytes:
    """A number in more bytes than it needs."""
    out = bytearray(batches.varint(number))
    while len(out) < size:
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


FIELDS = ("size", "timestamp", "offset", "key", "value", "headers", "header key", "header value")


def record_with(field: str, size: int, offset_delta: int) -> bytes:
    """A record with a key, a value and a header, of which one number has so many bytes."""

    def number(name: str, value: int) -> bytes:
        return padded(value, size if name == field else 1)

    body = b"\0" + number("timestamp", 0) + number("offset", offset_delta)
    body += number("key", 1) + b"k" + number("value", 1) + b"v"
    body += number("headers", 1) + number("header key", 1) + b"h" + number("header value", 1) + b"x"
    return number("size", len(body)) + body


@pytest.mark.parametrize("codec", [0, 4])
@pytest.mark.parametrize("field", FIELDS)
def test_a_number_of_a_record_has_five_bytes_at_the_most_and_a_time_ten(
    field: str, codec: int
) -> None:
    """As Kafka answers it; a longer one no consumer reads."""
    most = 10 if field == "timestamp" else 5
    for count in (1, 20):
        for policy in ("delete", "compact"):
            for size, expected in ((most, 0), (most + 1, "INVALID_RECORD")):
                records = (record_with(field, size, index) for index in range(count))
                payload = batches.compress(codec, b"".join(records))
                sent = batch([b""] * count, records=payload, attributes=codec)
                told = answer(sent, cleanup_policy=frozenset({policy}))
                assert told == expected, (count, size)
