"""Validates the header and frame of a client's batch before the append: Kafka's LogValidator.

There must be one batch of format v2, whole and undamaged, with a header that matches its records.
Errors and their order are those of ProduceRequest.validateRecords,
UnifiedLog.analyzeAndValidateRecords and LogValidator. No function here changes a log.
"""

from __future__ import annotations

import struct
from typing import Final

from ...protocol.batch import (
    COMPRESSION_MASK,
    CONTROL,
    CRC_START,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
    Bytes,
    Compression,
    read_header,
    seal,
)
from ...protocol.checksum import crc32c
from ...protocol.errors import Code, Refused
from ...protocol.named_tuple import NamedTuple

_LAST_CODEC: Final = int(Compression.ZSTD)
_MIN_LENGTH: Final = 14  # size of the oldest format behind its length field
_UP_TO_MAGIC: Final = 17
_LENGTH: Final = struct.Struct(">i")
MEANT: Final = 0x7F
"""The defined attributes; a change of the header drops the others."""


class RecordError(NamedTuple):
    """An invalid record: its index in the batch, and a sentence."""

    batch_index: int
    why: str


class NotOneBatch(Refused):
    """INVALID_RECORD: not exactly one batch per partition (ProduceRequest.validateRecords)."""

    def __init__(self, why: str) -> None:
        super().__init__(Code.INVALID_RECORD, why)


class InvalidRecords(Refused):
    """A batch is refused because some of its records are invalid.

    Args:
        record_errors: the first invalid records, in order (KIP-467).
    """

    def __init__(self, code: Code, why: str, record_errors: tuple[RecordError, ...]) -> None:
        super().__init__(code, why)
        self.record_errors = record_errors


def one_batch(
    records: Bytes, max_message_bytes: int, header: BatchHeader | None = None
) -> BatchHeader:
    """The header of the first batch in `records`; bytes behind a whole batch are ignored.

    Args:
        header: the header, if it was read before.

    Raises:
        Refused: INVALID_RECORD, CORRUPT_MESSAGE or MESSAGE_TOO_LARGE; for an undefined codec
            UNKNOWN_SERVER_ERROR, as in Kafka. INVALID_RECORD also for what only clients get wrong
            (LogValidator.validateBatch).
    """
    size = len(records)
    if size < HEADER_SIZE:
        _refuse_unless_framed(records)
        raise Refused(Code.CORRUPT_MESSAGE, "a record batch that is shorter than its header")
    if header is None:
        header = read_header(records)
    if header.length + LOG_OVERHEAD != size or header.magic != MAGIC:
        _refuse_unless_framed(records)
        size = header.length + LOG_OVERHEAD
    if header.base_offset != 0:
        raise Refused(
            Code.INVALID_RECORD, f"the base offset of the batch is {header.base_offset}, not 0"
        )
    if size > max_message_bytes:
        check_size(size, max_message_bytes)
    covered = memoryview(records)[CRC_START:size]
    if size < HEADER_SIZE or crc32c(covered) != header.crc:
        raise Refused(Code.CORRUPT_MESSAGE, f"the batch's bytes do not give its CRC {header.crc}")
    if header.attributes & COMPRESSION_MASK > _LAST_CODEC:
        codec = header.attributes & COMPRESSION_MASK
        raise Refused(Code.UNKNOWN_SERVER_ERROR, f"Unknown compression type id: {codec}")
    count = header.record_count
    if count <= 0 or header.last_offset_delta != count - 1:
        raise Refused(
            Code.INVALID_RECORD,
            f"{count} records, and the last offset delta is {header.last_offset_delta}",
        )
    if header.attributes & CONTROL:
        raise Refused(Code.INVALID_RECORD, "clients may not write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise Refused(Code.INVALID_RECORD, f"a base sequence of {header.base_sequence}")
    return header


def check_size(size_bytes: int, max_message_bytes: int) -> None:
    """Raise Refused(MESSAGE_TOO_LARGE) for a batch above the limit."""
    if size_bytes > max_message_bytes:
        raise Refused(
            Code.MESSAGE_TOO_LARGE,
            f"a record batch of {size_bytes} bytes; max.message.bytes is {max_message_bytes}",
        )


def _refuse_unless_framed(records: Bytes) -> None:
    """Check that `records` is exactly one frame of format v2, as ByteBufferLogInputStream does."""
    end = frame_end(records, 0)
    if end is None:
        raise NotOneBatch("there must be one record batch for each partition")
    if records[_UP_TO_MAGIC - 1] != MAGIC:
        raise NotOneBatch("only record batches of format 2 may be produced")
    if frame_end(records, end) is not None:
        raise NotOneBatch("there must be no second record batch for a partition")


def frame_end(records: Bytes, start: int) -> int | None:
    """Where the batch at `start` ends; None if no whole one begins there.

    Raises:
        Refused: CORRUPT_MESSAGE, with Kafka's message (ByteBufferLogInputStream).
    """
    left = len(records) - start
    if left < LOG_OVERHEAD:
        return None
    (length,) = _LENGTH.unpack_from(records, start + 8)
    if length < _MIN_LENGTH:
        why = f"Record size {length} is less than the minimum record overhead ({_MIN_LENGTH})"
        raise Refused(Code.CORRUPT_MESSAGE, why)
    if left < _UP_TO_MAGIC:
        return None
    magic = records[start + _UP_TO_MAGIC - 1]
    if magic > MAGIC:
        magic -= 0x100 if magic > 0x7F else 0
        raise Refused(Code.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    end = start + LOG_OVERHEAD + int(length)
    return end if end <= len(records) else None


def header_with_append_time(header: BatchHeader, now_ms: int) -> BatchHeader:
    """The header of the batch if all records get the broker's timestamp."""
    attributes = header.attributes & MEANT | LOG_APPEND_TIME
    return header._replace(attributes=attributes, max_timestamp_ms=now_ms)


def records_with_times(records: Bytes, header: BatchHeader) -> bytearray:
    """A copy of the batch with the attributes and max timestamp of `header`, and a new CRC."""
    batch = bytearray(memoryview(records)[: header.size_bytes])
    HEADER.pack_into(batch, 0, *header)
    seal(batch)
    return batch
