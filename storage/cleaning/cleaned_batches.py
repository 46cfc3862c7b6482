"""Builds a batch without some of its records, like Kafka's MemoryRecords.filterTo.

Offsets, sequence numbers, producer, codec and the records' timestamps stay; record count, base and
max timestamp in the header follow the remaining records. A batch that stays only for its producer's
sequence number has no record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...protocol.batch import (
    COMPRESSION_MASK,
    HAS_DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    Compression,
    seal,
)
from ...protocol.java_integers import LONG_MAX, wrapped_long
from ..records.record_copy import Entry

_NO_CRC: Final = 0


class Kept:
    """Counts the remaining records of a batch.

    Attributes:
        count: their number.
        has_tombstone: one of them has no value.
    """

    __slots__ = (
        "_first_delta_ms", "_header", "_largest_delta_ms", "_least_delta_ms", "_most_delta_ms",
        "_stays", "count", "has_tombstone",
    )  # fmt: skip

    def __init__(self, header: BatchHeader, stays: Callable[[Entry], bool]) -> None:
        self._header = header
        self._stays = stays
        self.count = 0
        self._first_delta_ms = self._largest_delta_ms = 0
        # Beyond these a timestamp wraps.
        self._least_delta_ms = -LONG_MAX - 1 - header.base_timestamp_ms
        self._most_delta_ms = LONG_MAX - header.base_timestamp_ms
        self.has_tombstone = False

    def count_record(self, entry: Entry) -> bool:
        """Count a record. Returns False, so that it is not copied yet."""
        if self._stays(entry):
            delta_ms = entry.timestamp_delta_ms
            if not self._least_delta_ms <= delta_ms <= self._most_delta_ms:
                base_ms = self._header.base_timestamp_ms
                delta_ms = wrapped_long(base_ms + delta_ms) - base_ms
            if not self.count:
                self._first_delta_ms = self._largest_delta_ms = delta_ms
            elif delta_ms > self._largest_delta_ms:
                self._largest_delta_ms = delta_ms
            self.count += 1
            if entry.is_tombstone:
                self.has_tombstone = True
        return False

    @property
    def first_ms(self) -> int:
        """The timestamp of the first of them."""
        return self._header.time_ms(self._first_delta_ms)

    @property
    def max_ms(self) -> int:
        """The largest of their timestamps."""
        return self._header.time_ms(self._largest_delta_ms)


def delete_horizon_ms(header: BatchHeader) -> int | None:
    """When the batch's tombstones, or its marker, may be deleted (KIP-534); None: not set yet."""
    return header.base_timestamp_ms if header.attributes & HAS_DELETE_HORIZON else None


def header_with(header: BatchHeader, kept: Kept, horizon_ms: int | None) -> BatchHeader:
    """The header for the remaining records of a batch; length and CRC are not set.

    Args:
        kept: at least one record.
        horizon_ms: the batch's new delete horizon, stored as its base timestamp.
    """
    attributes = header.attributes
    if horizon_ms is not None:
        attributes |= HAS_DELETE_HORIZON
    return header._replace(
        attributes=attributes,
        base_timestamp_ms=kept.first_ms if horizon_ms is None else horizon_ms,
        max_timestamp_ms=kept.max_ms,
        record_count=kept.count,
    )


def sealed(header: BatchHeader, packed: bytes | bytearray) -> bytearray:
    """A batch of a header and a compressed payload, with length and CRC."""
    batch = bytearray(HEADER_SIZE) + packed
    header = header._replace(length=len(batch) - LOG_OVERHEAD, crc=_NO_CRC)
    HEADER.pack_into(batch, 0, *header)
    seal(batch)
    return batch


def emptied(header: BatchHeader) -> bytearray:
    """The batch without any record (DefaultRecordBatch.writeEmptyHeader)."""
    attributes = header.attributes & ~(COMPRESSION_MASK | HAS_DELETE_HORIZON) | Compression.NONE
    empty = header._replace(attributes=attributes, base_timestamp_ms=NO_TIMESTAMP, record_count=0)
    return sealed(empty, b"")
