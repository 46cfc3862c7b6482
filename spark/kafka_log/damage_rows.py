"""Rows of the level `damage`: what in a segment's files is not as a broker writes it.

Each row names the file, the range of bytes, and the offsets between which something may be missing.
`docs/reference/spark-log.md` lists the kinds. A torn end of a log's last file is one of them: a
crash leaves it, and the next start of the broker cuts it off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from ...protocol.batch import LOG_OVERHEAD
from ...storage.producer_state import producer_snapshot
from ...storage.segments.indexes import OffsetIndex, TimeIndex
from .blocks import Block, Gap, walk
from .columns import last_offsets, rows_to_batch
from .fates import whole_range
from .files import read_whole
from .record_rows import Refusal, rows_of

if TYPE_CHECKING:
    from .listing import Segment
    from .options import Options
    from .planning import Task

Row = dict[str, object]
KINDS: Final = {
    "crc": "a batch whose CRC is wrong",
    "gap": "bytes that are no batch",
    "torn": "the end of a log's last file is no whole batch",
    "offset": "a batch whose base offset lies before the end of the one before it, or outside of "
    "the segment",
    "records": "a batch whose CRC is right and whose records are not readable; `why` names the "
    "first one and its field",
    "large": "a batch whose records are not read, because they need too much memory",
    "index": "an `.index` file that does not fit the data",
    "timeindex": "a `.timeindex` file whose entries are not in order",
    "txnindex": "a `.txnindex` file that is cut, or has an entry outside of the segment",
    "snapshot": "a `.snapshot` file whose CRC is wrong",
    "deleted": "the segment was deleted before it was read",
}
"""The kinds of damage."""
_ABORTED_BYTES: Final = 34
_BLOCK_BYTES: Final = 1 << 20


def damage_rows(task: Task, options: Options, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The damage of a segment. Raises OSError."""
    segment = task.segment
    found: list[Row] = []
    try:
        file = segment.store.open(segment.path)
    except FileNotFoundError:
        row = _row(segment, "deleted", (0, segment.size_bytes), segment.base_offset)
        row["next_offset"] = -1 if segment.end_offset is None else segment.end_offset
        yield rows_to_batch(schema, [row])
        return
    checks = _Checks(segment)
    try:
        for block in walk(file, whole_range(segment), block_bytes=_BLOCK_BYTES):
            found += checks.block(block) if isinstance(block, Block) else checks.gap(block)
            if len(found) > options.max_rows_per_batch:
                yield rows_to_batch(schema, found)
                found = []
    finally:
        file.close()
    found += checks.beside()
    if found:
        yield rows_to_batch(schema, found)


def _row(segment: Segment, kind: str, where: tuple[int, int], offset: int, why: str = "") -> Row:
    return {
        "topic": segment.topic,
        "partition": segment.partition,
        "segment": segment.name,
        "file": segment.path,
        "kind": kind,
        "position": where[0],
        "end_position": where[1],
        "offset": offset,
        "next_offset": -1,
        "why": why or KINDS[kind],
    }


class _Checks:
    """Follows the blocks of a segment.

    Attributes:
        next_offset: behind the last valid batch.
    """

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self.next_offset = segment.base_offset
        self._open: list[Row] = []  # rows whose next offset is the next batch's
        self._crc: int | None = None
        self._positions: dict[int, int] | None = {} if segment.has("index") else None
        self._is_damaged = False

    def gap(self, gap: Gap) -> list[Row]:
        self._is_damaged = True
        if self._crc == gap.position:
            kind = "crc"
        else:
            kind = "torn" if gap.is_tail and self._segment.is_last else "gap"
        where = (gap.position, gap.end)
        row = _row(self._segment, kind, where, self.next_offset, gap.why)
        self._open.append(row)
        return [row]

    def block(self, block: Block) -> list[Row]:
        if not block.crc_ok.all():
            self._crc = block.at
            return []
        headers, segment = block.headers, self._segment
        base = headers["base_offset"].astype(np.int64)
        last = last_offsets(headers)
        for row in self._open:
            row["next_offset"] = int(base[0])
        self._open.clear()
        found = []
        ends = block.positions + headers["length"].astype(np.int64) + LOG_OVERHEAD
        least = np.concatenate(([self.next_offset], np.maximum.accumulate(last)[:-1] + 1))
        limit = whole_range(segment).end_offset
        for at in np.flatnonzero((base < least) | (last >= limit) | (last < base)).tolist():
            where = (int(block.positions[at]), int(ends[at]))
            why = f"base offset {base[at]}, last offset {last[at]} behind offset {least[at] - 1}"
            found.append(_row(segment, "offset", where, int(least[at]), why))
            self._is_damaged = True
        self.next_offset = max(self.next_offset, int(last.max()) + 1)
        for rows in rows_of(block):
            if isinstance(rows, Refusal):
                where = (int(block.positions[rows.row]), int(ends[rows.row]))
                row = _row(segment, rows.kind, where, int(base[rows.row]), rows.why)
                row["next_offset"] = int(last[rows.row]) + 1
                found.append(row)
        if self._positions is not None:
            places = block.positions.tolist()
            self._positions.update(zip(places, last.tolist(), strict=True))
        return found

    def beside(self) -> Iterator[Row]:
        """The damage of the segment's other files."""
        segment = self._segment
        content = read_whole(segment.store, segment.beside("index"))
        if content is not None and segment.size_bytes:
            yield from self._index(content)
        content = read_whole(segment.store, segment.beside("timeindex"))
        if content and TimeIndex.decode(content) is None:
            yield self._file("timeindex", len(content))
        content = read_whole(segment.store, segment.beside("txnindex"))
        if content and not self._is_transaction_index(content):
            yield self._file("txnindex", len(content))
        content = read_whole(segment.store, segment.beside("snapshot"))
        if content is not None and producer_snapshot.decode(content) is None:
            yield self._file("snapshot", len(content))

    def _index(self, content: bytes) -> Iterator[Row]:
        index = OffsetIndex.decode(content, self._segment.size_bytes)
        if index is None:
            yield self._file("index", len(content))
            return
        if self._is_damaged or self._positions is None:
            return
        for offset, position in index.entries():
            if self._positions.get(position) != self._segment.base_offset + offset:
                yield self._file("index", len(content), f"no batch at position {position}")
                return

    def _is_transaction_index(self, content: bytes) -> bool:
        from ...storage.producer_state.aborted import decode

        if len(content) % _ABORTED_BYTES:
            return False
        base, end = self._segment.base_offset, self._segment.end_offset
        return all(
            base <= entry.last_offset < (end or self.next_offset)
            and entry.first_offset <= entry.last_offset
            for entry in decode(content)
        )

    def _file(self, kind: str, size: int, why: str = "") -> Row:
        row = _row(self._segment, kind, (0, size), self._segment.base_offset, why)
        row["file"] = self._segment.beside(kind)
        return row
