"""Files that an earlier life of the broker wrote: nothing in them is given out unchecked.

Each batch is looked at once (its frame, its CRC-32C, offsets that follow on those before it, its
leader epoch) and then known to be sound. What is not is damage: told once, by file, position and
offset, and never given out; what lies behind it still is. A leader epoch, of which something else
knows, is mended in the file. Kafka's broker does not look, its clients do.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from ..protocol.batch import (
    CRC_START,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
)
from ..protocol.checksum import crc32c
from ..protocol.errors import Code, Refused
from .damage import Damage, Report, wrong_index
from .reads import DataFile

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
_ZEROS: Final = 16  # so many at the end of a batch were never written
_EPOCH: Final = struct.Struct(">i")


class DoubtedFile(DataFile, Protocol):
    """What `Doubt` uses of the segment whose file it checks."""

    @property
    def base_offset(self) -> int: ...
    @property
    def offset_index(self) -> OffsetIndex: ...

    def path(self, suffix: str) -> str:
        """The path of its file of that kind."""

    def find_sound(self, offset: int, limits: ReadLimits) -> Found | None:
        """Find records without a check."""

    def position_of(self, offset: int) -> int | None:
        """Where the first batch begins whose last offset is at or behind `offset`."""

    def headers(self, start: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each batch from `start` on."""

    def scan(self) -> None:
        """Build the indexes anew."""

    def mend(self, data: bytes, position: int) -> None:
        """Write over a few bytes. Raises OSError."""


class Doubt:
    """What is known of a segment's data up to the size that it had when it was opened.

    Args:
        is_last: no other segment follows; its batches leave no gaps, for it was never compacted.
        may_have_gaps: the log is compacted: offsets may be missing at the end, too.
        end_offset: where the segment is known to end; of the last one a lower bound.
        torn_from: what is harmed at or behind this offset was not synced, and is cut off.
        epochs: what leader epochs batches have; None: not known yet, see `believe`.

    Attributes:
        report: see above.
        size_bytes: up to here the file is doubted.
        damages: what was found so far.
        cut_at: where the torn end begins; None when there is none.
    """

    def __init__(
        self,
        segment: DoubtedFile,
        *,
        is_last: bool,
        may_have_gaps: bool,
        end_offset: int,
        report: Report,
        torn_from: int | None = None,
        epochs: LeaderEpochs | None = None,
    ) -> None:
        self._segment = segment
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
        self._is_examined = False
        self._sound: list[tuple[int, int]] = []  # stretches of sound batches, rising, apart
        self._chunk = b""
        self._chunk_start = 0

    @property
    def ends_in_damage(self) -> bool:
        """Whether nothing sound lies behind the last damage."""
        return bool(self.damages) and self.damages[-1].end_position == self.size_bytes

    def cut_if_short(self, next_offset: int) -> None:
        """The file was read to its end, at `next_offset`, and another segment begins later.

        A loss of power took whole batches: what follows them was not synced either.
        """
        if self._is_last or self._may_have_gaps or self._torn_from is None or self.damages:
            return
        if self._torn_from <= next_offset < self.end_offset and self.cut_at is None:
            self.cut_at = self.size_bytes

    def tell_of_cut(self, next_offset: int, later: Sequence[DoubtedFile]) -> None:
        """The file is to be cut at `cut_at`, behind the last whole batch, and `later` ones go."""
        assert self.cut_at is not None
        behind = sum(segment.size_bytes for segment in later)
        if self._is_torn(self.cut_at) and not behind:
            return  # what a write leaves that did not come to its end
        end_offset = max([next_offset, *(segment.base_offset for segment in later)])
        why = "a damaged batch that was not synced: cut off with what follows,"
        if behind:
            why = f"{why} {len(later)} more files of {behind} bytes,"
        path = self._segment.path(".log")
        self.report(Damage(path, self.cut_at, self.size_bytes, next_offset, end_offset, why))

    def _is_torn(self, position: int) -> bool:
        """Whether there lies the beginning of a batch, or zeros, or nothing: not a harmed batch."""
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
        """Of a batch, if it were of that length."""
        size = length + LOG_OVERHEAD
        if not HEADER_SIZE <= size <= self.size_bytes - position:
            return False
        at = self._load(position, size)
        header = BatchHeader._make(HEADER.unpack_from(self._chunk, at))
        return crc32c(memoryview(self._chunk)[at + CRC_START : at + size]) == header.crc

    def ends_early(self, next_offset: int) -> None:
        """The last batch ends at `next_offset`, and the segment should reach `end_offset`."""
        self._found(self.size_bytes, next_offset, None)

    # Walking

    def headers(self, start: int) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each sound batch from `start` on, where one begins."""
        position = start
        expected = self._segment.base_offset if start == 0 else None
        while position < self.size_bytes and not self._is_examined:
            header = self._sound_at(position, expected)
            if header is None:
                self.examine()
                break
            yield position, header
            position += header.length + LOG_OVERHEAD
            expected = header.next_offset
        if self._is_examined and position < self.size_bytes:
            yield from self._examined_from(position)
        self._chunk = b""

    def _examined_from(self, position: int) -> Iterator[tuple[int, BatchHeader]]:
        for start, end in list(self._sound):
            at = max(start, position)
            while at < end:
                header = self._header(at)
                assert header is not None
                yield at, header
                at += header.length + LOG_OVERHEAD

    def start_for(self, relative_offset: int) -> int:
        """Where to begin the search for an offset: what the index says, when the data agree."""
        segment = self._segment
        indexed = segment.offset_index.entry_before(relative_offset)
        if indexed is None or indexed[1] >= self.size_bytes:
            return 0 if indexed is None else indexed[1]
        offset, position = indexed
        header = self._sound_at(position, None)
        if header is not None and header.last_offset == segment.base_offset + offset:
            return position
        self.examine()
        if not self.damages:
            self.report(wrong_index(segment.path(".index"), segment.base_offset))
        segment.scan()
        return segment.offset_index.position_before(relative_offset)

    def times_end_with(
        self, timestamp_ms: int, relative_offset: int
    ) -> Generator[None, None, bool]:
        """Whether this is the file's largest time, and where it is; in steps.

        Args:
            timestamp_ms: -1: no batch has a time.
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
        """As `Segment.find`, of an offset before `end_offset`.

        Raises:
            Refused: CORRUPT_MESSAGE when the offset is among what is lost.
        """
        self._refuse_if_lost(offset)
        segment = self._segment
        position = segment.position_of(offset)
        if position is None and not self._is_last:
            self.examine()  # the file ends before the next one begins
        self._refuse_if_lost(offset)
        self._chunk = b""
        if position is None:
            return None
        max_bytes, up_to, min_one, at_once = limits
        if not self.damages and self._covers(position, position + max_bytes):
            found = segment.find_sound(offset, limits)
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
        """Check what `find` would, in steps of half a millisecond between which it may change."""
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
        """What was read up to the end of the file, which should end where the next one begins."""
        *_, (_, last) = self._segment.headers(max(position, self.start_for(_INT_MAX)))
        if found is None or last.next_offset >= self.end_offset:
            return found
        self.examine()
        return found._replace(next_offset=last.next_offset)

    def _refuse_if_lost(self, offset: int) -> None:
        for damage in self.damages:
            if damage.first_offset <= offset < damage.end_offset:
                raise Refused(Code.CORRUPT_MESSAGE, str(damage))

    def refuse_if_damaged(self, before: int) -> None:
        """Raise Refused (CORRUPT_MESSAGE) when an answer would rest on what is lost."""
        if self.damages and self.damages[0].position < before:
            raise Refused(Code.CORRUPT_MESSAGE, str(self.damages[0]))

    # Checking

    def examine(self) -> None:
        """Look at the whole file: what is sound, what is damaged, what is torn."""
        if self._is_examined:
            return
        position, expected, has_gaps = 0, self._segment.base_offset, self._may_have_gaps
        stretches: list[tuple[int, int]] = []
        while position < self.size_bytes:
            header = self._sound_at(position, expected)
            if header is not None:
                has_gaps = has_gaps or header.base_offset > expected
                start, position = position, position + header.length + LOG_OVERHEAD
                if stretches and stretches[-1][1] == start:
                    start = stretches.pop()[0]
                stretches.append((start, position))
                expected = header.next_offset
                continue
            if self._torn_from is not None and expected >= self._torn_from:
                self.cut_at = position
                break
            behind = self._next_sound(position, expected)
            self._found(position, expected, behind)
            if behind is None:
                break
            position, expected = behind[0], behind[1].base_offset
        else:
            if not self._is_last and not has_gaps and expected < self.end_offset:
                self._found(position, expected, None)
        self._is_examined, self._sound = True, stretches

    def _found(self, position: int, expected: int, behind: tuple[int, BatchHeader] | None) -> None:
        end_position, end_offset = self.size_bytes, max(expected, self.end_offset)
        if behind is not None:
            end_position, end_offset = behind[0], behind[1].base_offset
        why = "a damaged batch" if position < end_position else "the file ends too early,"
        path = self._segment.path(".log")
        damage = Damage(path, position, end_position, expected, end_offset, why)
        self.damages.append(damage)
        self.report(damage)

    def _sound_at(self, position: int, expected: int | None) -> BatchHeader | None:
        """The header of the batch at `position`; None when it is not a whole and right one.

        Args:
            expected: no batch before reaches up to here; None: not known.
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
        at = bisect_right(self._sound, position, key=_start) - 1
        is_known = at >= 0 and end <= self._sound[at][1]
        if not is_known:
            if self._is_examined:
                return None
            start = self._load(position, size)
            covered = memoryview(self._chunk)[start + CRC_START : start + size]
            if crc32c(covered) != header.crc:
                return None
        # The offset is not under the CRC: behind a gap it needs the next batch as its witness.
        if base_offset != expected and expected is not None and not self._fits(end, header):
            return None
        if not is_known:
            if not self._has_right_epoch(position, header):
                header = self._header(position)
            self._mark(position, end)
        return header

    def believe(self, epochs: LeaderEpochs) -> None:
        """These are the leader epochs, also of what was looked at by now."""
        self._epochs = epochs
        for start, end in self._sound:
            while start < end:
                header = self._header(start)
                assert header is not None
                self._has_right_epoch(start, header)
                start += header.length + LOG_OVERHEAD

    def _has_right_epoch(self, position: int, header: BatchHeader) -> bool:
        """Whether the leader epoch, which is not under the CRC, was right; it is now."""
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
        self._segment.mend(_EPOCH.pack(epoch), position + _EPOCH_AT)
        self._chunk = b""
        offsets = f"offsets {header.base_offset} to {header.last_offset}"
        why = f"the leader epoch of {offsets}, {epoch}, had become {header.leader_epoch}; mended,"
        path = self._segment.path(".log")
        self.report(Damage(path, position, position, header.base_offset, header.base_offset, why))
        return False

    def _fits(self, end: int, header: BatchHeader) -> bool:
        following = self._header(end)
        if following is None:
            return not self._is_last
        return following.base_offset >= header.next_offset

    def _next_sound(self, position: int, expected: int) -> tuple[int, BatchHeader] | None:
        """The first sound batch behind the damaged one at `position`."""
        header = self._header(position)
        if header is not None and header.length >= HEADER_SIZE - LOG_OVERHEAD:
            after = position + header.length + LOG_OVERHEAD
            found = self._sound_at(after, expected) if after < self.size_bytes else None
            if found is not None:
                return after, found
        at = position + 1
        while at + HEADER_SIZE <= self.size_bytes:
            window = self._segment.read_at(_SEARCH_BYTES, at)
            place = window.find(MAGIC, _MAGIC_AT)
            while place >= 0 and place + HEADER_SIZE - _MAGIC_AT <= len(window):
                header = BatchHeader._make(HEADER.unpack_from(window, place - _MAGIC_AT))
                candidate = at + place - _MAGIC_AT
                if expected < header.base_offset <= self._limit:
                    found = self._sound_at(candidate, expected)
                    if found is not None:
                        return candidate, found
                place = window.find(MAGIC, place + 1)
            at += max(len(window) - HEADER_SIZE, 1)
        return None

    # Bytes, and what is known of them

    def _header(self, position: int) -> BatchHeader | None:
        if position + HEADER_SIZE > self.size_bytes:
            return None
        at = self._load(position, HEADER_SIZE)
        return BatchHeader._make(HEADER.unpack_from(self._chunk, at))

    def _load(self, position: int, size: int) -> int:
        """Have these bytes of the file in the chunk; where in it they begin."""
        at = position - self._chunk_start
        if at < 0 or at + size > len(self._chunk):
            wanted = min(max(size, _CHUNK_BYTES), self.size_bytes - position)
            self._chunk = self._segment.read_at(wanted, position)
            if len(self._chunk) < size:  # cut by somebody else since it was opened
                self._chunk += bytes(size - len(self._chunk))
            self._chunk_start = at = position
            at = 0
        return at

    def _mark(self, start: int, end: int) -> None:
        """Remember that all from `start` to `end` is sound."""
        sound = self._sound
        at = bisect_right(sound, start, key=_start)
        if at and sound[at - 1][1] >= start:
            at -= 1
            start = sound[at][0]
            end = max(end, sound[at][1])
            del sound[at]
        while at < len(sound) and sound[at][0] <= end:
            end = max(end, sound[at][1])
            del sound[at]
        sound.insert(at, (start, end))

    def _covers(self, position: int, end: int) -> bool:
        end = min(end, self.size_bytes)
        at = bisect_right(self._sound, position, key=_start) - 1
        return position >= self.size_bytes or (at >= 0 and end <= self._sound[at][1])


def _start(stretch: tuple[int, int]) -> int:
    return stretch[0]
