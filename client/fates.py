"""The fate of a record's transaction: by markers behind it, or by the list in an answer to Fetch.

The columns of `kafka-log` have their own, spark/kafka_log/fates.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from ..protocol.batch import BatchHeader


class Fate(StrEnum):
    """The result of a record's transaction; PLAIN: the record is not transactional."""

    PLAIN = "plain"
    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


class Markers:
    """The markers of a partition, or of a part of it; the first one behind a record decides."""

    def __init__(self) -> None:
        self._of_producer: dict[int, list[tuple[int, bool]]] = {}

    def add(self, header: BatchHeader, *, commits: bool) -> None:
        """Take a marker; markers come in the order of their offsets."""
        ends = self._of_producer.setdefault(header.producer_id, [])
        ends.append((header.base_offset, commits))

    def fate(self, header: BatchHeader) -> Fate:
        """The fate of a batch; OPEN if no marker behind it is known."""
        if not header.is_transactional:
            return Fate.PLAIN
        return self.fate_behind(header.producer_id, header.base_offset)

    def fate_behind(self, producer_id: int, offset: int) -> Fate:
        """The fate of the transaction that has a record of the producer at an offset."""
        for at, commits in self._of_producer.get(producer_id, ()):
            if at > offset:
                return Fate.COMMITTED if commits else Fate.ABORTED
        return Fate.OPEN


class AbortedTransactions:
    """The producers whose transactions are aborted at the current offset (CompletedFetch).

    Args:
        transactions: `aborted_transactions` of an answer to Fetch with read_committed.
    """

    def __init__(self, transactions: Iterable[Any]) -> None:  # Any: parts of an answer
        self._coming = sorted(
            ((each.first_offset, each.producer_id) for each in transactions), reverse=True
        )
        self._now: set[int] = set()

    def has(self, header: BatchHeader) -> bool:
        """Whether a batch belongs to one; batches come in the order of their offsets."""
        while self._coming and self._coming[-1][0] <= header.last_offset:
            self._now.add(self._coming.pop()[1])
        return header.producer_id in self._now

    def pass_marker(self, header: BatchHeader, *, commits: bool | None) -> None:
        """Take a control batch; `commits` is None if it is no marker of a transaction."""
        self.has(header)
        if commits is False:
            self._now.discard(header.producer_id)
