"""Decides during compaction which batches belong to aborted transactions.

A marker stays as long as a batch of its transaction remains (Kafka's CleanedTransactionMetadata).
"""

from __future__ import annotations

from collections.abc import Iterable

from ...protocol.batch import BatchHeader
from ...protocol.control import read_marker
from ..producer_state.aborted import AbortedTransaction


class CleanedTransactions:
    """State of a pass over the batches of a log, in order.

    Args:
        aborted: all aborted transactions that overlap the range.

    Attributes:
        still_aborted: those with a remaining batch, whose marker was passed.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        # The oldest is last, to be popped.
        self._ahead = sorted(aborted, key=lambda entry: entry.first_offset, reverse=True)
        self._aborting: dict[int, AbortedTransaction] = {}
        # Producers with a batch in their current transaction, by its result.
        self._met_aborting: set[int] = set()
        self._met_committing: set[int] = set()
        self.still_aborted: list[AbortedTransaction] = []

    def batch(self, header: BatchHeader) -> bool:
        """Pass a data batch; returns whether its transaction was aborted."""
        self._advance_to(header.last_offset)
        if not header.is_transactional:
            return False
        is_aborted = header.producer_id in self._aborting
        (self._met_aborting if is_aborted else self._met_committing).add(header.producer_id)
        return is_aborted

    def marker(self, data: bytes, header: BatchHeader) -> bool:
        """Pass a control batch; returns whether no batch of its transaction remains.

        Raises:
            Refused: INVALID_RECORD if it cannot be read.
        """
        self._advance_to(header.last_offset)
        if header.record_count == 0:
            return True
        content = read_marker(data, 0, header)
        if content is None:
            return False  # not of a transaction
        met = self._met_committing if content.commit else self._met_aborting
        was_met = header.producer_id in met
        met.discard(header.producer_id)
        if not content.commit:
            entry = self._aborting.pop(header.producer_id, None)
            if was_met and entry is not None:
                self.still_aborted.append(entry)
        return not was_met

    def _advance_to(self, offset: int) -> None:
        while self._ahead and self._ahead[-1].first_offset <= offset:
            entry = self._ahead.pop()
            self._aborting.setdefault(entry.producer_id, entry)
