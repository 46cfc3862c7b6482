"""Files whose syncs wait until a test lets them go on, or fail."""

from __future__ import annotations

import os
import threading

from ottla.storage.disk.files import RealFiles

PATIENCE_S = 10.0


class SlowFiles(RealFiles):
    """The files of a node; they sync at once until `hold`.

    Attributes:
        is_syncing: set once a sync has begun.
        may_sync: syncs wait until it is set.
        broken: the descriptors whose syncs fail.
    """

    def __init__(self) -> None:
        self.is_syncing = threading.Event()
        self.may_sync = threading.Event()
        self.may_sync.set()
        self.broken: set[int] = set()

    def hold(self) -> None:
        """From now on, syncs wait for `may_sync`."""
        self.may_sync.clear()
        self.is_syncing.clear()

    def sync(self, descriptor: int, /) -> None:  # type: ignore[override]  # in RealFiles a function of os
        self.is_syncing.set()
        assert self.may_sync.wait(PATIENCE_S)
        if descriptor in self.broken:
            raise OSError(5, "Input/output error")
        os.fdatasync(descriptor)
