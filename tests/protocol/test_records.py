"""Records come out of any batch that a client can make, and nothing else does."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
from collections.abc import Callable
from functools import partial

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.protocol import opening
from ottla.protocol import records as records_module
from ottla.protocol.batch import (
    HEADER,
    HEADER_SIZE,
    BatchHeader,
    Bytes,
    Compression,
    build,
    read_header,
    seal,
)
from ottla.protocol.compression import compressed
from ottla.protocol.errors import Code, Refused
from ottla.protocol.records import Record, decompressed, records_in
from ottla.protocol.varints import read_signed
from tests.protocol.golden_bytes import BATCHES, GoldenBatch, RecordParts
from tests.wire import batches as wire

PARTS = st.none() | st.binary(max_size=30)
KEY_VALUES = st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=20)
WITH_RECORDS = {name: golden for name, golden in BATCHES.items() if golden.records is not None}


def records(data: bytes | bytearray, position: int = 0) -> list[Record]:
    return list(records_in(data, position, read_header(data, position)))


def refusal_of(act: Callable[[], object]) -> Code | None:
    """The code of a refusal; None when there is none. Any other exception is a failure."""
    try:
        act()
    except Refused as refused:
        return refused.code
    return None


BROKEN_OR_NOT = (None, Code.CORRUPT_MESSAGE, Code.INVALID_RECORD)


def varint(value: int) -> bytes:
    zigzag = ((value << 1) ^ (value >> 63)) & (2**64 - 1)
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def record(body: bytes) -> bytes:
    return varint(len(body)) + body


def batch_of(payload: bytes, *, count: int, codec: int = 0) -> bytearray:
    data = bytearray(HEADER_SIZE) + payload
    HEADER.pack_into(data, 0, 0, len(data) - 12, 0, 2, 0, codec, count - 1, 5, 5, -1, -1, -1, count)
    seal(data)
    return data


@pytest.mark.parametrize("golden", WITH_RECORDS.values(), ids=WITH_RECORDS)
def test_the_records_of_a_real_client_come_out_as_it_was_given_them(golden: GoldenBatch) -> None:
    header = read_header(golden.data)
    found = records(golden.data)
    parts: list[RecordParts] = [(each.key, each.value, each.headers) for each in found]
    assert tuple(parts) == golden.records
    assert [each.offset for each in found] == list(range(header.base_offset, header.next_offset))
    if golden.timestamps is not None:
        assert tuple(each.timestamp_ms for each in found) == golden.timestamps


def test_every_client_and_every_codec_is_among_them() -> None:
    kinds = {(each.client, read_header(each.data).compression) for each in WITH_RECORDS.values()}
    clients = ("kafka-python", "librdkafka", "Java")
    assert {(client, codec) for client in clients for codec in range(5)} <= kinds


@given(KEY_VALUES, st.integers(0, 1 << 50), st.integers(0, 1 << 60))
def test_built_records_read_back_equal(
    given_records: list[tuple[bytes | None, bytes | None]], timestamp_ms: int, base_offset: int
) -> None:
    built = build(given_records, timestamp_ms=timestamp_ms, base_offset=base_offset)
    assert records(built) == [
        Record(base_offset + index, timestamp_ms, key, value)
        for index, (key, value) in enumerate(given_records)
    ]


def test_a_large_record_comes_out() -> None:
    value = bytes(300_000)
    assert records(build([(None, value)], timestamp_ms=0))[0].value == value


def test_the_batch_may_lie_anywhere() -> None:
    golden = BATCHES["Java gzip"].data
    assert records(b"before" + golden + b"behind", 6) == records(golden)
    assert records(bytearray(golden)) == records(golden)


def test_the_time_of_a_log_append_time_batch_is_its_max_timestamp() -> None:
    golden = BATCHES["librdkafka log append time"]
    header = read_header(golden.data)
    assert {each.timestamp_ms for each in records(golden.data)} == {header.max_timestamp_ms}


# Broken batches


@pytest.mark.parametrize("golden", BATCHES.values(), ids=BATCHES)
def test_a_batch_cut_anywhere_is_refused(golden: GoldenBatch) -> None:
    header = read_header(golden.data)
    for end in range(HEADER_SIZE, len(golden.data)):
        cut = golden.data[:end]
        with pytest.raises(Refused) as refused:
            list(records_in(cut, 0, header))
        assert refused.value.code in (Code.CORRUPT_MESSAGE, Code.INVALID_RECORD), end


@pytest.mark.parametrize("golden", BATCHES.values(), ids=BATCHES)
def test_a_flipped_bit_gives_records_or_a_refusal(golden: GoldenBatch) -> None:
    """The CRC detects it first; code that opens records without it must not crash either."""
    for at in range(HEADER_SIZE, len(golden.data)):
        broken = bytearray(golden.data)
        broken[at] ^= 1 << at % 8
        assert refusal_of(partial(records, broken)) in BROKEN_OR_NOT, at


@given(st.binary(max_size=60), st.integers(1, 3), st.sampled_from([0, 1, 2, 3, 4, 5]))
@settings(max_examples=300)
def test_any_payload_gives_records_or_a_refusal(payload: bytes, count: int, codec: int) -> None:
    data = batch_of(payload, count=count, codec=codec)
    assert refusal_of(lambda: records(data)) in BROKEN_OR_NOT


GOOD = b"\0\0\0" + varint(1) + b"k" + varint(1) + b"v"  # attributes, deltas, key, value


@pytest.mark.parametrize(
    ("payload", "count"),
    [
        (record(GOOD + varint(0)), 2),
        (record(GOOD + varint(0)) * 2, 1),
        (record(GOOD + varint(0)) + b"\0", 1),
        (varint(100) + GOOD + varint(0), 1),
        (varint(-1) + GOOD + varint(0), 1),
        (varint(3) + GOOD + varint(0), 1),
        (record(GOOD + varint(-1)), 1),
        (record(GOOD + varint(1)), 1),
        (record(GOOD + varint(1) + varint(-1) + varint(0)), 1),
        (record(GOOD + varint(1) + varint(1) + b"h" + varint(50)), 1),
        (record(GOOD + varint(0) + b"more"), 1),
        (record(GOOD + varint(0) + record(GOOD + varint(0))), 2),
        (record(b"\0" + b"\xff" * 11 + GOOD[2:] + varint(0)), 1),
        (b"\xff" * 12, 1),
        (b"", 1),
    ],
    ids=[
        "fewer than promised", "more than promised", "a byte behind", "beyond the batch",
        "negative size", "shorter than its fields", "negative header count", "header missing",
        "header without a name", "header beyond the batch",
        "bytes behind the headers", "a record inside a record", "an endless number in a record",
        "an endless size", "nothing at all",
    ],
)  # fmt: skip
def test_records_that_contradict_the_header_are_invalid(payload: bytes, count: int) -> None:
    with pytest.raises(Refused) as refused:
        records(batch_of(payload, count=count))
    assert refused.value.code == Code.INVALID_RECORD


def test_records_that_kafka_accepts_are_accepted() -> None:
    """A length below -1 is null, too, and a header's name is any bytes (DefaultRecord)."""
    header = varint(1) + varint(1) + b"\xff" + varint(-3)
    payload = record(b"\0\0\0" + varint(-2) + varint(1) + b"v" + header)
    assert records(batch_of(payload, count=1)) == [Record(0, 5, None, b"v", (("\ufffd", None),))]


def test_a_record_of_many_promised_headers_fails_fast() -> None:
    payload = record(GOOD + varint(2**31 - 1) + bytes(100))
    with pytest.raises(Refused, match="INVALID_RECORD"):
        records(batch_of(payload, count=1))


# Compression


def xerial(*blocks: bytes) -> bytes:
    """Snappy as Java frames it: a header, then blocks with their lengths."""
    framed = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for block in blocks:
        packed = bytes(cramjam.snappy.compress_raw(block))
        framed += struct.pack(">i", len(packed)) + packed
    return framed


PACKERS: dict[str, tuple[Compression, Callable[[bytes], bytes]]] = {
    "gzip": (Compression.GZIP, gzip.compress),
    "gzip, two members": (
        Compression.GZIP,
        lambda data: gzip.compress(data[:3]) + gzip.compress(data[3:]),
    ),
    "snappy, bare": (Compression.SNAPPY, lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "snappy, xerial": (Compression.SNAPPY, xerial),
    "snappy, xerial, blocks": (Compression.SNAPPY, lambda data: xerial(data[:3], data[3:])),
    "lz4": (Compression.LZ4, lambda data: compressed(Compression.LZ4, data)),
    "zstd": (Compression.ZSTD, lambda data: bytes(cramjam.zstd.compress(data))),
}


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("content", [b"", b"some", b"much " * 20_000], ids=["none", "4", "100000"])
def test_a_compressed_payload_decompresses_to_its_content(name: str, content: bytes) -> None:
    codec, pack = PACKERS[name]
    assert decompressed(codec, pack(content)) == content
    assert decompressed(codec, memoryview(pack(content))) == content


@pytest.mark.parametrize("name", PACKERS)
def test_a_truncated_payload_is_corrupt_or_opens_to_a_shorter_prefix(name: str) -> None:
    """A cut between two blocks opens to a prefix; the number of records detects it."""
    codec, pack = PACKERS[name]
    content = b"some, some, some more"
    packed = pack(content)
    refused = 0
    for end in range(len(packed)):
        try:
            opened = decompressed(codec, packed[:end])
        except Refused:
            refused += 1
        else:
            assert content.startswith(opened), end
            assert len(opened) < len(content), end
    assert refused > len(packed) // 2


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_undefined_codec_is_corrupt(codec: int) -> None:
    with pytest.raises(Refused, match="CORRUPT_MESSAGE"):
        decompressed(codec, b"")


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=3))
def test_a_number_is_read_and_the_position_is_behind_it(value: int, behind: bytes) -> None:
    encoded = varint(value)
    assert read_signed(b"?" + encoded + behind, 1) == (value, 1 + len(encoded))


def test_a_number_has_ten_bytes_at_the_most() -> None:
    for last in (b"\x00", b"\x01", b"\x7f"):
        assert read_signed(b"\x80" * 9 + last, 0)[1] == 10
        with pytest.raises(Refused, match="INVALID_RECORD"):
            read_signed(b"\x80" * 10 + last, 0)


def test_a_record_with_a_number_of_eleven_bytes_is_none() -> None:
    """Its size fits: only the number itself is wrong."""
    whole = record(b"\0" + b"\x80" * 9 + b"\0" + b"\0\1\1\0")
    assert len(records(batch_of(whole, count=1))) == 1
    longer = record(b"\0" + b"\x80" * 10 + b"\0" + b"\0\1\1\0")
    with pytest.raises(Refused, match="INVALID_RECORD"):
        records(batch_of(longer, count=1))


@given(
    st.sampled_from([codec for codec in Compression if codec is not Compression.NONE]),
    st.lists(st.binary(max_size=60), min_size=1, max_size=30),
    st.integers(1, 90),
    st.sampled_from([0, 0, 1, -1]),
)
def test_packed_records_are_those_of_the_whole_payload(
    codec: Compression, values: list[bytes], piece_bytes: int, lie: int
) -> None:
    plain = build([(b"key", value) for value in values], timestamp_ms=5)
    header = read_header(plain)._replace(record_count=max(len(values) + lie, 1))
    packed = bytes(61) + compressed(codec, bytes(plain[61:]))
    other = header._replace(attributes=codec, length=len(packed) - 12)

    def read(data: Bytes, header: BatchHeader) -> list[Record] | str:
        try:
            return list(records_in(data, 0, header))
        except Refused as refused:
            return refused.code.name

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            records_module,
            "pieces",
            lambda codec, raw: opening.pieces(codec, raw, piece_bytes),
        )
        assert read(packed, other) == read(plain, header)


def test_compressed_records_are_decompressed_one_piece_at_a_time() -> None:
    count, value = 3_000, bytes(20_000)
    payload = b"".join(wire.record(value, offset_delta=index) for index in range(count))
    data = wire.batch([b""] * count, records=compressed(Compression.ZSTD, payload), attributes=4)
    del payload
    tracemalloc.start()
    try:
        assert sum(1 for _ in records_in(data, 0, read_header(data))) == count
        assert tracemalloc.get_traced_memory()[1] < count * len(value) / 10
    finally:
        tracemalloc.stop()
