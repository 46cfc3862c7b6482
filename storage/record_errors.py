"""Which records of a batch may not be appended, and why, in the words of Kafka's LogValidator.

Kafka tells of each bad record; here the first `MOST_TOLD` are told, and how many there are: a batch
of ten kilobytes may hold a million.
"""

from __future__ import annotations

from typing import Final

from ..protocol.batch import LOG_APPEND_TIME, NO_TIMESTAMP, BatchHeader
from ..protocol.errors import Code
from .record_stream import Head
from .validation import InvalidRecords, RecordError

MOST_TOLD: Final = 1_000


class RecordErrors:
    """What is wrong with the records of a batch; each of them is looked at.

    Args:
        wants_keys_in: the partition, `TOPIC-PARTITION`, whose records must have keys; None: any
            may be without.
        times_ms: the first and the last time that records may have; None: any.
        is_rewritten: the records are read as a whole, to be written anew.
    """

    def __init__(
        self,
        header: BatchHeader,
        *,
        wants_keys_in: str | None,
        times_ms: tuple[int, int] | None,
        is_rewritten: bool,
    ) -> None:
        self._header = header
        self._wants_keys_in = wants_keys_in
        self._times_ms = times_ms
        self._is_rewritten = is_rewritten
        self._code = Code.INVALID_RECORD
        self._count = 0
        self._told: list[RecordError] = []

    def look_at(self, head: Head) -> bool:
        """The next record. Returns False, so that it is not the last to be looked at."""
        header = self._header
        if header.attributes & LOG_APPEND_TIME:
            time_ms = header.max_timestamp_ms
        else:
            time_ms = header.base_timestamp_ms + head.timestamp_delta_ms
        if self._wants_keys_in is not None and head.key_size < 0:
            self._add(
                head,
                "Compacted topic cannot accept message without key in topic partition"
                f" {self._wants_keys_in}",
            )
        elif self._times_ms is not None and time_ms != NO_TIMESTAMP:
            earliest_ms, latest_ms = self._times_ms
            if not earliest_ms <= time_ms <= latest_ms:
                self._code = Code.INVALID_TIMESTAMP
                self._add(
                    head,
                    f"Timestamp {time_ms} of message with offset"
                    f" {header.base_offset + head.offset_delta} is out of range. The timestamp"
                    f" should be within [{earliest_ms}, {latest_ms}]",
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
        if len(self._told) < MOST_TOLD:
            self._told.append(RecordError(head.batch_index, why))

    def _named(self, head: Head, time_ms: int) -> str:
        """The record as Kafka's classes print it."""
        is_whole = self._is_rewritten or self._header.compression == 0
        name, least = ("DefaultRecord", 0) if is_whole else ("PartialDefaultRecord", -1)
        return (
            f"{name}(offset={self._header.base_offset + head.offset_delta}, timestamp={time_ms},"
            f" key={max(head.key_size, least)} bytes, value={max(head.value_size, least)} bytes)"
        )

    def raise_if_any(self) -> None:
        """Raises InvalidRecords: INVALID_TIMESTAMP when one is for its time, or INVALID_RECORD."""
        if self._count:
            raise InvalidRecords(self._code, self._summary(), tuple(self._told))

    def _summary(self) -> str:
        if self._code == Code.INVALID_TIMESTAMP:
            return "One or more records have been rejected due to invalid timestamp"
        shown = ", ".join(
            f"RecordError(batchIndex={index}, message='{why}')" for index, why in self._told[:3]
        )
        return (
            f"One or more records have been rejected due to {self._count} record errors in total,"
            f" and only showing the first three errors at most: [{shown}]"
        )
