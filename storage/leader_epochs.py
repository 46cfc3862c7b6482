"""Which leader epoch wrote from which offset on: `leader-epoch-checkpoint` of a partition.

The file is text: version, count, one `epoch start_offset` a line (Kafka's LeaderEpochFileCache and
CheckpointFile). It is written when an epoch begins, so before the first batch that carries it.
"""

from __future__ import annotations

from typing import Final

from .files import Files, read_if_there, write_atomically

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1
FILE_NAME: Final = "leader-epoch-checkpoint"


class LeaderEpochs:
    """Epochs with their first offsets, both rising."""

    __slots__ = ("_directory", "_entries", "_files", "_written")

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory
        content = read_if_there(files, f"{directory}/{FILE_NAME}")
        self._entries = _parse(content) if content else []
        self._written = content is not None

    @property
    def latest(self) -> int:
        """The newest epoch, -1 when there is none."""
        return self._entries[-1][0] if self._entries else NO_EPOCH

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(epoch, first offset), oldest first."""
        return list(self._entries)

    def assign(self, epoch: int, start_offset: int) -> None:
        """From `start_offset` on `epoch` writes. One that is not newer changes nothing."""
        if epoch <= self.latest:
            return
        while self._entries and self._entries[-1][1] >= start_offset:
            self._entries.pop()  # it never wrote anything
        self._entries.append((epoch, start_offset))
        self._written = False

    def write(self, *, sync: bool = False) -> bool:
        """Put the entries on disk when they are not there yet; whether there was any need.

        Args:
            sync: through a loss of power too.
        """
        if self._written:
            return False
        lines = ["0", str(len(self._entries)), *(f"{e} {o}" for e, o in self._entries)]
        path = f"{self._directory}/{FILE_NAME}"
        content = ("\n".join(lines) + "\n").encode()
        write_atomically(self._files, path, content, sync=sync)
        self._written = True
        return True

    def epoch_of(self, offset: int) -> int:
        """The epoch that wrote `offset`, -1 when unknown."""
        return next((e for e, start in reversed(self._entries) if start <= offset), NO_EPOCH)

    def end_offset_of(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest known epoch that is not newer than `epoch`, and where it ended.

        Returns:
            (epoch, end offset); (-1, -1) for an epoch newer than all (KIP-101).
        """
        if not self._entries or epoch > self.latest or epoch < 0:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.latest:
            return epoch, log_end_offset
        older = [entry for entry in self._entries if entry[0] <= epoch]
        newer = self._entries[len(older)]
        return (older[-1][0] if older else epoch), newer[1]

    def truncate_end(self, end_offset: int) -> None:
        """Forget epochs that began at or behind the new end of the log."""
        kept = [entry for entry in self._entries if entry[1] < end_offset]
        if len(kept) != len(self._entries):
            self._entries, self._written = kept, False

    def truncate_start(self, start_offset: int) -> None:
        """The log begins later: the epoch that wrote its first offset begins there."""
        epoch = self.epoch_of(start_offset)
        kept = [entry for entry in self._entries if entry[1] > start_offset]
        if epoch != NO_EPOCH:
            kept.insert(0, (epoch, start_offset))
        if kept != self._entries:
            self._entries, self._written = kept, False


def _parse(content: bytes) -> list[tuple[int, int]]:
    """Entries of a checkpoint file; none when it is not a whole one: the batches know them too."""
    try:
        _version, count, *lines = content.decode().splitlines()
        pairs = [line.split() for line in lines if line]
        if len(pairs) != int(count):
            return []
        return [(int(epoch), int(offset)) for epoch, offset in pairs]
    except ValueError:
        return []
