"""Given shapes of logs: what librdkafka, kafka-python and a restart make of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import kafka
import pytest
from confluent_kafka import Consumer, TopicPartition

from ottla.testing import Ottla

from .given_shapes import SHAPES

HANGING = "hanging_transaction"


@pytest.fixture(scope="module")
def stored() -> dict[str, list[int]]:
    """The offsets that readers get, by shape; a test that appends adds its own."""
    return {shape: [*offsets] for shape, (_, offsets, _) in SHAPES.items()}


@pytest.fixture(scope="module")
def broker() -> Iterator[Ottla]:
    with Ottla() as started:
        for shape, (parameters, _, end) in SHAPES.items():
            given = started.given(shape, topic=shape, **parameters)
            assert given["end_offset"] == end
        started.given(HANGING, topic=HANGING)
        yield started


def librdkafka(broker: Ottla, topic: str) -> list[int | None]:
    """The offsets that a consumer with read_committed gets up to the end of the log."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": topic,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 10,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0 if topic != "log_starts_at" else 10**9)])
    offsets: list[int | None] = []
    while (message := consumer.poll(10)) is not None and message.error() is None:
        offsets.append(message.offset())
    assert message is not None, "the end of the log was not reached"
    consumer.close()
    return offsets


def kafka_python(broker: Ottla, topic: str, end: int) -> list[int]:
    """The same by kafka-python."""
    at = kafka.TopicPartition(topic, 0)
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers, isolation_level="read_committed"
    )
    with closing(consumer):  # else its thread goes on, and its warnings fail other tests
        return offsets_up_to(end, consumer, at)


def offsets_up_to(end: int, consumer: kafka.KafkaConsumer, at: kafka.TopicPartition) -> list[int]:
    consumer.assign([at])
    consumer.seek_to_beginning(at)
    offsets: list[int] = []
    deadline_s = time.monotonic() + 10
    while consumer.position(at) < end:
        assert time.monotonic() < deadline_s, f"{at} was read up to {consumer.position(at)}"
        for records in consumer.poll(timeout_ms=100).values():
            offsets += [record.offset for record in records]
    return offsets


@pytest.mark.parametrize("shape", SHAPES)
def test_librdkafka_reads_a_given_shape(
    broker: Ottla, stored: dict[str, list[int]], shape: str
) -> None:
    assert librdkafka(broker, shape) == stored[shape]


@pytest.mark.parametrize("shape", SHAPES)
def test_kafka_python_reads_a_given_shape(
    broker: Ottla, stored: dict[str, list[int]], shape: str
) -> None:
    _, given, end = SHAPES[shape]
    added = len(stored[shape]) - len(given)
    assert kafka_python(broker, shape, end + added) == stored[shape]


def test_a_hanging_transaction_holds_readers_back(broker: Ottla) -> None:
    broker.produce(HANGING, ["behind"])
    assert broker.read(HANGING) == []
    assert len(broker.read(HANGING, isolation="read_uncommitted")) == 4
    assert broker.transactions() == []


@pytest.mark.parametrize("kill", [False, True], ids=["stop", "kill"])
def test_a_restart_keeps_the_shapes(
    broker: Ottla, stored: dict[str, list[int]], kill: bool
) -> None:
    if kill:
        broker.kill()
        broker.start()
    else:
        broker.restart()
    for shape, offsets in stored.items():
        assert [record.offset for record in broker.read(shape)] == offsets, shape
        offsets += [each.offset for each in broker.produce(shape, ["next"])]
    assert broker.read(HANGING) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_a_kill_right_after_a_shape_is_given_damages_nothing(shape: str) -> None:
    parameters, offsets, _ = SHAPES[shape]
    with Ottla() as alone:
        alone.given(shape, topic=shape, **parameters)
        alone.kill()
        alone.start()
        assert [record.offset for record in alone.read(shape)] == offsets


def test_readers_pass_over_a_hundred_thousand_aborted_transactions(broker: Ottla) -> None:
    broker.given("many_aborted_transactions", topic="many")
    broker.produce("many", ["behind"])
    assert [record.offset for record in broker.read("many")] == [200_000]


def test_a_log_that_starts_at_its_end_still_does_after_a_kill(broker: Ottla) -> None:
    broker.produce("late", ["deleted"] * 5)
    broker.given("log_starts_at", topic="late", offset=5)
    broker.kill()
    broker.start()
    assert [record.offset for record in broker.read("late")] == [5, 6, 7]
