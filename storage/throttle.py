"""How long to rest so that no more than so many bytes a second are read and written.

Pure: bytes are counted, times are given. As Kafka's Throttler, it looks after 300 ms at the
soonest, so that work goes on in pieces that are worth a rest.
"""

from __future__ import annotations

from typing import Final

_LOOKS_AFTER_S: Final = 0.3


class Throttle:
    """What was read and written since the last look.

    Args:
        now_s: of a clock that only goes forward.
    """

    __slots__ = ("_bytes", "_since_s")

    def __init__(self, now_s: float) -> None:
        self._since_s = now_s
        self._bytes = 0

    def count(self, size_bytes: int) -> None:
        """So many bytes were read or written."""
        self._bytes += size_bytes

    def rest_s(self, bytes_per_second: float, now_s: float) -> float:
        """For how long to do nothing from now on; mostly 0."""
        elapsed_s = now_s - self._since_s
        if elapsed_s <= _LOOKS_AFTER_S or not self._bytes:
            return 0.0
        rest_s = max(self._bytes / bytes_per_second - elapsed_s, 0.0)
        self._since_s, self._bytes = now_s + rest_s, 0
        return rest_s
