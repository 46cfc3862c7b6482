"""One segment of a log: a data file of batches, with its two indexes.

The file is opened at the first append or read. The active segment's indexes are in memory and are
written when it is rolled or closed; those of older segments are read at first use, and rebuilt from
the data if they are missing or damaged (Kafka's LogSegment).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ...protocol.batch import HEADER, HEADER_SIZE, LOG_OVERHEAD, NO_TIMESTAMP, BatchHeader
from ..disk.damage import ignore_damage, read_copy
from ..disk.files import Bytes, Files, disk_full, write_atomically
from .indexes import OFFSET_ENTRY_SIZE, TIME_ENTRY, OffsetIndex, TimeIndex
from .reads import FileRange, Found, ReadLimits, find_in, position_from

if TYPE_CHECKING:
    from ..log_config import LogConfig
    from .unverified import Unverified

LOG: Final = ".log"
INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
DELETED: Final = ".deleted"
NO_OFFSET: Final = -1

_TAIL_BATCHES: Final = 256
_CHUNK_BYTES: Final = 16_384
_TIME_ENTRY_SIZE: Final = TIME_ENTRY.size
_INT_MAX: Final = 0x7FFFFFFF


def file_name(base_offset: int, suffix: str) -> str:
    """`00000000000000000042.log`"""
    return f"{base_offset:020d}{suffix}"


def _refuse_append(descriptor: int, data: Bytes) -> int:
    raise OSError("the file's end is unknown since an earlier failure")


class Segment:
    """One segment of a log.

    Attributes:
        base_offset: the offset in the files' names; the first record may have a later one.
        next_offset: offset behind the last record.
        size_bytes: size of the data file.
        mark: suffix of its files' names: one of the above while it is not part of the log.
        first_timestamp_ms: max timestamp of its first batch; -1 if empty or unknown.
        max_timestamp_ms: largest of all its batches; -1 if empty. See `load_times`.
        unverified: verifies data from an earlier process; None: this process wrote all data.
        has_transaction_index: a transaction index is on disk; after a loss of power its data may be
            missing.
        was_used: the file was used since the last pass of `OpenFiles`.
        active_since_ms: the wall time at which this process began to append to it.
        jitter_ms: how much earlier than `segment.ms` it is rolled.
    """

    __slots__ = (
        "__weakref__", "_append", "_bytes_since_index", "_descriptor", "_directory", "_files",
        "_holds", "_interval", "_is_held_for_ranges", "_is_reserved", "_is_to_close",
        "_max_timestamp_offset", "_offset_index", "_ranges", "_tail_offsets", "_tail_positions",
        "_time_index", "_unverified_times", "active_since_ms", "base_offset", "first_timestamp_ms",
        "has_transaction_index", "is_loaded", "jitter_ms", "mark", "max_timestamp_ms",
        "next_offset", "size_bytes", "unverified", "was_used",
    )  # fmt: skip

    def __init__(self, files: Files, directory: str, base_offset: int, mark: str = "") -> None:
        self._files = files
        self._append = files.append
        self._directory = directory
        self._descriptor = -1
        self._holds, self._is_to_close = 0, False
        self._ranges = 0  # ranges of its file waiting to be sent
        self._is_held_for_ranges = False
        self._is_reserved = False
        self._offset_index, self._time_index = OffsetIndex(), TimeIndex()
        # The last entry of an index from an earlier process.
        self._unverified_times: tuple[int, int] | None = None
        self._bytes_since_index = 0
        self._interval = _CHUNK_BYTES  # interval of an index being rebuilt
        self._max_timestamp_offset = base_offset
        # Base offsets and positions of the newest batches, which most consumers read.
        self._tail_offsets, self._tail_positions = array("q"), array("q")
        self.base_offset = self.next_offset = base_offset
        self.mark = mark
        self.size_bytes = 0
        self.first_timestamp_ms = self.max_timestamp_ms = NO_TIMESTAMP
        self.unverified: Unverified | None = None
        self.has_transaction_index = False
        self.is_loaded = True  # an empty segment has nothing to load
        self.was_used = False
        self.active_since_ms = self.jitter_ms = 0

    @classmethod
    def found(
        cls, files: Files, directory: str, base_offset: int, next_offset: int, mark: str = ""
    ) -> Segment:
        """An existing segment; reads only its size."""
        segment = cls(files, directory, base_offset, mark)
        segment.size_bytes = files.size(segment.path(LOG))
        segment.next_offset = next_offset
        segment.is_loaded = segment.size_bytes == 0
        return segment

    def path(self, suffix: str) -> str:
        return f"{self._directory}/{file_name(self.base_offset, suffix)}{self.mark}"

    # Appending

    def append(self, data: Bytes, header: BatchHeader, last_offset: int, interval: int) -> None:
        """Append one batch, with one write.

        Args:
            header: its timestamps go into the index; its offsets are ignored.
            interval: bytes of data between two entries of the indexes.

        Raises:
            OSError: nothing was appended.
        """
        descriptor = self._descriptor
        if descriptor < 0:
            descriptor = self.open()
        self.was_used = True
        position = self.size_bytes
        try:
            written = self._append(descriptor, data)
            if written != len(data):
                raise disk_full(written, len(data))
        except OSError:
            self._undo_append(descriptor, position)
            raise
        self.size_bytes = position + written
        self._index(header, last_offset - header.last_offset_delta, position, written, interval)

    def _undo_append(self, descriptor: int, size_bytes: int) -> None:
        """Cut off the bytes of a failed write; if that fails, refuse further appends."""
        try:
            self._files.truncate(descriptor, size_bytes)
        except OSError:
            self._append = _refuse_append

    def _index(
        self, header: BatchHeader, base_offset: int, position: int, size: int, interval: int
    ) -> None:
        """Add the batch at `position` to the indexes."""
        timestamp_ms = header.max_timestamp_ms
        last_offset = base_offset + header.last_offset_delta
        if position == 0:
            self.first_timestamp_ms = timestamp_ms
        if timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = timestamp_ms
            self._max_timestamp_offset = last_offset
        since = self._bytes_since_index
        if since > interval:
            self._offset_index.add(last_offset - self.base_offset, position)
            self._index_time()
            since = 0
        self._bytes_since_index = since + size
        tail = self._tail_offsets
        if base_offset != self.next_offset:
            del tail[:], self._tail_positions[:]  # compaction left a gap; the tail must have none
        elif len(tail) == _TAIL_BATCHES:
            del tail[: _TAIL_BATCHES // 2], self._tail_positions[: _TAIL_BATCHES // 2]
        tail.append(base_offset)
        self._tail_positions.append(position)
        self.next_offset = last_offset + 1

    def _index_time(self) -> None:
        if self.max_timestamp_ms >= 0:
            relative_offset = self._max_timestamp_offset - self.base_offset
            self._time_index.add(self.max_timestamp_ms, relative_offset)

    def must_roll(
        self, header: BatchHeader, last_offset: int, config: LogConfig, now_ms: int
    ) -> bool:
        """Whether a batch does not fit, or the segment is too old for it (LogSegment.shouldRoll).

        Args:
            header: of the batch; its offsets are ignored.
        """
        if self.size_bytes == 0:
            age_ms = 0
        elif self.first_timestamp_ms >= 0:  # LogSegment.timeWaitedForRoll
            age_ms = header.max_timestamp_ms - self.first_timestamp_ms
        else:
            age_ms = now_ms - self.active_since_ms
        index_bytes = config.segment_index_bytes
        return (
            self.size_bytes + header.length + LOG_OVERHEAD > config.segment_bytes
            or age_ms > config.max_segment_ms - self.jitter_ms
            or last_offset - self.base_offset > _INT_MAX
            or len(self._offset_index.offsets) >= index_bytes // OFFSET_ENTRY_SIZE
            or len(self._time_index.timestamps) >= index_bytes // _TIME_ENTRY_SIZE - 1
        )

    # Reading

    def find(self, offset: int, limits: ReadLimits) -> Found | None:
        """Whole batches from the one that contains `offset`, or the next; None if all are earlier.

        Raises:
            Refused: CORRUPT_MESSAGE at damaged data.
        """
        unverified = self.unverified
        if unverified is not None and offset < unverified.end_offset:
            return unverified.find(offset, limits)
        return find_in(self, offset, limits)

    def range(self, position: int, end: int, next_offset: int, at_once: int) -> Found:
        """The data between two positions; a `FileRange` if it is larger than `at_once`."""
        size_bytes = end - position
        if size_bytes <= at_once:
            return Found(self.read_at(size_bytes, position), next_offset)
        return Found(FileRange(self, position, size_bytes), next_offset)

    def position_of(self, offset: int) -> int | None:
        """Position of the first batch whose last offset is at or behind `offset`."""
        if offset >= self.next_offset:
            return None
        tail = self._tail_offsets
        if tail and offset >= tail[0]:
            return self._tail_positions[bisect_right(tail, offset) - 1]
        start = self._start_for(offset - self.base_offset)
        if self.unverified is None or start >= self.unverified.size_bytes:
            return position_from(self, start, offset)
        for position, header in self.headers(start):
            if header.last_offset >= offset:
                return position
        return None

    def _start_for(self, relative_offset: int) -> int:
        """Position to start the search for an offset."""
        index = self._indexes()[0]
        if self.unverified is not None:
            return self.unverified.start_for(relative_offset)
        return index.position_before(relative_offset)

    def indexed_batch(self, position: int) -> int:
        """Position of the last indexed batch at or before a position, or of the first batch."""
        return self._indexes()[0].position_up_to(position)

    def headers(self, start: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each batch from `start` on, which must be a batch's position.

        Data from an earlier process is verified; damaged batches are left out.
        """
        if self.unverified is not None:
            yield from self.unverified.headers(start)
            start = max(start, self.unverified.size_bytes)
        position, end = start, self.size_bytes
        chunk, chunk_start = b"", 0
        while position + HEADER_SIZE <= end:
            at = position - chunk_start
            if at + HEADER_SIZE > len(chunk):
                chunk_start, at = position, 0
                chunk = self.read_at(min(_CHUNK_BYTES, end - position), position)
            header = BatchHeader._make(HEADER.unpack_from(chunk, at))
            if header.length < HEADER_SIZE - LOG_OVERHEAD:
                return  # not a batch: another process changed the file
            yield position, header
            position += header.length + LOG_OVERHEAD

    def batch_at(self, position: int, header: BatchHeader) -> bytes:
        """The whole batch with that header at `position`."""
        return self.read_at(header.length + LOG_OVERHEAD, position)

    # Times

    def find_timestamp(
        self, timestamp_ms: int, from_offset: int
    ) -> Iterator[tuple[int, BatchHeader]]:
        """Batches that may contain the first record with that timestamp, at or behind an offset."""
        self.load_times()
        # One entry earlier if the index itself is unverified.
        before = self._time_index.offset_before(timestamp_ms, skip=int(self.unverified is not None))
        relative = max(before, from_offset - self.base_offset)
        for position, header in self.headers(self._start_for(relative)):
            if header.max_timestamp_ms >= timestamp_ms and header.last_offset >= from_offset:
                self.refuse_if_damaged(position)
                yield position, header
        self.refuse_if_damaged()

    def latest_batch(self) -> tuple[int, BatchHeader] | None:
        """The first batch that has the segment's max timestamp."""
        self.load_times()
        relative = self._max_timestamp_offset - self.base_offset
        for position, header in self.headers(self._start_for(relative)):
            if header.max_timestamp_ms == self.max_timestamp_ms:
                return position, header
        return None

    def newest_ms(self) -> int:
        """The timestamp of its newest record; without one, that of its file, as in Kafka."""
        self.load_times()
        if self.max_timestamp_ms >= 0:
            return self.max_timestamp_ms
        return self._files.modified_ms(self.path(LOG))

    def refuse_if_damaged(self, before: int = _INT_MAX) -> None:
        """Raise Refused (CORRUPT_MESSAGE) if data before a position is known to be damaged."""
        if self.unverified is not None:
            self.unverified.refuse_if_damaged(before)

    # Indexes on disk

    def load_times(self) -> None:
        """Determine the timestamps from the data."""
        for _ in self.load_times_in_steps():
            pass

    def load_times_in_steps(self) -> Iterator[None]:
        """`load_times`, in steps of half a millisecond, between which other work can run.

        The last entry of an index from an earlier process is compared with the data behind it,
        which is the whole file if timestamps do not rise.

        Raises:
            OSError: the file cannot be read.
        """
        self._indexes()
        if self._unverified_times is not None and self.unverified is not None:
            agrees = yield from self.unverified.times_end_with(*self._unverified_times)
            if not agrees and self._unverified_times is not None:  # not rebuilt meanwhile
                self.scan()
            self._unverified_times = None

    def _indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        if not self.is_loaded and not self._load_indexes():
            self.scan()
        return self._offset_index, self._time_index

    def _load_indexes(self, before: int | None = None) -> bool:
        """Read the indexes from disk; False if they are missing or do not fit the file.

        Args:
            before: leave out the entries from this offset on.

        Raises:
            OSError: no file can be opened.
        """
        report = ignore_damage if self.unverified is None else self.unverified.report
        offsets = read_copy(self._files, self.path(INDEX), report, self.base_offset)
        times = read_copy(self._files, self.path(TIME_INDEX), report, self.base_offset)
        offset_index = None if offsets is None else OffsetIndex.decode(offsets, self.size_bytes)
        time_index = None if times is None else TimeIndex.decode(times)
        if offset_index is None or time_index is None:
            return False
        if before is not None:
            offset_index.truncate(before - self.base_offset)
            time_index.truncate(before - self.base_offset)
        last = time_index.last()
        self._offset_index, self._time_index = offset_index, time_index
        if self.unverified is not None:
            self._unverified_times = last or (NO_TIMESTAMP, 0)
        self.is_loaded = True
        if last is not None:
            self.max_timestamp_ms, relative_offset = last
            self._max_timestamp_offset = self.base_offset + relative_offset
        return True

    def load_active(self, interval: int) -> None:
        """After a clean stop: read the indexes, and the batches behind the last entry."""
        self.next_offset, self._interval = self.base_offset, interval
        if self.size_bytes and (self.is_loaded or not self._load_indexes()):
            self.scan()
        elif self.size_bytes:
            self._load_end()

    def load_saved(self, end_offset: int, interval: int) -> bool:
        """`load_active` for the part before `end_offset`; `load_rest` loads what follows.

        Returns:
            False: the indexes are missing, the data is damaged, or no batch ends there.
        """
        assert self.unverified is not None, "it is data from an earlier process"
        self.next_offset, self._interval = self.base_offset, interval
        if self.size_bytes == 0 or not self._load_indexes(end_offset):
            return False
        index = self._offset_index
        start = self._start_for(_INT_MAX)
        if self._offset_index is not index:
            return False  # its last entry was wrong
        for position, header in self.headers(start):
            if header.next_offset >= end_offset:
                self.size_bytes = self.unverified.size_bytes = position + header.size_bytes
                self._load_end()
                break
        return self.next_offset == end_offset and not self.unverified.damages

    def load_rest(self, rest: Unverified, interval: int) -> Iterator[tuple[int, BatchHeader]]:
        """Index the batches behind those of `load_saved`, yielding each."""
        self.size_bytes = rest.size_bytes
        for position, header in rest.headers(rest.begins[0]):
            self._index(header, header.base_offset, position, header.size_bytes, interval)
            yield position, header
        self._bytes_since_index = 0

    def _load_end(self) -> None:
        """Read the batches behind the last entry of the indexes."""
        first = next(self.headers(), None)
        if first is not None:
            self.first_timestamp_ms = first[1].max_timestamp_ms
        index = self._offset_index
        start = self._start_for(_INT_MAX)
        if self._offset_index is not index:
            return  # its last entry was wrong: the indexes were rebuilt
        for position, header in self.headers(start):
            self._index(header, header.base_offset, position, header.size_bytes, _INT_MAX)
        self._bytes_since_index = 0  # as in Kafka after every start
        if self.next_offset == self.base_offset:  # the data at the last entry is damaged
            self.scan()

    def scan(self) -> None:
        """Read the headers of the whole file and rebuild the indexes."""
        for _ in self.rebuild(self._interval):
            pass

    def rebuild(self, interval: int) -> Iterator[tuple[int, BatchHeader]]:
        """Read the whole file and rebuild the indexes, yielding each batch."""
        self._offset_index, self._time_index = OffsetIndex(), TimeIndex()
        del self._tail_offsets[:], self._tail_positions[:]
        self.max_timestamp_ms, self._bytes_since_index = NO_TIMESTAMP, 0
        self._unverified_times = None
        end_offset, self.next_offset, self.is_loaded = self.next_offset, self.base_offset, False
        try:
            for position, header in self.headers():
                self._index(header, header.base_offset, position, header.size_bytes, interval)
                yield position, header
            self._bytes_since_index = 0
            self.is_loaded = True
        finally:
            if not self.is_loaded:  # a read failed: keep the part behind it
                self.next_offset = max(end_offset, self.next_offset)
                del self._tail_offsets[:], self._tail_positions[:]
        self._index_time()

    def cut(self, size_bytes: int) -> None:
        """Cut the file behind its last whole batch; no batch that was served lies behind.

        The caller has the cut synced before any later record is acknowledged. If a loss of power
        undid it, the damage would reappear before later segments, which would be cut off with it.
        """
        descriptor = self.open()
        self._files.truncate(descriptor, size_bytes)
        self.size_bytes = size_bytes

    def finish(self) -> None:
        """The segment was rolled: another one is active now."""
        del self._tail_offsets[:], self._tail_positions[:]
        self.trim()

    def reserve(self, size_bytes: int) -> None:
        """Reserve space for the segment (`preallocate`), if the disk can."""
        with suppress(OSError):
            self._files.reserve(self.open(), size_bytes)
            self._is_reserved = True

    def trim(self, *, even_if_unknown: bool = False) -> None:
        """Release reserved and unused space; an earlier process may have reserved it.

        Raises:
            OSError: the file cannot be opened or cut.
        """
        if self._is_reserved or (even_if_unknown and self.size_bytes):
            self._is_reserved = False
            self._files.truncate(self.open(), self.size_bytes)

    def write_indexes(self, *, even_if_empty: bool = False) -> None:
        """Write the indexes to disk, because no append is expected."""
        if (self.size_bytes or even_if_empty) and self.is_loaded:
            with suppress(OSError):  # the next process checks unreadable data
                self.load_times()  # entries written behind a wrong one would hide it
            self._index_time()
            write_atomically(self._files, self.path(INDEX), self._offset_index.encode())
            write_atomically(self._files, self.path(TIME_INDEX), self._time_index.encode())

    def index_sizes(self) -> tuple[int, int]:
        """Sizes of `.index` and `.timeindex` on disk, in bytes."""
        sizes = [0, 0]
        for at, suffix in enumerate((INDEX, TIME_INDEX)):
            with suppress(FileNotFoundError):
                sizes[at] = self._files.size(self.path(suffix))
        return sizes[0], sizes[1]

    @property
    def offset_index(self) -> OffsetIndex:
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        return self._time_index

    # Files

    def open(self) -> int:
        """The data file's descriptor; creates the file if the segment is empty.

        Raises:
            OSError: it cannot be opened, or does not have the expected size.
        """
        if self._descriptor < 0:
            path = self.path(LOG)
            if self.size_bytes and (size_bytes := self._files.size(path)) < self.size_bytes:
                raise OSError(f"{path} has {size_bytes} bytes, not {self.size_bytes}")
            self._descriptor = self._files.open_files.open(self, self._files.open, path)
        return self._descriptor

    def is_in_place(self) -> bool:
        """False if the open data file was removed or renamed: the next start will not find it."""
        descriptor = self._descriptor
        return descriptor < 0 or self._files.is_at(descriptor, self.path(LOG))

    def hold(self) -> int:
        """The data file's descriptor for another thread; it stays open until `release`."""
        descriptor = self.open()
        self._holds += 1
        return descriptor

    def release(self) -> None:
        self._holds -= 1
        if self._is_to_close:
            self.close_for_now()

    def begin_reading(self) -> None:
        """A range of the file waits to be sent."""
        self._ranges += 1

    def end_reading(self) -> None:
        """The range is sent, or was dropped."""
        self._ranges -= 1
        if self._is_held_for_ranges and not self._ranges:
            self._is_held_for_ranges = False
            self.release()

    def close(self) -> None:
        """Close the file, which may then be renamed or removed; unsent ranges keep it open."""
        if self._ranges and not self._is_held_for_ranges:
            with suppress(OSError):  # a read of the range reports the error
                self.hold()
                self._is_held_for_ranges = True
        self.close_for_now()

    def close_for_now(self) -> None:
        """Close the file until its next use; if another thread holds it, at the release."""
        self._is_to_close = self._holds > 0
        if self._descriptor >= 0 and not self._is_to_close:
            self._files.open_files.closed(self)
            self._files.close(self._descriptor)
            self._descriptor = -1

    @property
    def takes_appends(self) -> bool:
        """False after a failed append whose bytes could not be cut off."""
        return self._append is not _refuse_append

    def refuse_appends(self) -> None:
        """Refuse appends until the process ends."""
        self._append = _refuse_append

    def rename(self, mark: str, *, with_snapshot: bool = False) -> list[str]:
        """Rename its files to another mark, the data file last. Returns their new paths."""
        renamed = []
        suffixes = (TRANSACTION_INDEX, TIME_INDEX, INDEX, LOG)
        for suffix in (SNAPSHOT, *suffixes) if with_snapshot else suffixes:
            target = f"{self._directory}/{file_name(self.base_offset, suffix)}{mark}"
            with suppress(FileNotFoundError):
                self._files.rename(self.path(suffix), target)
                renamed.append(target)
        self.mark = mark
        return renamed

    def remove(self) -> None:
        """Delete its files."""
        self.close()
        for suffix in (LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX, SNAPSHOT):
            with suppress(FileNotFoundError):
                self._files.remove(self.path(suffix))

    def repair(self, data: Bytes, position: int) -> None:
        """Overwrite a few wrong bytes. Raises OSError."""
        self._files.write_at(self.path(LOG), data, position)

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """At most `size_bytes` bytes of the data file."""
        descriptor = self._descriptor
        if descriptor < 0:
            descriptor = self.open()
        self.was_used = True
        return self._files.read_at(descriptor, size_bytes, position)
