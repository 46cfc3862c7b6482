"""`__cluster_metadata-0`: the log that the catalog is replayed from, in KRaft's format.

One batch is one decision: after a crash it is there as a whole or not at all. The log is an
ordinary partition log, which no client fetches. From time to time a snapshot stores the state up to
an offset; records before it may be removed by size or age
(org.apache.kafka.image.publisher.SnapshotGenerator, kafka.raft.KafkaMetadataLog).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ...metadata.catalog import CLUSTER_METADATA, Catalog
from ...metadata.records import (
    MetadataRecord,
    UserScramCredentialRecord,
    decode,
    encode,
    encode_all,
)
from ...protocol.batch import BatchHeader, Framed, build, headers_in
from ...protocol.errors import Code, Malformed, Refused
from ...protocol.lazy_dataclass import dataclass
from ...protocol.records import records_in
from ..appended import Origin
from ..log import PartitionLog
from ..log_config import LONG_MAX, LogConfig
from .metadata_snapshot import (
    SnapshotName,
    Steps,
    ToWrite,
    controls_in,
    last_contained_ms,
    read_bootstrap,
    read_snapshot,
    remove_parts,
    snapshots_in,
    write,
)
from .quorum import (
    DYNAMIC_VOTERS,
    KRAFT_VERSION_TYPE,
    STATIC_VOTERS,
    VOTERS_TYPE,
    QuorumState,
    ReplicaKey,
    Voter,
    kraft_version_in,
    leader_change_batch,
    read_quorum_state,
    voters_begin,
    voters_in,
    write_bootstrap_checkpoint,
    write_quorum_state,
)

if TYPE_CHECKING:
    from ..disk.files import Files
    from ..log_directory import LogDirectory
    from ..segments.segment import Segment

METADATA_TOPIC_ID: Final = UUID(int=1)
_READ_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLogConfig:
    """Settings of the log, with Kafka's defaults (org.apache.kafka.raft.MetadataLogConfig).

    Attributes:
        bytes_between_snapshots: `metadata.log.max.record.bytes.between.snapshots`
        snapshot_interval_ms: `metadata.log.max.snapshot.interval.ms`; 0: by bytes alone.
        segment_bytes, segment_ms: `metadata.log.segment.bytes` and `.ms`
        retention_bytes, retention_ms: `metadata.max.retention.bytes` and `.ms`; below 0: for ever.
        flush_messages: after how many records it is flushed before they are acknowledged.
    """

    bytes_between_snapshots: int = 20 << 20
    snapshot_interval_ms: int = 3_600_000
    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    retention_bytes: int = 100 << 20
    retention_ms: int = 604_800_000
    flush_messages: int = LONG_MAX

    def log_config(self) -> LogConfig:
        """The settings of the partition log; only snapshots make it lose records."""
        return LogConfig(
            flush_messages=self.flush_messages,
            max_message_bytes=8 << 20,
            retention_bytes=-1,
            retention_ms=-1,
            segment_bytes=self.segment_bytes,
            segment_ms=self.segment_ms,
        )


class MetadataLog:
    """Appends decisions, and replays them.

    Attributes:
        config: its settings.
        bytes_since_snapshot: size of the batches behind the newest snapshot.
    """

    def __init__(
        self,
        log: PartitionLog,
        data_directory: LogDirectory,
        config: MetadataLogConfig,
        now_ms: int,
    ) -> None:
        self.config = config
        self.bytes_since_snapshot = 0
        self._log = log
        self._data_directory = data_directory
        self._files = data_directory.files
        self._snapshots = snapshots_in(self._files, log.directory)
        self._snapshot_ms = now_ms
        self._newest_ms = 0
        self._controls: dict[int, tuple[bytes, bytes]] = {}

    @classmethod
    def open(
        cls,
        directory: LogDirectory,
        *,
        now_ms: int,
        config: MetadataLogConfig = MetadataLogConfig(),  # noqa: B008
    ) -> MetadataLog:
        """Open the metadata log of a data directory; create it if it is missing.

        Raises:
            Refused: CORRUPT_MESSAGE: its snapshot does not match it.
            FileNotFoundError: its beginning is missing, and no snapshot replaces it.
        """
        log = directory.open_log(
            CLUSTER_METADATA,
            0,
            topic_id=METADATA_TOPIC_ID,
            config=config.log_config(),
            now_ms=now_ms,
        )
        made = cls(log, directory, config=config, now_ms=now_ms)
        remove_parts(directory.files, log.directory)
        end_offset = made._snapshots[-1].end_offset if made._snapshots else 0
        if end_offset < log.log_start_offset:
            raise FileNotFoundError(
                f"{log.directory} begins at {log.log_start_offset}, and has no snapshot"
            )
        if end_offset > log.log_end_offset:
            why = f"it ends at {log.log_end_offset}, before its snapshot {made._snapshots[-1].file}"
            raise Refused(Code.CORRUPT_MESSAGE, f"{log.directory}: {why}")
        return made

    @property
    def log(self) -> PartitionLog:
        return self._log

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self._log.log_end_offset

    @property
    def kraft_version(self) -> int:
        """0: settings name the voters; 1: the log names them."""
        record = self._controls.get(KRAFT_VERSION_TYPE)
        return 0 if record is None else kraft_version_in(record[1])

    @property
    def voters(self) -> tuple[ReplicaKey, ...]:
        """The voters that the log names."""
        record = self._controls.get(VOTERS_TYPE)
        return () if record is None else voters_in(record[1])

    def begin_voters(self, voter: Voter, *, now_ms: int) -> None:
        """Upgrade to kraft.version 1: from now on the log names the voters. Raises OSError."""
        records = voters_begin(voter)
        epoch = self._log.leader_epoch
        batch = build(
            [records[kind] for kind in sorted(records)],
            timestamp_ms=now_ms,
            control=True,
            leader_epoch=epoch,
        )
        self._append_control(batch, now_ms)
        self._controls |= records

    def _append_control(self, batch: bytearray, now_ms: int) -> None:
        self._newest_ms = now_ms
        self.bytes_since_snapshot += len(batch)
        self._data_directory.begin_use()
        self._log.append(batch, now_ms=now_ms, origin=Origin.COORDINATOR)

    def append(
        self, records: Sequence[MetadataRecord], *, now_ms: int, framed: Framed | None = None
    ) -> int:
        """Write one decision as one batch; returns the offset of its first record.

        Args:
            framed: the same records, encoded before.
        """
        batch = build(
            framed or [(None, value) for _, value in encode_all(records)],
            timestamp_ms=now_ms,
            leader_epoch=self._log.leader_epoch,
        )
        self._newest_ms = now_ms
        self.bytes_since_snapshot += len(batch)
        self._data_directory.begin_use()
        return self._log.append(batch, now_ms=now_ms, origin=Origin.COORDINATOR).base_offset

    def lead(self, node_id: int, *, now_ms: int) -> None:
        """Begin a new epoch, as a node does that is elected by itself alone.

        Raises:
            OSError: nothing was written under the new epoch.
        """
        files, log = self._data_directory.files, self._log
        self._data_directory.begin_use()
        before = read_quorum_state(files, log.directory)
        epoch = max(log.leader_epoch, before.leader_epoch if before else 0) + 1
        version = before.version if before else STATIC_VOTERS
        if self.kraft_version:
            version = DYNAMIC_VOTERS
        state = QuorumState(node_id, epoch, version)
        write_quorum_state(files, log.directory, state)
        log.leader_epoch = epoch
        self._append_control(leader_change_batch(state, timestamp_ms=now_ms), now_ms)

    def write_bootstrap(
        self, features: Sequence[MetadataRecord], *, now_ms: int
    ) -> list[MetadataRecord]:
        """Write the initial records of the cluster to Kafka's file, for tools that format with it.

        Returns:
            The records: the features, and the credentials that `kafka-storage format` left there.

        Raises:
            Refused: CORRUPT_MESSAGE, with file and position.
        """
        files, directory = self._data_directory.files, self._data_directory.path
        left = read_bootstrap(files, directory)
        credentials = [each for each in left if isinstance(each, UserScramCredentialRecord)]
        records = [*features, *credentials]
        content = [encode(record) for record in records]
        write_bootstrap_checkpoint(files, directory, content, timestamp_ms=now_ms)
        return records

    def replay_into(self, catalog: Catalog) -> None:
        """Bring a catalog to the end of the log, batch by batch.

        Control batches (a leader's first record, ends of snapshots) have no metadata records.

        Raises:
            Malformed: a record cannot be read; the broker must not start.
            Refused: CORRUPT_MESSAGE, with file, position and offset of the damage.
        """
        if self._snapshots and catalog.last_offset < 0:
            snapshot = read_snapshot(self._files, self._log.directory, self._snapshots[-1])
            catalog.load(snapshot.records(), snapshot.end_offset)
            self._controls = snapshot.controls()
            self._newest_ms = last_contained_ms(snapshot)
            self._snapshot_ms = min(self._snapshot_ms, snapshot.written_ms)
        offset = max(self._log.log_start_offset, catalog.last_offset + 1)
        end_offset = self._log.log_end_offset
        while offset < end_offset:
            data = self._log.read(
                offset, max_bytes=_READ_BYTES, up_to=end_offset, min_one=True
            ).records
            before = offset
            for position, header in headers_in(data):
                self._replay_batch(catalog, data, position, header)
                offset = header.next_offset
            if offset == before:
                raise RuntimeError(f"nothing to read at {offset} before the end, {end_offset}")

    def _replay_batch(
        self, catalog: Catalog, data: bytes | memoryview, position: int, header: BatchHeader
    ) -> None:
        if not self._snapshots and self.bytes_since_snapshot == 0:
            self._snapshot_ms = min(self._snapshot_ms, header.max_timestamp_ms)
        self.bytes_since_snapshot += header.size_bytes
        self._newest_ms = header.max_timestamp_ms
        if header.is_control:
            self._controls |= controls_in(data, position, header)
            return
        records = [decode(record.value or b"") for record in records_in(data, position, header)]
        catalog.replay_batch(records, header.base_offset)

    # Snapshots

    def snapshot_is_due(self, now_ms: int) -> bool:
        """Whether the records since the last snapshot are large or old enough for a new one.

        Call it after an append: a log that does not grow needs no new snapshot. The time counts
        from the last snapshot or the log's first record, also across restarts: Apache Kafka counts
        from each start, so a broker with short runs would never write one.
        """
        interval_ms = self.config.snapshot_interval_ms
        return self.bytes_since_snapshot >= self.config.bytes_between_snapshots or (
            0 < interval_ms <= now_ms - self._snapshot_ms and self.bytes_since_snapshot > 0
        )

    def take_snapshot(self, catalog: Catalog, *, now_ms: int) -> ToWrite | None:
        """The content of a snapshot at this moment; None if it exists, or inside a decision.

        The log must be synced up to here before the snapshot is written.
        """
        name = SnapshotName(self._log.log_end_offset, self._log.leader_epoch)
        from ...metadata.catalog_records import records_of

        if catalog.is_undecided or name in self._snapshots:
            return None
        assert catalog.last_offset < name.end_offset
        self.bytes_since_snapshot, self._snapshot_ms = 0, now_ms
        return ToWrite(name, records_of(catalog), dict(self._controls), self._newest_ms)

    def write_snapshot(self, content: ToWrite, *, now_ms: int) -> Steps:
        """Write the snapshot, then call `clean`; see `metadata_snapshot.write`."""
        yield from write(self._files, self._log.directory, content, now_ms)
        self._snapshots.append(content.name)
        self.clean(now_ms=now_ms)

    def clean(self, *, now_ms: int) -> None:
        """Cut the log and its snapshots by size and age (KafkaMetadataLog.maybeClean).

        The last snapshot stays, and only whole segments are removed.

        Raises:
            OSError: a file cannot be renamed or removed.
        """
        for oldest, following in pairwise(tuple(self._snapshots)):
            if not self._is_too_large() and not self._is_too_old(oldest, now_ms):
                break
            self._log.delete_records(following.end_offset)
            self._snapshots.remove(oldest)
            with suppress(FileNotFoundError):
                self._files.remove(f"{self._log.directory}/{oldest.file}")

    def _is_too_large(self) -> bool:
        if self.config.retention_bytes < 0:
            return False
        paths = [f"{self._log.directory}/{each.file}" for each in self._snapshots]
        size_bytes = self._log.size_bytes + sum(map(self._files.size, paths))
        return size_bytes > self.config.retention_bytes

    def _is_too_old(self, name: SnapshotName, now_ms: int) -> bool:
        if self.config.retention_ms < 0:
            return False
        snapshot = read_snapshot(self._files, self._log.directory, name)
        return now_ms - last_contained_ms(snapshot) > self.config.retention_ms


def catalog_of(
    files: Files, directory: str, batches: Iterable[tuple[Segment, int, BatchHeader]]
) -> Catalog | None:
    """The catalog of another process's directory, read-only; None if it cannot be read."""
    catalog = Catalog()
    try:
        names = snapshots_in(files, directory)
        if names:
            snapshot = read_snapshot(files, directory, names[-1])
            catalog.load(snapshot.records(), snapshot.end_offset)
        for segment, position, header in batches:
            if not header.is_control and header.base_offset > catalog.last_offset:
                for record in records_in(segment.batch_at(position, header), 0, header):
                    catalog.replay(decode(record.value or b""), record.offset)
    except (Malformed, Refused, LookupError, AssertionError):
        return None
    return catalog
