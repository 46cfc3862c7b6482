"""Shapes of a partition's log that clients, brokers and compaction leave, batch by batch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...broker.node_orders import WrongOrder
from ...coordinator.outcome import Producer
from ...protocol.batch import (
    CONTROL,
    HEADER,
    LOG_OVERHEAD,
    MAGIC,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    Compression,
    seal,
)
from ...protocol.compression import compressed
from ...protocol.control import Marker, marker
from ...protocol.errors import Refused
from ...protocol.varints import signed
from ...storage.appended import Origin
from ...storage.log import PartitionLog
from ...storage.steps import at_once
from . import specs

if TYPE_CHECKING:
    from ...broker.cluster import Cluster

NO_PRODUCER: Final = Producer(-1, -1)
_AT_ONCE: Final = 200
_MOST_PARTITIONS: Final = 1000
Shown = dict[str, Any]


class Writer:
    """Writes at the end of a partition's log, as clients and coordinators do.

    Args:
        cluster: whose partition it is.
        topic: is made if it does not exist.

    Raises:
        WrongOrder: there is no such partition, or it does not take appends.
    """

    def __init__(self, cluster: Cluster, topic: str, partition: int) -> None:
        if topic.startswith("__"):
            raise WrongOrder(f"{topic}: internal topics are given no state")
        self._cluster = cluster
        if topic not in cluster.catalog.topics:
            if partition >= _MOST_PARTITIONS:
                why = f"a new one has at most {_MOST_PARTITIONS} partitions"
                raise WrongOrder(f"topic {topic} does not exist, and {why}")
            try:
                cluster.controller.create_topic(topic, partitions=partition + 1)
            except Refused as refused:
                raise WrongOrder(f"topic {topic} cannot be made: {refused}") from None
        known = cluster.catalog.topics[topic]
        log = cluster.open_log_of(topic, partition) if partition < len(known.partitions) else None
        if log is None:
            raise WrongOrder(f"partition {topic}-{partition} does not exist")
        self.log: PartitionLog = log
        self.first_offset = log.log_end_offset
        self.producers: list[int] = []

    @property
    def now_ms(self) -> int:
        """The wall time of the broker."""
        return self._cluster.clock.now_ms()

    def producer(self, epoch: int = 0) -> Producer:
        """A new producer."""
        node = next(node for node in self._cluster.nodes.values() if node.runs)
        producer_id = node.producer_ids.next()
        self.producers.append(producer_id)
        return Producer(producer_id, epoch)

    def leave_out(self, up_to: int) -> None:
        """Let the next batch begin at an offset, as if those before it had been compacted.

        A checkpoint says so, or a start after a crash would take the gap for a damage.
        """
        log, directory = self.log, self._cluster.log_directory
        if directory.cleaned_up_to(log) is None:
            at_once(directory.set_cleaned_up_to(log, self.first_offset))
        log.log_end_offset = log.high_watermark = max(up_to, log.log_end_offset)

    def data(
        self,
        count: int,
        *,
        producer: Producer = NO_PRODUCER,
        sequence: int = 0,
        is_transactional: bool = False,
        codec: Compression = Compression.NONE,
        removed: int = 0,
        times_ms: Sequence[int] = (),
    ) -> None:
        """Append a batch of records.

        Args:
            removed: records that compaction has removed from its end.
            times_ms: of the records; empty for the present.
        """
        times = times_ms or [self.now_ms] * count
        base = self.log.log_end_offset
        payload = b"".join(
            _record(delta, times[delta] - times[0], base + delta) for delta in range(count)
        )
        attributes = codec | (TRANSACTIONAL if is_transactional else 0)
        first_ms, newest_ms = (times[0], max(times)) if count else (NO_TIMESTAMP, self.now_ms)
        has_sequence = producer.producer_id >= 0
        self.append(
            _batch(
                attributes, (first_ms, newest_ms), compressed(codec, payload), count=count,
                last_offset_delta=count + removed - 1, producer=producer,
                sequence=sequence if has_sequence else NO_SEQUENCE,
            )
        )  # fmt: skip

    def control(self, kind: int, version: int) -> None:
        """Append a control record of any type."""
        key = version.to_bytes(2, "big") + kind.to_bytes(2, "big")
        record = _framed(b"\0" + signed(0) + signed(0) + signed(4) + key + signed(0) + b"\0")
        times = (self.now_ms, self.now_ms)
        self.append(_batch(CONTROL, times, record, count=1, last_offset_delta=0))

    def marker(self, producer: Producer, *, commit: bool) -> None:
        """Append a marker."""
        batch = marker(
            commit=commit,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            coordinator_epoch=0,
            timestamp_ms=self.now_ms,
        )
        self.log.append_marker(batch, Marker(commit, 0), now_ms=self.now_ms)

    def append(self, batch: bytearray) -> None:
        """Append a batch as it is."""
        self.log.append(batch, now_ms=self.now_ms, origin=Origin.COORDINATOR)

    async def shown(self) -> Shown:
        """Wake the readers, wait for the disk, and tell what was written."""
        log = self.log
        self._cluster.fetch_waits.appended(log.topic, log.partition)
        if log.awaits_flush:
            await self._cluster.flushes.flushed(log)
        return {
            "topic": log.topic,
            "partition": log.partition,
            "first_offset": self.first_offset,
            "end_offset": log.log_end_offset,
            "producer_ids": self.producers[:10],
        }


def _framed(record: bytes) -> bytes:
    return signed(len(record)) + record


def _record(delta: int, delta_ms: int, offset: int) -> bytes:
    key, value = f"key-{offset}".encode(), f"value-{offset}".encode()
    head = b"\0" + signed(delta_ms) + signed(delta) + signed(len(key)) + key
    return _framed(head + signed(len(value)) + value + signed(0))


def _batch(
    attributes: int,
    times_ms: tuple[int, int],
    payload: bytes,
    *,
    count: int,
    last_offset_delta: int,
    producer: Producer = NO_PRODUCER,
    sequence: int = NO_SEQUENCE,
) -> bytearray:
    head = HEADER.pack(
        0, HEADER.size - LOG_OVERHEAD + len(payload), 0, MAGIC, 0, attributes, last_offset_delta,
        *times_ms, producer.producer_id, producer.producer_epoch, sequence, count,
    )  # fmt: skip
    batch = bytearray(head + payload)
    seal(batch)
    return batch


def _aborted(writer: Writer, records: int, codec: Compression = Compression.NONE) -> None:
    producer = writer.producer()
    writer.data(records, producer=producer, is_transactional=True, codec=codec)
    writer.marker(producer, commit=False)


async def _ends_in_marker(writer: Writer, spec: specs.EndsInMarker) -> None:
    producer = writer.producer()
    writer.data(spec.records, producer=producer, is_transactional=True)
    writer.marker(producer, commit=spec.commit)


async def _only_aborted_data(writer: Writer, spec: specs.OnlyAbortedData) -> None:
    _aborted(writer, spec.records)


async def _abort_marker_without_data(writer: Writer, spec: specs.AbortMarkerWithoutData) -> None:
    writer.marker(writer.producer(), commit=False)


async def _compressed_aborted_batch(writer: Writer, spec: specs.CompressedAbortedBatch) -> None:
    for codec in spec.codecs:
        _aborted(writer, spec.records, Compression[codec.upper()])
    writer.data(1)


async def _compacted_hole_at_end(writer: Writer, spec: specs.CompactedHoleAtEnd) -> None:
    writer.data(spec.records, removed=spec.removed)


async def _empty_batches(writer: Writer, spec: specs.EmptyBatches) -> None:
    for _ in range(spec.batches):
        writer.data(0, producer=writer.producer(), removed=spec.removed)
    writer.data(1)


async def _sparse_offsets(writer: Writer, spec: specs.SparseOffsets) -> None:
    for number in range(spec.records):
        writer.leave_out(writer.first_offset + spec.span * number // (spec.records - 1))
        writer.data(1)


async def _timestamps_out_of_order(writer: Writer, spec: specs.TimestampsOutOfOrder) -> None:
    now_ms = writer.now_ms
    for number in range(spec.batches):
        newest_ms = now_ms - 60_000 * number
        times_ms = [newest_ms - 1000 * each for each in range(spec.records)]
        writer.data(spec.records, times_ms=times_ms)


async def _unknown_control_record(writer: Writer, spec: specs.UnknownControlRecord) -> None:
    writer.data(1)
    writer.control(spec.type, spec.version)
    writer.data(1)


async def _many_aborted_transactions(writer: Writer, spec: specs.ManyAbortedTransactions) -> None:
    producer = writer.producer()
    for number in range(spec.transactions):
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
        writer.data(1, producer=producer, sequence=number, is_transactional=True)
        writer.marker(producer, commit=False)


async def _hanging_transaction(writer: Writer, spec: specs.HangingTransaction) -> None:
    writer.data(spec.records, producer=writer.producer(), is_transactional=True)


async def _log_starts_at(writer: Writer, spec: specs.LogStartsAt) -> None:
    log = writer.log
    if log.log_end_offset > spec.offset:
        raise WrongOrder(f"{log.topic}-{log.partition} ends at offset {log.log_end_offset} already")
    if spec.offset > log.log_end_offset:
        writer.leave_out(spec.offset)
        log.roll(writer.now_ms)
    log.delete_records(spec.offset)
    writer.first_offset = spec.offset
    writer.data(spec.records)


SHAPES: Final[Mapping[type[specs.State], Callable[[Writer, Any], Awaitable[None]]]] = {
    specs.EndsInMarker: _ends_in_marker,
    specs.OnlyAbortedData: _only_aborted_data,
    specs.AbortMarkerWithoutData: _abort_marker_without_data,
    specs.CompressedAbortedBatch: _compressed_aborted_batch,
    specs.CompactedHoleAtEnd: _compacted_hole_at_end,
    specs.EmptyBatches: _empty_batches,
    specs.SparseOffsets: _sparse_offsets,
    specs.TimestampsOutOfOrder: _timestamps_out_of_order,
    specs.UnknownControlRecord: _unknown_control_record,
    specs.ManyAbortedTransactions: _many_aborted_transactions,
    specs.HangingTransaction: _hanging_transaction,
    specs.LogStartsAt: _log_starts_at,
}


async def write(cluster: Cluster, spec: Any) -> Shown:
    """Write a shape; return where it is. Raises WrongOrder, Refused, OSError."""
    writer = Writer(cluster, spec.topic, spec.partition)
    await SHAPES[type(spec)](writer, spec)
    if isinstance(spec, specs.LogStartsAt):  # a crash forgets a deletion that no checkpoint has
        cluster.log_directory.checkpoint()
    return await writer.shown()
