"""One round of log compaction, which keeps the newest record of each key (Kafka's Cleaner).

First it reads the dirty part for the newest offset of each key. Then it copies everything up to the
end of that part, without superseded, aborted and expired records, into new segments that replace
the old ones. Offsets never change. It is a generator of small steps: between two of them the log
may change; blocking work is yielded, to be run on any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import add, gt
from typing import Final

from ...protocol.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    NO_PRODUCER_ID,
    BatchHeader,
    Compression,
    crc_is_right,
    read_header,
)
from ...protocol.compression import packer
from ...protocol.errors import Code, Refused
from ...protocol.java_integers import wrapped_long
from ...protocol.lazy_dataclass import dataclass
from ..disk.files import Files, write_atomically
from ..log_config import LONG_MAX, LogConfig
from ..producer_state import aborted as transaction_index
from ..producer_state.aborted import AbortedTransaction
from ..records.payloads import Payload
from ..records.record_copy import Entry, NewDeltas, RecordCopy, copied
from ..segments.segment import CLEANED, INDEX, LOG, SWAP, TIME_INDEX, TRANSACTION_INDEX, Segment
from ..steps import Steps, elsewhere
from .cleanable import Cleanable
from .cleaned_batches import Kept, delete_horizon_ms, emptied, header_with, sealed
from .cleaned_transactions import CleanedTransactions
from .key_map import NewestOffsets

_CHUNK_BYTES: Final = 1 << 16
_OFFSETS_IN_A_STEP: Final = 256
_PACKED_IN_A_STEP_BYTES: Final = 1 << 13
_OPEN_IN_A_STEP_BYTES: Final = 1 << 15
_INT_MAX: Final = 0x7FFFFFFF
_NO_EPOCH: Final = -1


class Superseded(Exception):
    """Segments were deleted during their compaction: the round is useless."""


@dataclass(slots=True)
class Compacted:
    """The result of a round.

    Attributes:
        end_offset: the log is compacted up to here.
    """

    end_offset: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    records_before: int = 0
    records_after: int = 0


def _ignore_bytes(_: int) -> None:
    """A `count_io` that does nothing."""


def compact(
    todo: Cleanable,
    files: Files,
    *,
    map_size_bytes: int,
    now_ms: int,
    count_io: Callable[[int], None] = _ignore_bytes,
) -> Steps[Compacted]:
    """Compact a log. Only this function may replace its segments meanwhile.

    Args:
        map_size_bytes: memory for the keys; the rest of the log waits for another round.
        count_io: called with the bytes of each batch read, and of each batch written.

    Raises:
        Superseded: segments were deleted meanwhile.
        Refused: CORRUPT_MESSAGE, INVALID_RECORD: a batch is damaged.
        OSError: a file cannot be read or written. The log stays whole in every case.
    """
    made = _Round(todo, files, map_size_bytes, now_ms)
    made.count_io = count_io
    return (yield from made.steps())


class _MapIsFull(Exception):
    """There is no memory for another key; all offsets before its record are known."""


class _Round:
    def __init__(self, todo: Cleanable, files: Files, map_size_bytes: int, now_ms: int) -> None:
        self._todo = todo
        self._log = todo.log
        self._config = todo.log.config
        self._files = files
        self._now_ms = now_ms
        self._newest = NewestOffsets(map_size_bytes)
        self._transactions = CleanedTransactions(())
        self._last_of_producers: dict[int, tuple[int, int]] = {}
        self._did = Compacted()
        self.count_io: Callable[[int], None] = _ignore_bytes

    def steps(self) -> Steps[Compacted]:
        log, end_offset = self._log, self._todo.end_offset
        yield from self._check_transactions()
        aborted = log.aborted_transactions(self._todo.first_dirty_offset, end_offset - 1)
        self._transactions = CleanedTransactions(aborted)
        yield from self._index()
        aborted = log.aborted_transactions(log.segments[0].base_offset, end_offset - 1)
        self._transactions = CleanedTransactions(aborted)
        end_offset = self._did.end_offset = self._newest.end_offset
        segments = [s for s in self._log.segments[:-1] if s.base_offset < end_offset]
        yield from self._sync(segments)
        for group in groups_of(segments, self._config):
            yield from self._compact_group(group)
        return self._did

    def _check_transactions(self) -> Steps[None]:
        """Compare the log's index of aborted transactions with the data, piece by piece."""
        segments = [s for s in self._log.segments if s.base_offset < self._todo.end_offset]
        if not any(map(_is_unverified, segments)):
            return
        for first_offset in range(
            segments[0].base_offset, self._todo.end_offset, _OFFSETS_IN_A_STEP
        ):
            last_offset = min(first_offset + _OFFSETS_IN_A_STEP, self._todo.end_offset) - 1
            self._log.aborted_transactions(first_offset, last_offset)
            yield None

    # The newest offsets

    def _index(self) -> Steps[None]:
        """Read as much of the dirty part as there is memory for."""
        todo, newest = self._todo, self._newest
        newest.end_offset = todo.first_dirty_offset
        segments = self._log.segments
        for at, segment in enumerate(segments[:-1]):
            next_base = segments[at + 1].base_offset
            if not todo.first_dirty_offset < next_base <= todo.end_offset:
                continue
            for header, data in batches_in(segment):
                self.count_io(len(data))
                try:
                    yield from self._index_batch(header, data)
                except _MapIsFull:
                    return
                yield None
            newest.end_offset = next_base

    def _index_batch(self, header: BatchHeader, data: bytes) -> Steps[None]:
        newest, first_offset = self._newest, self._todo.first_dirty_offset
        if header.is_control:
            self._transactions.marker(data, header)
        elif not self._transactions.batch(header):

            def put(entry: Entry) -> bool:
                offset = header.base_offset + entry.offset_delta
                if entry.key is not None and offset >= first_offset:
                    if newest.is_full:
                        newest.end_offset = offset
                        raise _MapIsFull
                    newest.put(entry.key, offset)
                return False

            yield from _copied(header, data, put)
        newest.end_offset = max(newest.end_offset, header.next_offset)

    # The new segments

    def _sync(self, segments: Sequence[Segment]) -> Steps[None]:
        """Sync the newer records before the records that they replace are removed."""
        for segment in segments:
            if segment.next_offset > self._log.recovery_point and segment.size_bytes:
                _check_is_part(segment)
                yield from self._sync_file(segment.path(LOG))

    def _sync_file(self, path: str) -> Steps[None]:
        # Opens its own descriptor, because the segment may be closed meanwhile.
        descriptor = self._files.open(path)
        try:
            yield partial(self._files.sync, descriptor)
        finally:
            self._files.close(descriptor)

    def _compact_group(self, group: list[Segment]) -> Steps[None]:
        """Compact neighbouring segments into one and replace them by it."""
        directory, base_offset = self._log.directory, group[0].base_offset
        cleaned = Segment(self._files, directory, base_offset, CLEANED)
        cleaned.remove()  # left over from an earlier failure
        try:
            aborted = yield from self._fill(cleaned, group)
            for segment in group:
                _check_is_part(segment)
            end_offset = group[-1].next_offset
            swapped = Segment.found(self._files, directory, base_offset, end_offset, SWAP)
        except (Exception, GeneratorExit):
            cleaned.remove()
            raise
        self._log.replace_segments(group, swapped, aborted)
        yield partial(self._files.sync_directory, directory)

    def _fill(self, cleaned: Segment, group: list[Segment]) -> Steps[list[AbortedTransaction]]:
        """Copy the remaining records, synced, into a `.swap`. Returns its aborted transactions."""
        self._last_of_producers = {
            entry.producer_id: (entry.last_offset, entry.producer_epoch)
            for entry in self._log.producers.producers()
        }
        self._transactions.still_aborted = []
        cleaned.open()
        for segment in group:
            for header, data in batches_in(segment):
                self.count_io(len(data))
                left = yield from self._left_of(header, data)
                if left is not None:
                    self.count_io(len(left))
                    now = read_header(left)
                    cleaned.append(left, now, now.last_offset, self._config.index_interval_bytes)
                    self._did.records_after += now.record_count
                self._did.records_before += header.record_count
                self._did.bytes_before += len(data)
                yield None
        self._did.bytes_after += cleaned.size_bytes
        aborted = self._transactions.still_aborted
        cleaned.write_indexes(even_if_empty=True)
        if aborted:
            content = transaction_index.encode(aborted)
            write_atomically(self._files, cleaned.path(TRANSACTION_INDEX), content)
            yield from self._sync_file(cleaned.path(TRANSACTION_INDEX))
        for suffix in (INDEX, TIME_INDEX, LOG):
            yield from self._sync_file(cleaned.path(suffix))
        cleaned.close()
        cleaned.rename(SWAP)
        yield partial(self._files.sync_directory, self._log.directory)
        return aborted

    # The remaining records

    def _left_of(self, header: BatchHeader, data: bytes) -> Steps[bytes | bytearray | None]:
        """The remaining batch: itself, some of its records, only its header, or None."""
        horizon_ms, now_ms = delete_horizon_ms(header), self._now_ms
        must_stay = self._is_last_of_producer(header) or (
            header.next_offset == self._todo.end_offset  # the log's end must not move
        )
        if header.is_control:
            is_over = self._transactions.marker(data, header)
            if not is_over:
                return data
            has_expired = horizon_ms is not None and horizon_ms <= now_ms
            if has_expired or header.record_count == 0:
                return emptied(header) if must_stay else None
        elif self._transactions.batch(header):
            return emptied(header) if must_stay else None

        stays = _always if header.is_control else self._staying(header.base_offset, horizon_ms)
        kept = Kept(header, stays)
        yield from _copied(header, data, kept.count_record)
        if not kept.count:
            return emptied(header) if must_stay else None
        new_horizon_ms = horizon_ms
        if horizon_ms is None and (header.is_control or kept.has_tombstone):
            new_horizon_ms = min(now_ms + self._config.delete_retention_ms, LONG_MAX)
        elif kept.count == header.record_count:
            return data
        return (yield from _rewritten(header, data, stays, kept, new_horizon_ms))

    def _staying(self, base_offset: int, horizon_ms: int | None) -> Callable[[Entry], bool]:
        """Says whether a record is the newest of its key and no expired tombstone."""
        end_offset, newest = self._newest.end_offset, self._newest.newest
        tombstones_stay = horizon_ms is None or self._now_ms < horizon_ms

        def stays(entry: Entry) -> bool:
            _, offset_delta, key, is_tombstone = entry
            offset = base_offset + offset_delta
            if offset >= end_offset:
                return True
            if key is None or offset < newest(key):
                return False
            return tombstones_stay or not is_tombstone

        return stays

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        """Whether only this batch has its producer's last sequence number or epoch."""
        if header.producer_id == NO_PRODUCER_ID:
            return False
        last_offset, epoch = self._last_of_producers.get(header.producer_id, (-1, _NO_EPOCH))
        if last_offset >= 0:
            return header.last_offset == last_offset
        return header.is_control and header.producer_epoch == epoch


def _copied(
    header: BatchHeader,
    data: bytes,
    stays: Callable[[Entry], bool],
    new_deltas: NewDeltas | None = None,
    take: Callable[[bytes], Steps[None]] | None = None,
) -> Steps[None]:
    """Look at each record of a batch, and pass the remaining ones to `take`.

    Another thread decompresses a large batch, piece by piece, so no step is long.
    """
    payload = Payload(data, 0, header)
    if len(data) < _PACKED_IN_A_STEP_BYTES:
        payload.at_hand()
    copy = RecordCopy(header.record_count)
    try:
        yield from copied(copy, copy.copy(stays, new_deltas), payload, take or _dropped)
    except Refused as refused:  # stored by an earlier release, or by another program
        why = f"{refused.why}, in the batch at offset {header.base_offset}"
        raise Refused(refused.code, why) from None


def _always(entry: Entry) -> bool:
    return True


def _dropped(piece: bytes) -> Steps[None]:
    """Discard the piece."""
    yield from ()


def _rewritten(
    header: BatchHeader,
    data: bytes,
    stays: Callable[[Entry], bool],
    kept: Kept,
    horizon_ms: int | None,
) -> Steps[bytearray]:
    """The batch with the remaining records, in its codec."""
    left = header_with(header, kept, horizon_ms)
    into = packer(Compression(header.compression))
    packed = bytearray()

    def new_deltas(delta_ms: int, offset_delta: int) -> tuple[int, int]:
        return wrapped_long(header.time_ms(delta_ms) - left.base_timestamp_ms), offset_delta

    def take(piece: bytes) -> Steps[None]:
        if header.compression == Compression.NONE or len(piece) < _OPEN_IN_A_STEP_BYTES:
            packed.extend(into.add(piece))
        else:
            packed.extend((yield from elsewhere(partial(into.add, piece))))

    yield from _copied(header, data, stays, new_deltas, take)
    packed.extend(
        (yield from elsewhere(into.end)) if len(data) > _PACKED_IN_A_STEP_BYTES else into.end()
    )
    return sealed(left, packed)


def groups_of(segments: Sequence[Segment], config: LogConfig) -> Iterator[list[Segment]]:
    """Neighbouring segments to merge, within the limits of segments and their indexes."""
    limits = (config.segment_bytes, config.segment_index_bytes, config.segment_index_bytes)
    group: list[Segment] = []
    sizes: tuple[int, ...] = (0, 0, 0)
    for segment in segments:
        own = (segment.size_bytes, *segment.index_sizes())
        sizes = tuple(map(add, sizes, own))
        if group and (
            any(map(gt, sizes, limits)) or segment.next_offset - 1 - group[0].base_offset > _INT_MAX
        ):
            yield group
            group, sizes = [], own
        group.append(segment)
    if group:
        yield group


def batches_in(segment: Segment) -> Iterator[tuple[BatchHeader, bytes]]:
    """Header and bytes of each batch, all checked.

    Raises:
        Superseded: the segment was removed from the log.
        Refused: CORRUPT_MESSAGE.
    """
    if _is_unverified(segment):
        yield from _unverified_batches_in(segment)
        return
    position, end = 0, segment.size_bytes
    next_offset = segment.base_offset
    chunk, start = b"", 0
    while position < end:
        _check_is_part(segment)
        if position + HEADER_SIZE > start + len(chunk):
            chunk, start = segment.read_at(_CHUNK_BYTES, position), position
        if len(chunk) < HEADER_SIZE:
            raise _damaged(segment, position)
        header = read_header(chunk, position - start)
        size = header.length + LOG_OVERHEAD
        if size < HEADER_SIZE or header.magic != MAGIC or position + size > end:
            raise _damaged(segment, position)
        if position + size > start + len(chunk):
            chunk, start = segment.read_at(max(size, _CHUNK_BYTES), position), position
        data = chunk[position - start : position - start + size]
        _check_batch(segment, position, header, data, next_offset)
        yield header, data
        position, next_offset = position + size, header.next_offset


def _unverified_batches_in(segment: Segment) -> Iterator[tuple[BatchHeader, bytes]]:
    """`batches_in` for a file that an earlier process wrote."""
    next_offset = segment.base_offset
    for position, header in segment.headers():
        _check_is_part(segment)
        data = segment.batch_at(position, header)
        _check_batch(segment, position, header, data, next_offset)
        yield header, data
        _check_is_part(segment)
        next_offset = header.next_offset
    segment.refuse_if_damaged()


def _is_unverified(segment: Segment) -> bool:
    return segment.unverified is not None and segment.unverified.size_bytes > 0


def _check_batch(
    segment: Segment, position: int, header: BatchHeader, data: bytes, next_offset: int
) -> None:
    """Check the CRC before the batch gets a new one, and the offsets, which it does not cover."""
    fits = next_offset <= header.base_offset <= header.last_offset < segment.next_offset
    if not fits or not crc_is_right(data, 0, header):
        raise _damaged(segment, position)


def _check_is_part(segment: Segment) -> None:
    if segment.mark:
        raise Superseded


def _damaged(segment: Segment, position: int) -> Refused:
    return Refused(Code.CORRUPT_MESSAGE, f"{segment.path('.log')}: damaged at position {position}")
