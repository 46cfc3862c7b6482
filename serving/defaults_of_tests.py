"""Settings that each test would set: members of groups get their partitions at once."""

from __future__ import annotations

from typing import Final

DEFAULTS_OF_TESTS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
}
"""Without them a first member waits for seconds; by a clock that stands still, for ever."""
