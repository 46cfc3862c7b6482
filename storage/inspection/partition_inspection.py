"""Inspects a partition's files, Ottla's or Kafka's, for `ottla log`; changes nothing.

`inspect_partition` checks one partition: batches by their CRC and offsets, indexes, producer
snapshots and leader epochs by comparison with the data. Each mismatch is a `Damage`. Unfinished
work of a running or killed broker, such as a torn end of the last file, is not damage.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import field
from typing import Final

from ...protocol.batch import BatchHeader
from ...protocol.control import read_marker
from ...protocol.errors import Refused
from ...protocol.lazy_dataclass import dataclass
from ...protocol.records import records_in
from ..disk.damage import Damage
from ..disk.directory_names import offset_of
from ..disk.files import Files, RealFiles, read_if_exists
from ..producer_state import aborted as transaction_index
from ..producer_state import producer_snapshot
from ..producer_state.aborted import AbortedTransaction, AbortedTransactions
from ..producer_state.producers import ProducerStates
from ..records.payloads import Payload, feed
from ..records.record_stream import RecordStream
from ..recovery.recovery import aborted_by
from ..segments.indexes import OffsetIndex, TimeIndex
from ..segments.leader_epochs import FILE_NAME, NO_EPOCH, LeaderEpochs
from ..segments.segment import (
    INDEX,
    LOG,
    SNAPSHOT,
    TIME_INDEX,
    TRANSACTION_INDEX,
    Segment,
    file_name,
)
from ..segments.unverified import Unverified
from ..steps import at_once

_LONG_MAX: Final = 0x7FFFFFFFFFFFFFFF


class ReadOnlyFiles(RealFiles):
    """Files that are opened for reading only."""

    def open(self, path: str, /) -> int:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


@dataclass(slots=True)
class SegmentReport:
    """One segment.

    Attributes:
        next_offset: offset behind its last valid record.
        first_timestamp_ms, last_timestamp_ms: smallest and largest of its batches' max timestamps.
        index_entries, time_entries: number of entries; -1 if the file is missing.
        aborted: transactions whose abort marker lies in it, by its index.
    """

    segment: Segment
    next_offset: int
    batches: int = 0
    records: int = 0
    first_timestamp_ms: int = -1
    last_timestamp_ms: int = -1
    index_entries: int = -1
    time_entries: int = -1
    aborted: list[AbortedTransaction] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)

    @property
    def base_offset(self) -> int:
        return self.segment.base_offset

    @property
    def size_bytes(self) -> int:
        return self.segment.size_bytes


@dataclass(slots=True)
class PartitionReport:
    """One partition's directory.

    Attributes:
        open_transactions: first offset by producer id.
        torn_bytes: incomplete bytes at the end of the last file, which the next start cuts off.
        damages: all mismatches, those of the segments included.
    """

    name: str
    directory: str
    segments: list[SegmentReport] = field(default_factory=list)
    open_transactions: dict[int, int] = field(default_factory=dict)
    snapshots: list[int] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    torn_bytes: int = 0
    damages: list[Damage] = field(default_factory=list)

    @property
    def end_offset(self) -> int:
        return self.segments[-1].next_offset if self.segments else 0

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)

    def batches(self) -> Iterator[tuple[Segment, int, BatchHeader]]:
        """Segment, position and header of each valid batch."""
        for report in self.segments:
            for position, header in report.segment.headers():
                yield report.segment, position, header

    def close(self) -> None:
        for report in self.segments:
            report.segment.close()


def inspect_partition(
    directory: str,
    *,
    is_finished: bool = False,
    recovery_point: int = 0,
    may_have_gaps: bool = True,
    reads_records: bool = False,
    files: Files | None = None,
) -> PartitionReport:
    """Read and check one partition.

    Args:
        is_finished: a broker stopped cleanly, so nothing may be torn.
        recovery_point: everything before this offset was synced.
        may_have_gaps: whether the topic may have been compacted.
        reads_records: whether each record is read, so that a broken one is damage.
        files: the file layer; None: the files of the operating system, opened for reading only.

    Raises:
        OSError: a file cannot be read, or was removed meanwhile.
    """
    files = files or ReadOnlyFiles()
    report = PartitionReport(os.path.basename(directory), directory)
    names = files.names_in(directory)
    bases = sorted(_offsets(names, LOG))
    checks = _Checks(
        files,
        report,
        is_finished=is_finished,
        may_have_gaps=may_have_gaps,
        reads_records=reads_records,
    )
    for at, base_offset in enumerate(bases):
        is_last = at + 1 == len(bases)
        end_offset = base_offset if is_last else bases[at + 1]
        segment = Segment.found(files, directory, base_offset, end_offset)
        segment.unverified = Unverified(
            segment,
            is_last=is_last,
            may_have_gaps=may_have_gaps,
            end_offset=max(end_offset, recovery_point) if is_last else end_offset,
            report=report.damages.append,
            torn_from=recovery_point if is_last and not is_finished else None,
        )
        checks.segment(segment, is_last=is_last)
    checks.others(names)
    return report


def _offsets(names: list[str], suffix: str) -> list[int]:
    stems = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
    return [offset for stem in stems if (offset := offset_of(stem)) is not None]


class _Checks:
    """Reads the segments of a partition in order, and compares the files beside them."""

    def __init__(
        self,
        files: Files,
        report: PartitionReport,
        *,
        is_finished: bool,
        may_have_gaps: bool,
        reads_records: bool,
    ) -> None:
        self._files = files
        self._is_finished = is_finished
        self._reads_records = reads_records
        self._may_have_gaps = may_have_gaps
        self._report = report
        self._states = ProducerStates()
        self._aborted = AbortedTransactions()
        self._latest: dict[int, tuple[int, int]] = {}  # producer: its last offset and sequence
        self._first_of_epoch: dict[int, int] = {}
        self._snapshots = {
            offset: self._snapshot(offset)
            for offset in sorted(_offsets(files.names_in(report.directory), SNAPSHOT))
        }
        report.snapshots = list(self._snapshots)

    def _damage(self, path: str, position: int, offset: int, why: str) -> None:
        self._report.damages.append(Damage(path, position, position, offset, offset, why))

    def segment(self, segment: Segment, *, is_last: bool) -> None:
        unverified = segment.unverified
        assert unverified is not None
        reported = len(self._report.damages)
        unverified.verify()
        found = SegmentReport(segment, segment.base_offset)
        headers: dict[int, BatchHeader] = {}
        if segment.size_bytes == 0 and segment.base_offset in self._snapshots:
            self._check_snapshot(segment.base_offset)
        for position, header in segment.headers():
            self._check_snapshots_up_to(header.base_offset)
            headers[position] = header
            self._count(found, header)
            self._apply(segment, position, header)
            if self._reads_records and header.record_count > 0:
                self._read_records(segment, position, header)
        if is_last:
            self._check_snapshots_up_to(_LONG_MAX)
            if unverified.cut_at is not None:
                self._report.torn_bytes = segment.size_bytes - unverified.cut_at
        self._offset_index(found, headers, is_last=is_last)
        self._time_index(found, headers, is_last=is_last)
        self._transaction_index(found, headers, is_last=is_last)
        found.damages = self._report.damages[reported:]
        self._report.segments.append(found)
        self._report.open_transactions = {
            entry.producer_id: entry.transaction_first_offset
            for entry in self._states.producers()
            if self._states.has_ongoing_transaction(entry.producer_id)
        }

    @staticmethod
    def _count(found: SegmentReport, header: BatchHeader) -> None:
        found.next_offset = header.next_offset
        found.batches += 1
        found.records += header.record_count
        time_ms = header.max_timestamp_ms
        if time_ms >= 0:
            first = found.first_timestamp_ms
            found.first_timestamp_ms = time_ms if first < 0 else min(first, time_ms)
            found.last_timestamp_ms = max(found.last_timestamp_ms, time_ms)

    def _apply(self, segment: Segment, position: int, header: BatchHeader) -> None:
        self._first_of_epoch.setdefault(header.leader_epoch, header.base_offset)
        if header.producer_id < 0:
            return
        if not header.is_control:
            self._states.apply(header, header.base_offset)
            self._latest[header.producer_id] = (header.last_offset, header.last_sequence)
            return
        try:
            marker = read_marker(segment.batch_at(position, header), 0, header)
        except Refused:  # compaction removed its record
            return
        if marker is not None:
            ended = self._states.apply_marker(header, marker, header.base_offset)
            if ended is not None and not ended.committed:
                self._aborted.add(aborted_by(ended, self._states))

    def _read_records(self, segment: Segment, position: int, header: BatchHeader) -> None:
        """Report a batch with a right CRC whose records no consumer can read."""
        data = segment.batch_at(position, header)
        stream = RecordStream(header.record_count)
        try:
            at_once(feed(stream, stream.check(), Payload(data, 0, header)))
        except Refused as refused:
            why = _why_broken(data, header) or f"{refused.why}"
            end, after = position + header.size_bytes, header.next_offset
            path = segment.path(LOG)
            damage = Damage(path, position, end, header.base_offset, after, why)
            self._report.damages.append(damage)

    # The files beside the data

    def _offset_index(
        self, found: SegmentReport, headers: dict[int, BatchHeader], *, is_last: bool
    ) -> None:
        path = found.segment.path(INDEX)
        content = read_if_exists(self._files, path)
        if content is None:
            return
        index = OffsetIndex.decode(content, max(found.size_bytes, 1))
        if index is None:
            if not is_last or found.size_bytes:
                self._damage(
                    path,
                    0,
                    found.base_offset,
                    "the entries are not in order, or point behind the data",
                )
            return
        found.index_entries = len(index)
        for at, (relative_offset, position) in enumerate(index.entries()):
            header = headers.get(position)
            if header is None or header.last_offset != found.base_offset + relative_offset:
                if found.segment.unverified is not None and found.segment.unverified.damages:
                    continue
                offset = found.base_offset + relative_offset
                self._damage(path, at * 8, offset, "an entry matches no batch")

    def _time_index(
        self, found: SegmentReport, headers: dict[int, BatchHeader], *, is_last: bool
    ) -> None:
        path = found.segment.path(TIME_INDEX)
        content = read_if_exists(self._files, path)
        if content is None:
            return
        index = TimeIndex.decode(content)
        if index is None:
            self._damage(path, 0, found.base_offset, "the entries are not in order")
            return
        entries = [entry for entry in index.entries() if entry != (0, 0)]
        found.time_entries = len(entries)
        if found.segment.unverified is not None and found.segment.unverified.damages:
            return
        times = {header.last_offset: header for header in headers.values()}
        for at, (time_ms, relative_offset) in enumerate(entries):
            offset = found.base_offset + relative_offset
            header = times.get(offset) or _holder(headers, offset)
            if header is not None and header.max_timestamp_ms != time_ms:
                self._damage(path, at * 12, offset, "an entry matches no batch")
        if entries and not is_last and entries[-1][0] < found.last_timestamp_ms:
            why = "the last entry does not have the largest timestamp"
            self._damage(path, (len(entries) - 1) * 12, found.base_offset, why)

    def _transaction_index(
        self, found: SegmentReport, headers: dict[int, BatchHeader], *, is_last: bool
    ) -> None:
        path = found.segment.path(TRANSACTION_INDEX)
        content = read_if_exists(self._files, path)
        expected = self._aborted.ended_in(found.base_offset, found.next_offset)
        found.aborted = expected if content is None else transaction_index.decode(content)
        # The last file is written at a roll or a clean stop.
        is_behind = is_last and not self._is_finished
        if content is None and is_last:
            return
        listed = {(entry.producer_id, entry.last_offset): entry for entry in found.aborted}
        for entry in expected:
            known = listed.pop((entry.producer_id, entry.last_offset), None)
            # A transaction may have begun before the log's start.
            if known is None and is_behind:
                continue
            if known is None or known.first_offset > entry.first_offset:
                self._damage(path, 0, entry.last_offset, "an aborted transaction is missing")
        for entry in listed.values():
            if not self._may_be_aborted(entry, found, headers):
                why = "an entry is for a transaction that was not aborted"
                self._damage(path, 0, entry.last_offset, why)

    def _may_be_aborted(
        self, entry: AbortedTransaction, found: SegmentReport, headers: dict[int, BatchHeader]
    ) -> bool:
        """Whether a transaction whose records are not there may have been aborted.

        They may be before the log's start. Compaction removes them, the marker's record if no
        other remains, and later the marker.
        """
        first = self._report.segments[0] if self._report.segments else found
        if not self._may_have_gaps:
            return entry.first_offset < first.base_offset
        place = next(
            (each for each in headers.items() if each[1].base_offset == entry.last_offset), None
        )
        if place is None:
            return _holder(headers, entry.last_offset) is None
        position, header = place
        if not header.is_control or header.producer_id != entry.producer_id:
            return False
        try:
            marker = read_marker(found.segment.batch_at(position, header), 0, header)
        except Refused:  # compaction removed its record
            return True
        return marker is not None and not marker.commit

    def _snapshot(self, offset: int) -> ProducerStates | None:
        path = f"{self._report.directory}/{file_name(offset, SNAPSHOT)}"
        content = read_if_exists(self._files, path)
        entries = None if content is None else producer_snapshot.decode(content)
        if entries is None:
            self._damage(path, 0, offset, "the producer snapshot does not match its CRC")
            return None
        return ProducerStates(entries)

    def _check_snapshots_up_to(self, offset: int) -> None:
        for at in [at for at in self._snapshots if at <= offset]:
            self._check_snapshot(at)

    def _check_snapshot(self, offset: int) -> None:
        """Producers may have expired, or may come from before the log's start."""
        states = self._snapshots.pop(offset, None)
        if states is None:
            return
        path = f"{self._report.directory}/{file_name(offset, SNAPSHOT)}"
        for entry in states.producers():
            last = self._latest.get(entry.producer_id)
            if last is None or entry.last_offset < 0 or last[0] >= offset:
                continue
            if self._may_have_gaps and last[0] < entry.last_offset:
                continue  # compaction keeps only the last batch of a producer
            if last != (entry.last_offset, entry.last_sequence):
                why = f"the state of producer {entry.producer_id} differs from the data"
                self._damage(path, 0, offset, why)

    def others(self, names: list[str]) -> None:
        """Check the files of the whole partition."""
        report = self._report
        if FILE_NAME in names:
            path = f"{report.directory}/{FILE_NAME}"
            epochs = LeaderEpochs(self._files, report.directory)
            report.epochs = epochs.entries
            if epochs.damage:
                self._damage(
                    path, 0, 0, f"the file is not a checkpoint of leader epochs: {epochs.damage}"
                )
            for epoch, first_offset in self._first_of_epoch.items():
                known = epochs.epoch_of(first_offset)
                if known not in (NO_EPOCH, epoch):  # NO_EPOCH: the records are deleted
                    why = f"offset {first_offset} was written under epoch {epoch};"
                    self._damage(path, 0, first_offset, f"{why} the checkpoint has another")
        present = set(_offsets(names, LOG))
        for suffix in (INDEX, TIME_INDEX, TRANSACTION_INDEX):
            for offset in set(_offsets(names, suffix)) - present:
                path = f"{report.directory}/{file_name(offset, LOG)}"
                self._damage(path, 0, offset, "the data file is missing, but its indexes exist")


def _why_broken(data: bytes, header: BatchHeader) -> str | None:
    """What a consumer meets in a batch: the first broken record, and its field."""
    try:
        for _ in records_in(data, 0, header):
            pass
    except Refused as refused:
        return refused.why
    return None


def _holder(headers: dict[int, BatchHeader], offset: int) -> BatchHeader | None:
    return next((h for h in headers.values() if h.base_offset <= offset <= h.last_offset), None)
