"""Limits the log lines that clients cause: a few of each kind per minute, then only a count.

Otherwise a TLS client on a plain port would cause 20 identical lines per second, and a client with
malformed requests could fill the disk with log lines.
"""

from __future__ import annotations

from typing import Final

from ..clock import Clock, Timer
from ..log_output import Log

LINES: Final = 3  # of one kind and address in a window
WINDOW_S: Final = 60.0
ADDRESSES: Final = 1000  # pairs of address and kind that are counted separately in a window
_OTHERS: Final = "other addresses"

_log = Log("connection")


class Complaints:
    """Counts the log lines about the clients of a node."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: dict[tuple[str, str], int] = {}
        self._timer: Timer | None = None

    def may_log(self, host: str, kind: str) -> bool:
        """Whether a line may be written now; if not, it is counted.

        Args:
            host: the address of the client.
            kind: the subject of the line, one of a few.
        """
        key = (host, kind)
        if key not in self._counts and len(self._counts) >= ADDRESSES:
            key = (_OTHERS, kind)
        count = self._counts.get(key, 0) + 1
        self._counts[key] = count
        if self._timer is None:
            self._timer = self._clock.call_after_ms(WINDOW_S * 1000, self.log_rest)
        return count <= LINES

    def log_rest(self) -> None:
        """Log the numbers of lines that were not written, and begin a new window."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        counts, self._counts = self._counts, {}
        for (host, kind), count in counts.items():
            if count > LINES:
                _log.warning(
                    "similar lines were omitted", host=host, about=kind, count=count - LINES
                )
