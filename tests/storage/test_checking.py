"""What takes long is checked in steps: with the same result, and little of it open at a time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol import opening
from ottla.protocol.batch import HEADER_SIZE, Compression, crc_is_right, read_header
from ottla.protocol.errors import Code, Refused
from ottla.protocol.records import decompressed
from ottla.protocol.varints import read_size
from ottla.storage.log_config import LONG_MAX, LogConfig
from ottla.storage.records.client_batch import Checked, Rules, check
from ottla.storage.records.payloads import PIECE_SIZES, PieceSizes
from ottla.storage.records.record_errors import MOST_REPORTED, InvalidRecords
from ottla.storage.steps import Steps, at_once
from tests.protocol.bombs import SIZES, one_record, packed
from tests.storage.logs import NOW_MS
from tests.wire import batches
from tests.wire.batches import record

COMPACTED: Final = frozenset({"compact"})
CODECS: Final = [codec for codec in Compression if codec is not Compression.NONE]
CONFIGS: Final = st.builds(
    LogConfig,
    cleanup_policy=st.sampled_from([COMPACTED, frozenset({"delete"})]),
    compression_type=st.sampled_from(["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"]),
    message_timestamp_type=st.sampled_from(["CreateTime", "CreateTime", "LogAppendTime"]),
    message_timestamp_before_max_ms=st.sampled_from([LONG_MAX, 5]),
    message_timestamp_after_max_ms=st.sampled_from([3_600_000, 5]),
    max_message_bytes=st.sampled_from([1 << 20, 1 << 20, 150]),
)
RECORDS: Final = st.builds(
    record,
    st.none() | st.binary(max_size=30),
    key=st.sampled_from([b"k", b"key", b"", None]),
    timestamp_delta=st.sampled_from([0, 0, 0, 3, 6, -6, 90]),
    headers=st.sampled_from([[], [], [(b"h", b"v")]]),
)


def rules(**config: Any) -> Rules:
    return Rules(replace(LogConfig(), **config), NOW_MS, "orders-0")


def outcome(data: bytes, wanted: Rules) -> Any:
    """The header and the records of a checked batch; or its refusal."""
    try:
        found = check(data, wanted)
        checked = found if isinstance(found, Checked) else at_once(found)
    except InvalidRecords as invalid:
        return invalid.code, invalid.why, invalid.record_errors
    except Refused as refused:
        return refused.code
    header = read_header(checked.records)
    assert crc_is_right(checked.records, 0, header)
    payload = bytes(checked.records[HEADER_SIZE : header.size_bytes])
    if header.compression != Compression.NONE:
        payload = decompressed(header.compression, payload)
    return checked.header._replace(crc=0, length=0), payload


@given(
    records=st.lists(RECORDS, min_size=1, max_size=20),
    codec=st.sampled_from(list(Compression)),
    config=CONFIGS,
    attributes=st.sampled_from([0, 0, 0, 8, 0x10, 0x4080]),
    lie=st.sampled_from([0, 0, 0, 0, 1, -1]),
    harm=st.none() | st.none() | st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)),
)
def test_in_steps_a_batch_comes_to_the_same_as_at_once(
    records: list[bytes],
    codec: Compression,
    config: LogConfig,
    attributes: int,
    lie: int,
    harm: tuple[int, int] | None,
) -> None:
    payload = bytearray(batches.compress(codec, b"".join(records)))
    if harm is not None:
        payload[harm[0] % len(payload)] = harm[1]
    count = max(len(records) + lie, 1)
    data = batches.batch(
        [b""] * count, records=bytes(payload), attributes=codec | attributes, timestamp=NOW_MS,
        max_timestamp=NOW_MS + 90,
    )  # fmt: skip
    wanted = Rules(config, NOW_MS, "orders-0")
    whole = outcome(data, wanted)
    sizes = PieceSizes(at_hand_bytes=40, piece_bytes=7)
    in_steps = outcome(data, wanted._replace(at_once_records=0, sizes=sizes))
    if harm is None or Code.UNKNOWN_SERVER_ERROR not in (whole, in_steps):
        assert in_steps == whole
    else:  # a bad record may be met before what does not decompress
        assert {in_steps, whole} <= {Code.INVALID_RECORD, Code.UNKNOWN_SERVER_ERROR}


@pytest.fixture
def loaded() -> Iterator[set[int]]:
    """The codecs whose libraries are imported: at first NONE alone, as in a new process."""
    codecs = opening.loaded
    before = set(codecs)
    codecs.intersection_update({Compression.NONE})
    yield codecs
    codecs.update(before)


@pytest.mark.parametrize("count", [1, 2000])
@pytest.mark.parametrize(
    ("codec", "compression_type"),
    [(codec, wanted) for codec in Compression for wanted in ("producer", "gzip", "lz4", "zstd")],
)
def test_only_the_blocking_steps_import_the_library_of_a_codec(
    loaded: set[int], codec: Compression, compression_type: str, count: int
) -> None:
    records = [record(b"value" * 100, offset_delta=each) for each in range(count)]
    payload = batches.compress(codec, b"".join(records))
    data = batches.batch([b""] * count, records=payload, attributes=codec, timestamp=NOW_MS)
    steps = check(data, rules(compression_type=compression_type))
    seen: set[int] = {Compression.NONE}
    if not isinstance(steps, Checked):
        for blocking in steps:
            assert loaded == seen, "a step that is not blocking imported a library"
            if blocking is not None:
                blocking()
                seen = set(loaded)
    assert loaded == seen
    written = codec if compression_type == "producer" else Compression[compression_type.upper()]
    assert {codec, written} <= loaded


def bomb(codec: Compression) -> bytes:
    """A batch of one record whose value is so many zeros."""
    return batches.batch(
        [b""], records=packed(codec, one_record(SIZES[codec])), attributes=codec, timestamp=NOW_MS
    )


def taken(steps: Checked | Steps[Checked]) -> tuple[Checked, int, int]:
    """The result of the steps, their number, and their peak of memory."""
    assert not isinstance(steps, Checked), "it takes long"
    tracemalloc.start()
    count = 0
    try:
        while True:
            count += 1
            blocking = next(steps)
            if blocking is not None:
                blocking()
    except StopIteration as ended:
        return ended.value, count, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_takes_as_much_memory_as_a_piece_of_it(codec: Compression) -> None:
    data = bomb(codec)
    checked, steps, peak_bytes = taken(check(data, rules()))
    assert bytes(checked.records) == data
    if codec is Compression.SNAPPY:
        assert peak_bytes < 4 * SIZES[codec]  # a block is only had whole
    else:
        assert peak_bytes < 20 << 20
        assert steps > SIZES[codec] >> 23


def test_very_many_records_in_few_bytes_take_as_much_memory_as_a_piece_of_them() -> None:
    count = 400_000
    right = b"".join(record(b"", key=b"k", offset_delta=delta) for delta in range(count))
    payload = batches.compress(4, right)
    data = batches.batch(
        [b""], records=payload, attributes=4, timestamp=NOW_MS, count=count,
        last_offset_delta=count - 1,
    )  # fmt: skip
    for config in ({}, {"cleanup_policy": COMPACTED}):
        checked, steps, peak_bytes = taken(check(data, rules(**config)))
        assert checked.records == data
        assert peak_bytes < 20 << 20
        assert steps > count / 5_000


def test_the_first_of_many_invalid_records_are_reported_with_their_number() -> None:
    count = 20_000
    data = batches.batch(
        [b""], records=batches.compress(4, record(b"") * count), attributes=4, timestamp=NOW_MS,
        count=count, last_offset_delta=count - 1,
    )  # fmt: skip
    with pytest.raises(InvalidRecords) as refused:
        at_once(_steps(check(data, rules(cleanup_policy=COMPACTED))))
    assert "rejected due to 20000 record errors in total" in str(refused.value)
    told = refused.value.record_errors
    assert [error.batch_index for error in told] == list(range(MOST_REPORTED))


@pytest.mark.parametrize("wanted", ["uncompressed", "snappy"])
def test_a_bomb_in_another_codec_is_given_up_when_it_is_too_large(wanted: str) -> None:
    """It is read once to be checked, and again until the new batch is larger than it may be."""
    data = bomb(Compression.LZ4)
    few = rules(compression_type=wanted, max_message_bytes=len(data))
    tracemalloc.start()
    try:
        with pytest.raises(Refused, match="MESSAGE_TOO_LARGE"):
            at_once(_steps(check(data, few)))
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("at_hand_bytes", [1 << 18, 0])
def test_a_record_may_be_too_large_when_it_is_decompressed(
    codec: Compression, at_hand_bytes: int
) -> None:
    """max.decompressed.message.bytes limits each record of a compressed batch, as in Kafka 4.4."""
    size, _ = read_size(record(b"v" * 1_000), 0)
    data = batches.batch([b"v" * 1_000] * 20, compression=codec, timestamp=NOW_MS)
    sizes = PieceSizes(at_hand_bytes, 3_000)

    def told(limit: int) -> Any:
        return outcome(data, rules(max_decompressed_message_bytes=limit)._replace(sizes=sizes))

    assert not isinstance(told(size), Code)
    assert told(size - 1) == Code.INVALID_RECORD


@pytest.mark.parametrize("codec", CODECS)
def test_a_record_that_is_never_whole_in_memory_may_be_too_large(codec: Compression) -> None:
    limit = SIZES[codec] - 10
    refused = outcome(bomb(codec), rules(max_decompressed_message_bytes=limit))
    assert refused == Code.INVALID_RECORD


def _steps(found: Checked | Steps[Checked]) -> Steps[Checked]:
    assert not isinstance(found, Checked)
    return found


def test_a_bomb_is_packed_anew_piece_by_piece() -> None:
    checked, _, peak_bytes = taken(check(bomb(Compression.LZ4), rules(compression_type="zstd")))
    assert checked.header.compression == Compression.ZSTD
    assert len(checked.records) < 100_000
    assert peak_bytes < 20 << 20
    again, _, _ = taken(check(bytes(checked.records), rules()))
    assert again.header._replace(crc=0) == checked.header._replace(crc=0)


def test_small_payloads_are_checked_in_the_same_turn() -> None:
    """An ordinary batch does not wait for others."""
    values = [b"v" * 1_000] * (PIECE_SIZES.at_hand_bytes // 1_100)
    for codec in Compression:
        data = batches.batch(values, compression=codec, timestamp=NOW_MS)
        assert isinstance(check(data, rules()), Checked)


def test_large_payloads_are_compressed_by_another_thread() -> None:
    data = batches.batch([b"v" * 100_000], timestamp=NOW_MS)
    steps = check(data, rules(compression_type="gzip"))
    assert not isinstance(steps, Checked)
    assert any(step is not None for step in steps)
