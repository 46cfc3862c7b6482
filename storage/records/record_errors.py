"""Collects the invalid records of a batch, with the error messages of Kafka's LogValidator.

Kafka reports every invalid record; Ottla reports the first `MOST_REPORTED` and their number,
because a batch of ten kilobytes may contain a million.
"""

from __future__ import annotations

from typing import Final

from ...protocol.batch import LOG_APPEND_TIME, NO_TIMESTAMP, BatchHeader
from ...protocol.errors import Code, Refused
from ...protocol.java_integers import LONG_MAX, wrapped_long
from ...protocol.named_tuple import NamedTuple
from .record_stream import Head

MOST_REPORTED: Final = 1_000


class RecordError(NamedTuple):
    """An invalid record: its index in the batch, and a sentence."""

    batch_index: int
    why: str


class InvalidRecords(Refused):
    """A batch is refused because some of its records are invalid.

    Args:
        record_errors: the first invalid records, in order (KIP-467).
    """

    def __init__(self, code: Code, why: str, record_errors: tuple[RecordError, ...]) -> None:
        super().__init__(code, why)
        self.record_errors = record_errors


class TimeLimits(NamedTuple):
    """How far a record's timestamp may be from the broker's time (LogValidator)."""

    now_ms: int
    before_max_ms: int
    after_max_ms: int

    def are_broken_by(self, time_ms: int) -> bool:
        """Whether a timestamp is out of range. Differences wrap, as in Kafka."""
        return (
            wrapped_long(self.now_ms - time_ms) > self.before_max_ms
            or wrapped_long(time_ms - self.now_ms) > self.after_max_ms
        )

    def __str__(self) -> str:
        earliest_ms = wrapped_long(self.now_ms - self.before_max_ms)
        return f"[{earliest_ms}, {wrapped_long(self.now_ms + self.after_max_ms)}]"


class RecordErrors:
    """The errors in the records of a batch, each of which is passed to `check`.

    Args:
        wants_keys_in: the partition, `TOPIC-PARTITION`, whose records must have keys; None: keys
            are optional.
        limits: of the timestamps; None: all are valid.
        is_rewritten: the records are read in full, to be rewritten.

    Attributes:
        largest_ms, smallest_ms: timestamps of the records.
    """

    def __init__(
        self,
        header: BatchHeader,
        *,
        wants_keys_in: str | None,
        limits: TimeLimits | None,
        is_rewritten: bool,
    ) -> None:
        self._header = header
        self._wants_keys_in = wants_keys_in
        self._limits = limits
        self._is_rewritten = is_rewritten
        self._code = Code.INVALID_RECORD
        self.largest_ms, self.smallest_ms = -LONG_MAX - 1, LONG_MAX
        self._count = 0
        self._reported: list[RecordError] = []

    def check(self, head: Head) -> bool:
        """Check the next record. Returns False, so that the walk goes on."""
        header = self._header
        time_ms = header.time_ms(head.timestamp_delta_ms)
        self.largest_ms = max(self.largest_ms, time_ms)
        self.smallest_ms = min(self.smallest_ms, time_ms)
        if self._wants_keys_in is not None and head.key_size < 0:
            self._add(
                head,
                "Compacted topic cannot accept message without key in topic partition"
                f" {self._wants_keys_in}",
            )
        elif (limits := self._limits) is not None and time_ms != NO_TIMESTAMP:
            if limits.are_broken_by(time_ms):
                self._code = Code.INVALID_TIMESTAMP
                self._add(
                    head,
                    f"Timestamp {time_ms} of message with offset"
                    f" {header.base_offset + head.offset_delta} is out of range. The timestamp"
                    f" should be within {limits}",
                )
        elif header.attributes & LOG_APPEND_TIME:
            self._code = Code.INVALID_TIMESTAMP
            self._add(
                head,
                f"Invalid timestamp type in message {self._named(head, time_ms)}. Producer should"
                " not set timestamp type to LogAppendTime.",
            )
        return False

    def _add(self, head: Head, why: str) -> None:
        self._count += 1
        if len(self._reported) < MOST_REPORTED:
            self._reported.append(RecordError(head.batch_index, why))

    def _named(self, head: Head, time_ms: int) -> str:
        """The record in the notation of Kafka's classes."""
        is_whole = self._is_rewritten or self._header.compression == 0
        name, least = ("DefaultRecord", 0) if is_whole else ("PartialDefaultRecord", -1)
        return (
            f"{name}(offset={self._header.base_offset + head.offset_delta}, timestamp={time_ms},"
            f" key={max(head.key_size, least)} bytes, value={max(head.value_size, least)} bytes)"
        )

    def raise_if_any(self) -> None:
        """Raise InvalidRecords: INVALID_TIMESTAMP if one is invalid, else INVALID_RECORD."""
        if self._count:
            raise InvalidRecords(self._code, self._summary(), tuple(self._reported))

    def _summary(self) -> str:
        if self._code == Code.INVALID_TIMESTAMP:
            return "One or more records have been rejected due to invalid timestamp"
        shown = ", ".join(
            f"RecordError(batchIndex={index}, message='{why}')" for index, why in self._reported[:3]
        )
        return (
            f"One or more records have been rejected due to {self._count} record errors in total,"
            f" and only showing the first three errors at most: [{shown}]"
        )
