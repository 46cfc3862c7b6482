"""Copy loops copy exactly once, through kills of loops and broker."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.audit.whole import audit
from ottla.spark.audit.rows import logs_of
from ottla.testing import running_broker

from .copying import Command, Copying, aiokafka, confluent, java
from .reading import READ_TIMEOUT_S, committed

pytestmark = [pytest.mark.clients, pytest.mark.slow]


def make_topics(bootstrap: str, partitions: int) -> None:
    """`input` and `output`, with a partition for each loop."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic("input", partitions), NewTopic("output", partitions)]
    for made in admin.create_topics(topics).values():
        made.result(10)


def commit_beginnings(bootstrap: str, partitions: int) -> None:
    """Commit offset zero for a loop's group before its first run."""
    for partition in range(partitions):
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"copy-{partition}"})
        consumer.commit(offsets=[TopicPartition("input", partition, 0)], asynchronous=False)
        consumer.close()


def fill(bootstrap: str, partitions: int, count: int) -> list[list[str]]:
    """Produce `count` records to each partition of `input`, and return them."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    given = [[f"{partition}-{i:05}" for i in range(count)] for partition in range(partitions)]
    for partition, values in enumerate(given):
        for value in values:
            producer.produce("input", value, partition=partition)
    assert producer.flush(READ_TIMEOUT_S) == 0
    return given


def check(scratch: Path, seed: int, commands: Sequence[Command], *, count: int, kills: int) -> None:
    """Copy through kills; the output equals the input, once and in order.

    `count` is the records of each loop: work for longer than all kills take.
    """
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with running_broker(data_dir=scratch / "data", settings=settings) as broker:
        make_topics(broker.bootstrap, len(commands))
        commit_beginnings(broker.bootstrap, len(commands))
        given = fill(broker.bootstrap, len(commands), count)
        copying = Copying(broker, random.Random(seed), scratch, commands)
        copying.run(broker_kills=kills, loop_kills=kills, limit_s=240)
        assert (copying.broker_kills, copying.loop_kills) == (kills, kills), f"seed {seed}"
        for partition, values in enumerate(committed(broker.bootstrap, "output", len(commands))):
            assert values == given[partition], f"partition {partition}, seed {seed}"
    errors = [
        each for each in audit(logs_of(str(scratch / "data"))).findings if each.severity != "notice"
    ]
    assert errors == []


@pytest.mark.timeout(300)
def test_copy_loops_copy_exactly_once_through_kills(tmp_path: Path) -> None:
    check(tmp_path, 1, [confluent] * 3 + [aiokafka] * 2, count=20_000, kills=4)


@pytest.mark.kafka
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("apache_kafka")  # its jars have the Java client
def test_twenty_copy_loops_of_three_clients_copy_exactly_once_through_kills(
    tmp_path: Path,
) -> None:
    check(tmp_path, 2, [confluent] * 8 + [aiokafka] * 6 + [java] * 6, count=2000, kills=10)
