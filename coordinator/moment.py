"""When something is decided, by both clocks."""

from __future__ import annotations

from typing import NamedTuple


class Moment(NamedTuple):
    """A time.

    Attributes:
        wall_ms: since 1970. It goes into records, and is compared with what records say. It may
            step, forward and back.
        monotonic_ms: since some moment, never stepping. What is in memory alone is due by it:
            sessions of members, rebalances, what is done at intervals.
    """

    wall_ms: int
    monotonic_ms: int
