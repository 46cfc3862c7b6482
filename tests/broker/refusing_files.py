"""Files of a node that refuse to append or to rename while a test wants it."""

from __future__ import annotations

import os

from ottla.storage.disk.files import Bytes, RealFiles


class RefusingFiles(RealFiles):
    """The files of the operating system.

    Attributes:
        failure: raised by each append and rename; None: they work.
        left: how many times it is raised, before they work again; None: always.
        refused: how many times it was raised.
    """

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.left: int | None = None
        self.refused = 0

    def _change(self) -> None:
        if self.failure is None or self.left == 0:
            return
        if self.left is not None:
            self.left -= 1
        self.refused += 1
        raise self.failure

    def append(self, descriptor: int, data: Bytes, /) -> int:  # type: ignore[override]  # in RealFiles a function of os
        self._change()
        return os.write(descriptor, data)

    def rename(self, source: str, target: str, /) -> None:  # type: ignore[override]  # in RealFiles a function of os
        self._change()
        os.replace(source, target)
