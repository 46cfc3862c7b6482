"""Crashes at each named point, and disks that fail, seen by librdkafka and after a restart."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from ottla.testing import Ottla

pytestmark = pytest.mark.clients
TOPIC = "orders"

OF_TRANSACTION = (
    "before_produce_append", "produce_append", "before_prepare_append", "prepare_append",
    "before_prepare_answer", "prepare_answer", "before_marker", "marker",
    "before_complete_append", "complete_append",
)  # fmt: skip


@pytest.fixture
def broker() -> Iterator[Ottla]:
    with Ottla(settings={"log.segment.bytes": "1048576"}) as started:
        started.create_topic(TOPIC, partitions=2)
        yield started
        started.kill()


def transactional(broker: Ottla) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers, "transactional.id": "t",
            "log_level": 0, "socket.timeout.ms": 1000, "message.timeout.ms": 20_000,
            "transaction.timeout.ms": 20_000, "reconnect.backoff.max.ms": 200,
        }
    )  # fmt: skip
    producer.init_transactions(20)
    return producer


@pytest.mark.parametrize("point", OF_TRANSACTION)
def test_a_transaction_is_whole_after_a_crash_at(point: str, broker: Ottla) -> None:
    producer = transactional(broker)
    broker.faults.add("crash", point=point, match={"topic": TOPIC} if "produce" in point else {})
    producer.begin_transaction()
    for partition in (0, 1):
        producer.produce(TOPIC, b"x", partition=partition)
    if point == "prepare_answer":  # the client has the answer
        producer.commit_transaction(20)
    else:
        with pytest.raises(KafkaException):
            producer.commit_transaction(0.5)
    assert died_by_kill(broker)
    broker.kill()
    broker.start()
    if point != "prepare_answer":
        producer.commit_transaction(20)
    read = broker.wait_for(lambda: list(broker.read(TOPIC)))
    assert [record.value for record in read] == [b"x", b"x"]
    assert [each.state for each in broker.transactions()] == ["CompleteCommit"]


def died_by_kill(broker: Ottla) -> bool:
    process = broker._process
    assert process is not None
    return process.wait(20) in (-signal.SIGKILL, None)


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
