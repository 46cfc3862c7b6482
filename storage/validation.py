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
    NO_TIMESTAMP,
    BatchHeader,
    Bytes,
    Compression,
    seal,
)
from ..protocol.checksum import crc32c
from ..protocol.errors import Code, Refused
from ..protocol.records import payload_of, records_in
from .log_config import LONG_MAX, LogConfig
from .record_walk import largest_timestamp_delta

_MIN_LENGTH: Final = 14  # what the oldest format needs behind its length
_UP_TO_MAGIC: Final = 17
_LENGTH: Final = struct.Struct(">i")
_MEANT: Final = 0x7F  # the attributes that mean something; others go with a change of the header


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
        record_errors: each bad record, in order (KIP-467).
    """

    def __init__(self, code: Code, why: str, record_errors: tuple[RecordError, ...]) -> None:
        super().__init__(code, why)
        self.record_errors = record_errors


def one_batch(records: Bytes, max_message_bytes: int) -> BatchHeader:
    """The header of the only batch in `records`; what follows a whole batch is not looked at.

    Raises:
        Refused: INVALID_RECORD, CORRUPT_MESSAGE or MESSAGE_TOO_LARGE; for a codec that nobody has
            defined UNKNOWN_SERVER_ERROR, as Kafka.
    """
    size = len(records)
    if size < HEADER_SIZE:
        _refuse_unless_framed(records)
        raise Refused(Code.CORRUPT_MESSAGE, "a record batch that is shorter than its header")
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


def check_records(
    records: Bytes, header: BatchHeader, config: LogConfig, now_ms: int, partition: str
) -> BatchHeader:
    """Check the records of a batch whose header is right, and put its times right.

    Args:
        partition: its name, `TOPIC-PARTITION`, for messages.

    Returns:
        The header that the batch must have: itself, or one with other attributes and another max
        timestamp, for `with_times`.

    Raises:
        Refused: INVALID_RECORD, and UNKNOWN_SERVER_ERROR, as Kafka, when they do not decompress;
            InvalidRecords also names the bad records.
    """
    size = header.length + LOG_OVERHEAD
    attributes = header.attributes
    payload: bytes | bytearray
    if attributes & COMPRESSION_MASK:
        payload, start = _opened(records, header), 0
    elif type(records) is bytearray and len(records) == size:
        payload, start = records, HEADER_SIZE
    else:
        payload, start = bytes(memoryview(records)[HEADER_SIZE:size]), 0
    largest_delta = largest_timestamp_delta(payload, header.record_count, start)
    stamps = config.message_timestamp_type == "LogAppendTime"
    stamped = attributes & LOG_APPEND_TIME
    max_timestamp_ms = max(header.base_timestamp_ms + largest_delta, NO_TIMESTAMP)
    if stamped:
        max_timestamp_ms = header.max_timestamp_ms
    if (
        stamped
        or config.message_timestamp_before_max_ms != LONG_MAX
        or (not stamps and max_timestamp_ms - now_ms > config.message_timestamp_after_max_ms)
        or config.compacts
    ):
        _refuse_bad_records(records, header, config, now_ms, partition)
    if stamps:
        return of_now(header, now_ms)
    if stamped or max_timestamp_ms != header.max_timestamp_ms:
        attributes &= _MEANT & ~LOG_APPEND_TIME
        return header._replace(attributes=attributes, max_timestamp_ms=max_timestamp_ms)
    return header


def of_now(header: BatchHeader, now_ms: int) -> BatchHeader:
    """The header that a batch must have where the time of all records is the broker's."""
    attributes = header.attributes & _MEANT | LOG_APPEND_TIME
    return header._replace(attributes=attributes, max_timestamp_ms=now_ms)


def _opened(records: Bytes, header: BatchHeader) -> bytes:
    try:
        return bytes(payload_of(records, 0, header))
    except Refused as refused:
        raise Refused(Code.UNKNOWN_SERVER_ERROR, refused.why) from refused


def _refuse_bad_records(
    records: Bytes, header: BatchHeader, config: LogConfig, now_ms: int, partition: str
) -> None:
    """Look at each record's key and time; the client is told in Kafka's words (LogValidator)."""
    stamps = config.message_timestamp_type == "LogAppendTime"
    earliest_ms = now_ms - config.message_timestamp_before_max_ms
    latest_ms = now_ms + config.message_timestamp_after_max_ms
    errors: list[RecordError] = []
    code = Code.INVALID_RECORD
    for index, record in enumerate(records_in(records, 0, header)):
        time_ms = record.timestamp_ms
        if config.compacts and record.key is None:
            why = (
                f"Compacted topic cannot accept message without key in topic partition {partition}"
            )
            errors.append(RecordError(index, why))
        elif not stamps and time_ms != NO_TIMESTAMP:
            if not earliest_ms <= time_ms <= latest_ms:
                why = (
                    f"Timestamp {time_ms} of message with offset {record.offset} is out of range."
                    f" The timestamp should be within [{earliest_ms}, {latest_ms}]"
                )
                errors.append(RecordError(index, why))
                code = Code.INVALID_TIMESTAMP
        elif header.attributes & LOG_APPEND_TIME:
            why = "Producer should not set timestamp type to LogAppendTime."
            errors.append(RecordError(index, f"Invalid timestamp type in message {record}. {why}"))
            code = Code.INVALID_TIMESTAMP
    if errors:
        raise InvalidRecords(code, _summary(code, errors), tuple(errors))


def _summary(code: Code, errors: list[RecordError]) -> str:
    if code == Code.INVALID_TIMESTAMP:
        return "One or more records have been rejected due to invalid timestamp"
    shown = ", ".join(f"RecordError(batchIndex={e[0]}, message='{e[1]}')" for e in errors[:3])
    return (
        f"One or more records have been rejected due to {len(errors)} record errors in total,"
        f" and only showing the first three errors at most: [{shown}]"
    )


def with_times(records: Bytes, header: BatchHeader) -> bytearray:
    """A copy of the batch with the attributes and the max timestamp of `header`, and its CRC."""
    batch = bytearray(memoryview(records)[: header.size_bytes])
    HEADER.pack_into(batch, 0, *header)
    seal(batch)
    return batch
