"""Times as the machines are given them."""

from __future__ import annotations

from ottla.coordinator.moment import Moment


def at(time_ms: int) -> Moment:
    """Both clocks show the same."""
    return Moment(wall_ms=time_ms, monotonic_ms=time_ms)
