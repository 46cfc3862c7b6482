"""Bugs that have no replay, and why."""

from __future__ import annotations

from typing import Final

LEFT_OUT: Final = (
    (
        "[librdkafka#4736](https://github.com/confluentinc/librdkafka/issues/4736)",
        "A batch is rebuilt wrongly only if the clock goes on between two of its messages:"
        " shows by chance.",
    ),
    (
        "[kafka-python#2710](https://github.com/dpkp/kafka-python/pull/2710)",
        "`committed()` races with another call for the same partitions: shows by chance.",
    ),
)
"""Links of bugs, and what was tried."""
