"""One data file of a log with its two indexes; it knows batches and positions, not producers.

The file is opened at the first append or read. The newest segment's indexes live in memory and go
to disk when it is rolled or closed; an older one's are read when first needed, and rebuilt from the
data when they are missing or damaged (Kafka's LogSegment).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from ..protocol.batch import HEADER, HEADER_SIZE, LOG_OVERHEAD, NO_TIMESTAMP, BatchHeader
from .damage import read_copy, silently
from .doubt import Doubt
from .files import Bytes, Files, disk_full, write_atomically
from .indexes import OFFSET_ENTRY_SIZE, TIME_ENTRY, OffsetIndex, TimeIndex
from .open_files import OPEN_FILES
from .reads import FileRange, Found, ReadLimits, part_of, position_from

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
_INT_MAX: Final = 0x7FFFFFFF


def file_name(base_offset: int, suffix: str) -> str:
    """`00000000000000000042.log`"""
    return f"{base_offset:020d}{suffix}"


def _never_again(descriptor: int, data: Bytes) -> int:
    raise OSError("where the file ends is not known since an earlier failure")


class Segment:
    """A stretch of the log.

    Attributes:
        base_offset: in the files' names; the first record may lie behind it.
        next_offset: behind the last record.
        size_bytes: of the data file.
        mark: at the end of its files' names: one of the above while it is no part of the log.
        first_timestamp_ms: the max timestamp of its first batch; -1 when empty or unknown.
        max_timestamp_ms: the largest of all its batches; -1 when empty. See `load_times`.
        doubt: what an earlier life wrote is checked by it; None: this process wrote all.
        has_transaction_index: a transaction index is on disk, which a loss of power may have left
            behind without its data.
        was_used: its file was, since `OpenFiles` last looked.
    """

    __slots__ = (
        "__weakref__",
        "_append",
        "_bytes_since_index",
        "_descriptor",
        "_directory",
        "_doubted_times",
        "_files",
        "_holds",
        "_interval",
        "_is_held_for_ranges",
        "_is_reserved",
        "_is_to_close",
        "_max_timestamp_offset",
        "_offset_index",
        "_ranges",
        "_tail_offsets",
        "_tail_positions",
        "_time_index",
        "base_offset",
        "doubt",
        "first_timestamp_ms",
        "has_transaction_index",
        "is_loaded",
        "mark",
        "max_timestamp_ms",
        "next_offset",
        "size_bytes",
        "was_used",
    )

    def __init__(self, files: Files, directory: str, base_offset: int, mark: str = "") -> None:
        self._files = files
        self._append = files.append
        self._directory = directory
        self._descriptor = -1
        self._holds = 0
        self._is_to_close = False
        self._ranges = 0  # of its file that are to be sent
        self._is_held_for_ranges = False
        self._is_reserved = False
        self._offset_index = OffsetIndex()
        self._time_index = TimeIndex()
        self._doubted_times: tuple[int, int] | None = None  # the last entry of the index on disk
        self._bytes_since_index = 0
        self._interval = _CHUNK_BYTES  # of an index that is built anew
        self._max_timestamp_offset = base_offset
        self._tail_offsets = array("q")  # base offsets of the newest batches: readers are here
        self._tail_positions = array("q")
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.mark = mark
        self.size_bytes = 0
        self.first_timestamp_ms = NO_TIMESTAMP
        self.max_timestamp_ms = NO_TIMESTAMP
        self.doubt: Doubt | None = None
        self.has_transaction_index = False
        self.is_loaded = True  # an empty one has nothing to load
        self.was_used = False

    @classmethod
    def found(
        cls, files: Files, directory: str, base_offset: int, next_offset: int, mark: str = ""
    ) -> Segment:
        """A segment that is on disk; only its size is read."""
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
            header: its times are indexed; its offsets are not looked at.
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
            self._take_back(descriptor, position)
            raise
        self.size_bytes = position + written
        self._index(header, last_offset - header.last_offset_delta, position, written, interval)

    def _take_back(self, descriptor: int, size_bytes: int) -> None:
        """A write failed half way: cut off what it left, or take no more."""
        try:
            self._files.truncate(descriptor, size_bytes)
        except OSError:
            self._append = _never_again

    def _index(
        self, header: BatchHeader, base_offset: int, position: int, size: int, interval: int
    ) -> None:
        """Remember a batch that lies at `position`."""
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
            del tail[:], self._tail_positions[:]  # compaction left a gap; the tail has none
        elif len(tail) == _TAIL_BATCHES:
            del tail[: _TAIL_BATCHES // 2], self._tail_positions[: _TAIL_BATCHES // 2]
        tail.append(base_offset)
        self._tail_positions.append(position)
        self.next_offset = last_offset + 1

    def _index_time(self) -> None:
        if self.max_timestamp_ms >= 0:
            relative_offset = self._max_timestamp_offset - self.base_offset
            self._time_index.add(self.max_timestamp_ms, relative_offset)

    def takes(self, last_offset: int, index_bytes: int) -> bool:
        """Whether the indexes have room for one more batch (LogSegment.shouldRoll)."""
        return (
            last_offset - self.base_offset <= _INT_MAX
            and len(self._offset_index) < index_bytes // OFFSET_ENTRY_SIZE
            and len(self._time_index) < index_bytes // TIME_ENTRY.size - 1
        )

    # Reading

    def find(self, offset: int, limits: ReadLimits) -> Found | None:
        """Whole batches from the one that holds `offset` or the next; None when all lie before.

        Raises:
            Refused: CORRUPT_MESSAGE where data are damaged.
        """
        doubt = self.doubt
        if doubt is not None and offset < doubt.end_offset:
            return doubt.find(offset, limits)
        return self.find_sound(offset, limits)

    def find_sound(self, offset: int, limits: ReadLimits) -> Found | None:
        """`find`, where nothing is in doubt."""
        position = self.position_of(offset)
        if position is None:
            return None
        max_bytes, up_to, _, at_once = limits
        if up_to >= self.next_offset:
            end = self.size_bytes
            next_offset = self.next_offset
        else:
            found = self.position_of(up_to)
            end = self.size_bytes if found is None else found  # None: compaction left a gap there
            next_offset = up_to
            if end <= position:
                return Found(b"", offset)
        if end - position <= max_bytes:
            return self.range(position, end, next_offset, at_once)
        return part_of(self, position, offset, limits)

    def range(self, position: int, end: int, next_offset: int, at_once: int) -> Found:
        """What lies between two positions, read when it is no more than `at_once`."""
        size_bytes = end - position
        if size_bytes <= at_once:
            return Found(self.read_at(size_bytes, position), next_offset)
        return Found(FileRange(self, position, size_bytes), next_offset)

    def position_of(self, offset: int) -> int | None:
        """Where the first batch begins whose last offset is at or behind `offset`."""
        if offset >= self.next_offset:
            return None
        tail = self._tail_offsets
        if tail and offset >= tail[0]:
            return self._tail_positions[bisect_right(tail, offset) - 1]
        start = self._start_for(offset - self.base_offset)
        if self.doubt is None or start >= self.doubt.size_bytes:
            return position_from(self, start, offset)
        for position, header in self.headers(start):
            if header.last_offset >= offset:
                return position
        return None

    def _start_for(self, relative_offset: int) -> int:
        """Where to begin the search for an offset."""
        index = self._indexes()[0]
        if self.doubt is not None:
            return self.doubt.start_for(relative_offset)
        return index.position_before(relative_offset)

    def indexed_batch(self, position: int) -> int:
        """Where a batch begins: the last one of the index at or before a position, or the first."""
        return self._indexes()[0].position_up_to(position)

    def headers(self, start: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each batch from `start` on, which must be where one begins.

        Of what an earlier life wrote only what is sound.
        """
        if self.doubt is not None:
            yield from self.doubt.headers(start)
            start = max(start, self.doubt.size_bytes)
        position, end = start, self.size_bytes
        chunk, chunk_start = b"", 0
        while position + HEADER_SIZE <= end:
            at = position - chunk_start
            if at + HEADER_SIZE > len(chunk):
                chunk_start, at = position, 0
                chunk = self.read_at(min(_CHUNK_BYTES, end - position), position)
            header = BatchHeader._make(HEADER.unpack_from(chunk, at))
            if header.length < HEADER_SIZE - LOG_OVERHEAD:
                return  # not a batch: the file was changed by somebody else
            yield position, header
            position += header.length + LOG_OVERHEAD

    def batch_at(self, position: int, header: BatchHeader) -> bytes:
        """The whole batch whose header was found at `position`."""
        return self.read_at(header.length + LOG_OVERHEAD, position)

    # Times

    def find_timestamp(
        self, timestamp_ms: int, from_offset: int
    ) -> Iterator[tuple[int, BatchHeader]]:
        """Batches that may hold the first record of that time or later, at or behind an offset."""
        self.load_times()
        # One entry earlier where the index itself is in doubt.
        before = self._time_index.offset_before(timestamp_ms, skip=int(self.doubt is not None))
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
        """The time of its newest record; of its file, where its records have none, as in Kafka."""
        self.load_times()
        if self.max_timestamp_ms >= 0:
            return self.max_timestamp_ms
        return self._files.modified_ms(self.path(LOG))

    def refuse_if_damaged(self, before: int = _INT_MAX) -> None:
        """Raise Refused (CORRUPT_MESSAGE) when data before a position are known to be damaged."""
        if self.doubt is not None:
            self.doubt.refuse_if_damaged(before)

    # Indexes on disk

    def load_times(self) -> None:
        """Have the times known, as the data have them."""
        for _ in self.load_times_in_steps():
            pass

    def load_times_in_steps(self) -> Iterator[None]:
        """`load_times`, in steps of half a millisecond between which anything may be done.

        What the index of an earlier life says last is held against the data from there on: that is
        the whole file where times do not rise.

        Raises:
            OSError: the file cannot be read.
        """
        self._indexes()
        if self._doubted_times is not None and self.doubt is not None:
            agrees = yield from self.doubt.times_end_with(*self._doubted_times)
            if not agrees and self._doubted_times is not None:  # nobody else was here meanwhile
                self.scan()
            self._doubted_times = None

    def _indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        if not self.is_loaded and not self._load_indexes():
            self.scan()
        return self._offset_index, self._time_index

    def _load_indexes(self) -> bool:
        """Take the indexes from disk; False when they are missing or cannot be this file's.

        Raises:
            OSError: no file can be opened.
        """
        report = silently if self.doubt is None else self.doubt.report
        offsets = read_copy(self._files, self.path(INDEX), report, self.base_offset)
        times = read_copy(self._files, self.path(TIME_INDEX), report, self.base_offset)
        offset_index = None if offsets is None else OffsetIndex.decode(offsets, self.size_bytes)
        time_index = None if times is None else TimeIndex.decode(times)
        if offset_index is None or time_index is None:
            return False
        last = time_index.last()
        self._offset_index, self._time_index = offset_index, time_index
        if self.doubt is not None:
            self._doubted_times = last or (NO_TIMESTAMP, 0)
        self.is_loaded = True
        if last is not None:
            self.max_timestamp_ms, relative_offset = last
            self._max_timestamp_offset = self.base_offset + relative_offset
        return True

    def load_as_newest(self, interval: int) -> None:
        """After a clean stop: the indexes, and what lies behind the last entry."""
        self.next_offset, self._interval = self.base_offset, interval
        if self.size_bytes == 0:
            return
        if self.is_loaded or not self._load_indexes():
            self.scan()
            return
        first = next(self.headers(), None)
        if first is not None:
            self.first_timestamp_ms = first[1].max_timestamp_ms
        index = self._offset_index
        start = self._start_for(_INT_MAX)
        if self._offset_index is not index:
            return  # its last entry was wrong: all was read and indexed anew
        for position, header in self.headers(start):
            self._index(header, header.base_offset, position, header.size_bytes, _INT_MAX)
        self._bytes_since_index = 0  # as Kafka counts after a start, of either kind
        if self.next_offset == self.base_offset:  # what the last entry leads to is damaged
            self.scan()

    def scan(self) -> None:
        """Read the headers of the whole file and build the indexes anew."""
        for _ in self.rebuild(self._interval):
            pass

    def rebuild(self, interval: int) -> Iterator[tuple[int, BatchHeader]]:
        """Read the whole file and build the indexes anew, giving each batch on the way."""
        self._offset_index, self._time_index = OffsetIndex(), TimeIndex()
        del self._tail_offsets[:], self._tail_positions[:]
        self.max_timestamp_ms, self._bytes_since_index = NO_TIMESTAMP, 0
        self._doubted_times = None
        end_offset, self.next_offset, self.is_loaded = self.next_offset, self.base_offset, False
        try:
            for position, header in self.headers():
                self._index(header, header.base_offset, position, header.size_bytes, interval)
                yield position, header
            self._bytes_since_index = 0
            self.is_loaded = True
        finally:
            if not self.is_loaded:  # a read failed: what is behind it must not be forgotten
                self.next_offset = max(end_offset, self.next_offset)
                del self._tail_offsets[:], self._tail_positions[:]
        self._index_time()

    def cut(self, size_bytes: int) -> None:
        """Shorten the file to what was found to be whole: no batch that was given lies behind.

        It is synced: were a loss of power to undo it, the damage would come back in front of later
        segments, which may have been acknowledged by then and would be cut off with it.
        """
        descriptor = self.open()
        self._files.truncate(descriptor, size_bytes)
        self._files.sync(descriptor)
        self.size_bytes = size_bytes

    def finish(self) -> None:
        """Another segment takes the appends from now on."""
        del self._tail_offsets[:], self._tail_positions[:]
        self.trim()

    def reserve(self, size_bytes: int) -> None:
        """Take the room that it may need (`preallocate`), as far as the disk lets it."""
        with suppress(OSError):
            self._files.reserve(self.open(), size_bytes)
            self._is_reserved = True

    def trim(self, *, even_if_unknown: bool = False) -> None:
        """Give back the room that was taken and not used; a life before this one may have taken it.

        Raises:
            OSError: the file cannot be opened or cut.
        """
        if self._is_reserved or (even_if_unknown and self.size_bytes):
            self._is_reserved = False
            self._files.truncate(self.open(), self.size_bytes)

    def write_indexes(self, *, even_if_empty: bool = False) -> None:
        """Put the indexes on disk: nothing will be appended for now."""
        if (self.size_bytes or even_if_empty) and self.is_loaded:
            with suppress(OSError):  # what cannot be read now is checked by the next life
                self.load_times()  # what is written behind a wrong entry makes it look right
            self._index_time()
            write_atomically(self._files, self.path(INDEX), self._offset_index.encode())
            write_atomically(self._files, self.path(TIME_INDEX), self._time_index.encode())

    def index_sizes(self) -> tuple[int, int]:
        """Of the offset's and the time's index on disk, in bytes."""
        sizes = [0, 0]
        for at, suffix in enumerate((INDEX, TIME_INDEX)):
            with suppress(FileNotFoundError):
                sizes[at] = self._files.size(self.path(suffix))
        return sizes[0], sizes[1]

    @property
    def offset_index(self) -> OffsetIndex:
        return self._offset_index

    # Files

    def open(self) -> int:
        """The data file's descriptor; the file is made when there is nothing in it.

        Raises:
            OSError: it cannot be opened, or is not what was written.
        """
        if self._descriptor < 0:
            path = self.path(LOG)
            if self.size_bytes:
                self._check_is_there(path)
            self._descriptor = OPEN_FILES.open(self, self._files, path)
        return self._descriptor

    def _check_is_there(self, path: str) -> None:
        size_bytes = self._files.size(path)
        if size_bytes < self.size_bytes:
            raise OSError(f"{path} has {size_bytes} bytes, and had {self.size_bytes}")

    def is_in_place(self) -> bool:
        """False: the data file was removed or renamed while it is open, and nobody will find it."""
        descriptor = self._descriptor
        return descriptor < 0 or self._files.is_at(descriptor, self.path(LOG))

    def sync(self) -> None:
        """Return when the data would survive a loss of power."""
        if self.size_bytes:
            self._files.sync(self.open())

    def hold(self) -> int:
        """The data file's descriptor, which stays open until `release`: another thread has it."""
        descriptor = self.open()
        self._holds += 1
        return descriptor

    def release(self) -> None:
        self._holds -= 1
        if self._is_to_close:
            self.close_for_now()

    def begin_reading(self) -> None:
        """A range of it is to be sent."""
        self._ranges += 1

    def end_reading(self) -> None:
        """That range is sent, or never will be."""
        self._ranges -= 1
        if self._is_held_for_ranges and not self._ranges:
            self._is_held_for_ranges = False
            self.release()

    def close(self) -> None:
        """Close the file, which may be renamed or removed then: ranges of it keep it open."""
        if self._ranges and not self._is_held_for_ranges:
            with suppress(OSError):  # whoever reads the range will be told
                self.hold()
                self._is_held_for_ranges = True
        self.close_for_now()

    def close_for_now(self) -> None:
        """Close the file until it is needed again; one that is held when it is released."""
        self._is_to_close = self._holds > 0
        if self._descriptor >= 0 and not self._is_to_close:
            OPEN_FILES.closed(self)
            self._files.close(self._descriptor)
            self._descriptor = -1

    @property
    def takes_appends(self) -> bool:
        """False after a failure that left behind what could not be cut off."""
        return self._append is not _never_again

    def refuse_appends(self) -> None:
        """Take no more, for the life of the process."""
        self._append = _never_again

    def rename(self, mark: str, *, with_snapshot: bool = False) -> list[str]:
        """Give its files another mark; the data file last. Returns their new paths."""
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

    def mend(self, data: Bytes, position: int) -> None:
        """Write over a few bytes that are known to be wrong. Raises OSError."""
        self._files.write_at(self.path(LOG), data, position)

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """At most so many bytes of the data file."""
        descriptor = self._descriptor
        if descriptor < 0:
            descriptor = self.open()
        self.was_used = True
        return self._files.read_at(descriptor, size_bytes, position)
