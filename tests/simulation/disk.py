"""A disk in memory that fails during a write; the seed says how much of it is written."""

from __future__ import annotations

from random import Random

from ottla.storage.disk.files import Bytes
from tests.storage.disk import Disk, PowerCut, _File


class TornDisk(Disk):
    """`cut_at` is the operation in which it fails; 0: none."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random

    def left(self, *, power_cut: bool) -> TornDisk:
        """The disk after the failure: all writes after a kill, else the flushed ones.

        A part of the unflushed writes is there too.
        """
        disk = TornDisk(self._random)
        disk.directories = set(self.directories)
        for path, file in self.files.items():
            data = bytes(file.data)
            if power_cut:
                kept = len(file.synced)
                if data[:kept] != file.synced:  # truncated since, and that was not flushed
                    data = file.synced
                else:
                    data = data[: kept + self._part(len(data) - kept)]
            disk.files[path] = _File(data)
            disk.files[path].synced = data
        return disk

    def _part(self, size_bytes: int) -> int:
        return self._random.choice([0, self._random.randint(0, size_bytes), size_bytes])

    def _operation(self, *, half: tuple[_File, Bytes] | None = None) -> None:
        self.operations += 1
        if self.operations == self.cut_at:
            if half is not None:
                file, data = half
                file.data += bytes(data)[: self._part(len(data))]
            raise PowerCut
