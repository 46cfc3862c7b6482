"""Computes the pauses of compaction that limit its reading and writing per second.

Pure: callers pass bytes and times. As in Kafka's Throttler, it measures at least 300 ms before a
pause, so that pauses are worthwhile.
"""

from __future__ import annotations

from typing import Final

_MIN_MEASURED_S: Final = 0.3


class Throttle:
    """The bytes read and written since the last measurement.

    Args:
        now_s: time of a monotonic clock.
    """

    __slots__ = ("_bytes", "_since_s")

    def __init__(self, now_s: float) -> None:
        self._since_s = now_s
        self._bytes = 0

    def count(self, size_bytes: int) -> None:
        """Count bytes read or written."""
        self._bytes += size_bytes

    def pause_s(self, bytes_per_second: float, now_s: float) -> float:
        """How long to pause from now on, in seconds; mostly 0."""
        elapsed_s = now_s - self._since_s
        if elapsed_s <= _MIN_MEASURED_S or not self._bytes:
            return 0.0
        pause_s = max(self._bytes / bytes_per_second - elapsed_s, 0.0)
        self._since_s, self._bytes = now_s + pause_s, 0
        return pause_s
