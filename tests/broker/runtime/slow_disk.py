"""A disk in memory whose syncs end when the test says so."""

from __future__ import annotations

import threading

from tests.storage.disk import Disk

PATIENCE_S = 10.0


class SlowDisk(Disk):
    """A disk whose syncs end at a call of the test, in any thread.

    Attributes:
        synced: the paths of files and directories that were, in order.
        broken: what a sync of a file raises.
        is_broken_once: only the next sync fails.
        has_descriptors: whether a file can be opened.
    """

    def __init__(self) -> None:
        super().__init__()
        self.synced: list[str] = []
        self.may_sync = threading.Event()
        self.is_syncing = threading.Event()
        self.broken: OSError | None = None
        self.is_broken_once = False
        self.has_descriptors = True
        self._paths: dict[int, str] = {}

    def open(self, path: str, /) -> int:
        if not self.has_descriptors:
            raise OSError(24, "Too many open files")
        descriptor = super().open(path)
        self._paths[descriptor] = path
        return descriptor

    def sync(self, descriptor: int, /) -> None:
        self._wait()
        super().sync(descriptor)
        self.synced.append(self._paths[descriptor])

    def sync_directory(self, directory: str, /) -> None:
        super().sync_directory(directory)
        self.synced.append(directory)

    def _wait(self) -> None:
        self.is_syncing.set()
        assert self.may_sync.wait(PATIENCE_S)
        if self.broken is not None:
            broken = self.broken
            if self.is_broken_once:
                self.broken = None
            raise broken

    def open_paths(self) -> list[str]:
        return [self._paths[descriptor] for descriptor in self.opened]

    def data_syncs(self, name: str = "orders-0") -> int:
        return sum(
            path.startswith(f"data/{name}/") and path.endswith(".log") for path in self.synced
        )
