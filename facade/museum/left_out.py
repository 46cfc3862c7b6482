"""Bugs that have no replay, and why."""

from __future__ import annotations

from typing import Final

LEFT_OUT: Final = (
    (
        "[platformatic/kafka#313](https://github.com/platformatic/kafka/pull/313)",
        "Answers with unknown tagged fields (`corrupt`, `unknown_tags`): the affected versions"
        " need Node 22, and were tried with Node 20 alone, where they do not start.",
    ),
    (
        "[librdkafka#4736](https://github.com/confluentinc/librdkafka/issues/4736)",
        "Not tried: by its fix, a batch is rebuilt wrongly only if the clock goes on between"
        " two of its messages, so it shows by chance.",
    ),
    (
        "[kafka-python#2710](https://github.com/dpkp/kafka-python/pull/2710)",
        "Not tried: by its fix, `committed()` races with another call for the same partitions,"
        " so it shows by chance.",
    ),
)
"""Links of bugs, and what was tried."""
