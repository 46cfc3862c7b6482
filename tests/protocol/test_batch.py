"""Batch headers and checksums: over bytes that real clients sent."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.batch import (
    HEADER_SIZE,
    BatchHeader,
    Compression,
    build,
    crc_is_right,
    headers_in,
    next_sequence,
    read_header,
)
from tests.protocol.golden_bytes import BATCHES, GoldenBatch

KAFKA_COMMIT = BATCHES["commit marker"].data
RECORDS = [(b"key", b"value"), (None, b"no key"), (b"gone", None)]


def a_batch(**given: Any) -> bytearray:
    return build(RECORDS, timestamp_ms=1_700_000_000_000, **given)


@pytest.mark.parametrize("golden", BATCHES.values(), ids=BATCHES)
def test_the_header_of_a_real_batch_is_read(golden: GoldenBatch) -> None:
    header = read_header(golden.data)
    assert HEADER_SIZE == 61
    assert header.magic == 2
    assert header.size_bytes == len(golden.data)
    assert header.next_offset == header.base_offset + header.record_count
    assert header.last_offset == header.next_offset - 1
    for name, codec in Compression.__members__.items():
        if name.lower() in golden.name.split():
            assert header.compression == codec
    assert crc_is_right(golden.data, 0, header)


@pytest.mark.parametrize(
    ("name", "transactional", "control", "append_time", "producer"),
    [
        ("kafka-python none", False, False, False, False),
        ("librdkafka gzip idempotent", False, False, False, True),
        ("librdkafka transactional", True, False, False, True),
        ("librdkafka log append time", False, False, True, False),
        ("Java zstd", False, False, False, True),
        ("commit marker", True, True, False, True),
        ("abort marker", True, True, False, True),
    ],
)
def test_the_attributes_describe_the_batch(
    name: str, transactional: bool, control: bool, append_time: bool, producer: bool
) -> None:
    header = read_header(BATCHES[name].data)
    told = (header.is_transactional, header.is_control, header.is_log_append_time)
    assert told == (transactional, control, append_time)
    assert (header.producer_id >= 0) == producer


def test_a_header_says_all_thirteen_fields() -> None:
    fields = (7, 49, 3, 2, 0xFFFFFFFF, 0x7F, 4, 10, 20, 1 << 40, 9, 5, 5)
    data = b"skip" + struct.pack(">qiibIhiqqqhii", *fields)
    header = read_header(data, 4)
    assert header == BatchHeader(*fields)
    assert (header.size_bytes, header.last_offset, header.next_offset) == (61, 11, 12)
    assert header.compression == 7


def test_a_cut_header_is_an_error() -> None:
    with pytest.raises(struct.error):
        read_header(KAFKA_COMMIT[: HEADER_SIZE - 1])


@pytest.mark.parametrize(
    ("sequence", "delta", "expected"),
    [(0, 0, 0), (0, 4, 4), (2**31 - 1, 1, 0), (2**31 - 2, 3, 1), (2**31 - 1, 2**31 - 1, 2**31 - 2)],
)
def test_sequence_numbers_wrap_to_zero(sequence: int, delta: int, expected: int) -> None:
    assert next_sequence(sequence, delta) == expected


def test_the_last_sequence_wraps_and_a_batch_without_one_has_none() -> None:
    assert read_header(a_batch(base_sequence=2**31 - 2)).last_sequence == 0
    assert read_header(a_batch(base_sequence=5)).last_sequence == 7
    assert read_header(a_batch()).last_sequence == -1


@given(st.integers(0, 3), st.integers(0, 200))
def test_whole_batches_are_found_and_a_cut_last_one_ends_it(count: int, kept: int) -> None:
    batch = bytes(a_batch())
    data = batch * count + batch[: min(kept, len(batch) - 1)]
    found = list(headers_in(data))
    assert [position for position, _ in found] == [len(batch) * index for index in range(count)]
    assert {header for _, header in found} <= {read_header(batch)}


@pytest.mark.parametrize("length", [-(2**31), -12, -1, 0, 48])
def test_a_length_that_no_batch_has_ends_the_walk(length: int) -> None:
    data = a_batch()
    struct.pack_into(">i", data, 8, length)
    assert list(headers_in(data)) == []


@pytest.mark.parametrize("name", ["Java none", "kafka-python snappy", "commit marker"])
def test_every_flipped_byte_under_the_checksum_is_seen(name: str) -> None:
    golden = BATCHES[name].data
    for at in range(17, len(golden)):
        broken = bytearray(golden)
        broken[at] ^= 0x10
        assert not crc_is_right(broken, 0, read_header(broken)), at


def test_the_checksum_does_not_cover_the_fields_that_the_broker_sets() -> None:
    for at in (*range(8), *range(12, 16)):
        moved = bytearray(KAFKA_COMMIT)
        moved[at] ^= 0x10
        assert crc_is_right(moved, 0, read_header(moved)), at


def test_a_length_beyond_the_data_is_a_wrong_checksum_and_no_exception() -> None:
    cut = KAFKA_COMMIT[:-1]
    assert not crc_is_right(cut, 0, read_header(cut))


def test_a_built_batch_has_the_given_fields() -> None:
    built = a_batch(
        base_offset=9, producer_id=1 << 33, producer_epoch=32000, base_sequence=77, leader_epoch=4
    )
    header = read_header(built)
    assert header._replace(crc=0) == BatchHeader(
        9, len(built) - 12, 4, 2, 0, 0, 2, 1_700_000_000_000, 1_700_000_000_000, 1 << 33, 32000,
        77, 3,
    )  # fmt: skip
    assert crc_is_right(built, 0, header)


def test_a_batch_built_without_a_producer_has_no_producer_id() -> None:
    header = read_header(a_batch())
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)


@pytest.mark.parametrize("transactional", [False, True])
@pytest.mark.parametrize("control", [False, True])
def test_the_flags_are_those_given(transactional: bool, control: bool) -> None:
    built = build([(b"", b"")], timestamp_ms=0, transactional=transactional, control=control)
    header = read_header(built)
    assert (header.is_transactional, header.is_control) == (transactional, control)
