"""Counts the requests of one node for the metrics page: number, bytes, duration, by API.

Only `ottla serve --metrics` counts them (`requests/measured_dispatch.py`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from ...scheduling.holds import Histogram
from .transaction_metrics import BUCKETS_S


class RequestMetrics:
    """The counts of one node.

    Args:
        now_s: returns the time, in seconds, that durations are measured by.

    Attributes:
        requests: the number of requests, by API key and version.
        received_bytes: the bytes of the requests, by API key.
        answered_bytes: the bytes of the answers, by API key.
        durations: from the receipt of a request to its answer, with its waits, by API key.
    """

    def __init__(self, now_s: Callable[[], float]) -> None:
        self.now_s = now_s
        self.requests: Counter[tuple[int, int]] = Counter()
        self.received_bytes: Counter[int] = Counter()
        self.answered_bytes: Counter[int] = Counter()
        self.durations: defaultdict[int, Histogram] = defaultdict(lambda: Histogram(BUCKETS_S))

    def received(self, api_key: int, version: int, size_bytes: int) -> None:
        """Count a request that is served."""
        self.requests[api_key, version] += 1
        self.received_bytes[api_key] += size_bytes

    def answered(self, api_key: int, received_s: float, size_bytes: int) -> None:
        """Count an answer, or the end of a request without an answer.

        Args:
            received_s: when the request was received, by `now_s`.
            size_bytes: of the answer.
        """
        self.answered_bytes[api_key] += size_bytes
        self.durations[api_key].observe(self.now_s() - received_s)
