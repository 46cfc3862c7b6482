"""Parses the records of many batches at once, into columns of positions.

Python finds where each record begins, because each begins behind the one before it (some 0.1 us a
record); numpy then reads the numbers of all records together, and Arrow copies keys and values. The
same batches are refused as by `protocol.records`: a test holds one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from ...protocol.errors import Refused
from ...protocol.varints import read_signed, read_size

if TYPE_CHECKING:
    import numpy.typing as npt

    Int64s = npt.NDArray[np.int64]

_SIZE_BYTES: Final = 5
_TIME_BYTES: Final = 10


@dataclass(slots=True)
class Parsed:
    """The records of some payloads, in order.

    Attributes:
        data: the bytes that the positions refer to.
        payload: of each record, the index of its payload.
        timestamp_delta, offset_delta: of each record.
        key_at, key_size, value_at, value_size: a size below 0 is null.
        headers_at: position of the number of headers.
        header_count: of each record.
        refused: indexes of the payloads that are damaged; they have no records here.
    """

    data: bytes
    payload: Int64s
    timestamp_delta: Int64s
    offset_delta: Int64s
    key_at: Int64s
    key_size: Int64s
    value_at: Int64s
    value_size: Int64s
    headers_at: Int64s
    header_count: Int64s
    refused: list[int]

    def pick(self, keep: npt.NDArray[np.bool_]) -> Parsed:
        """Some records."""
        if keep.all():
            return self
        return Parsed(
            self.data,
            self.payload[keep],
            self.timestamp_delta[keep],
            self.offset_delta[keep],
            self.key_at[keep],
            self.key_size[keep],
            self.value_at[keep],
            self.value_size[keep],
            self.headers_at[keep],
            self.header_count[keep],
            self.refused,
        )

    def keys(self) -> pa.Array:
        return self._bytes(self.key_at, self.key_size)

    def values(self) -> pa.Array:
        return self._bytes(self.value_at, self.value_size)

    def _bytes(self, at: Int64s, size: Int64s) -> pa.Array:
        """A column of binary: Arrow copies every second piece of the data, and skips the others."""
        count = len(at)
        if not count:
            return pa.array([], pa.binary())
        bounds = np.empty(2 * count, np.int32)
        bounds[0::2], bounds[1::2] = at, at + np.maximum(size, 0)
        pieces = pa.BinaryArray.from_buffers(
            pa.binary(), 2 * count - 1, [None, pa.py_buffer(bounds), pa.py_buffer(self.data)]
        )
        return pieces.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int32), mask=size < 0))

    def headers(self, kind: pa.DataType) -> pa.Array:
        """A column of lists of headers; null for a record without any, as in Spark's source."""
        found: list[list[dict[str, str | bytes | None]] | None] = [None] * len(self.payload)
        for row in np.flatnonzero(self.header_count).tolist():
            found[row], _ = _headers(self.data, int(self.headers_at[row]))
        return pa.array(found, kind)


def parse(data: bytes, begins: list[int], ends: list[int], counts: list[int]) -> Parsed:
    """Parse payloads.

    Args:
        begins, ends: where each payload lies in `data`, rising.
        counts: how many records each must have.
    """
    refused: list[int] = []
    starts: list[int] = []
    sizes: list[int] = []
    for index, (begin, end, count) in enumerate(zip(begins, ends, counts, strict=True)):
        kept = len(starts)
        if not _record_starts(data, begin, end, count, starts):
            del starts[kept:]
            refused.append(index)
        sizes.append(len(starts) - kept)
    payload = np.repeat(np.arange(len(begins)), sizes)
    length, bodies, whole = _varints(
        np.frombuffer(data, np.uint8), np.array(starts, np.int64), _SIZE_BYTES
    )
    parsed, ok = _fields(data, payload, bodies, bodies + length)
    ok &= whole & (length >= 0)
    if not ok.all():
        bad = np.unique(payload[~ok])
        refused += bad.tolist()
        parsed = parsed.pick(~np.isin(payload, bad))
    parsed.refused = sorted(refused)
    return parsed


def _record_starts(data: bytes, begin: int, end: int, count: int, starts: list[int]) -> bool:
    """Append where each record begins; whether the last one ends at `end`."""
    at, append = begin, starts.append
    if count < 0:
        return False
    try:
        for _ in range(count):
            append(at)
            size = data[at]
            if size < 0x80:
                at += 1 + (size >> 1)
            elif (high := data[at + 1]) < 0x80:
                at += 2 + (high << 6) + ((size & 0x7F) >> 1)
            else:
                size, at = read_size(data, at)
                if size < 0:
                    return False
                at += size
    except (IndexError, Refused):
        return False
    return at == end


def parse_part(data: bytes, most: int) -> tuple[Parsed | None, int, int]:
    """Parse the whole records at the beginning of a part of a payload.

    Args:
        most: how many records the payload still has.

    Returns:
        The records, as of payload 0, None if one is damaged; the position behind them; the bytes
        that the next record needs, 0 if its size is cut, too.
    """
    bodies: list[int] = []
    ends: list[int] = []
    at, size, needs_bytes = 0, len(data), 0
    try:
        while len(bodies) < most:
            length, body = read_signed(data, at)
            if length < 0:
                return None, at, 0
            if body + length > size:
                needs_bytes = length
                break
            bodies.append(body)
            at = body + length
            ends.append(at)
    except IndexError:
        pass
    except Refused:
        return None, at, 0
    payload = np.zeros(len(bodies), np.int64)
    parsed, ok = _fields(data, payload, np.array(bodies, np.int64), np.array(ends, np.int64))
    return (parsed if ok.all() else None), at, needs_bytes


def _fields(
    data: bytes, payload: Int64s, bodies: Int64s, ends: Int64s
) -> tuple[Parsed, npt.NDArray[np.bool_]]:
    every = np.frombuffer(data, np.uint8)
    ok = np.ones(len(bodies), np.bool_)

    def number(at: Int64s, most_bytes: int) -> tuple[Int64s, Int64s]:
        values, behind, whole = _varints(every, at, most_bytes)
        np.logical_and(ok, whole & (behind <= ends), out=ok)
        return values, np.minimum(behind, ends)

    timestamp_delta, at = number(bodies + 1, _TIME_BYTES)
    offset_delta, at = number(at, _SIZE_BYTES)
    key_size, key_at = number(at, _SIZE_BYTES)
    at = key_at + np.maximum(key_size, 0)
    np.logical_and(ok, at <= ends, out=ok)
    value_size, value_at = number(np.minimum(at, ends), _SIZE_BYTES)
    headers_at = value_at + np.maximum(value_size, 0)
    np.logical_and(ok, headers_at <= ends, out=ok)
    headers_at = np.minimum(headers_at, ends)
    header_count, at = number(headers_at, _SIZE_BYTES)
    np.logical_and(ok, header_count >= 0, out=ok)
    np.logical_and(ok, (header_count > 0) | (at == ends), out=ok)
    for row in np.flatnonzero(ok & (header_count > 0)).tolist():
        ok[row] = _headers_fit(data, int(headers_at[row]), int(ends[row]))
    parsed = Parsed(
        data, payload, timestamp_delta, offset_delta, key_at, key_size, value_at, value_size,
        headers_at, header_count, [],
    )  # fmt: skip
    return parsed, ok


def _varints(
    every: npt.NDArray[np.uint8], at: Int64s, most_bytes: int
) -> tuple[Int64s, Int64s, npt.NDArray[np.bool_]]:
    """Zig-zag numbers at positions, the positions behind them, and which of them are whole."""
    last = len(every) - 1
    whole = at <= last
    first = every[np.minimum(at, last)] if last >= 0 else np.zeros(len(at), np.uint8)
    values = (first & 0x7F).astype(np.uint64)
    behind = at + 1
    open_ = np.flatnonzero(first >= 0x80)
    for index in range(1, most_bytes):
        if not len(open_):
            break
        byte = every[np.minimum(behind[open_], last)]
        values[open_] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * index)
        behind[open_] += 1
        open_ = open_[byte >= 0x80]
    whole[open_] = False
    signs = (values & np.uint64(1)).astype(np.int64)
    return (values >> np.uint64(1)).astype(np.int64) ^ -signs, behind, whole


def _headers(data: bytes, at: int) -> tuple[list[dict[str, str | bytes | None]], int]:
    """The headers of a record, and the position behind them. Raises IndexError, Refused."""
    count, at = read_size(data, at)
    found: list[dict[str, str | bytes | None]] = []
    for _ in range(count):
        size, at = read_signed(data, at)
        if size < 0:
            raise IndexError("a header without a key")
        key = data[at : at + size].decode(errors="replace")
        at += size
        size, at = read_signed(data, at)
        value = None if size < 0 else data[at : at + size]
        at += max(size, 0)
        found.append({"key": key, "value": value})
    return found, at


def _headers_fit(data: bytes, at: int, end: int) -> bool:
    """Whether the headers are readable and end where the record ends."""
    try:
        count, at = read_size(data, at)
        for _ in range(count):
            size, at = read_size(data, at)
            if size < 0 or at + size > end:
                return False
            size, at = read_size(data, at + size)
            at += max(size, 0)
            if at > end:
                return False
    except (IndexError, Refused):
        return False
    return at == end
