"""The fate of transactional batches: the next marker of their producer in the partition.

`Fates` reads headers ahead of the rows, only as far as a transaction reaches, over the ends of
segments. Its memory is the markers in between. A transaction that hangs would make every task read
to the end of the log: behind `_PATIENCE_BYTES` the producers that are open there are found once,
from the last producer snapshot and the headers behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from ...protocol.batch import CONTROL, TRANSACTIONAL
from ...storage.producer_state import producer_snapshot
from .batch_rows import ABORT, COMMIT, controls
from .blocks import MAX_SEGMENT_OFFSETS, Block, Gap, Range, walk
from .columns import last_offsets
from .files import read_whole
from .heads import walk_headers
from .listing import Partition, Segment, list_again
from .planning import position_before

if TYPE_CHECKING:
    import numpy.typing as npt

COMMITTED: Final = 0
ABORTED: Final = 1
OPEN: Final = 2
NO_FATE: Final = -1
FATES: Final = ("committed", "aborted", "open")

_AHEAD_BLOCK_BYTES: Final = 1 << 20
_PATIENCE_BYTES: Final = 64 << 20
_MANY_PRODUCERS: Final = 10_000


def whole_range(segment: Segment, start: int = 0, size_bytes: int | None = None) -> Range:
    """The range of a segment's batches from a position on."""
    size = segment.size_bytes if size_bytes is None else size_bytes
    end_offset = segment.end_offset
    if end_offset is None:
        end_offset = segment.base_offset + MAX_SEGMENT_OFFSETS
    return Range(start, size, size, segment.base_offset, end_offset)


def blocks_of(
    segment: Segment, start: int = 0, *, check_crc: bool = False
) -> Iterator[Block | Gap]:
    """The blocks of a segment's file, of headers without `check_crc`; none if it was deleted."""
    try:
        file = segment.store.open(segment.path)
    except FileNotFoundError:
        return
    try:
        range_ = whole_range(segment, start)
        if check_crc:
            yield from walk(file, range_, block_bytes=_AHEAD_BLOCK_BYTES)
        else:
            yield from walk_headers(file, range_)
    finally:
        file.close()


def partition_of(segment: Segment) -> Partition:
    """The segment's partition as it is now; with this segment alone if it was deleted."""
    alone = Partition(segment.topic, segment.partition, segment.directory, (segment,))
    try:
        return list_again(alone)
    except FileNotFoundError:
        return alone


class OpenTransactions:
    """The transactions that are open at an offset: producer id and offset of the first record."""

    def __init__(self, known: dict[int, int] | None = None) -> None:
        self.first_offsets = known or {}

    def apply(self, block: Block, end_offset: int | None = None) -> None:
        """Follow the batches of a block, up to an offset."""
        headers = block.headers
        kinds = dict(zip(*(column.tolist() for column in controls(block)[:2]), strict=True))
        rows = np.flatnonzero(headers["attributes"] & TRANSACTIONAL)
        offsets = headers["base_offset"][rows].tolist()
        producers = headers["producer_id"][rows].tolist()
        for row, offset, producer_id in zip(rows.tolist(), offsets, producers, strict=True):
            if end_offset is not None and offset >= end_offset:
                return
            if row not in kinds:
                self.first_offsets.setdefault(producer_id, offset)
            elif kinds[row] in (COMMIT, ABORT):
                self.first_offsets.pop(producer_id, None)


def open_at(partition: Partition, offset: int | None = None) -> dict[int, int]:
    """The transactions that are open before an offset, None for the end of the log.

    Reads the last valid snapshot before it, and the headers behind that.
    """
    segments = partition.segments
    known: dict[int, int] = {}
    start = -1
    for at in reversed(partition.snapshots):
        if (offset is None or at <= offset) and (found := _snapshot(partition, at)) is not None:
            known, start = found, at
            break
    open_ = OpenTransactions(known)
    for segment in segments:
        if segment.end_offset is not None and segment.end_offset <= start:
            continue
        if offset is not None and segment.base_offset >= offset:
            break
        for block in blocks_of(segment, position_before(segment, start)):
            if isinstance(block, Block):
                behind = block.headers["base_offset"] >= start
                open_.apply(block.pick(behind), offset)
    return open_.first_offsets


def _snapshot(partition: Partition, offset: int) -> dict[int, int] | None:
    store = partition.segments[0].store if partition.segments else None
    if store is None:
        return None
    content = read_whole(store, f"{partition.directory}/{offset:020d}.snapshot")
    entries = None if content is None else producer_snapshot.decode(content)
    if entries is None:
        return None
    return {
        entry.producer_id: entry.transaction_first_offset
        for entry in entries
        if entry.transaction_first_offset >= 0
    }


class Fates:
    """The fates of the batches of one task, which come in the order of their offsets."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._markers: dict[int, deque[tuple[int, int]]] = {}
        self._ahead: Iterator[Block] | None = None
        self._known_offset = -1  # markers up to here are in `_markers`
        self._read_bytes = 0
        self._at_end: dict[int, int] | None = None
        self._is_at_end = False

    def of(self, block: Block) -> npt.NDArray[np.int8]:
        """COMMITTED, ABORTED or OPEN for each batch; NO_FATE for a control batch."""
        headers = block.headers
        attributes = headers["attributes"]
        fates = np.zeros(len(headers), np.int8)
        fates[(attributes & CONTROL) != 0] = NO_FATE
        rows = np.flatnonzero((attributes & (TRANSACTIONAL | CONTROL)) == TRANSACTIONAL)
        if len(headers):
            self._learn(block)
            self._forget(int(headers["base_offset"][0]))
        offsets = headers["base_offset"][rows].tolist()
        producers = headers["producer_id"][rows].tolist()
        for row, offset, producer_id in zip(rows.tolist(), offsets, producers, strict=True):
            fates[row] = self._fate(producer_id, offset, block)
        return fates

    def _learn(self, block: Block) -> None:
        last = int(last_offsets(block.headers)[-1])
        if last <= self._known_offset:
            return
        found = controls(block)
        rows = found.rows
        for offset, producer_id, kind in zip(
            block.headers["base_offset"][rows].tolist(),
            block.headers["producer_id"][rows].tolist(),
            found.types.tolist(),
            strict=True,
        ):
            if offset > self._known_offset and kind in (COMMIT, ABORT):
                fate = COMMITTED if kind == COMMIT else ABORTED
                self._markers.setdefault(producer_id, deque()).append((offset, fate))
        self._known_offset = last

    def _forget(self, offset: int) -> None:
        if len(self._markers) > _MANY_PRODUCERS:
            self._markers = {
                producer_id: markers
                for producer_id, markers in self._markers.items()
                if markers and markers[-1][0] >= offset
            }

    def _fate(self, producer_id: int, offset: int, block: Block) -> int:
        while True:
            markers = self._markers.get(producer_id)
            while markers and markers[0][0] < offset:
                markers.popleft()
            if markers:
                return markers[0][1]
            if self._is_at_end or self._hangs(producer_id, offset):
                return OPEN
            if self._ahead is None:
                self._ahead = self._read_ahead(block)
            following = next(self._ahead, None)
            if following is None:
                self._is_at_end = True
                return OPEN
            self._read_bytes += following.end - following.at
            self._learn(following)

    def _hangs(self, producer_id: int, offset: int) -> bool:
        """Whether the transaction is open at the end of the log, if reading on costs much."""
        if self._read_bytes < _PATIENCE_BYTES:
            return False
        if self._at_end is None:
            self._at_end = open_at(partition_of(self._segment))
        return self._at_end.get(producer_id, offset + 1) <= offset

    def _read_ahead(self, block: Block) -> Iterator[Block]:
        for each in blocks_of(self._segment, block.end):
            if isinstance(each, Block) and len(each.headers):
                yield each
        for segment in partition_of(self._segment).segments:
            if segment.base_offset > self._segment.base_offset:
                for each in blocks_of(segment):
                    if isinstance(each, Block) and len(each.headers):
                        yield each
