"""Log lines that a client causes: a few of each kind a minute, and a count of the others.

A TLS client on a plain port made 20 identical lines a second, and whoever sends malformed requests
could fill the disk with lines about them.
"""

from __future__ import annotations

import asyncio
from typing import Final

from ..log_output import Log

LINES: Final = 3  # of one kind and address in a window
WINDOW_S: Final = 60.0
ADDRESSES: Final = 1000  # and kinds, that are told apart in a window
_OTHERS: Final = "other addresses"

_log = Log("connection")


class Complaints:
    """What was told of the clients of a node lately."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def may_tell(self, host: str, kind: str) -> bool:
        """Whether to write a line now; one that is not written is counted.

        Args:
            host: the client's address.
            kind: what it is about, one of a few.
        """
        key = (host, kind)
        if key not in self._counts and len(self._counts) >= ADDRESSES:
            key = (_OTHERS, kind)
        count = self._counts.get(key, 0) + 1
        self._counts[key] = count
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WINDOW_S, self.tell_rest)
        return count <= LINES

    def tell_rest(self) -> None:
        """Say how many lines were not written, and begin a new window."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        counts, self._counts = self._counts, {}
        for (host, kind), count in counts.items():
            if count > LINES:
                _log.warning("more of the same", host=host, about=kind, count=count - LINES)
