"""Validates a client's batch before the append and recompresses it: Kafka's LogValidator.

A batch of few records is checked at once. A longer check runs in steps, and a compressed payload is
decompressed piece by piece, so that one client's batch cannot delay others or fill the memory. No
function here changes a log.
"""

from __future__ import annotations

from typing import Final

from ...protocol.batch import (
    COMPRESSION_MASK,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    Bytes,
    Compression,
)
from ...protocol.errors import Code, Refused
from ...protocol.named_tuple import NamedTuple
from ...protocol.opening import loaded
from ..log_config import ANY_SIZE, LONG_MAX, LogConfig
from ..steps import Steps, at_once
from .batch_frame import MEANT, one_batch, records_with_times
from .payloads import PIECE_SIZES, Payload, PieceSizes, feed
from .recompression import CODECS, PACKED_AT_ONCE_BYTES, recompress_batch
from .record_errors import RecordErrors, TimeLimits
from .record_stream import RecordStream
from .record_walk import TakesLong, Walked, walk

_AT_ONCE_RECORDS: Final = 1 << 15  # checked in one step
_OF_ANY_SIZES: Final = 1 << 11  # the same, if their sizes differ
_RUNS: Final = 16  # of one size, in a check of more records than that
_ONE_BY_ONE_RECORDS: Final = 1 << 8  # the same, if records are read one by one
_VIEWED_BYTES: Final = 1 << 8  # of a record; smaller ones are copied, since a view is read slower


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
    if payload is None or count > rules.at_once_records or _may_be_above(header, payload, config):
        return _steps(records, header, rules)
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


def _may_be_above(header: BatchHeader, payload: Bytes, config: LogConfig) -> bool:
    """Whether a record may have more bytes than max.decompressed.message.bytes."""
    is_compressed = header.attributes & COMPRESSION_MASK
    return bool(is_compressed and len(payload) > config.max_decompressed_message_bytes)


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
        checked.header,
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
