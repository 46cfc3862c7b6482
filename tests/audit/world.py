"""Writes data directories, batch by batch, so that any rule can be broken in them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ottla.audit.coordinator import STATE_TOPIC, partition_for
from ottla.audit.offsets import OFFSETS_TOPIC
from ottla.coordinator.group_records import OffsetCommitted, OffsetRemoved
from ottla.coordinator.group_records import encode as encode_offset
from ottla.coordinator.transactions.records import encode as encode_state
from ottla.coordinator.transactions.states import BUMPS_EPOCHS, Expired, State, Transaction
from ottla.metadata.records import ConfigRecord, ProducerIdsRecord, TopicRecord
from ottla.metadata.records import encode as encode_metadata
from ottla.metadata.topics import ResourceType
from ottla.protocol.batch import build, read_header
from ottla.protocol.control import marker
from ottla.storage.producer_state.aborted import AbortedTransaction
from ottla.storage.producer_state.aborted import encode as encode_index
from tests.audit.names import uuid_of

START_MS = 1_700_000_000_000
INTERNAL_PARTITIONS = 2
NEXT_PRODUCER_ID = 10_000
_STEP_MS = 10

Where = tuple[str, int]


@dataclass
class Segment:
    """A data file and the index beside it; `index` is None without a file."""

    base_offset: int
    batches: list[bytes] = field(default_factory=list)
    index: list[AbortedTransaction] | None = None


class Partition:
    """The log of one partition; writes as a broker would, or with holes and faults."""

    def __init__(self, world: World, topic: str, index: int) -> None:
        self._world = world
        self.where = (topic, index)
        self.next_offset = 0
        self.segments = [Segment(0)]
        self._open: dict[int, int] = {}

    def append(self, batch: bytes | bytearray, *, at: int | None = None) -> int:
        """Append a batch at an offset, by default the next one; returns its base offset."""
        offset = self.next_offset if at is None else at
        whole = bytearray(batch)
        struct.pack_into(">q", whole, 0, offset)
        self.segments[-1].batches.append(bytes(whole))
        self.next_offset = max(self.next_offset, offset + read_header(whole).last_offset_delta + 1)
        return offset

    def data(
        self,
        producer_id: int,
        sequence: int,
        *,
        epoch: int = 0,
        count: int = 1,
        transactional: bool = True,
        at: int | None = None,
        leader_epoch: int = 0,
        keys: Iterable[str] = (),
    ) -> int:
        """Append a producer's batch; returns its offset."""
        records = [(key.encode(), key.encode()) for key in keys] or [(b"k", b"v")] * count
        batch = build(
            records,
            timestamp_ms=self._world.now(),
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
            leader_epoch=leader_epoch,
        )
        offset = self.append(batch, at=at)
        if transactional:
            self._open.setdefault(producer_id, offset)
        return offset

    def marker(
        self,
        producer_id: int,
        *,
        commit: bool,
        epoch: int = 0,
        coordinator_epoch: int = 0,
        entry: AbortedTransaction | bool | None = True,
    ) -> int:
        """Append a marker; an abort gets its entry, another one, or none (None)."""
        offset = self.append(
            marker(
                commit=commit,
                producer_id=producer_id,
                producer_epoch=epoch,
                coordinator_epoch=coordinator_epoch,
                timestamp_ms=self._world.now(),
            )
        )
        first = self._open.pop(producer_id, None)
        if entry is True and not commit and first is not None:
            stable = min(self._open.values(), default=offset + 1)
            entry = AbortedTransaction(producer_id, first, offset, stable)
        if isinstance(entry, AbortedTransaction):
            self.index(entry)
        return offset

    def index(self, entry: AbortedTransaction) -> None:
        """Add an entry to the segment's index."""
        segment = self.segments[-1]
        segment.index = [*(segment.index or ()), entry]

    def roll(self) -> None:
        """Begin a new segment."""
        self.segments.append(Segment(self.next_offset))

    def write(self, directory: Path) -> None:
        """Write the files of the partition."""
        path = directory / f"{self.where[0]}-{self.where[1]}"
        path.mkdir(parents=True)
        for segment in self.segments:
            stem = path / f"{segment.base_offset:020d}"
            stem.with_suffix(".log").write_bytes(b"".join(segment.batches))
            if segment.index is not None:
                stem.with_suffix(".txnindex").write_bytes(encode_index(segment.index))


class World:
    """Partitions, the logs of coordinators, and the metadata log of one directory."""

    def __init__(self) -> None:
        self._partitions: dict[Where, Partition] = {}
        self._now_ms = START_MS
        self._started: dict[str, int] = {}
        self.plain_topics: set[str] = set()  # not compacted, by the metadata log
        for topic in (STATE_TOPIC, OFFSETS_TOPIC):
            for index in range(INTERNAL_PARTITIONS):
                self.partition(topic, index)

    def now(self, *, passes_ms: int = 0) -> int:
        """The wall time; each call is a little later."""
        self._now_ms += _STEP_MS + passes_ms
        return self._now_ms

    def partition(self, topic: str, index: int = 0) -> Partition:
        """A partition, created at its first use."""
        where = (topic, index)
        if where not in self._partitions:
            self._partitions[where] = Partition(self, topic, index)
        return self._partitions[where]

    def state(
        self,
        transactional_id: str,
        state: State | None,
        producer_id: int,
        epoch: int = 0,
        partitions: Iterable[Where] = (),
        *,
        in_partition: int | None = None,
        timeout_ms: int = 60_000,
    ) -> None:
        """Append a record of the coordinator; None for the state: a tombstone."""
        now_ms = self.now()
        if state is State.ONGOING:
            self._started.setdefault(transactional_id, now_ms)
        started_ms = self._started.get(transactional_id, -1)
        if state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT, State.EMPTY):
            self._started.pop(transactional_id, None)
        if state is None:
            pair = encode_state(Expired(transactional_id))
        else:
            record = Transaction(
                transactional_id, producer_id, epoch, timeout_ms, state, frozenset(partitions),
                now_ms, started_ms, client_version=BUMPS_EPOCHS,
            )  # fmt: skip
            pair = encode_state(record)
        if in_partition is None:
            in_partition = partition_for(transactional_id, INTERNAL_PARTITIONS)
        batch = build([pair], timestamp_ms=now_ms)
        self.partition(STATE_TOPIC, in_partition).append(batch)

    def begin(
        self, transactional_id: str, producer_id: int, epoch: int, partitions: Iterable[Where]
    ) -> None:
        """The coordinator adds partitions to a transaction; the id is new at epoch 0."""
        if epoch == 0:
            self.state(transactional_id, State.EMPTY, producer_id, epoch)
        self.state(transactional_id, State.ONGOING, producer_id, epoch, partitions)

    def end(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        partitions: Iterable[Where],
        *,
        commit: bool,
    ) -> None:
        """Decide, write the markers under the next epoch, and complete (KIP-890)."""
        partitions = list(partitions)
        prepared = State.PREPARE_COMMIT if commit else State.PREPARE_ABORT
        self.state(transactional_id, prepared, producer_id, epoch + 1, partitions)
        for topic, index in partitions:
            self.partition(topic, index).marker(producer_id, commit=commit, epoch=epoch + 1)
        complete = State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT
        self.state(transactional_id, complete, producer_id, epoch + 1)

    def transaction(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        partitions: Iterable[Where],
        *,
        commit: bool = True,
    ) -> None:
        """A whole transaction with a batch of two records on each partition."""
        partitions = list(partitions)
        self.begin(transactional_id, producer_id, epoch, partitions)
        for topic, index in partitions:
            self.partition(topic, index).data(producer_id, 0, epoch=epoch, count=2)
        self.end(transactional_id, producer_id, epoch, partitions, commit=commit)

    def offsets_of(self, group: str) -> Partition:
        """The partition of `__consumer_offsets` of a group."""
        return self.partition(OFFSETS_TOPIC, partition_for(group, INTERNAL_PARTITIONS))

    def commit_offset(
        self,
        group: str,
        topic: str,
        offset: int | None,
        *,
        producer_id: int = -1,
        epoch: int = -1,
        in_partition: int | None = None,
    ) -> None:
        """Append an offset for partition 0; with a producer id it is transactional."""
        now_ms = self.now()
        record = (
            OffsetRemoved(group, topic, 0)
            if offset is None
            else OffsetCommitted(group, topic, 0, offset, -1, "", now_ms)
        )
        batch = build(
            [encode_offset(record)],
            timestamp_ms=now_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            transactional=producer_id >= 0,
        )
        log = self.offsets_of(group)
        if in_partition is not None:
            log = self.partition(OFFSETS_TOPIC, in_partition)
        log.append(batch)
        if producer_id >= 0:
            log._open.setdefault(producer_id, log.next_offset - 1)

    def write(self, directory: Path) -> Path:
        """Write everything; returns the directory."""
        for partition in self._partitions.values():
            partition.write(directory)
        topics = sorted({topic for topic, _ in self._partitions})
        records = [encode_metadata(TopicRecord(name, uuid_of(name))) for name in topics]
        records += [
            encode_metadata(
                ConfigRecord(
                    ResourceType.TOPIC,
                    name,
                    "cleanup.policy",
                    "delete" if name in self.plain_topics else "compact",
                )
            )
            for name in topics
        ]
        records.append(encode_metadata(ProducerIdsRecord(1, 1, NEXT_PRODUCER_ID)))
        batch = build([(None, record) for record in records], timestamp_ms=START_MS)
        path = directory / "__cluster_metadata-0"
        path.mkdir()
        (path / f"{0:020d}.log").write_bytes(batch)
        return directory
