"""A checkpoint of a data directory: an offset of each partition (Kafka's OffsetCheckpointFile).

Its write may wait for the disk in a thread, while the event loop begins the next one. The file
never goes back to an earlier content, and `may_have` counts the rows of writes under way.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from ..steps import Steps
from .checkpoint_file import decode, encode
from .files import Files, write_atomically

TopicPartition = tuple[str, int]
Offsets = dict[TopicPartition, int]


class Checkpoint:
    """One file.

    Args:
        known: its rows as they were read.

    Attributes:
        known: its rows as the last write has left them.
        is_synced: a loss of power does not damage it.
    """

    __slots__ = ("_ended", "_files", "_lock", "_made", "_path", "_unsure", "_written",
                 "is_synced", "known")  # fmt: skip

    def __init__(self, files: Files, path: str, known: Offsets) -> None:
        self.known = known
        self.is_synced = True
        self._files = files
        self._path = path
        self._lock = Lock()
        # Numbers of writes: of the last one that began, that is in the file, that has ended.
        self._made = self._written = self._ended = 0
        self._unsure: set[TopicPartition] = set()  # rows of writes under way, or failed

    def may_have(self, key: TopicPartition) -> bool:
        """Whether the file has a row of the partition, or may have it soon."""
        return key in self.known or key in self._unsure

    def is_current(self, offsets: Offsets, *, sync: bool) -> bool:
        """Whether the file surely has these rows; `sync`: also after a loss of power."""
        is_sure = self._ended == self._made
        return is_sure and offsets == self.known and (self.is_synced or not sync)

    def write_in_steps(self, offsets: Mapping[TopicPartition, int], *, sync: bool) -> Steps[None]:
        """Write the rows; the one step waits for the disk, or for an earlier write.

        If the step fails, the generator must not be resumed: the file has the old or the new rows.

        Args:
            sync: they survive a loss of power too.
        """
        self._made += 1
        number, rows = self._made, dict(offsets)
        self._unsure.update(rows)
        self.is_synced = False

        def write() -> None:
            with self._lock:
                if number > self._written:  # else a later one has been written already
                    content = _content(rows)  # here, because 10,000 rows take 10 ms
                    write_atomically(self._files, self._path, content, sync=sync)
                    self._written = number

        yield write
        if number < self._ended:
            return
        self._ended, self.known = number, rows
        if number == self._made:
            self.is_synced = sync
            self._unsure.clear()


def _content(rows: Offsets) -> bytes:
    return encode([f"{topic} {partition} {offset}" for (topic, partition), offset in rows.items()])


def read_checkpoint(content: bytes) -> Offsets:
    """The offsets in a checkpoint file. Raises ValueError if it is damaged."""
    rows, _ = decode(content, words=3)
    return {(topic, int(partition)): int(offset) for topic, partition, offset in rows}
