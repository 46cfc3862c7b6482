"""Aborted transactions of one log, for `read_committed` consumers.

In memory it is one list per log, in the order of the abort markers. On disk it is one `.txnindex`
per segment, with the transactions whose marker lies in it (Kafka's TransactionIndex and
AbortedTxn).
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from ...protocol.named_tuple import NamedTuple

_ENTRY: Final = struct.Struct(">hqqqq")
_VERSION: Final = 0
_last_offset = attrgetter("last_offset")


class AbortedTransaction(NamedTuple):
    """An aborted transaction.

    Attributes:
        first_offset: offset of its first record in this log.
        last_offset: offset of its abort marker.
        last_stable_offset: the log's last stable offset after the marker.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedTransactions:
    """All known aborted transactions, by rising `last_offset`."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Iterable[AbortedTransaction] = ()) -> None:
        self._entries = sorted(entries, key=_last_offset)

    def add(self, aborted: AbortedTransaction) -> None:
        """Add the newest one; ignore one that its file has already provided."""
        entries = self._entries
        if not entries or entries[-1].last_offset < aborted.last_offset:
            entries.append(aborted)
            return
        at = bisect_left(entries, aborted.last_offset, key=_last_offset)
        if entries[at].last_offset != aborted.last_offset:
            entries.insert(at, aborted)

    def between(self, first_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """The transactions that overlap a range (TransactionIndex.collectAbortedTxns).

        Args:
            end_offset: end of the range, exclusive.
        """
        entries, found = self._entries, []
        for at in range(bisect_left(entries, first_offset, key=_last_offset), len(entries)):
            entry = entries[at]
            if entry.first_offset < end_offset:
                found.append(entry)
            if entry.last_stable_offset >= end_offset:
                break  # later aborts began behind the range
        return found

    def is_consistent(self) -> bool:
        """Whether the entries' last stable offsets let `between` find every transaction."""
        soonest = None
        for entry in reversed(self._entries):
            if entry.last_stable_offset > entry.last_offset + 1 or (
                soonest is not None and entry.last_stable_offset > soonest
            ):
                return False
            soonest = entry.first_offset if soonest is None else min(soonest, entry.first_offset)
        return True

    def ended_in(self, base_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """The transactions whose marker lies in [base_offset, end_offset): those of a segment."""
        start = bisect_left(self._entries, base_offset, key=_last_offset)
        end = bisect_left(self._entries, end_offset, key=_last_offset)
        return self._entries[start:end]

    def replace(
        self, base_offset: int, end_offset: int, kept: Iterable[AbortedTransaction]
    ) -> None:
        """Of the transactions with a marker in [base_offset, end_offset) keep only `kept`."""
        start = bisect_left(self._entries, base_offset, key=_last_offset)
        end = bisect_left(self._entries, end_offset, key=_last_offset)
        self._entries[start:end] = sorted(kept, key=_last_offset)

    def truncate_start(self, start_offset: int) -> None:
        """Remove those that ended before the log's start."""
        del self._entries[: bisect_left(self._entries, start_offset, key=_last_offset)]


def encode(entries: Iterable[AbortedTransaction]) -> bytes:
    """The content of a `.txnindex` file."""
    return b"".join(_ENTRY.pack(_VERSION, *entry) for entry in entries)


def decode(content: bytes) -> list[AbortedTransaction]:
    """The entries of a `.txnindex` file, without a cut last one."""
    whole = len(content) - len(content) % _ENTRY.size
    return [AbortedTransaction(*fields[1:]) for fields in _ENTRY.iter_unpack(content[:whole])]
