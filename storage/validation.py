"""What a client's records must be before they may be appended: Kafka's LogValidator.

One batch of format v2, whole and unharmed, its header agreeing with its records. The answers and
their order are those of ProduceRequest.validateRecords, UnifiedLog.analyzeAndValidateRecords and
LogValidator. Nothing here changes a log.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from ..protocol.batch import (
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
    seal,
)
from ..protocol.checksum import crc32c
from ..protocol.errors import Code, Refused

_MIN_LENGTH: Final = 14  # what the oldest format needs behind its length
_UP_TO_MAGIC: Final = 17
_LENGTH: Final = struct.Struct(">i")
MEANT: Final = 0x7F
"""The attributes that mean something; others go with a change of the header."""


class RecordError(NamedTuple):
    """What is wrong with one record: its place in the batch, and a sentence."""

    batch_index: int
    why: str


class NotOneBatch(Refused):
    """INVALID_RECORD: a request that no log is asked about (ProduceRequest.validateRecords)."""

    def __init__(self, why: str) -> None:
        super().__init__(Code.INVALID_RECORD, why)


class InvalidRecords(Refused):
    """Some records of a batch may not be appended, and so none of them.

    Args:
        record_errors: the first bad records, in order (KIP-467).
    """

    def __init__(self, code: Code, why: str, record_errors: tuple[RecordError, ...]) -> None:
        super().__init__(code, why)
        self.record_errors = record_errors


def one_batch(
    records: Bytes, max_message_bytes: int, header: BatchHeader | None = None
) -> BatchHeader:
    """The header of the only batch in `records`; what follows a whole batch is not looked at.

    Args:
        header: what `records` begin with, where it was read before.

    Raises:
        Refused: INVALID_RECORD, CORRUPT_MESSAGE or MESSAGE_TOO_LARGE; for a codec that nobody has
            defined UNKNOWN_SERVER_ERROR, as Kafka.
    """
    size = len(records)
    if size < HEADER_SIZE:
        _refuse_unless_framed(records)
        raise Refused(Code.CORRUPT_MESSAGE, "a record batch that is shorter than its header")
    if header is None:
        header = BatchHeader._make(HEADER.unpack_from(records))
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
    if header.attributes & COMPRESSION_MASK > Compression.ZSTD:
        codec = header.attributes & COMPRESSION_MASK
        raise Refused(Code.UNKNOWN_SERVER_ERROR, f"Unknown compression type id: {codec}")
    return header


def check_size(size_bytes: int, max_message_bytes: int) -> None:
    """Raises Refused(MESSAGE_TOO_LARGE)."""
    if size_bytes > max_message_bytes:
        raise Refused(
            Code.MESSAGE_TOO_LARGE,
            f"a record batch of {size_bytes} bytes; max.message.bytes is {max_message_bytes}",
        )


def _refuse_unless_framed(records: Bytes) -> None:
    """Read the frames as ByteBufferLogInputStream does; exactly one of format v2 may pass."""
    end = frame_end(records, 0)
    if end is None:
        raise NotOneBatch("there must be one record batch for each partition")
    if records[_UP_TO_MAGIC - 1] != MAGIC:
        raise NotOneBatch("only record batches of format 2 may be produced")
    if frame_end(records, end) is not None:
        raise NotOneBatch("there must be no second record batch for a partition")


def frame_end(records: Bytes, start: int) -> int | None:
    """Where the batch at `start` ends; None when no whole one begins there.

    Raises:
        Refused: CORRUPT_MESSAGE, in Kafka's words (ByteBufferLogInputStream).
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


def check_client_header(header: BatchHeader) -> None:
    """What only a client gets wrong (LogValidator.validateBatch): Refused(INVALID_RECORD)."""
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


def of_now(header: BatchHeader, now_ms: int) -> BatchHeader:
    """The header that a batch must have where the time of all records is the broker's."""
    attributes = header.attributes & MEANT | LOG_APPEND_TIME
    return header._replace(attributes=attributes, max_timestamp_ms=now_ms)


def with_times(records: Bytes, header: BatchHeader) -> bytearray:
    """A copy of the batch with the attributes and the max timestamp of `header`, and its CRC."""
    batch = bytearray(memoryview(records)[: header.size_bytes])
    HEADER.pack_into(batch, 0, *header)
    seal(batch)
    return batch
