"""One partition's log: appends, reads, and the state of its producers and transactions.

A batch is checked, gets its offsets in place, and is written with one write; then the state of
producers and transactions and the indexes follow. An append that has returned survives a SIGKILL;
`flush` makes it survive a loss of power. The high watermark is the end of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ..protocol.batch import HEAD_START, LOG_OVERHEAD, NO_TIMESTAMP, BatchHeader, read_header
from ..protocol.control import Marker, read_marker
from ..protocol.errors import Code, Refused
from ..protocol.lazy_dataclass import dataclass
from .appended import Appended, Origin
from .disk.damage import Report, ignore_damage
from .disk.files import Bytes, Files
from .log_config import LogConfig
from .producer_state.aborted import AbortedTransaction, AbortedTransactions
from .producer_state.producers import ProducerStates
from .producer_state.transaction_check import TransactionCheck
from .records.size_and_times import check_size, header_with_append_time, records_with_times
from .recovery.recovery import Stop, aborted_by, load, rebuild_aborted_transactions
from .recovery.saved_state import SavedState, write_segment_files
from .segments.flush import Flush, Unsynced
from .segments.log_segments import Later, Segments
from .segments.reads import FileRange, Found, Read, ReadLimits
from .segments.segment import Segment
from .segments.time_search import TimedOffset, first_since, latest
from .steps import Steps

_CLIENT: Final = Origin.CLIENT  # a look-up of it costs 0.1 us in Python 3.11


@dataclass(frozen=True, slots=True)
class LogServices:
    """What all logs of a data directory share.

    Attributes:
        files: the file system.
        path: the data directory; a log's directory in it is `TOPIC-PARTITION`.
        report: called with each damage to the files when it is found.
        on_flush_due: the first value of `PartitionLog.on_flush_due`.
        on_start_moved: called after the start of a log has moved.
    """

    files: Files
    path: str
    report: Report = ignore_damage
    on_flush_due: Callable[[PartitionLog, int], None] | None = None
    on_start_moved: Callable[[PartitionLog], None] = lambda _: None


class PartitionLog:
    """The log of one partition, in an existing directory, empty or not.

    Args:
        services: shared by all logs of the data directory.
        stop: how the previous process left the log.
        now_ms: the wall time.

    Raises:
        OSError: the directory cannot be read.

    Attributes:
        config: may be replaced at any time.
        log_start_offset: the first readable offset.
        log_end_offset: the offset of the next record.
        high_watermark: consumers may read up to here.
        producers: state of each producer.
        recovery_point: everything before this offset is on disk.
        flush_due_offset: records before this offset must be on disk before they are acknowledged.
        awaits_flush: whether they are not yet.
        on_flush_due: called with the offset up to which `begin_flush` is due; None: appends flush.
        saved: the state saved for a start after a SIGKILL.
        end_offset_at_open: records before this offset were written by an earlier process.
        layout: its segments.
        failure: why appends are refused; None if they are accepted.
    """

    def __init__(
        self,
        services: LogServices,
        topic: str,
        partition: int,
        *,
        config: LogConfig,
        stop: Stop,
        now_ms: int,
    ) -> None:
        files = services.files
        self.topic = topic
        self.partition = partition
        self.name = f"{topic}-{partition}"
        self.config = config
        self._services = services
        self._directory = directory = f"{services.path}/{self.name}"
        found = load(files, directory, config, stop, now_ms=now_ms, report=services.report)
        self.layout = Segments(files, found.segments)
        self._activate(found.segments[-1], now_ms)
        self.producers: ProducerStates = found.producers
        self._aborted: AbortedTransactions = found.aborted
        self._epochs = found.epochs
        end_offset = self._active.next_offset
        self.log_end_offset = self.high_watermark = self.end_offset_at_open = end_offset
        self.log_start_offset = max(found.log_start_offset, found.segments[0].base_offset)
        synced_to = end_offset if stop.clean else min(end_offset, stop.recovery_point)
        self._unsynced = Unsynced(files, directory, found.unsynced)
        self.recovery_point = self.flush_due_offset = self._unsynced.trusted(synced_to)
        self.awaits_flush = False
        self.on_flush_due = services.on_flush_due
        self.failure: str | None = None
        self.is_closed = False
        self._state_offset = self.log_end_offset if stop.clean else -1
        if self._epochs.is_written and not stop.clean:  # perhaps in the system's memory only
            self._unsynced.add_files(self._active, self._epochs.path)
        self._synced_start = 0 if stop.log_start_offset else self.log_start_offset
        self.saved = SavedState(files, directory, found.saved_offset)
        is_unverified = found.segments[0].unverified is not None
        self._transaction_check = TransactionCheck(end_offset) if is_unverified else None
        self.leader_epoch = max(self._epochs.latest, 0)
        if config.preallocate:
            if not stop.clean:  # a killed process has not released reserved space
                self._active.trim(even_if_unknown=True)
            self._active.reserve(config.segment_bytes)

    @property
    def directory(self) -> str:
        return self._directory

    @property
    def size_bytes(self) -> int:
        """Size of all data files."""
        return sum(segment.size_bytes for segment in self.layout.all)

    @property
    def last_stable_offset(self) -> int:
        """First offset of the oldest open transaction; without one the high watermark."""
        unstable = self.producers.first_unstable_offset
        if unstable is None:
            return self.high_watermark
        start = self.log_start_offset
        return unstable if unstable >= start else self.layout.start_of_batch(start)

    # Appending

    def append(self, records: Bytes, *, now_ms: int, origin: Origin = Origin.CLIENT) -> Appended:
        """Append one batch.

        Args:
            records: if writable, offset and leader epoch are set in place.

        Raises:
            InvalidRecords: some records are invalid.
            Refused: the batch is invalid, or (KAFKA_STORAGE_ERROR) cannot be written.
        """
        if origin is _CLIENT:
            from .records.client_batch import Rules, check_at_once  # a start writes its own alone

            rules = Rules(self.config, now_ms, self.name)
            return self.append_checked(check_at_once(records, rules), now_ms=now_ms)
        header = read_header(records)
        size_bytes, limit_bytes = header.length + LOG_OVERHEAD, self.config.max_message_bytes
        if size_bytes > limit_bytes:
            check_size(size_bytes, limit_bytes)
        return self.append_checked((records, header), now_ms=now_ms, from_client=False)

    def append_checked(
        self, checked: tuple[Bytes, BatchHeader], *, now_ms: int, from_client: bool = True
    ) -> Appended:
        """Append a batch that was recently checked: one of a client by `Rules` of this log.

        Raises:
            Refused: for its producer's sequence; KAFKA_STORAGE_ERROR.
        """
        config, (records, header) = self.config, checked
        if config.stamps:
            records, header = self._stamped(records, header, now_ms)
        append_time_ms = now_ms if from_client and config.stamps else NO_TIMESTAMP
        # Before the check of the batch's producer, as in Kafka.
        if self._active.must_roll(
            header, self.log_end_offset + header.last_offset_delta, config, now_ms
        ):
            self._roll_for(header.length + LOG_OVERHEAD, now_ms)
        if header.producer_id >= 0:
            sent = self.producers.check(header, from_client=from_client)
            if sent is not None:
                if self.log_end_offset - self.flush_due_offset >= config.flush_messages:
                    self._require_flush()
                return Appended(sent.first_offset, sent.last_offset, sent.timestamp_ms, True)
        base_offset = self._write(records, header)
        if header.producer_id >= 0:
            self.producers.apply(header, base_offset)
        if self.log_end_offset - self.flush_due_offset >= config.flush_messages:
            self._require_flush()
        return Appended(base_offset, self.log_end_offset - 1, append_time_ms, False)

    def append_marker(
        self,
        marker: Bytes,
        content: Marker | None = None,
        header: BatchHeader | None = None,
        *,
        now_ms: int,
    ) -> Appended:
        """Append a control batch that ends its producer's transaction here, if one is open.

        Args:
            content, header: of the marker; None: read from the batch.

        Raises:
            Refused: INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED; KAFKA_STORAGE_ERROR.
        """
        if header is None:
            header = read_header(marker)
        if content is None:
            content = read_marker(marker, 0, header)
            assert content is not None, "only commit and abort markers are written"
        if self.config.stamps:
            marker, header = self._stamped(marker, header, now_ms)
        if self._active.must_roll(header, self.log_end_offset, self.config, now_ms):
            self._roll_for(header.length + LOG_OVERHEAD, now_ms)
        self.producers.check_marker(header, content)
        offset = self._write(marker, header)
        ended = self.producers.apply_marker(header, content, offset)
        if ended is not None and not ended.committed:
            self._aborted.add(aborted_by(ended, self.producers))
        if self.log_end_offset - self.flush_due_offset >= self.config.flush_messages:
            self._require_flush()
        return Appended(offset, offset, NO_TIMESTAMP, False)

    def _stamped(
        self, records: Bytes, header: BatchHeader, now_ms: int
    ) -> tuple[Bytes, BatchHeader]:
        """The batch with the broker's timestamp: for a topic with LogAppendTime."""
        header = header_with_append_time(header, now_ms)
        return records_with_times(records, header), header

    def _write(self, records: Bytes, header: BatchHeader) -> int:
        """Write a batch that was checked, at the end of the log. Returns its base offset."""
        base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        size = header.length + LOG_OVERHEAD
        if len(records) != size:
            records = memoryview(records)[:size]
        if type(records) is not bytearray and memoryview(records).readonly:
            records = bytearray(records)
        active = self._active
        try:
            if self.leader_epoch != self._epochs.latest:
                self._epochs.assign(self.leader_epoch, base_offset)
            if not self._epochs.is_written and self._epochs.write():
                self._unsynced.add_files(active, self._epochs.path)
            HEAD_START.pack_into(records, 0, base_offset, header.length, self.leader_epoch)
            active.append(records, header, last_offset, self.config.index_interval_bytes)
        except OSError as failed:
            if not active.takes_appends:
                self.fail("the end of the log is unknown since an append failed", failed)
            raise self._not_appended(failed) from failed
        self.log_end_offset = self.high_watermark = last_offset + 1
        return base_offset

    def _not_appended(self, failed: OSError) -> Refused:
        return Refused(Code.KAFKA_STORAGE_ERROR, self.failure or f"the append failed: {failed}")

    def _require_flush(self) -> None:
        """Have all records flushed before they are acknowledged: `flush.messages` were appended."""
        self.require_flush(self.log_end_offset)
        if self.on_flush_due is not None:
            self.on_flush_due(self, self.log_end_offset)
            return
        try:
            self.flush()
        except OSError as failed:
            raise Refused(Code.KAFKA_STORAGE_ERROR, f"the flush failed: {failed}") from failed

    def require_flush(self, up_to: int) -> None:
        """Let the records before an offset await a flush, which the caller asks for."""
        self.flush_due_offset = max(self.flush_due_offset, up_to)
        self.awaits_flush = self.recovery_point < self.flush_due_offset

    def _roll_for(self, size: int, now_ms: int) -> None:
        """Roll the active segment, for a batch of that size. Raises Refused."""
        if size > self.config.segment_bytes:
            why = f"the batch has {size} bytes, and segment.bytes is {self.config.segment_bytes}"
            raise Refused(Code.RECORD_LIST_TOO_LARGE, why)
        if self._active.size_bytes:
            try:
                self.roll(now_ms)
            except OSError as failed:
                raise self._not_appended(failed) from failed

    def roll(self, now_ms: int) -> None:
        """End the active segment and begin another. Raises OSError."""
        if self.failure is not None:
            raise OSError(self.failure)
        self._write_segment_files(self._active)
        if self.recovery_point == self.log_end_offset and self._active.has_transaction_index:
            self.recovery_point = self.flush_due_offset = self.log_end_offset - 1  # until a sync
            self.awaits_flush = False
        segment = Segment(self._services.files, self._directory, self.log_end_offset)
        segment.open()
        if self.config.preallocate:
            segment.reserve(self.config.segment_bytes)
        self._active.finish()
        self.layout.begin(segment)
        self._activate(segment, now_ms)
        self._unsynced.note_changed_names()
        if self.on_flush_due is not None:  # as in Kafka: recovery does not read flushed segments
            self.on_flush_due(self, self.log_end_offset)

    def _activate(self, segment: Segment, now_ms: int) -> None:
        """Append to this segment from now on."""
        self._active = segment
        segment.active_since_ms = now_ms
        segment.jitter_ms = self.config.jitter_ms(f"{self.name} {segment.base_offset}")

    def _write_segment_files(self, segment: Segment) -> None:
        files, end_offset = self._services.files, self.log_end_offset
        paths = write_segment_files(files, segment, self._aborted, self.producers, end_offset)
        self._unsynced.add_files(segment, *paths)

    # Reading

    def read(self, offset: int, *, max_bytes: int, up_to: int, min_one: bool) -> Read:
        """`find`, with the records in memory; same arguments and errors."""
        found = self.find(offset, ReadLimits(max_bytes, up_to, min_one))
        assert not isinstance(found.records, FileRange), "all is wanted at once"
        return Read(found.records, found.next_offset)

    def find(self, offset: int, limits: ReadLimits) -> Found:
        """Whole batches, from the one that contains `offset` on.

        Raises:
            Refused: OFFSET_OUT_OF_RANGE; KAFKA_STORAGE_ERROR if a file cannot be read.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            why = f"offset {offset} is not within [{self.log_start_offset}, {self.log_end_offset}]"
            raise Refused(Code.OFFSET_OUT_OF_RANGE, why)
        if offset >= limits.up_to:
            return Found(b"", offset)
        try:
            return self.layout.find(offset, limits)
        except OSError as failed:
            raise _unreadable(failed) from failed

    def check_in_steps(self, offset: int, max_bytes: int, *, committed: bool) -> Iterator[None]:
        """Verify, in short steps, the data that `find` would have to. Raises OSError, Refused."""
        segments, check = self.layout.since(offset), self._transaction_check
        if segments[0].unverified is not None:
            yield from segments[0].unverified.check_in_steps(offset, max_bytes)
        if committed and check is not None and not check.is_known(offset, check.until - 1):
            limits = ReadLimits(max_bytes, self.last_stable_offset, at_once=0)
            end = self.find(offset, limits).next_offset
            yield from check.agrees_in_steps(segments, self._aborted, offset, end - 1)

    def aborted_transactions(self, first_offset: int, last_offset: int) -> list[AbortedTransaction]:
        """The transactions that a `read_committed` consumer must skip; both offsets are inclusive.

        Raises:
            Refused: KAFKA_STORAGE_ERROR if a file cannot be read.
        """
        check = self._transaction_check
        if check is not None and first_offset < check.until:
            segments, services = self.layout.since(first_offset), self._services
            try:
                if not check.agrees(segments, self._aborted, first_offset, last_offset):
                    self._aborted = rebuild_aborted_transactions(
                        services.files, self.layout.all, services.report
                    )
            except OSError as failed:
                raise _unreadable(failed) from failed
        return self._aborted.between(first_offset, last_offset + 1)

    def search(self, timestamp_ms: int | None) -> Steps[TimedOffset | None]:
        """The first record, by offset, with that timestamp or a later one; None if there is none.

        For None it is the first one with the largest timestamp. The first step is short.
        """
        segments = self.segments
        try:
            if timestamp_ms is None:
                return (yield from latest(segments))
            return (yield from first_since(segments, timestamp_ms, self.log_start_offset))
        except OSError as failed:
            raise _unreadable(failed) from failed

    def offset_for_leader_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """The largest epoch not newer than the given one, and its end; (-1, -1) without one."""
        if leader_epoch == self.leader_epoch:  # it may have no record yet
            return leader_epoch, self.log_end_offset
        return self._epochs.end_offset_of(leader_epoch, self.log_end_offset)

    # Shortening

    def delete_records(self, before_offset: int) -> int:
        """Move the log's start to `before_offset`, unless it is later. Returns the start.

        Raises:
            Refused: OFFSET_OUT_OF_RANGE for an offset beyond the high watermark, or below 0.
        """
        if not 0 <= before_offset <= self.high_watermark:
            why = f"offset {before_offset} is not within [0, {self.high_watermark}]"
            raise Refused(Code.OFFSET_OUT_OF_RANGE, why)
        if before_offset > self.log_start_offset:
            self.log_start_offset = before_offset
            self._epochs.truncate_start(before_offset)
            self.drop_segments_before(before_offset)
        return self.log_start_offset

    def drop_segments_before(self, offset: int) -> int:
        """Delete whole segments below `offset`, never the active one. Returns their number.

        Once the log's start is on disk their files are renamed: a lost segment must be noticed.
        """
        dropped = self.layout.index_of(offset)
        self.log_start_offset = max(self.log_start_offset, self.layout.all[dropped].base_offset)
        if dropped:
            self._epochs.truncate_start(self.log_start_offset)
            self.write_epochs()
        self._aborted.truncate_start(self.log_start_offset)
        self._services.on_start_moved(self)
        if dropped:
            self.layout.take_out(dropped)
            self._unsynced.add_files(self._active, self._epochs.path)
            if self.on_flush_due is None and self.failure is None:
                self.flush()
        return dropped

    @property
    def needs_stored_start(self) -> bool:
        """Whether a loss of power may take the log's start from its own files."""
        return self.log_start_offset > self._synced_start

    def replace_segments(
        self, old: Sequence[Segment], new: Segment, aborted: Iterable[AbortedTransaction]
    ) -> bool:
        """Replace segments by their compacted one, which is on disk as `.swap`.

        A crash leaves the `.swap` files, and the next start finishes the replacement.

        Args:
            aborted: the transactions that end in the new segment and still have records.

        Returns:
            False if the old ones are no longer part of the log; nothing has changed then.

        Raises:
            OSError: a file could not be renamed; the log uses the new segment all the same.
        """
        if not self.layout.put(new, in_place_of=old):
            return False
        self._aborted.replace(new.base_offset, new.next_offset, aborted)
        self._unsynced.note_changed_names()
        self.layout.swap_files(new, old)
        return True

    def remove_deleted(self, now_ms: int, later: Later | None = None) -> None:
        """See `Segments.remove_deleted`."""
        self.layout.rename_dropped()
        self.layout.remove_deleted(now_ms, self.config.file_delete_delay_ms, later)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Oldest first; the last one is active."""
        return tuple(self.layout.all)

    # Ending

    def flush(self) -> None:
        """Return when all appended records survive a loss of power.

        Raises:
            OSError: the state of the disk is unknown; the log refuses appends from now on.
        """
        flush = self.begin_flush()
        try:
            flush.run()
        except OSError as failed:
            self.end_flush(flush, failed)
            raise
        self.end_flush(flush)

    @property
    def is_flushed(self) -> bool:
        return self.recovery_point == self.log_end_offset and not self._unsynced.has_unsynced_files

    @property
    def has_unwritten_aborts(self) -> bool:
        """Whether aborted transactions end in the last segment, which has no index yet."""
        return bool(self._aborted.ended_in(self._active.base_offset, self.log_end_offset))

    def write_epochs(self) -> None:
        """Write the leader epochs, and with them the log's start; a flush syncs them."""
        if self._epochs.write():
            self._unsynced.add_files(self._active, self._epochs.path)

    def write_state(self) -> None:
        """Write the files that make a recovery unnecessary, if they changed. Raises OSError."""
        if self._active.size_bytes and self._state_offset != self.log_end_offset:
            self._write_segment_files(self._active)
            self.write_epochs()
            self._state_offset = self.log_end_offset

    def save_in_steps(self) -> Iterator[None]:
        """Save the state, in short steps. Raises OSError: the earlier saved state stays."""
        active = self._active
        yield from active.load_times_in_steps()
        for _ in self.saved.write_indexes(active):
            yield
            if self._active is not active or self.is_closed or self.failure is not None:
                return
        self.saved.save(active, self._aborted, self.producers)

    def begin_flush(self, up_to: int | None = None) -> Flush:
        """Collect the unsynced data before `up_to`; None: all of it.

        Raises:
            OSError: a file cannot be opened.
        """
        up_to = self.log_end_offset if up_to is None else up_to
        segments = [
            segment
            for segment in self.layout.since(self.recovery_point)
            if segment.size_bytes and segment.base_offset < up_to
        ]
        flush = self._unsynced.collect(segments, self.layout.all, up_to)
        flush.dropped_count = self.layout.dropped_count
        if self._epochs.is_written and self._epochs.first_offset == self.log_start_offset:
            flush.log_start_offset = self.log_start_offset
        return flush

    def cancel_flush(self, flush: Flush) -> None:
        """A flush was not run, or lacked memory: the next one does its work."""
        flush.release()
        self._unsynced.give_back(flush)

    def end_flush(self, flush: Flush, failure: OSError | None = None) -> None:
        """Record the result of a flush. After a failure the log refuses appends.

        A failed flush is not repeated: the system may have dropped the data that it could not
        write, and report success at the next attempt.
        """
        flush.release()
        if failure is not None:
            self.fail("the log could not be synced", failure)
        elif self.failure is None:
            self.recovery_point = max(self.recovery_point, self._unsynced.reached(flush.up_to))
            self.require_flush(self.recovery_point)
            self._synced_start = max(self._synced_start, flush.log_start_offset)
            if not self.is_closed:  # else the names may be those of a new log
                self.layout.start_is_on_disk(flush.dropped_count)

    def fail(self, what: str, reason: OSError) -> None:
        """Refuse appends until the next start, which determines the state of the disk."""
        self.failure = self.failure or f"{what}: {reason}"
        self._active.refuse_appends()

    def close(self, *, clean: bool) -> None:
        """Close the files.

        Args:
            clean: flush, and write the files that make a recovery unnecessary.

        Raises:
            OSError: that failed; the files are closed all the same.
        """
        self.is_closed = True
        try:
            if clean and self.failure is not None:
                raise OSError(self.failure)
            if clean:
                self._active.trim()
                self.write_state()
                if not self.is_flushed:
                    self.flush()
                self.layout.start_is_on_disk(self.layout.dropped_count)
        finally:
            for segment in self.layout.all:
                segment.close()


def _unreadable(failed: OSError) -> Refused:
    return Refused(Code.KAFKA_STORAGE_ERROR, f"a read failed: {failed}")
