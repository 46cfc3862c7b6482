"""Verifies data files from an earlier process, so that no unchecked byte is served.

Each batch is checked once: its frame, its CRC-32C, the order of offsets, its leader epoch. A
mismatch is damage: it is reported once, with file, position and offset, and never served; batches
behind it still are. A wrong leader epoch is repaired in the file, as another source has the right
one. Kafka's broker does not verify; its clients do.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from ...protocol.batch import (
    CRC_START,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
)
from ...protocol.checksum import crc32c
from ...protocol.errors import Code, Refused
from ..disk.damage import Damage, Report, wrong_index
from .reads import SearchedFile, find_in

if TYPE_CHECKING:
    from .indexes import OffsetIndex
    from .leader_epochs import LeaderEpochs
    from .reads import Found, ReadLimits

_CHUNK_BYTES: Final = 1 << 18
_SEARCH_BYTES: Final = 4 << 20
_BATCHES_IN_A_STEP: Final = 64
_INT_MAX: Final = 0x7FFFFFFF
_MAGIC_AT: Final = 16
_EPOCH_AT: Final = 12
_ZEROS: Final = 16  # that many at the end of a batch mean that it was never written
_EPOCH: Final = struct.Struct(">i")
_unpack: Final = HEADER.unpack_from
_header_of: Final = BatchHeader._make


class UnverifiedFile(SearchedFile, Protocol):
    """The parts of a segment that `Unverified` uses."""

    @property
    def base_offset(self) -> int: ...
    @property
    def offset_index(self) -> OffsetIndex: ...

    def path(self, suffix: str) -> str:
        """The path of its file of that kind."""

    def headers(self, start: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each batch from `start` on."""

    def scan(self) -> None:
        """Rebuild the indexes."""

    def repair(self, data: bytes, position: int) -> None:
        """Overwrite a few bytes. Raises OSError."""


class Unverified:
    """The verification state of a segment's data, up to its size when it was opened.

    Args:
        is_last: no other segment follows; it has no gaps, as it was never compacted.
        may_have_gaps: the log is compacted: offsets may be missing at the end, too.
        end_offset: the expected end of the segment; a lower bound for the last one.
        torn_from: damaged data from this offset on was not synced, and is cut off.
        has_all_writes: the machine has run on since the writes: only an incomplete one at the end
            is cut off, and all other damage stays, as if the data were synced.
        epochs: the leader epochs of the batches; None: not known yet, see `set_leader_epochs`.

    Attributes:
        begins: position and offset of its first batch.
        report: called with each damage.
        size_bytes: the file is unverified up to this position.
        damages: the damage found so far.
        cut_at: position of the torn end; None if there is none.
    """

    def __init__(
        self,
        segment: UnverifiedFile,
        *,
        is_last: bool,
        may_have_gaps: bool,
        end_offset: int,
        report: Report,
        torn_from: int | None = None,
        epochs: LeaderEpochs | None = None,
        begins: tuple[int, int] | None = None,
        has_all_writes: bool = False,
    ) -> None:
        self._segment = segment
        self._has_all_writes = has_all_writes
        self.begins = begins or (0, segment.base_offset)
        self._is_last = is_last
        self._may_have_gaps = may_have_gaps
        self._limit = segment.base_offset + _INT_MAX if is_last else end_offset
        self.end_offset = end_offset
        self.report = report
        self._torn_from = torn_from
        self._epochs = epochs
        self.size_bytes = segment.size_bytes
        self.damages: list[Damage] = []
        self.cut_at: int | None = None
        self._is_verified = self._is_behind_damage = False
        self._verified: list[tuple[int, int]] = []  # disjoint ranges of verified batches, rising
        self._chunk = b""
        self._chunk_start = 0

    @property
    def ends_in_damage(self) -> bool:
        """Whether no valid batch lies behind the last damage."""
        return bool(self.damages) and self.damages[-1].end_position == self.size_bytes

    def cut_if_short(self, next_offset: int) -> None:
        """Cut the file, read to its end at `next_offset`, if it should reach the next segment.

        A loss of power took whole batches, so the following ones were not synced either. Without
        one this is damage.
        """
        if self._is_last or self._may_have_gaps or self._torn_from is None or self.damages:
            return
        if self._torn_from <= next_offset < self.end_offset and self.cut_at is None:
            if self._has_all_writes:
                self.ends_early(next_offset)
            else:
                self.cut_at = self.size_bytes

    def report_cut(self, next_offset: int, later: Sequence[UnverifiedFile]) -> None:
        """Report that the file is cut at `cut_at`, and that the `later` files are removed."""
        assert self.cut_at is not None
        behind = sum(segment.size_bytes for segment in later)
        if self._is_torn(self.cut_at) and not behind:
            return  # left over from an incomplete write
        end_offset = max([next_offset, *(segment.base_offset for segment in later)])
        why = "a damaged batch was not synced; it was cut off with all data behind it"
        if behind:
            why = f"{why}, and with {len(later)} more files of {behind} bytes"
        path = self._segment.path(".log")
        self.report(Damage(path, self.cut_at, self.size_bytes, next_offset, end_offset, why))

    def _is_torn(self, position: int) -> bool:
        """Whether the bytes are an incomplete write: a batch's beginning, zeros, or nothing."""
        header = self._header(position)
        if header is None:
            return True
        at = self._load(position, HEADER_SIZE)
        if not any(self._chunk[at + _MAGIC_AT : at + HEADER_SIZE]):
            return True
        if header.magic != MAGIC:
            return False
        if position + header.size_bytes > self.size_bytes:
            return not any(self._has_right_crc(position, header.length ^ 1 << n) for n in range(31))
        if header.size_bytes < HEADER_SIZE:
            return False
        end = self._load(position, header.size_bytes) + header.size_bytes
        return not any(self._chunk[end - _ZEROS : end])

    def _has_right_crc(self, position: int, length: int) -> bool:
        """Whether the CRC matches a batch of that length."""
        size = length + LOG_OVERHEAD
        if not HEADER_SIZE <= size <= self.size_bytes - position:
            return False
        at = self._load(position, size)
        header = BatchHeader._make(HEADER.unpack_from(self._chunk, at))
        return crc32c(memoryview(self._chunk)[at + CRC_START : at + size]) == header.crc

    def ends_early(self, next_offset: int) -> None:
        """Report that the last batch ends at `next_offset`, before `end_offset`."""
        self._found(self.size_bytes, next_offset, None)

    # Walking

    def headers(self, start: int) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each valid batch from `start`, a batch's position, on."""
        position = start
        expected = self.begins[1] if start == self.begins[0] else None
        while position < self.size_bytes and not self._is_verified:
            header = self._valid_at(position, expected)
            if header is None:
                self.verify()
                break
            yield position, header
            position += header.length + LOG_OVERHEAD
            expected = header.next_offset
            run = self._plain_run(position, expected)
            if run:
                yield from run
                position = run[-1][0] + run[-1][1].size_bytes
                expected = run[-1][1].next_offset
        if self._is_verified and position < self.size_bytes:
            yield from self._verified_from(position)
        self._chunk = b""

    def _plain_run(self, start: int, expected: int) -> list[tuple[int, BatchHeader]]:
        """Position and header of the next batches in the chunk that are valid without any doubt.

        The run ends before a batch that `_valid_at` must judge. The loop makes no calls that it can
        avoid, because a restart checks each batch behind the recovery point.

        Args:
            start: position of a batch.
            expected: its base offset.
        """
        limit, epoch = self._limit, None
        if self._epochs is not None:
            epoch = self._epochs.epoch_of(expected)
            limit = min(limit, self._epochs.end_offset_of(epoch, limit)[1])
        found: list[tuple[int, BatchHeader]] = []
        chunk, chunk_start = memoryview(self._chunk), self._chunk_start
        at, size = start - chunk_start, len(chunk)
        if at < 0:
            return found
        while at + HEADER_SIZE <= size and len(found) < _BATCHES_IN_A_STEP:
            header = _header_of(_unpack(chunk, at))
            base_offset, length, leader_epoch, magic, crc, _, delta, *_ = header
            end = at + length + LOG_OVERHEAD
            if base_offset != expected or magic != MAGIC or delta < 0:
                break
            expected += delta + 1
            if expected > limit or (epoch is not None and leader_epoch != epoch):
                break
            if not at + HEADER_SIZE <= end <= size or crc32c(chunk[at + CRC_START : end]) != crc:
                break
            found.append((chunk_start + at, header))
            at = end
        if found:
            self._mark(start, chunk_start + at)
        return found

    def _verified_from(self, position: int) -> Iterator[tuple[int, BatchHeader]]:
        for start, end in list(self._verified):
            at = max(start, position)
            while at < end:
                header = self._header(at)
                assert header is not None
                yield at, header
                at += header.length + LOG_OVERHEAD

    def start_for(self, relative_offset: int) -> int:
        """Position to start the search for an offset: the index's, if it agrees with the data."""
        segment = self._segment
        indexed = segment.offset_index.entry_before(relative_offset)
        if indexed is None or indexed[1] >= self.size_bytes:
            return 0 if indexed is None else indexed[1]
        offset, position = indexed
        header = self._valid_at(position, None)
        if header is not None and header.last_offset == segment.base_offset + offset:
            return position
        self.verify()
        if not self.damages:
            self.report(wrong_index(segment.path(".index"), segment.base_offset))
        segment.scan()
        return segment.offset_index.position_before(relative_offset)

    def times_end_with(
        self, timestamp_ms: int, relative_offset: int
    ) -> Generator[None, None, bool]:
        """Whether this is the file's largest timestamp and its offset; in steps.

        Args:
            timestamp_ms: -1: no batch has a timestamp.
        """
        wanted = self._segment.base_offset + relative_offset
        start = self.start_for(relative_offset)
        is_found = timestamp_ms == NO_TIMESTAMP
        for count, (position, header) in enumerate(self.headers(start), 1):
            if not is_found and header.last_offset >= wanted:
                is_found = True
                if header.max_timestamp_ms != timestamp_ms:
                    return False
            elif is_found and header.max_timestamp_ms > timestamp_ms:
                return False
            if count % _BATCHES_IN_A_STEP == 0 or position - start >= _CHUNK_BYTES:
                start = position
                yield
        return is_found

    # Reading

    def find(self, offset: int, limits: ReadLimits) -> Found | None:
        """As `Segment.find`, for an offset before `end_offset`.

        Raises:
            Refused: CORRUPT_MESSAGE if the offset is in a damaged range.
        """
        self._refuse_if_lost(offset)
        segment = self._segment
        position = segment.position_of(offset)
        if position is None and not self._is_last:
            self.verify()  # the file ends before the next segment begins
        self._refuse_if_lost(offset)
        self._chunk = b""
        if position is None:
            return None
        max_bytes, up_to, min_one, at_once = limits
        if not self.damages and self._covers(position, position + max_bytes):
            found = find_in(segment, offset, limits)
            is_end = position + len(found.records) == self.size_bytes if found else False
            if is_end and not self._is_last and not self._may_have_gaps:
                return self._up_to_the_gap(position, found)
            return found
        end, next_offset = position, offset
        for at, header in segment.headers(position):
            after = at + header.length + LOG_OVERHEAD
            is_too_much = after - position > max_bytes and (end > position or not min_one)
            if at != end or header.base_offset >= up_to or is_too_much:
                break
            end, next_offset = after, header.next_offset
        return segment.range(position, end, next_offset, at_once)

    def check_in_steps(self, offset: int, max_bytes: int) -> Iterator[None]:
        """Verify the data for `find`, in steps of half a millisecond; it may change between."""
        if self._covers(0, self.size_bytes):
            return
        start = self._segment.position_of(offset)
        if start is None or self._covers(start, start + max_bytes):
            return
        end = start + max_bytes
        for count, (position, header) in enumerate(self.headers(start), 1):
            if position + header.size_bytes >= end:
                return
            if count % _BATCHES_IN_A_STEP == 0 or position - start >= _CHUNK_BYTES:
                start = position
                yield

    def _up_to_the_gap(self, position: int, found: Found | None) -> Found | None:
        """The data up to the file's end, which should be where the next segment begins."""
        *_, (_, last) = self._segment.headers(max(position, self.start_for(_INT_MAX)))
        if found is None or last.next_offset >= self.end_offset:
            return found
        self.verify()
        return found._replace(next_offset=last.next_offset)

    def _refuse_if_lost(self, offset: int) -> None:
        for damage in self.damages:
            if damage.first_offset <= offset < damage.end_offset:
                raise Refused(Code.CORRUPT_MESSAGE, str(damage))

    def refuse_if_damaged(self, before: int) -> None:
        """Raise Refused (CORRUPT_MESSAGE) if an answer would depend on damaged data."""
        if self.damages and self.damages[0].position < before:
            raise Refused(Code.CORRUPT_MESSAGE, str(self.damages[0]))

    # Checking

    def verify(self) -> None:
        """Verify the whole file: find valid, damaged and torn parts."""
        if self._is_verified:
            return
        (position, expected), has_gaps = self.begins, self._may_have_gaps
        ranges: list[tuple[int, int]] = []
        while position < self.size_bytes:
            header = self._valid_at(position, expected)
            if header is not None:
                has_gaps = has_gaps or header.base_offset > expected
                start, position = position, position + header.length + LOG_OVERHEAD
                if ranges and ranges[-1][1] == start:
                    start = ranges.pop()[0]
                ranges.append((start, position))
                expected = header.next_offset
                continue
            if self._is_to_cut(position, expected):
                self.cut_at = position
                break
            behind = self._next_valid(position, expected)
            self._found(position, expected, behind)
            if behind is None:
                break
            position, expected = behind[0], behind[1].base_offset
        else:
            if not self._is_last and not has_gaps and expected < self.end_offset:
                self._found(position, expected, None)
        self._is_verified, self._verified = True, ranges

    def _is_to_cut(self, position: int, expected: int) -> bool:
        """Whether an invalid batch at `position`, expected at that offset, begins a torn end."""
        if self._torn_from is None or expected < self._torn_from:
            return False
        if not self._has_all_writes:
            return True
        is_at_the_end = self._is_last and self._next_valid(position, expected) is None
        return is_at_the_end and self._is_torn(position)

    def _found(self, position: int, expected: int, behind: tuple[int, BatchHeader] | None) -> None:
        end_position, end_offset = self.size_bytes, max(expected, self.end_offset)
        if behind is not None:
            end_position, end_offset = behind[0], behind[1].base_offset
        elif self._has_all_writes and self._is_last and position < end_position:
            end_offset = max(end_offset, self._end_of_damaged(position, expected))
        why = "a batch is damaged" if position < end_position else "the file ends too early"
        path = self._segment.path(".log")
        damage = Damage(path, position, end_position, expected, end_offset, why)
        self.damages.append(damage)
        self.report(damage)

    def _end_of_damaged(self, position: int, expected: int) -> int:
        """The end of the damaged last batch, if two of its numbers agree; it has a record."""
        header = self._header(position)
        if header is None or header.base_offset != expected:
            return expected + 1
        agree = header.last_offset_delta + 1 == header.record_count > 0
        return header.next_offset if agree else expected + 1

    def _valid_at(self, position: int, expected: int | None) -> BatchHeader | None:
        """The header of the batch at `position`; None unless it is whole and valid.

        Args:
            expected: its base offset is not below this; None: unknown.
        """
        header = self._header(position)
        if header is None:
            return None
        base_offset, size = header.base_offset, header.length + LOG_OVERHEAD
        end = position + size
        if size < HEADER_SIZE or end > self.size_bytes or header.magic != MAGIC:
            return None
        if base_offset < (self._segment.base_offset if expected is None else expected):
            return None
        if header.last_offset_delta < 0 or header.next_offset > self._limit:
            return None
        at = bisect_right(self._verified, position, key=_start) - 1
        is_known = at >= 0 and end <= self._verified[at][1]
        if not is_known:
            if self._is_verified:
                return None
            start = self._load(position, size)
            covered = memoryview(self._chunk)[start + CRC_START : start + size]
            if crc32c(covered) != header.crc:
                return None
        # The CRC does not cover the offset: behind a gap the next batch must confirm it.
        if base_offset != expected and expected is not None and not self._fits(end, header):
            return None
        if not is_known:
            if not self._repair_epoch(position, header):
                header = self._header(position)
            self._mark(position, end)
        return header

    def set_leader_epochs(self, epochs: LeaderEpochs) -> None:
        """Set the leader epochs; also check the batches already verified."""
        self._epochs = epochs
        for start, end in self._verified:
            while start < end:
                header = self._header(start)
                assert header is not None
                self._repair_epoch(start, header)
                start += header.length + LOG_OVERHEAD

    def _repair_epoch(self, position: int, header: BatchHeader) -> bool:
        """Whether the leader epoch, which the CRC does not cover, was right; repairs it if not."""
        epochs = self._epochs
        if epochs is None or epochs.epoch_of(header.last_offset) == header.leader_epoch:
            return True
        following = self._header(position + header.size_bytes)
        if following is not None and (
            following.magic != MAGIC or following.base_offset < header.next_offset
        ):
            following = None
        epoch = epochs.right_epoch(header, following)
        if epoch == header.leader_epoch:
            return True
        self._segment.repair(_EPOCH.pack(epoch), position + _EPOCH_AT)
        self._chunk = b""
        offsets = f"offsets {header.base_offset} to {header.last_offset}"
        why = (
            f"the leader epoch of {offsets} was {header.leader_epoch}, not {epoch}; it was repaired"
        )
        path = self._segment.path(".log")
        self.report(Damage(path, position, position, header.base_offset, header.base_offset, why))
        return False

    def _fits(self, end: int, header: BatchHeader) -> bool:
        following = self._header(end)
        if following is None:
            return not self._is_last or (self._is_behind_damage and end == self.size_bytes)
        return following.base_offset >= header.next_offset

    def _next_valid(self, position: int, expected: int) -> tuple[int, BatchHeader] | None:
        """The first valid batch behind the damaged one at `position`."""
        # The offset of the newest batch is believed: not both of them are wrong after a kill.
        self._is_behind_damage = self._has_all_writes
        try:
            return self._search_valid(position, expected)
        finally:
            self._is_behind_damage = False

    def _search_valid(self, position: int, expected: int) -> tuple[int, BatchHeader] | None:
        header = self._header(position)
        if header is not None and header.length >= HEADER_SIZE - LOG_OVERHEAD:
            after = position + header.length + LOG_OVERHEAD
            found = self._valid_at(after, expected) if after < self.size_bytes else None
            if found is not None:
                return after, found
        at = position + 1
        while at + HEADER_SIZE <= self.size_bytes:
            window = self._segment.read_at(_SEARCH_BYTES, at)
            magic_at = window.find(MAGIC, _MAGIC_AT)
            while magic_at >= 0 and magic_at + HEADER_SIZE - _MAGIC_AT <= len(window):
                header = BatchHeader._make(HEADER.unpack_from(window, magic_at - _MAGIC_AT))
                candidate = at + magic_at - _MAGIC_AT
                if expected < header.base_offset <= self._limit:
                    found = self._valid_at(candidate, expected)
                    if found is not None:
                        return candidate, found
                magic_at = window.find(MAGIC, magic_at + 1)
            at += max(len(window) - HEADER_SIZE, 1)
        return None

    # Bytes, and verified ranges

    def _header(self, position: int) -> BatchHeader | None:
        if position + HEADER_SIZE > self.size_bytes:
            return None
        at = self._load(position, HEADER_SIZE)
        return BatchHeader._make(HEADER.unpack_from(self._chunk, at))

    def _load(self, position: int, size: int) -> int:
        """Read these bytes of the file into the chunk; return their index in it."""
        at = position - self._chunk_start
        if at < 0 or at + size > len(self._chunk):
            wanted = min(max(size, _CHUNK_BYTES), self.size_bytes - position)
            self._chunk = self._segment.read_at(wanted, position)
            if len(self._chunk) < size:  # another process cut it meanwhile
                self._chunk += bytes(size - len(self._chunk))
            self._chunk_start = at = position
            at = 0
        return at

    def _mark(self, start: int, end: int) -> None:
        """Mark the range from `start` to `end` as valid."""
        verified = self._verified
        at = bisect_right(verified, start, key=_start)
        if at and verified[at - 1][1] >= start:
            at -= 1
            start = verified[at][0]
            end = max(end, verified[at][1])
            del verified[at]
        while at < len(verified) and verified[at][0] <= end:
            end = max(end, verified[at][1])
            del verified[at]
        verified.insert(at, (start, end))

    def _covers(self, position: int, end: int) -> bool:
        end = min(end, self.size_bytes)
        at = bisect_right(self._verified, position, key=_start) - 1
        return position >= self.size_bytes or (at >= 0 and end <= self._verified[at][1])


def _start(range_: tuple[int, int]) -> int:
    return range_[0]
