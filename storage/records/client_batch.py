"""Validates a client's batch before the append and recompresses it: Kafka's LogValidator.

A batch of few records is checked at once. A longer check runs in steps, and a compressed payload is
decompressed piece by piece, so that one client's batch cannot delay others or fill the memory. No
function here changes a log.

There must be one batch of format v2, whole and undamaged, with a header that matches its records.
Errors and their order are those of ProduceRequest.validateRecords,
UnifiedLog.analyzeAndValidateRecords and LogValidator.
"""

from __future__ import annotations

import struct
from typing import Final

from ...protocol.batch import (
    COMPRESSION_MASK,
    CONTROL,
    CRC_START,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    Bytes,
    Compression,
    read_header,
)
from ...protocol.checksum import crc32c
from ...protocol.errors import Code, Refused
from ...protocol.named_tuple import NamedTuple
from ...protocol.opening import loaded
from ..log_config import ANY_SIZE, LONG_MAX, LogConfig
from ..steps import Steps, at_once
from .payloads import PIECE_SIZES, Payload, PieceSizes, feed
from .recompression import CODECS, PACKED_AT_ONCE_BYTES, recompress_batch
from .record_errors import RecordErrors, TimeLimits
from .record_stream import RecordStream
from .record_walk import TakesLong, Walked, walk
from .size_and_times import MEANT, check_size, records_with_times

_LAST_CODEC: Final = int(Compression.ZSTD)
_MIN_LENGTH: Final = 14  # size of the oldest format behind its length field
_UP_TO_MAGIC: Final = 17
_LENGTH: Final = struct.Struct(">i")
_AT_ONCE_RECORDS: Final = 1 << 15  # checked in one step
_OF_ANY_SIZES: Final = 1 << 11  # the same, if their sizes differ
_RUNS: Final = 16  # of one size, in a check of more records than that
_ONE_BY_ONE_RECORDS: Final = 1 << 8  # the same, if records are read one by one
_VIEWED_BYTES: Final = 1 << 8  # of a record; smaller ones are copied, since a view is read slower


class NotOneBatch(Refused):
    """INVALID_RECORD: not exactly one batch per partition (ProduceRequest.validateRecords)."""

    def __init__(self, why: str) -> None:
        super().__init__(Code.INVALID_RECORD, why)


class Checked(NamedTuple):
    """A batch that passed all checks except those of its producer and its offset.

    Attributes:
        records: with the producer's timestamps; topics with LogAppendTime set theirs at the append.
        header: the header of `records`.
    """

    records: Bytes
    header: BatchHeader


class Rules(NamedTuple):
    """The rules of a partition for its records.

    Attributes:
        partition: its name, `TOPIC-PARTITION`, for messages.
        at_once_records: the largest number of records checked in one step.
        sizes: of the pieces of a payload that are decompressed at once.
    """

    config: LogConfig
    now_ms: int
    partition: str
    at_once_records: int = _AT_ONCE_RECORDS
    sizes: PieceSizes = PIECE_SIZES

    def may_be_broken(self, header: BatchHeader, found: Walked) -> bool:
        """Whether a record may lack a key or have a wrong timestamp, so that each must be read.

        So if timestamps wrap, because only all of them tell the largest then.
        """
        config, base_ms = self.config, header.base_timestamp_ms
        if header.attributes & LOG_APPEND_TIME or (config.compacts and not found.all_have_keys):
            return True
        earliest_ms = base_ms + found.smallest_delta_ms
        latest_ms = base_ms + found.largest_delta_ms
        if earliest_ms < self.now_ms - LONG_MAX or latest_ms > LONG_MAX:
            return True
        if config.stamps:
            return False
        return (
            latest_ms - self.now_ms > config.message_timestamp_after_max_ms
            or self.now_ms - earliest_ms > config.message_timestamp_before_max_ms
        )

    @property
    def codec(self) -> Compression | None:
        """The codec for recompression; None: keep the producer's."""
        return CODECS.get(self.config.compression_type)

    def rewrites(self, header: BatchHeader) -> bool:
        """Whether the batch is compressed with another codec."""
        return self.codec not in (None, header.compression)

    def errors(self, header: BatchHeader, *, is_rewritten: bool) -> RecordErrors:
        """The collector of errors in the batch's records."""
        config = self.config
        limits = TimeLimits(
            self.now_ms,
            config.message_timestamp_before_max_ms,
            config.message_timestamp_after_max_ms,
        )
        return RecordErrors(
            header,
            wants_keys_in=self.partition if config.compacts else None,
            limits=None if config.stamps else limits,
            is_rewritten=is_rewritten,
        )


def check(
    records: Bytes, rules: Rules, header: BatchHeader | None = None
) -> Checked | Steps[Checked]:
    """Check a batch and recompress it with the codec of its topic.

    Args:
        records: must not change before the append.
        header: the header of `records`, if it was read before.

    Returns:
        The checked batch, or the steps to it if they take long; these raise the same exceptions.

    Raises:
        Refused: INVALID_RECORD, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE; UNKNOWN_SERVER_ERROR, as in
            Kafka, if the records do not decompress; InvalidRecords also lists bad records.
    """
    config = rules.config
    header = one_batch(records, config.max_message_bytes, header)
    size = header.length + LOG_OVERHEAD
    count, start = header.record_count, 0
    payload: Bytes | None
    if header.attributes & COMPRESSION_MASK:
        payload = _payload(records, header, rules).at_hand()
    elif type(records) is bytearray and len(records) == size:
        payload, start = records, HEADER_SIZE
    else:
        payload = memoryview(records)[HEADER_SIZE:size]
        if len(payload) < _VIEWED_BYTES * count:
            payload = bytes(payload)
    if payload is None or count > rules.at_once_records:
        return _steps(records, header, rules)
    most_bytes = config.max_decompressed_message_bytes
    if len(payload) > most_bytes and header.attributes & COMPRESSION_MASK:
        return _steps(records, header, rules)  # a record may be above the limit
    most_runs = _RUNS if count > _OF_ANY_SIZES else count
    try:
        found = walk(payload, count, start, most_runs=most_runs)
    except TakesLong:
        return _steps(records, header, rules)
    max_timestamp_ms = header.base_timestamp_ms + found.largest_delta_ms
    if (  # a shortcut for nearly every batch
        config.keeps_batches
        and NO_TIMESTAMP <= max_timestamp_ms == header.max_timestamp_ms
        and not rules.may_be_broken(header, found)
        and (found.is_in_order or not header.attributes & COMPRESSION_MASK)
    ):
        return Checked(records, header)
    if not rules.may_be_broken(header, found) and not rules.rewrites(header):
        _refuse_gaps(header, found)
        return _with_time(records, header, rules, _max_timestamp_ms(header, found))
    steps = _after_walk(records, header, rules, found)
    is_small = header.record_count <= _ONE_BY_ONE_RECORDS and len(payload) <= PACKED_AT_ONCE_BYTES
    if is_small and (rules.codec is None or rules.codec in loaded):
        return at_once(steps)
    return steps


def check_at_once(records: Bytes, rules: Rules) -> Checked:
    """`check` without pauses."""
    checked = check(records, rules)
    return checked if isinstance(checked, Checked) else at_once(checked)


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
        refuse_unless_framed(records)
        raise Refused(Code.CORRUPT_MESSAGE, "a record batch that is shorter than its header")
    if header is None:
        header = read_header(records)
    if header.length + LOG_OVERHEAD != size or header.magic != MAGIC:
        refuse_unless_framed(records)
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


def refuse_unless_framed(records: Bytes) -> None:
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


def begins_transactional(records: Bytes) -> bool:
    """Whether the first batch is transactional; False if it is cut.

    Raises:
        Refused: CORRUPT_MESSAGE, as `frame_end`.
    """
    if len(records) >= HEADER_SIZE and records[_UP_TO_MAGIC - 1] == MAGIC:
        (length,) = _LENGTH.unpack_from(records, 8)
        if length >= _MIN_LENGTH:
            return bool(records[22] & TRANSACTIONAL) and length + LOG_OVERHEAD <= len(records)
    frame_end(records, 0)
    return False


def _payload(records: Bytes, header: BatchHeader, rules: Rules) -> Payload:
    return Payload(records, 0, header, unreadable=Code.UNKNOWN_SERVER_ERROR, sizes=rules.sizes)


def _steps(records: Bytes, header: BatchHeader, rules: Rules) -> Steps[Checked]:
    """The steps of `check`. Nothing is decompressed before the first one."""
    yield None
    is_compressed = header.attributes & COMPRESSION_MASK
    most_bytes = rules.config.max_decompressed_message_bytes if is_compressed else ANY_SIZE
    stream = RecordStream(header.record_count, most_bytes)
    walk_all = stream.check() if most_bytes == ANY_SIZE else stream.heads(lambda head: False)
    yield from feed(stream, walk_all, _payload(records, header, rules))
    return (yield from _after_walk(records, header, rules, stream.found))


def _after_walk(records: Bytes, header: BatchHeader, rules: Rules, found: Walked) -> Steps[Checked]:
    """Report bad records, correct the timestamps, and recompress if the topic requires it."""
    yield None
    max_timestamp_ms = _max_timestamp_ms(header, found)
    earliest_ms = header.base_timestamp_ms + found.smallest_delta_ms
    is_rewritten = rules.rewrites(header)
    if rules.may_be_broken(header, found):
        errors = rules.errors(header, is_rewritten=is_rewritten)
        stream = RecordStream(header.record_count)
        yield from feed(stream, stream.heads(errors.check), _payload(records, header, rules))
        errors.raise_if_any()
        max_timestamp_ms, earliest_ms = max(errors.largest_ms, NO_TIMESTAMP), errors.smallest_ms
    if not is_rewritten:
        _refuse_gaps(header, found)
    elif earliest_ms < NO_TIMESTAMP:
        raise Refused(Code.UNKNOWN_SERVER_ERROR, f"Invalid negative timestamp {earliest_ms}")
    checked = _with_time(records, header, rules, max_timestamp_ms)
    codec = rules.codec
    if codec is None or not is_rewritten:
        return checked
    config = rules.config
    limit_bytes, level = config.max_message_bytes, config.compression_level
    packed = yield from recompress_batch(
        checked.records,
        checked.header._replace(attributes=header.attributes),
        codec,
        level,
        limit_bytes,
        is_in_order=found.is_in_order,
        sizes=rules.sizes,
    )
    return Checked(*packed)


def _refuse_gaps(header: BatchHeader, found: Walked) -> None:
    """Check that the offset deltas of a compressed batch are in order.

    Kafka cannot give the records their offsets then, and it does not look in other batches.
    """
    if not found.is_in_order and header.attributes & COMPRESSION_MASK:
        why = "the offset deltas of the compressed records are not 0, 1, 2 and so on"
        raise Refused(Code.UNKNOWN_SERVER_ERROR, why)


def _max_timestamp_ms(header: BatchHeader, found: Walked) -> int:
    if header.attributes & LOG_APPEND_TIME:
        return header.max_timestamp_ms
    return max(header.base_timestamp_ms + found.largest_delta_ms, NO_TIMESTAMP)


def _with_time(records: Bytes, header: BatchHeader, rules: Rules, max_timestamp_ms: int) -> Checked:
    """The batch with the largest timestamp of its records, which its producer may have wrong."""
    stamped = header.attributes & LOG_APPEND_TIME
    if rules.config.stamps or not (stamped or max_timestamp_ms != header.max_timestamp_ms):
        return Checked(records, header)
    attributes = header.attributes & MEANT & ~LOG_APPEND_TIME
    header = header._replace(attributes=attributes, max_timestamp_ms=max_timestamp_ms)
    return Checked(records_with_times(records, header), header)
