"""Compaction of one log: what stays of it, record by record, and where."""

from __future__ import annotations

from typing import Any

from ottla.protocol.records import Record, records_in
from ottla.storage.cleanable import cleanable
from ottla.storage.compaction import Compacted, compact
from ottla.storage.log import PartitionLog
from tests.storage.disk import Disk
from tests.storage.logs import NOW_MS, batch, everything, open_log

COMPACT = frozenset({"compact"})


def compacted(
    log: PartitionLog, disk: Disk, *, cleaned_up_to: int | None = None,
    map_size_bytes: int = 1 << 20, now_ms: int = NOW_MS,
) -> Compacted | None:  # fmt: skip
    """One round; None when there was nothing to do."""
    todo = cleanable(log, cleaned_up_to, now_ms)
    if todo is None:
        return None
    steps = compact(todo, disk, map_size_bytes=map_size_bytes, now_ms=now_ms)
    while True:
        try:
            blocking = next(steps)
        except StopIteration as done:
            result: Compacted = done.value
            return result
        if blocking is not None:
            blocking()


def records(log: PartitionLog) -> list[Record]:
    return [record for header, data in everything(log) for record in records_in(data, 0, header)]


def values(log: PartitionLog) -> dict[int, tuple[bytes | None, bytes | None]]:
    """(key, value) by offset."""
    return {record.offset: (record.key, record.value) for record in records(log)}


def log_of(disk: Disk, *pairs: tuple[bytes, bytes | None], **settings: Any) -> PartitionLog:
    """A batch for each record, about three in a segment, and a last segment that is active."""
    settings = {"cleanup_policy": COMPACT, "segment_bytes": 250} | settings
    log = open_log(disk, **settings)
    for key, value in pairs:
        log.append(batch(value, key=key), now_ms=NOW_MS)
    log.roll(NOW_MS)
    return log


def test_of_each_key_the_newest_record_stays_where_it_was() -> None:
    disk = Disk()
    log = log_of(disk, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"), (b"b", b"2"))
    assert compacted(log, disk) is not None
    assert values(log) == {2: (b"a", b"2"), 3: (b"c", b"1"), 4: (b"b", b"2")}
    assert (log.log_start_offset, log.log_end_offset) == (0, 5)
    assert [segment.base_offset for segment in log.segments] == [0, 3, 5]
