"""`__cluster_metadata-0`: the log that the catalog is replayed from, in the format of KRaft.

One batch is one decision: all of it is there after a crash, or nothing. The log is a partition's
log like any other; nobody fetches it, and nothing is ever deleted from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from ..protocol.batch import BatchHeader, build, headers_in
from ..protocol.errors import Malformed, Refused
from ..protocol.records import records_in
from .catalog import CLUSTER_METADATA, Catalog
from .log import Origin, PartitionLog
from .log_config import LONG_MAX, LogConfig
from .metadata_records import MetadataRecord, decode, encode
from .quorum import (
    STATIC_VOTERS,
    QuorumState,
    leader_change_batch,
    read_quorum_state,
    write_bootstrap_checkpoint,
    write_quorum_state,
)

if TYPE_CHECKING:
    from .files import Files
    from .log_directory import LogDirectory
    from .segment import Segment

METADATA_TOPIC_ID: Final = UUID(int=1)
_READ_BYTES: Final = 1 << 20
_SNAPSHOT_SUFFIX: Final = ".checkpoint"


def metadata_log_config(flush_messages: int = LONG_MAX) -> LogConfig:
    """The settings of the log: it is kept for ever (org.apache.kafka.raft.MetadataLogConfig)."""
    return LogConfig(
        flush_messages=flush_messages,
        max_message_bytes=8 << 20,
        retention_bytes=-1,
        retention_ms=-1,
        segment_ms=LONG_MAX,
    )


class Snapshot(NamedTuple):
    """A file of KRaft's: what all records before `end_offset` have led to, as records."""

    end_offset: int
    data: bytes


class MetadataLog:
    """Appends decisions, and replays them."""

    def __init__(
        self, log: PartitionLog, data_directory: LogDirectory, snapshot: Snapshot | None = None
    ) -> None:
        self._log = log
        self._data_directory = data_directory
        self._snapshot = snapshot

    @classmethod
    def open(
        cls, directory: LogDirectory, *, now_ms: int, flush_messages: int = LONG_MAX
    ) -> MetadataLog:
        """The metadata log of a data directory, made when it is not there."""
        log = directory.open_log(
            CLUSTER_METADATA,
            0,
            topic_id=METADATA_TOPIC_ID,
            config=metadata_log_config(flush_messages),
            now_ms=now_ms,
        )
        if log.log_start_offset == 0:
            return cls(log, directory)
        return cls(log, directory, _newest_snapshot(directory.files, log.directory))

    @property
    def log(self) -> PartitionLog:
        return self._log

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return self._log.log_end_offset

    def append(self, records: Sequence[MetadataRecord], *, now_ms: int) -> int:
        """Write one decision, as one batch; the offset of its first record."""
        batch = build(
            [(None, encode(record)) for record in records],
            timestamp_ms=now_ms,
            leader_epoch=self._log.leader_epoch,
        )
        return self._log.append(batch, now_ms=now_ms, origin=Origin.COORDINATOR).base_offset

    def lead(self, node_id: int, *, now_ms: int) -> None:
        """Begin an epoch of one's own, as a node does that is elected by itself alone.

        Raises:
            OSError: nothing was written under the new epoch.
        """
        files, log = self._data_directory.files, self._log
        before = read_quorum_state(files, log.directory)
        epoch = max(log.leader_epoch, before.leader_epoch if before else 0) + 1
        state = QuorumState(node_id, epoch, before.version if before else STATIC_VOTERS)
        write_quorum_state(files, log.directory, state)
        log.leader_epoch = epoch
        batch = leader_change_batch(state, timestamp_ms=now_ms)
        log.append(batch, now_ms=now_ms, origin=Origin.COORDINATOR)

    def write_bootstrap(self, records: Sequence[MetadataRecord], *, now_ms: int) -> None:
        """Keep what the cluster begins with where Kafka does, for whoever formats by it."""
        write_bootstrap_checkpoint(
            self._data_directory.files,
            self._data_directory.path,
            [encode(record) for record in records],
            timestamp_ms=now_ms,
        )

    def replay_into(self, catalog: Catalog) -> None:
        """Bring a catalog, which knows whole batches or nothing, to the end of the log.

        Control batches (a leader's first record, ends of snapshots) say nothing about topics.

        Raises:
            Malformed: a record that cannot be read: this is not to be started on.
            Refused: CORRUPT_MESSAGE, with the file, position and offset of what is damaged.
        """
        if self._snapshot is not None and catalog.last_offset < 0:
            catalog.load(_records_of(self._snapshot), self._snapshot.end_offset)
        offset = max(self._log.log_start_offset, catalog.last_offset + 1)
        end_offset = self._log.log_end_offset
        while offset < end_offset:
            data = self._log.read(
                offset, max_bytes=_READ_BYTES, up_to=end_offset, min_one=True
            ).records
            before = offset
            for position, header in headers_in(data):
                if not header.is_control:
                    for record in records_in(data, position, header):
                        catalog.replay(decode(record.value or b""), record.offset)
                offset = header.next_offset
            if offset == before:
                raise RuntimeError(f"nothing to read at {offset} before the end, {end_offset}")


def catalog_of(
    files: Files, directory: str, batches: Iterable[tuple[Segment, int, BatchHeader]]
) -> Catalog | None:
    """What the log of a directory says, looked at from outside; None when it cannot be read."""
    catalog = Catalog()
    try:
        if any(name.endswith(_SNAPSHOT_SUFFIX) for name in files.names_in(directory)):
            snapshot = _newest_snapshot(files, directory)
            catalog.load(_records_of(snapshot), snapshot.end_offset)
        for segment, position, header in batches:
            if not header.is_control and header.base_offset > catalog.last_offset:
                for record in records_in(segment.batch_at(position, header), 0, header):
                    catalog.replay(decode(record.value or b""), record.offset)
    except (Malformed, Refused, LookupError, AssertionError):
        return None
    return catalog


def _newest_snapshot(files: Files, directory: str) -> Snapshot:
    """What stands for the beginning of a log that Apache Kafka has cut off.

    Raises:
        FileNotFoundError: there is none: this metadata cannot be known.
    """
    names = [name for name in files.names_in(directory) if name.endswith(_SNAPSHOT_SUFFIX)]
    if not names:
        raise FileNotFoundError(f"{directory} begins late, and has no snapshot")
    newest = max(names)  # END_OFFSET-EPOCH.checkpoint, with leading zeros
    return Snapshot(int(newest.partition("-")[0]), files.read(f"{directory}/{newest}"))


def _records_of(snapshot: Snapshot) -> Iterator[MetadataRecord]:
    for position, header in headers_in(snapshot.data):
        if not header.is_control:
            for record in records_in(snapshot.data, position, header):
                known = decode(record.value or b"")
                if known is not None:
                    yield known
