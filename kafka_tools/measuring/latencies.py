"""The rate and the latencies that kafka-producer-perf-test prints (ProducerPerformance)."""

from __future__ import annotations

from typing import Final

from ..texts import line

_SAMPLES: Final = 500_000
_PERCENTILES: Final = (0.5, 0.95, 0.99, 0.999)
_MB: Final = 1024 * 1024


class Latencies:
    """Counts records, bytes and latencies, and prints a line for each interval and a sum.

    Args:
        count: how many records will be counted, for the samples of the percentiles.
        now_s: when the counting begins, by a monotonic clock.
        interval_s: between two lines; 0: no such lines.
        word: before "records sent" in the sum.
    """

    def __init__(self, count: int, now_s: float, *, interval_s: float = 0, word: str = "") -> None:
        self._every = max(1, count // _SAMPLES)
        self._start_s = self._window_start_s = now_s
        self._interval_s = interval_s
        self._word = word
        self._samples: list[int] = []
        self._count = self._bytes = self._sum_ms = self._most_ms = 0
        self._window = (0, 0, 0, 0)

    def add(self, count: int, size_bytes: int, latency_ms: int, now_s: float) -> None:
        """Count records that were answered together."""
        for _ in range(self._count, self._count + count, self._every):
            self._samples.append(latency_ms)
        self._count += count
        self._bytes += size_bytes
        self._sum_ms += count * latency_ms
        self._most_ms = max(self._most_ms, latency_ms)
        before, bytes_before, sum_ms, most_ms = self._window
        self._window = (
            *(before + count, bytes_before + size_bytes, sum_ms + count * latency_ms),
            max(most_ms, latency_ms),
        )
        if self._interval_s and now_s - self._window_start_s >= self._interval_s:
            self._print_window(now_s)

    def _print_window(self, now_s: float) -> None:
        count, size_bytes, sum_ms, most_ms = self._window
        took_s = now_s - self._window_start_s
        line(
            f"{count} records sent, {count / took_s:.1f} records/sec"
            f" ({size_bytes / took_s / _MB:.2f} MB/sec), {sum_ms / count:.1f} ms avg latency,"
            f" {most_ms:.1f} ms max latency."
        )
        self._window_start_s = now_s
        self._window = (0, 0, 0, 0)

    @property
    def average_ms(self) -> float:
        """The mean latency."""
        return self._sum_ms / max(1, self._count)

    @property
    def most_ms(self) -> int:
        """The largest latency."""
        return self._most_ms

    def print_total(self, now_s: float) -> None:
        """Print the sum since the beginning."""
        took_s = max(now_s - self._start_s, 0.001)
        shown = ", ".join(
            f"{percentile_of(self._samples, part)} ms {part * 100:g}th" for part in _PERCENTILES
        )
        rate = self._count / took_s
        line(
            f"{self._count} {self._word}records sent, {rate:f} records/sec"
            f" ({self._bytes / took_s / _MB:.2f} MB/sec), {self.average_ms:.2f} ms avg latency,"
            f" {self._most_ms:.2f} ms max latency, {shown}."
        )


def percentile_of(samples: list[int], part: float) -> int:
    """The sample below which a part of all lies, such as 0.99; 0 without samples."""
    ordered = sorted(samples)
    return ordered[min(int(part * len(ordered)), len(ordered) - 1)] if ordered else 0
