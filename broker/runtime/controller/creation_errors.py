"""Why internal topics of streams groups could not be created, for the next heartbeats.

Follows Kafka's AutoTopicCreationManager: after a failure the next attempt waits for some time, and
a topic is created by one request at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...clock import Clock

_MOST: Final = 1000


class CreationErrors:
    """Failed creations by topic, and topics that are being created.

    Args:
        clock: gives the time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failed: dict[str, tuple[str, int]] = {}  # why, and until when
        self._begun: set[str] = set()

    def begin(self, name: str) -> bool:
        """Whether a topic may be created now; then call `end`."""
        if name in self._begun or self.of([name]):
            return False
        self._begun.add(name)
        return True

    def end(self, name: str) -> None:
        """The creation has succeeded or failed."""
        self._begun.discard(name)

    def put(self, name: str, why: str, ttl_ms: int) -> None:
        """Keep why a creation failed, for some time; the oldest of too many is dropped."""
        self._failed.pop(name, None)
        self._failed[name] = (why, self._clock.monotonic_ms() + ttl_ms)
        if len(self._failed) > _MOST:
            del self._failed[next(iter(self._failed))]

    def of(self, names: Iterable[str]) -> dict[str, str]:
        """Why the creation of each of these topics failed, if it did so a short time ago."""
        now_ms = self._clock.monotonic_ms()
        found = {}
        for name in names:
            failed = self._failed.get(name)
            if failed is None:
                continue
            why, until_ms = failed
            if until_ms > now_ms:
                found[name] = why
            else:
                del self._failed[name]
        return found
