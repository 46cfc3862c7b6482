"""A time on both clocks: the wall clock and the monotonic clock."""

from __future__ import annotations

from typing import NamedTuple


class Moment(NamedTuple):
    """A time.

    Attributes:
        wall_ms: since 1970. Records hold it, and their deadlines are compared with it. It may
            step, forward and back.
        monotonic_ms: since an arbitrary moment; it never steps. Deadlines of volatile state use
            it: sessions of members, rebalances, intervals.
    """

    wall_ms: int
    monotonic_ms: int
