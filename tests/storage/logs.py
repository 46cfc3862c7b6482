"""Logs and batches for the tests of this room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ottla.protocol.batch import BatchHeader, build, headers_in
from ottla.protocol.control import marker
from ottla.storage.disk.damage import ignore_damage
from ottla.storage.disk.files import Files
from ottla.storage.log import LogServices, PartitionLog
from ottla.storage.log_config import LogConfig
from ottla.storage.producer_state.producers import ProducerEntry, SentBatch
from ottla.storage.recovery.recovery import Stop
from ottla.storage.segments.time_search import TimedOffset
from ottla.storage.steps import at_once
from tests.storage.disk import Disk

NOW_MS = 1_700_000_000_000
DIRECTORY = "data/orders-0"

Batches = dict[int, list[SentBatch]]


def config(**settings: Any) -> LogConfig:
    return replace(LogConfig(), **settings)


def open_log(
    files: Files | None = None,
    *,
    topic: str = "orders",
    clean: bool = True,
    now_ms: int = NOW_MS,
    **settings: Any,
) -> PartitionLog:
    """The log of partition 0 of a topic, in a new disk unless one is given."""
    if files is None:
        files = Disk()
    files.make_directory("data")
    files.make_directory(f"data/{topic}-0")
    opening = {
        name: settings.pop(name)
        for name in (
            "recovery_point",
            "log_start_offset",
            "leader_epoch",
            "has_all_writes",
            "was_compacted",
        )
        if name in settings
    }
    report = settings.pop("report", ignore_damage)
    services = LogServices(files, "data", report)
    stop = Stop(clean, **opening)
    return PartitionLog(services, topic, 0, config=config(**settings), stop=stop, now_ms=now_ms)


def batch(*values: bytes | None, key: bytes | None = None, **header: Any) -> bytearray:
    """A batch of one record for each value, or of one record."""
    header.setdefault("timestamp_ms", NOW_MS)
    return build([(key, value) for value in values or (b"v",)], **header)


def sent_by(producer_id: int, sequence: int, count: int = 1, epoch: int = 0) -> bytearray:
    """An idempotent producer's batch."""
    return batch(
        *[b"v"] * count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )


def in_transaction(producer_id: int, sequence: int, count: int = 1, epoch: int = 0) -> bytearray:
    return batch(
        *[b"v"] * count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence,
        transactional=True,
    )  # fmt: skip


def end_of(
    producer_id: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 0
) -> bytearray:
    return marker(
        commit=commit,
        producer_id=producer_id,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        timestamp_ms=NOW_MS,
    )


def everything(log: PartitionLog) -> list[tuple[BatchHeader, bytes]]:
    """All batches of a log, read one after the other."""
    found: list[tuple[BatchHeader, bytes]] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        read = log.read(offset, max_bytes=200, up_to=log.high_watermark, min_one=True)
        if not read.records and _is_hole_at_the_end(log, offset):
            break
        assert read.next_offset > offset, "a reader would not get on"
        data = bytes(read.records)
        found += [(h, data[at : at + h.size_bytes]) for at, h in headers_in(data)]
        offset = read.next_offset
    return found


def _is_hole_at_the_end(log: PartitionLog, offset: int) -> bool:
    """Whether only an empty last segment begins behind an offset without a record.

    A compacted log may have holes, so a loss of power that takes unsynced records leaves one there.
    As in Kafka, a reader then waits for the next record.
    """
    last = log.segments[-1]
    return last.size_bytes == 0 and log.segments[-2].next_offset <= offset < last.base_offset


def offset_for_timestamp(log: PartitionLog, timestamp_ms: int) -> TimedOffset | None:
    """The first record, by offset, with that timestamp or a later one."""
    return at_once(log.search(timestamp_ms))


def max_timestamp(log: PartitionLog) -> TimedOffset | None:
    """The first record with the largest timestamp."""
    return at_once(log.search(None))


def ranges(log: PartitionLog) -> list[tuple[int, int]]:
    """First and last offset of each batch."""
    return [(header.base_offset, header.last_offset) for header, _ in everything(log)]


def payloads(log: PartitionLog) -> list[bytes]:
    """Each batch from its CRC on: what the producer sent and the log does not change."""
    return [data[17:] for _, data in everything(log)]


def producers(log: PartitionLog) -> tuple[list[tuple[int, ...]], Batches]:
    """All that is known of producers, to be compared; their latest batches apart."""

    def row(entry: ProducerEntry) -> tuple[int, ...]:
        return (
            entry.producer_id, entry.producer_epoch, entry.coordinator_epoch,
            entry.last_timestamp_ms, entry.transaction_first_offset, entry.last_sequence,
        )  # fmt: skip

    entries = list(log.producers.producers())
    return sorted(map(row, entries)), {entry.producer_id: entry.batches for entry in entries}


def sent(batches: Sequence[bytes | bytearray]) -> list[bytes]:
    """What `payloads` will say of them."""
    return [bytes(one[17:]) for one in batches]
