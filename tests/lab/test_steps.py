"""Disks that fail once, and rules that kill nothing, seen by librdkafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Producer

from ottla.testing import Ottla

pytestmark = pytest.mark.clients
TOPIC = "orders"


@pytest.fixture
def broker() -> Iterator[Ottla]:
    with Ottla(settings={"log.segment.bytes": "1048576"}) as started:
        started.create_topic(TOPIC, partitions=2)
        yield started
        started.kill()


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_append_that_fails_is_refused_and_the_next_one_taken(broker: Ottla, error: str) -> None:
    failed: list[KafkaError] = []
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0, "retries": 0}
    )
    match = {"topic": TOPIC, "partition": 0, "times": 1}
    with broker.faults.expect("disk", error=error, match=match):
        producer.produce(
            TOPIC, b"lost", partition=0,
            on_delivery=lambda wrong, _: failed.append(wrong) if wrong else None,
        )  # fmt: skip
        producer.flush(20)
    assert [each.code() for each in failed] == [56]  # KAFKA_STORAGE_ERROR
    producer.produce(TOPIC, b"kept", partition=0)
    assert producer.flush(20) == 0
    assert [record.value for record in broker.read(TOPIC)] == [b"kept"]


def test_a_rule_for_another_topic_crashes_nothing(broker: Ottla) -> None:
    broker.faults.add("crash", point="produce_append", match={"topic": "other"})
    broker.produce(TOPIC, ["a"])
    assert broker.runs
    assert [each["fired"] for each in broker.faults] == [0]
