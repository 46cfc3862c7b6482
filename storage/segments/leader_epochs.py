"""`leader-epoch-checkpoint` of a partition: the first offset of each leader epoch.

The file is Kafka's (LeaderEpochFileCache), one `epoch start_offset` per row; see `checkpoint_file`.
It is written when an epoch begins, before the first batch of that epoch. A batch's CRC does not
cover its epoch; a damaged epoch is found by comparison with this file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from ...protocol.batch import BatchHeader
from ..disk.checkpoint_file import decode, encode
from ..disk.damage import Damage, read_copy
from ..disk.files import Files, write_atomically

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1
FILE_NAME: Final = "leader-epoch-checkpoint"


class LeaderEpochs:
    """Epochs with their first offsets, both rising.

    Attributes:
        damage: why the file was invalid; empty if it was valid.
        is_unreadable: the disk could not read it.
        is_written: it has the entries.
        is_checked: it has a valid checksum.
        is_learning: batches that may be newer than the file are being read.
        latest: the newest epoch, or -1.
        newest: the partition's epoch by the metadata; None: unknown.
    """

    __slots__ = (
        "_directory",
        "_entries",
        "_files",
        "damage",
        "is_checked",
        "is_learning",
        "is_unreadable",
        "is_written",
        "latest",
        "newest",
    )  # fmt: skip

    def __init__(self, files: Files, directory: str, *, is_new: bool = False) -> None:
        self._files = files
        self._directory = directory
        self.damage = ""
        self.is_checked = self.is_learning = False
        self.latest = NO_EPOCH
        self.newest: int | None = None
        self._entries: list[tuple[int, int]] = []
        failures: list[Damage] = []
        content = None if is_new else read_copy(files, self.path, failures.append)
        self.is_written = content is not None
        self.is_unreadable = bool(failures)
        if failures:
            self.damage = failures[0].why.partition(";")[0]
        if content:
            try:
                entries, self.is_checked = _parse(content)
                self._change(entries)
                self.is_written = True
            except ValueError as wrong:
                self.damage, self.is_written = str(wrong), False

    @property
    def path(self) -> str:
        return f"{self._directory}/{FILE_NAME}"

    @property
    def first_offset(self) -> int:
        """Where the oldest epoch begins, or -1: the log's start."""
        return self._entries[0][1] if self._entries else NO_OFFSET

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(epoch, first offset), oldest first."""
        return list(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """Begin an epoch at `start_offset`; ignored unless it is newer."""
        if epoch <= self.latest:
            return
        while self._entries and self._entries[-1][1] >= start_offset:
            self._entries.pop()  # it wrote no record
        self._change([*self._entries, (epoch, start_offset)])

    def replace(self, entries: Iterable[tuple[int, int]]) -> None:
        """Replace all entries."""
        self._change(list(entries))

    def _change(self, entries: list[tuple[int, int]]) -> None:
        self._entries, self.is_written = entries, False
        self.latest = entries[-1][0] if entries else NO_EPOCH

    def write(self) -> bool:
        """Write the entries if they changed; returns whether they had."""
        if self.is_written:
            return False
        content = encode([f"{epoch} {offset}" for epoch, offset in self._entries])
        write_atomically(self._files, self.path, content)
        self.is_written = True
        return True

    def epoch_of(self, offset: int) -> int:
        """The epoch of the record at `offset`, or -1 if unknown."""
        entries = self._entries
        if entries and entries[-1][1] <= offset:
            return entries[-1][0]
        at = bisect_right(entries, offset, key=_start_offset)
        return entries[at - 1][0] if at else NO_EPOCH

    def right_epoch(self, header: BatchHeader, following: BatchHeader | None) -> int:
        """The epoch that a batch has, or should have.

        While learning, a newer epoch than the known ones is accepted if the next batch has it too,
        or a newer one; without a next batch, if it is not newer than the metadata's.

        Args:
            following: the unchecked header of the next batch, if there is one.
        """
        epoch = header.leader_epoch
        if self.is_learning and epoch > self.latest:
            if following is not None:
                seen = following.leader_epoch
            else:
                seen = epoch if self.newest is None else self.newest
            if epoch <= seen or not self._entries:
                epoch = min(epoch, seen)
                self.assign(epoch, header.base_offset)
                return epoch
        known = self.epoch_of(header.last_offset)
        return epoch if known == NO_EPOCH else known

    def end_offset_of(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest known epoch that is not newer than `epoch`, and its end offset.

        Returns:
            (epoch, end offset); (-1, -1) for an epoch newer than all (KIP-101).
        """
        if not self._entries or epoch > self.latest or epoch == NO_EPOCH:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.latest:
            return epoch, log_end_offset
        older = [entry for entry in self._entries if entry[0] <= epoch]
        newer = self._entries[len(older)]
        return (older[-1][0] if older else epoch), newer[1]

    def truncate_end(self, end_offset: int) -> None:
        """Remove epochs that began at or behind the new end of the log.

        The first one stays even if it begins there: it stores where a log without records begins.
        """
        first = [entry for entry in self._entries[:1] if 0 < entry[1] == end_offset]
        kept = first or [entry for entry in self._entries if entry[1] < end_offset]
        if len(kept) != len(self._entries):
            self._change(kept)

    def truncate_start(self, start_offset: int) -> None:
        """Move the log's start: the epoch of its first record now begins there."""
        epoch = self.epoch_of(start_offset)
        kept = [entry for entry in self._entries if entry[1] > start_offset]
        if epoch != NO_EPOCH:
            kept.insert(0, (epoch, start_offset))
        if kept != self._entries:
            self._change(kept)


def _start_offset(entry: tuple[int, int]) -> int:
    return entry[1]


def _parse(content: bytes) -> tuple[list[tuple[int, int]], bool]:
    """Entries of the file, and whether it has a valid checksum. Raises ValueError."""
    rows, is_checked = decode(content, words=2)
    entries = [(int(epoch), int(offset)) for epoch, offset in rows]
    if any(not (a[0] < b[0] and a[1] < b[1]) for a, b in pairwise(entries)):
        raise ValueError("the epochs do not rise")
    return entries, is_checked and bool(entries)
