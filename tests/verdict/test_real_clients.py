"""Real clients obey the rules: consume, transform and produce in transactions, with faults."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from ottla.testing import Ottla
from ottla.trace.events import events_of
from ottla.verdict.judge import judge
from ottla.verdict.rules.rule import Status

from ..lab.actors import Aiokafka, Java

pytestmark = pytest.mark.clients

RECORDS = 20


def copy(broker: Ottla, group: str) -> None:
    """Copy the topic `in` to `out` in two transactions with the offsets, and leave the group."""
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "log_level": 0,
        "client.id": "copier",
    }
    producer = Producer({**settings, "transactional.id": group, "linger.ms": 0})
    consumer = Consumer(
        {**settings, "group.id": group, "auto.offset.reset": "earliest",
         "enable.auto.commit": False, "session.timeout.ms": 30_000}
    )  # fmt: skip
    producer.init_transactions()
    consumer.subscribe(["in"])
    copied = 0
    while copied < RECORDS:
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None
        if copied % 10 == 0:
            producer.begin_transaction()
        producer.produce("out", message.value())
        copied += 1
        if copied % 10 == 0:
            positions = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata())
            producer.commit_transaction()
    consumer.close()


@pytest.mark.parametrize(
    ("kind", "api", "parameters"),
    [
        ("calm", "", {}),
        ("drop_answer", "Produce", {"close": True}),
        ("drop_answer", "EndTxn", {"close": True}),
        ("move_coordinator", "EndTxn", {}),
        ("error", "AddPartitionsToTxn", {"code": "CONCURRENT_TRANSACTIONS"}),
        ("error", "InitProducerId", {"code": "COORDINATOR_LOAD_IN_PROGRESS"}),
    ],
)
def test_librdkafka_obeys_the_rules(kind: str, api: str, parameters: dict[str, Any]) -> None:
    closes = "close" in parameters
    with Ottla(nodes=3) as broker:
        broker.create_topic("in", replication_factor=3)
        broker.create_topic("out", replication_factor=3)
        broker.produce("in", [str(number) for number in range(RECORDS)])
        broker.trace.start()
        if kind != "calm":
            match = {"api": api, "client_id": "copier", "nth": 1}
            fault = broker.faults.add(kind, match=match, **parameters)
        copy(broker, "copier")
        assert kind == "calm" or fault.fired == 1
        rules = judge(events_of(broker.trace.events()))
        assert len(broker.read("out")) == RECORDS
    violations = {rule.rule_id for rule in rules if rule.violated}
    # docs/reference/clients.md: it sends EndTxn again to the node that it knows, unless a timer of
    # its own has looked for the coordinator meanwhile.
    assert violations <= ({"coordinator-looked-up-again"} if api == "EndTxn" and closes else set())
    assert sum(rule.status is Status.OBEYED for rule in rules) > 20


@pytest.mark.parametrize("made", [Aiokafka, pytest.param(Java, marks=pytest.mark.kafka)])
def test_other_clients_obey_the_rules(made: type[Aiokafka] | type[Java]) -> None:
    actor = made()
    with Ottla(nodes=3) as broker:
        broker.create_topic("out", replication_factor=3)
        broker.trace.start()
        actor.open(broker, "transactional")
        for end in (actor.commit, actor.abort, actor.commit):
            actor.begin()
            actor.send("out", "a")
            actor.send("out", "b")
            actor.flush()
            end()
        assert actor.poll("out", 4) == ["a", "b", "a", "b"]
        actor.close()
        rules = judge(events_of(broker.trace.events()))
    actor.end()
    # docs/reference/clients.md: aiokafka knows no leader epochs.
    known = {"leader-epoch-sent"} if made is Aiokafka else set()
    assert {rule.rule_id for rule in rules if rule.violated} == known
    assert sum(rule.status is Status.OBEYED for rule in rules) > 12
