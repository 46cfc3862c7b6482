"""Walks over the batches of a file in blocks, whose headers are columns of numpy.

Each batch costs one `unpack` and one CRC in Python; everything else is computed for a block of some
MB at once. Where the bytes are no valid batch, the walk searches for the next valid one, so that
damage hides no batch: behind it, nothing trusts the length that a damaged header states.

Memory does not grow with the size of a batch: of one above `LARGE_BYTES` a block has the header,
and `portions` reads its records piece by piece. `heads` walks over headers alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ...protocol.batch import CRC_START, HEADER_SIZE, LOG_OVERHEAD, MAGIC
from ...protocol.checksum import crc32c

if TYPE_CHECKING:
    import numpy.typing as npt

    from .files import OpenFile

HEADER: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
FRAME: Final = struct.Struct(">qiibI")  # up to the CRC
LEAST_LENGTH: Final = HEADER_SIZE - LOG_OVERHEAD
_SEARCH_BYTES: Final = 1 << 20
LARGE_BYTES: Final = 16 << 20
BLOCK_BYTES: Final = 4 << 20
MAX_SEGMENT_OFFSETS: Final = 1 << 31  # offsets in an index are relative numbers of 32 bits


@dataclass(frozen=True, slots=True)
class Block:
    """Batches that were read together.

    Attributes:
        at: position of the first batch in the file.
        data: bytes of the file from `at` on, or only the headers and control batches.
        starts: positions of the batches in `data`, int64.
        headers: one row of `HEADER` for each batch.
        crc_ok: whether the CRC of each batch is right; all true without a check.
        positions: of the batches in the file, int64.
        file: reads the body of a large batch, which `data` does not have; else None.
    """

    at: int
    data: bytes
    starts: npt.NDArray[np.int64]
    headers: npt.NDArray[np.void]
    crc_ok: npt.NDArray[np.bool_]
    positions: npt.NDArray[np.int64]
    file: OpenFile | None = None

    @property
    def end(self) -> int:
        """The position behind the last batch in the file."""
        return int(self.positions[-1]) + LOG_OVERHEAD + int(self.headers["length"][-1])

    def pick(self, keep: npt.NDArray[np.bool_]) -> Block:
        """Some of the batches."""
        if keep.all():
            return self
        return replace(
            self,
            starts=self.starts[keep],
            headers=self.headers[keep],
            crc_ok=self.crc_ok[keep],
            positions=self.positions[keep],
        )


class Gap(NamedTuple):
    """Bytes that are no batch.

    Attributes:
        is_tail: no valid batch follows before the end of the range.
    """

    position: int
    end: int
    why: str
    is_tail: bool = False


class Range(NamedTuple):
    """Where the walk goes.

    Attributes:
        start, end: batches that begin in here are read.
        file_end: the end of the file; batches reach at most so far.
        least_offset, end_offset: base offsets that a batch may have behind damage.
    """

    start: int
    end: int
    file_end: int
    least_offset: int
    end_offset: int


def columns_of(data: bytes, starts: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """The headers of the batches at `starts`, as rows of `HEADER`."""
    every = np.frombuffer(data, np.uint8)
    picked = every[starts[:, None] + np.arange(HEADER_SIZE)]
    return np.ascontiguousarray(picked).view(HEADER)[:, 0]


def walk(
    file: OpenFile, range_: Range, *, check_crc: bool = True, block_bytes: int = BLOCK_BYTES
) -> Iterator[Block | Gap]:
    """The batches of a range, in blocks, and the bytes between them that are none.

    Raises:
        OSError: the file cannot be read.
    """
    position, want_bytes = range_.start, block_bytes
    while position < range_.end:
        want = min(want_bytes, range_.file_end - position)
        want_bytes = block_bytes
        data = file.read_at(position, want)
        starts, bad, behind, why = _framed(data, range_.end - position, check_crc=check_crc)
        if starts:
            yield _block(position, data, starts)
        at = position + behind
        if at >= range_.end or not data:
            return
        if why is None:  # a batch is cut by the end of the block, not of the file
            (length,) = struct.unpack_from(">i", data, behind + 8) if bad else (0,)
            size = length + LOG_OVERHEAD if bad else HEADER_SIZE
            if at + size > range_.file_end or len(data) < want:
                why = "the file ends inside a batch"
            elif size <= LARGE_BYTES:  # a batch that is larger than a block is read as a whole
                position, want_bytes = at, max(block_bytes, size)
                continue
            elif offset_of_valid(file, at, range_.file_end) is None:
                why = "the CRC is wrong"
            else:
                head = data[behind : behind + HEADER_SIZE]
                yield _block(at, head, [0], file=file)
                position = at + size
                continue
        ending, flawed = behind_damage(file, at, range_, why)
        yield from flawed
        position = ending


def _block(
    at: int,
    data: bytes,
    starts: list[int],
    *,
    is_valid: bool = True,
    file: OpenFile | None = None,
) -> Block:
    inside = np.array(starts, np.int64)
    crc_ok = np.full(len(starts), is_valid, np.bool_)
    return Block(at, data, inside, columns_of(data, inside), crc_ok, inside + at, file)


def _framed(data: bytes, end: int, *, check_crc: bool) -> tuple[list[int], bool, int, str | None]:
    """The valid batches from the beginning of `data` on that begin before `end`.

    Returns:
        Their positions; whether a whole header follows; the position behind them; the reason if
        the next bytes are no valid batch, None if they are cut.
    """
    starts: list[int] = []
    position, size, unpack = 0, len(data), FRAME.unpack_from
    view = memoryview(data)
    last_header = min(size - HEADER_SIZE, end - 1)
    while position <= last_header:
        _, length, _, magic, crc = unpack(data, position)
        if magic != MAGIC:
            return starts, True, position, f"the magic byte is {magic}"
        if length < LEAST_LENGTH:
            return starts, True, position, f"the length is {length}"
        behind = position + LOG_OVERHEAD + length
        if behind > size:
            return starts, True, position, None
        if check_crc and crc32c(view[position + CRC_START : behind]) != crc:
            return starts, True, position, "the CRC is wrong"
        starts.append(position)
        position = behind
    return starts, False, position, None


def behind_damage(
    file: OpenFile, at: int, range_: Range, why: str
) -> tuple[int, list[Block | Gap]]:
    """The position to go on at, and the damage before it: a batch with a wrong CRC, or a gap."""
    head = file.read_at(at, HEADER_SIZE)
    claimed = None
    if len(head) == HEADER_SIZE:
        base_offset, length, _, magic, _ = FRAME.unpack_from(head)
        if magic == MAGIC and length >= LEAST_LENGTH:
            claimed = at + LOG_OVERHEAD + length
        if claimed is not None and claimed < range_.file_end:
            delta = int(columns_of(head, np.zeros(1, np.int64))["last_offset_delta"][0])
            if offset_of_valid(file, claimed, range_.file_end) == base_offset + delta + 1:
                return claimed, _flawed(file, at, claimed, why)
    found = _search(file, at + 1, range_)
    if found is None:
        if claimed == range_.file_end:
            return range_.file_end, _flawed(file, at, claimed, why)
        if _is_zero(file, at, range_.file_end):  # the reserved end of an active segment
            return range_.file_end, []
        return range_.file_end, [Gap(at, range_.file_end, why, is_tail=True)]
    if claimed == found:
        return found, _flawed(file, at, found, why)
    return found, [Gap(at, found, why)]


def _flawed(file: OpenFile, at: int, end: int, why: str) -> list[Block | Gap]:
    """A batch whose header is plausible and whose CRC is wrong: a row, and damage."""
    is_large = end - at > LARGE_BYTES
    data = file.read_at(at, HEADER_SIZE if is_large else end - at)
    block = _block(at, data, [0], is_valid=False, file=file if is_large else None)
    return [block, Gap(at, end, why)]


def offset_of_valid(file: OpenFile, at: int, file_end: int) -> int | None:
    """The base offset of the batch at a position, if it is valid with its CRC."""
    head = file.read_at(at, HEADER_SIZE)
    if len(head) < HEADER_SIZE:
        return None
    base_offset, length, _, magic, crc = FRAME.unpack_from(head)
    if magic != MAGIC or length < LEAST_LENGTH or at + LOG_OVERHEAD + length > file_end:
        return None
    position, end, found = at + CRC_START, at + LOG_OVERHEAD + length, 0
    while position < end:
        piece = file.read_at(position, min(_SEARCH_BYTES, end - position))
        if not piece:
            return None
        found = crc32c(piece, found)
        position += len(piece)
    return base_offset if found == crc else None


def _search(file: OpenFile, start: int, range_: Range) -> int | None:
    """The position of the next valid batch at or behind `start`."""
    while start + HEADER_SIZE <= range_.file_end:
        data = file.read_at(start, min(_SEARCH_BYTES, range_.file_end - start))
        every = np.frombuffer(data, np.uint8)
        count = len(every) - HEADER_SIZE + 1
        if count <= 0:
            return None
        at = np.flatnonzero(every[16 : 16 + count] == MAGIC)
        fields = columns_of(data, at)
        length, offset = fields["length"].astype(np.int64), fields["base_offset"]
        plausible = (length >= LEAST_LENGTH) & (offset >= range_.least_offset)
        plausible &= offset < range_.end_offset
        plausible &= start + at + LOG_OVERHEAD + length <= range_.file_end
        for candidate in at[plausible].tolist():
            if offset_of_valid(file, start + candidate, range_.file_end) is not None:
                return start + int(candidate)
        start += count
    return None


def _is_zero(file: OpenFile, start: int, end: int) -> bool:
    while start < end:
        data = file.read_at(start, min(_SEARCH_BYTES, end - start))
        if not data:
            return True
        if data.strip(b"\0"):
            return False
        start += len(data)
    return True
