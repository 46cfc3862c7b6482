"""Captures of stock clients: against Ottla, whose own trace says the same, and against Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer

from ottla.testing import Ottla
from ottla.trace.events import events_of
from ottla.trace.messages import errors_in
from ottla.verdict.judge import judge

from ...kafka.node import running_kafka
from .relay import Relay
from .talk import read

pytestmark = pytest.mark.clients
TOPIC = "orders"
OLD_AND_NEW = {("Produce", 3), ("Produce", 10), ("Fetch", 5), ("Fetch", 16)}
OLD = {"api.version.request": "false", "broker.version.fallback": "0.11.0.0"}


def advertised(port: int) -> dict[str, str]:
    """Settings of a broker that clients reach through a relay."""
    listeners = f"PLAINTEXT://127.0.0.1:{port}"
    return {"advertised.listeners": listeners, "group.initial.rebalance.delay.ms": "0"}


def transact(bootstrap: str, name: str, more: dict[str, Any] | None = None) -> None:
    """A transaction of librdkafka, read by its consumer in a group."""
    client = {"bootstrap.servers": bootstrap, **(more or {})}
    producer = Producer({**client, "client.id": name, "transactional.id": name})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(TOPIC, b"a" * 100_000)
    producer.produce(TOPIC, b"b")
    producer.commit_transaction()
    consumer = Consumer(
        {**client, "client.id": name, "group.id": name, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([TOPIC])
    found = 0
    while found < 2:
        message = consumer.poll(1)
        found += message is not None and message.error() is None
    consumer.commit(asynchronous=False)
    consumer.close()


def produce_by_kafka_python(bootstrap: str, version: tuple[int, ...] | None) -> None:
    """A record of kafka-python, as it speaks with a broker of a version."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, client_id="python", api_version=version,
        enable_idempotence=False,
    )  # fmt: skip
    producer.send(TOPIC, b"c").get(30)
    producer.close()
    consumer = KafkaConsumer(
        TOPIC, bootstrap_servers=bootstrap, client_id="python", api_version=version,
        auto_offset_reset="earliest", group_id=None,
    )  # fmt: skip
    assert next(consumer).value
    consumer.close()


def asked(
    events: Iterable[dict[str, Any]], clients: set[str]
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The requests of clients by all that identifies them."""
    return {
        (
            each["client_id"], each["api"], each["version"], each["correlation_id"],
            json.dumps(each["request"], sort_keys=True),
        ): each
        for each in events
        if each["kind"] == "request" and each["client_id"] in clients
    }  # fmt: skip


def answers(events: Iterable[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {each["cause"]: each for each in events if each["kind"] == "answer"}


def test_a_capture_has_the_requests_of_the_brokers_own_trace() -> None:
    with Relay() as relay:
        settings = advertised(relay.port)
        with Ottla(settings=settings) as broker:
            relay.target = int(broker.bootstrap.rpartition(":")[2])
            through = f"127.0.0.1:{relay.port}"
            broker.create_topic(TOPIC)
            broker.trace.start()
            transact(through, "new")
            produce_by_kafka_python(through, None)
            produce_by_kafka_python(through, (0, 11))
            own = broker.trace.events()
            captured, summary = read(relay.capture())
    assert summary.skipped == []
    clients = {"new", "python"}
    by_broker, by_capture = asked(own, clients), asked(captured, clients)
    assert by_broker.keys() <= by_capture.keys()
    theirs, ours = answers(own), answers(captured)
    compared = 0
    for key, request in by_broker.items():
        answer = theirs.get(request["seq"], {})
        found = ours.get(by_capture[key]["seq"], {})
        if "response" in answer and "response" in found:  # a client may close before it comes
            compared += 1
            assert errors_in(found["response"]) == errors_in(answer["response"]), key
    assert compared > len(by_broker) / 2
    assert not [each for each in captured if "undecoded" in each]
    rules = {rule.rule_id: rule for rule in judge(events_of(captured))}
    assert [rule.violations for rule in rules.values() if rule.violations] == []
    assert rules["data-to-leader"].status == rules["end-after-answers"].status == "obeyed"
    seen = {(api, version) for _, api, version, *_ in by_capture}
    assert OLD_AND_NEW | {("EndTxn", 1)} <= seen


@pytest.mark.kafka
@pytest.mark.slow
def test_a_capture_of_kafka_is_decoded_whole(pytestconfig: pytest.Config) -> None:
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("starts an Apache Kafka: -m kafka")
    with Relay() as relay:
        settings = advertised(relay.port)
        with running_kafka(settings) as bootstrap:
            relay.target = int(bootstrap.rpartition(":")[2])
            through = f"127.0.0.1:{relay.port}"
            transact(through, "new")
            transact(through, "old", OLD)
            produce_by_kafka_python(through, None)
            produce_by_kafka_python(through, (0, 11))
            events, summary = read(relay.capture())
    assert summary.skipped == []
    assert [each for each in events if "undecoded" in each] == []
    found = asked(events, {"new", "old", "python"})
    apis = {api for _, api, *_ in found}
    assert {"Produce", "Fetch", "EndTxn", "JoinGroup", "OffsetCommit", "Metadata"} <= apis
    assert {(api, version) for _, api, version, *_ in found} >= OLD_AND_NEW
    committed = [each for key, each in found.items() if key[1] == "EndTxn"]
    assert all(answers(events)[each["seq"]]["response"]["error_code"] == 0 for each in committed)
