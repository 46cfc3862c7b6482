"""Rounds of compaction, and logs that are worth one, for the tests of this room."""

from __future__ import annotations

from typing import Any

from ottla.protocol.batch import BatchHeader, Bytes, read_header
from ottla.protocol.control import read_marker
from ottla.protocol.records import Record, records_in
from ottla.storage.cleaning.cleanable import cleanable
from ottla.storage.cleaning.compaction import Compacted, compact
from ottla.storage.disk.files import Files
from ottla.storage.log import PartitionLog
from ottla.storage.records.recompression import CODECS, recompress_batch
from ottla.storage.steps import at_once
from tests.storage.logs import NOW_MS, batch, everything, open_log

COMPACT = frozenset({"compact"})


def compacted(
    log: PartitionLog, files: Files, *, cleaned_up_to: int | None = None,
    map_size_bytes: int = 1 << 20, now_ms: int = NOW_MS,
) -> Compacted | None:  # fmt: skip
    """One round; None when there was nothing to do."""
    todo = cleanable(log, cleaned_up_to, now_ms)
    if todo is None:
        return None
    steps = compact(todo, files, map_size_bytes=map_size_bytes, now_ms=now_ms)
    try:
        while True:
            blocking = next(steps)
            if blocking is not None:
                blocking()
    except StopIteration as done:
        did: Compacted = done.value
        return did


def packed(batch: Bytes, compression_type: str) -> tuple[Bytes, BatchHeader]:
    """A batch in another codec, and its header; itself when it is in it already."""
    header, codec = read_header(batch), CODECS[compression_type]
    if header.compression == codec:
        return batch, header
    return at_once(recompress_batch(batch, header, codec, None, 1 << 30))


def records(log: PartitionLog) -> list[Record]:
    return [record for header, data in everything(log) for record in records_in(data, 0, header)]


def values(log: PartitionLog) -> dict[int, tuple[bytes | None, bytes | None]]:
    """(key, value) by offset, of data records."""
    return {
        record.offset: (record.key, record.value)
        for header, data in everything(log)
        if not header.is_control
        for record in records_in(data, 0, header)
    }


def open_compacted(files: Files, **settings: Any) -> PartitionLog:
    """A log that is compacted, about three small batches in a segment."""
    given: dict[str, Any] = {"cleanup_policy": COMPACT, "segment_bytes": 250}
    return open_log(files, **(given | settings))


def log_of(files: Files, *pairs: tuple[bytes, bytes | None], **settings: Any) -> PartitionLog:
    """A batch for each record, and behind them an active segment that is empty."""
    log = open_compacted(files, **settings)
    for key, value in pairs:
        log.append(batch(value, key=key), now_ms=NOW_MS)
    log.roll(NOW_MS)
    return log


def committed(log: PartitionLog) -> list[Record]:
    """The records that a read_committed consumer gets."""
    stable = log.last_stable_offset
    ahead = sorted(
        log.aborted_transactions(log.log_start_offset, stable - 1),
        key=lambda entry: entry.first_offset,
    )
    aborting: set[int] = set()
    found: list[Record] = []
    for header, data in everything(log):
        if header.base_offset >= stable:
            break
        while ahead and ahead[0].first_offset <= header.last_offset:
            aborting.add(ahead.pop(0).producer_id)
        if header.is_control:
            ended = None if header.record_count == 0 else read_marker(data, 0, header)
            if ended is not None and not ended.commit:
                aborting.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            found += records_in(data, 0, header)
    return found
