"""Aborted transactions of one log, for readers that want committed records only.

In memory one list for the whole log, in the order of the abort markers; on disk `.txnindex`, one
file a segment, holding those whose marker lies in it (Kafka's TransactionIndex and AbortedTxn).
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterable
from operator import attrgetter
from typing import Final, NamedTuple

_ENTRY: Final = struct.Struct(">hqqqq")
_VERSION: Final = 0
_last_offset = attrgetter("last_offset")


class AbortedTransaction(NamedTuple):
    """A transaction that was given up.

    Attributes:
        first_offset: of its first record in this log.
        last_offset: of its abort marker.
        last_stable_offset: of the log, once the marker was written.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedTransactions:
    """All that are known, by rising `last_offset`."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Iterable[AbortedTransaction] = ()) -> None:
        self._entries = sorted(entries, key=_last_offset)

    def add(self, aborted: AbortedTransaction) -> None:
        """The newest one. One that is known already, from its file, is let be."""
        entries = self._entries
        if not entries or entries[-1].last_offset < aborted.last_offset:
            entries.append(aborted)
            return
        at = bisect_left(entries, aborted.last_offset, key=_last_offset)
        if entries[at].last_offset != aborted.last_offset:
            entries.insert(at, aborted)

    def between(self, first_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Those that touch a range that was read (TransactionIndex.collectAbortedTxns).

        Args:
            end_offset: of the range, exclusive.
        """
        entries, found = self._entries, []
        for at in range(bisect_left(entries, first_offset, key=_last_offset), len(entries)):
            entry = entries[at]
            if entry.first_offset < end_offset:
                found.append(entry)
            if entry.last_stable_offset >= end_offset:
                break  # whatever was aborted later began behind the range
        return found

    def may_be_believed(self) -> bool:
        """Whether no last stable offset keeps `between` from a transaction that began before it."""
        soonest = None
        for entry in reversed(self._entries):
            if entry.last_stable_offset > entry.last_offset + 1 or (
                soonest is not None and entry.last_stable_offset > soonest
            ):
                return False
            soonest = entry.first_offset if soonest is None else min(soonest, entry.first_offset)
        return True

    def ended_in(self, base_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Those whose marker lies in [base_offset, end_offset): a segment's own."""
        start = bisect_left(self._entries, base_offset, key=_last_offset)
        end = bisect_left(self._entries, end_offset, key=_last_offset)
        return self._entries[start:end]

    def replace(
        self, base_offset: int, end_offset: int, kept: Iterable[AbortedTransaction]
    ) -> None:
        """Of those whose marker lies in [base_offset, end_offset) only `kept` have data left."""
        start = bisect_left(self._entries, base_offset, key=_last_offset)
        end = bisect_left(self._entries, end_offset, key=_last_offset)
        self._entries[start:end] = sorted(kept, key=_last_offset)

    def truncate_end(self, end_offset: int) -> None:
        """Forget those whose marker is gone."""
        del self._entries[bisect_left(self._entries, end_offset, key=_last_offset) :]

    def truncate_start(self, start_offset: int) -> None:
        """Forget those that ended before the log begins."""
        del self._entries[: bisect_left(self._entries, start_offset, key=_last_offset)]


def encode(entries: Iterable[AbortedTransaction]) -> bytes:
    """The content of a `.txnindex` file."""
    return b"".join(_ENTRY.pack(_VERSION, *entry) for entry in entries)


def decode(content: bytes) -> list[AbortedTransaction]:
    """The entries of a `.txnindex` file; a cut last one is left out."""
    whole = len(content) - len(content) % _ENTRY.size
    return [AbortedTransaction(*fields[1:]) for fields in _ENTRY.iter_unpack(content[:whole])]
