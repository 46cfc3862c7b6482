"""Bugs that have no replay, and why."""

from __future__ import annotations

from typing import Final

LEFT_OUT: Final = (
    (
        "[platformatic/kafka#313](https://github.com/platformatic/kafka/pull/313)",
        "Answers with unknown tagged fields (`corrupt`, `unknown_tags`) end 2.12.1, too, which is"
        " later than the change: no version shows the right result.",
    ),
    (
        "[librdkafka#3575](https://github.com/confluentinc/librdkafka/issues/3575) and"
        " [#3584](https://github.com/confluentinc/librdkafka/issues/3584)",
        "Not tried: the affected versions are before 1.9.0, and wheels of confluent-kafka for"
        " Python 3.11 begin with 2.0.2.",
    ),
    (
        "[librdkafka#4736](https://github.com/confluentinc/librdkafka/issues/4736)",
        "Not tried: by its fix, a batch is rebuilt wrongly only if the clock goes on between"
        " two of its messages, so it shows by chance.",
    ),
    (
        "[KAFKA-19012](https://issues.apache.org/jira/browse/KAFKA-19012)",
        "Not tried: a buffer is used again while the network thread still sends it, so it shows by"
        " chance.",
    ),
    (
        "[sarama#1430](https://github.com/IBM/sarama/issues/1430)",
        "Not tried: the affected versions are before 1.26.2, of 2020.",
    ),
    (
        "[aiokafka#844](https://github.com/aio-libs/aiokafka/issues/844) and"
        " [franz-go#1217](https://github.com/twmb/franz-go/issues/1217)",
        "Not tried: what the reports say could not be read where the replays were made.",
    ),
    (
        "[kafka-python#2710](https://github.com/dpkp/kafka-python/pull/2710)",
        "Not tried: by its fix, `committed()` races with another call for the same partitions,"
        " so it shows by chance.",
    ),
)
"""Links of bugs, and what was tried."""
