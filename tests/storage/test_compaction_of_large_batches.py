"""Batches that open to much are compacted piece by piece."""

from __future__ import annotations

import tracemalloc

import pytest

from ottla.protocol.batch import Compression
from ottla.storage.cleaning.cleanable import cleanable
from ottla.storage.cleaning.compaction import compact
from ottla.storage.log import PartitionLog
from tests.storage.compacting import compacted, open_compacted, values
from tests.storage.disk import Disk
from tests.storage.logs import NOW_MS, batch, everything
from tests.wire import batches


def taken(log: PartitionLog, disk: Disk, map_size_bytes: int = 1 << 20) -> tuple[int, int]:
    """Take a round over a log; the most memory it took, and its steps that did not block."""
    todo = cleanable(log, None, NOW_MS)
    assert todo is not None
    steps = 0
    tracemalloc.start()
    try:
        for blocking in compact(todo, disk, map_size_bytes=map_size_bytes, now_ms=NOW_MS):
            if blocking is None:
                steps += 1
            else:
                blocking()
        return tracemalloc.get_traced_memory()[1], steps
    finally:
        tracemalloc.stop()


def of_many(codec: Compression, count: int, keys: int, value_bytes: int) -> bytes:
    """A batch that opens to far more than it has: so many records of so many keys in turn."""
    value = bytes(value_bytes)
    payload = b"".join(
        batches.record(value, key=b"%d" % (index % keys), offset_delta=index)
        for index in range(count)
    )
    return batches.batch(
        [b""] * count, records=batches.compress(codec, payload), attributes=codec, timestamp=NOW_MS
    )


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_a_batch_that_opens_to_much_is_compacted_piece_by_piece(codec: Compression) -> None:
    disk = Disk()
    log = open_compacted(disk, segment_bytes=1 << 20, max_message_bytes=1 << 20)
    count, value_bytes = 3_000, 5_000
    for _ in range(2):
        log.append(of_many(codec, count, 3, value_bytes), now_ms=NOW_MS)
    log.append(batch(b"2", key=b"0"), now_ms=NOW_MS)
    log.roll(NOW_MS)
    peak_bytes, steps = taken(log, disk)
    assert peak_bytes < count * value_bytes / 2
    assert steps > count / 50
    assert [header.record_count for header, _ in everything(log)] == [2, 1]


def test_a_large_record_is_compacted_without_being_at_hand(disk: Disk) -> None:
    log = open_compacted(disk, segment_bytes=1 << 20)
    keyed = batches.record(bytes(24 << 20), key=b"large", offset_delta=1)
    payload = batches.compress(4, batches.record(key=b"k") + keyed)
    sent = batches.batch([b""] * 2, records=payload, attributes=4, timestamp=NOW_MS)
    log.append(sent, now_ms=NOW_MS)
    log.append(batch(b"2", key=b"k"), now_ms=NOW_MS)
    log.roll(NOW_MS)
    peak_bytes, _ = taken(log, disk)
    assert peak_bytes < 12 << 20
    assert [header.record_count for header, _ in everything(log)] == [1, 1]
    assert values(log)[1] == (b"large", bytes(24 << 20))


def test_the_keys_of_a_batch_in_memory_are_bounded(disk: Disk) -> None:
    """Its other records wait for another round."""
    log = open_compacted(disk, segment_bytes=1 << 20)
    for _ in range(2):
        log.append(of_many(Compression.ZSTD, 100, 50, 90), now_ms=NOW_MS)
    log.roll(NOW_MS)
    did = compacted(log, disk, map_size_bytes=192 * 20)
    assert did is not None
    assert did.end_offset == 20
    cleaned_up_to: int | None = did.end_offset
    for _ in range(40):
        did = compacted(log, disk, map_size_bytes=192 * 20, cleaned_up_to=cleaned_up_to)
        if did is None:
            break
        cleaned_up_to = did.end_offset
    assert {value[0] for value in values(log).values()} == {b"%d" % key for key in range(50)}
