"""Saves the state of a log while it takes appends, for a start after a SIGKILL.

The indexes of the newest segment, and the producers' `.snapshot` at an offset in it, are written as
at a clean stop, but not synced. A start in the same run of the machine reads only the batches
behind that snapshot (`resumption.py`); a start after a loss of power ignores it.

A snapshot has only the last batch of each producer. After a kill producers send again up to five
whose answers they did not get. So a snapshot is written one call after it was made: the batches
behind it, which are read, are those that may be sent again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from ..disk.files import Files, append_whole, write_atomically
from ..producer_state import aborted as transaction_index
from ..producer_state import producer_snapshot
from ..producer_state.aborted import AbortedTransactions
from ..producer_state.producers import ProducerStates
from ..segments.segment import INDEX, SNAPSHOT, TIME_INDEX, TRANSACTION_INDEX, Segment, file_name

RECORDS: Final = 10_000
"""A start reads so many batches in 30 ms."""
_ENTRIES_IN_A_STEP: Final = 10_000


def write_segment_files(
    files: Files,
    segment: Segment,
    aborted: AbortedTransactions,
    producers: ProducerStates,
    end_offset: int,
) -> list[str]:
    """Write the files that a log's last segment has when it is rolled or closed.

    Args:
        aborted, producers: of the log, which ends at `end_offset`.

    Returns:
        Their paths; a flush must sync them.
    """
    segment.write_indexes()
    paths = [segment.path(INDEX), segment.path(TIME_INDEX)]
    ended = aborted.ended_in(segment.base_offset, end_offset)
    if ended or segment.has_transaction_index:
        segment.has_transaction_index = True
        paths.append(segment.path(TRANSACTION_INDEX))
        write_atomically(files, paths[-1], transaction_index.encode(ended))
    directory = os.path.dirname(paths[0])
    paths.append(f"{directory}/{file_name(end_offset, SNAPSHOT)}")
    producer_snapshot.write(files, paths[-1], producers.producers())
    return paths


class SavedState:
    """The saved state of one log.

    Args:
        directory: of the log.
        offset: of the state that the last process left.
        records: records behind the saved state that make a save due.
        entries: of an index that are written in a step.

    Attributes:
        due_offset: a log that ends here or later should be saved.
    """

    __slots__ = (
        "_directory", "_entries", "_files", "_next", "_path", "_records", "_written", "due_offset",
    )  # fmt: skip

    def __init__(
        self, files: Files, directory: str, offset: int, *,
        records: int = RECORDS, entries: int = _ENTRIES_IN_A_STEP,
    ) -> None:  # fmt: skip
        self._files = files
        self._records = records
        self._entries = entries
        self._directory = directory
        self._next: tuple[int, Segment, bytes] | None = None
        # The segment of the last save with its snapshot, and the entries in its index files.
        self._path: tuple[Segment, str] | None = None
        self._written: tuple[Segment, int, int] | None = None
        self.due_offset = offset + records

    def write_indexes(self, active: Segment) -> Iterator[None]:
        """Write the new entries of the newest segment's indexes, in short steps.

        Args:
            active: must still be the newest segment at each step.

        Raises:
            OSError: the files have a part of the entries.
        """
        offsets, times = active.offset_index, active.time_index
        while True:
            written, self._written = self._written, None  # unknown, should this fail
            if written is None or written[0] is not active:
                first, first_time = 0, 0
            else:
                _, first, first_time = written
            end = min(first + self._entries, len(offsets))
            end_time = min(first_time + self._entries, len(times))
            self._add(active.path(INDEX), offsets.encode(first, end), is_first=not first)
            self._add(
                active.path(TIME_INDEX), times.encode(first_time, end_time), is_first=not first_time
            )
            self._written = active, end, end_time
            if end == len(offsets) and end_time == len(times):
                return
            yield

    def _add(self, path: str, entries: bytes, *, is_first: bool) -> None:
        if is_first:
            write_atomically(self._files, path, entries)
        elif entries:
            descriptor = self._files.open(path)
            try:
                append_whole(self._files, descriptor, entries)
            finally:
                self._files.close(descriptor)

    def save(
        self, active: Segment, aborted: AbortedTransactions, producers: ProducerStates
    ) -> None:
        """Write the snapshot that the last call made; make one if there are enough records.

        Args:
            active: the newest segment; its indexes are written.
            aborted, producers: of the log.

        Raises:
            OSError: the saved state is an earlier one.
        """
        made, self._next = self._next, None
        if made is not None:
            self.due_offset = made[0] + self._records
            if made[1] is active:
                self._write(active, aborted, made[0], made[2])
        end_offset = active.next_offset
        if end_offset >= self.due_offset and end_offset > active.base_offset:
            content = producer_snapshot.encode(producers.producers())
            self._next = end_offset, active, content
            self.due_offset = 0  # the next call writes it

    def _write(
        self, active: Segment, aborted: AbortedTransactions, offset: int, snapshot: bytes
    ) -> None:
        """Write the files, the snapshot last: it is valid only with the others."""
        files = self._files
        ended = aborted.ended_in(active.base_offset, active.next_offset)
        if ended or active.has_transaction_index:
            active.has_transaction_index = True
            write_atomically(files, active.path(TRANSACTION_INDEX), transaction_index.encode(ended))
        path = f"{self._directory}/{file_name(offset, SNAPSHOT)}"
        write_atomically(files, path, snapshot)
        earlier, self._path = self._path, (active, path)
        # One of an earlier segment may be where the next segment begins; a start removes the rest.
        if earlier is not None and earlier[0] is active and earlier[1] != path:
            with suppress(FileNotFoundError):
                files.remove(earlier[1])
