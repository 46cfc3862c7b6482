"""What stock clients see of bugs of Kafka that a test asks for, and of the right broker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaException, Producer

from ottla.testing import Ottla

from .actors import Failed, Java

LAST_EPOCH = 32766


@pytest.fixture(params=[False, True], ids=["right", "emulated"])
def is_emulated(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def java() -> Iterator[Java]:
    actor = Java(block_ms=5_000)
    yield actor
    actor.end()


def librdkafka(broker: Ottla) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers, "transactional.id": "shop",
            "transaction.timeout.ms": 60_000, "log_level": 0,
        }
    )  # fmt: skip
    producer.init_transactions(10)
    return producer


def error_of(call: Callable[..., object], *arguments: object) -> tuple[str, bool]:
    """The name of the error of a call of librdkafka, and whether it ends the producer."""
    try:
        call(*arguments)
    except KafkaException as failed:
        return failed.args[0].name(), failed.args[0].fatal()
    return "", False


def failure_of(call: Callable[[], object]) -> str:
    """The class of the error of a call of the Java client."""
    try:
        call()
    except Failed as failed:
        return str(failed)
    return ""


def states(broker: Ottla) -> list[str]:
    return [each.state for each in broker.transactions()]


def test_librdkafka_after_a_timeout(is_emulated: bool) -> None:
    bugs = ["KAFKA-19690"] if is_emulated else []
    with Ottla(clock="manual", emulate=bugs) as broker:
        broker.create_topic("orders")
        producer = librdkafka(broker)
        producer.begin_transaction()
        producer.produce("orders", b"in time")
        producer.flush(10)
        broker.clock.advance(minutes=2)
        producer.produce("orders", b"late")
        error_of(producer.flush, 10)
        wanted = ("INVALID_TXN_STATE", False) if is_emulated else ("_FENCED", True)
        assert error_of(producer.commit_transaction, 10) == wanted
        assert states(broker) == ["CompleteAbort"]


def test_librdkafka_repeats_an_init_producer_id_after_a_restart(is_emulated: bool) -> None:
    with Ottla(emulate=["KAFKA-20357"] if is_emulated else []) as broker:
        broker.create_topic("orders")
        broker.given("producer_epoch", transactional_id="shop", epoch=LAST_EPOCH - 1)
        producer = librdkafka(broker)
        producer.begin_transaction()
        # It aborts, and needs a new epoch afterwards.
        broker.faults.add("error", code="UNKNOWN_PRODUCER_ID", match={"api": "Produce", "nth": 1})
        producer.produce("orders", b"refused")
        error_of(producer.flush, 10)
        lost = broker.faults.add("drop_answer", match={"api": "InitProducerId"})
        ended: list[tuple[str, bool]] = []
        aborting = threading.Thread(
            target=lambda: ended.append(error_of(producer.abort_transaction, 60))
        )
        aborting.start()
        lost.wait_fired()
        broker.kill()
        broker.start()
        aborting.join()
        assert ended == [("_FENCED", True) if is_emulated else ("", False)]


@pytest.mark.kafka
def test_the_java_client_after_a_timeout(java: Java, is_emulated: bool) -> None:
    bugs = ["KAFKA-19690"] if is_emulated else []
    with Ottla(clock="manual", emulate=bugs) as broker:
        broker.create_topic("orders")
        java.open(broker, "shop")
        java.begin()
        java.send("orders", "in-time")
        java.flush()
        broker.clock.advance(minutes=16)
        java.send("orders", "late")
        wanted = "InvalidTxnStateException" if is_emulated else "InvalidProducerEpochException"
        assert failure_of(java.flush) == wanted
        failure_of(java.close)


@pytest.mark.kafka
def test_the_java_client_aborts_after_a_timeout_at_its_last_epoch(
    java: Java, is_emulated: bool
) -> None:
    with Ottla(clock="manual", emulate=["KAFKA-20090"] if is_emulated else []) as broker:
        broker.create_topic("orders")
        broker.given("producer_epoch", transactional_id="shop", epoch=LAST_EPOCH - 1)
        java.open(broker, "shop")
        java.begin()
        java.send("orders", "in-time")
        java.flush()
        broker.clock.advance(minutes=16)
        assert failure_of(java.abort) == ""
        if is_emulated:
            java.begin()
            java.send("orders", "stuck")
            java.flush()
            broker.clock.advance(days=1)
            assert failure_of(java.commit) == "KafkaException"
        assert states(broker) == ["Ongoing" if is_emulated else "CompleteAbort"]
        failure_of(java.close)


@pytest.mark.kafka
def test_the_java_client_waits_for_a_marker_that_is_refused(java: Java) -> None:
    with Ottla(emulate=["KAFKA-19999"]) as broker:
        broker.create_topic("orders")
        java.open(broker, "shop")
        java.begin()
        java.send("orders", "a")
        java.flush()
        broker.faults.add("crash", point="before_complete_append")
        ended: list[str] = []
        committing = threading.Thread(target=lambda: ended.append(failure_of(java.commit)))
        committing.start()
        broker.wait_for(lambda: not broker.runs)
        broker.kill()
        broker.start()
        committing.join()
        assert ended == ["TimeoutException"]
        assert states(broker) == ["PrepareCommit"]
        failure_of(java.close)
