"""A disk in memory that dies in the middle of a write, with as much of it done as a seed says."""

from __future__ import annotations

from random import Random

from ottla.storage.files import Bytes
from tests.storage.disk import Disk, PowerCut, _File


class TornDisk(Disk):
    """`cut_at` is the operation in which it dies; 0: in none."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random

    def left(self, *, power_cut: bool) -> TornDisk:
        """As the next one finds it: after a kill all that was written, else what was synced.

        Of what was written behind that some is there too.
        """
        disk = TornDisk(self._random)
        disk.directories = set(self.directories)
        for path, file in self.files.items():
            data = bytes(file.data)
            if power_cut:
                kept = len(file.synced)
                if data[:kept] != file.synced:  # cut since; that was not synced
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
