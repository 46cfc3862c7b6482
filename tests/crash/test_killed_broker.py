"""A broker is killed during transactions and restarted; acknowledged data is not lost.

SIGKILL keeps the data that the process has handed to the operating system; this is the guarantee.
The seed of a run is in its name.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.testing import RunningBroker, running_broker

from .reading import committed

pytestmark = [pytest.mark.clients, pytest.mark.slow]

TOPIC, INPUT, GROUP = "orders", "input", "shop"
PARTITIONS = 2
KILLS = 4
LIMIT_S = 20.0


@dataclass
class Ledger:
    """The producer's acknowledged values by transaction, and the ends of transactions."""

    values: dict[int, list[str]] = field(default_factory=dict)
    committed: set[int] = field(default_factory=set)
    aborted: set[int] = field(default_factory=set)


class Killer(threading.Thread):
    """Kills the broker at random moments and starts it again."""

    def __init__(self, broker: RunningBroker, chance: random.Random) -> None:
        super().__init__(name="killer")
        self._broker = broker
        self._waits_s = [chance.uniform(0.02, 0.5) for _ in range(KILLS)]
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            for wait_s in self._waits_s:
                time.sleep(wait_s)
                self._broker.kill()
                self._broker.start()
        except Exception as error:
            self.error = error


def new_producer(bootstrap: str) -> Producer:
    """A transactional producer after init_transactions."""
    settings = {
        "bootstrap.servers": bootstrap,
        "transactional.id": "crash",
        "linger.ms": 0,
        "reconnect.backoff.max.ms": 100,
        "retry.backoff.ms": 20,
        # librdkafka's rebootstrap drops every broker when the only one is down. Its cached group
        # coordinator then waits for a broker that never returns.
        "metadata.recovery.strategy": "none",
    }
    # Do not log the connections that the kill closes.
    producer = Producer(settings, logger=None, error_cb=lambda _: None)
    producer.init_transactions(LIMIT_S)
    return producer


def ended(producer: Producer, *, commit: bool) -> str:
    """End the open transaction with retries: 'committed', 'aborted', or 'unknown'."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        try:
            (producer.commit_transaction if commit else producer.abort_transaction)(5.0)
        except KafkaException as failed:
            error: KafkaError = failed.args[0]
            if error.txn_requires_abort():
                commit = False
            elif not error.retriable():
                return "unknown"
        else:
            return "committed" if commit else "aborted"
    return "unknown"


def run_transaction(producer: Producer, number: int, chance: random.Random, ledger: Ledger) -> str:
    """Produce some records and the offset `number` in one transaction; its end."""
    values = [f"{number}-{i}" for i in range(chance.randint(1, 5))]
    ledger.values[number] = values
    outcome = "unknown"
    try:
        producer.begin_transaction()
        for i, value in enumerate(values):
            producer.produce(TOPIC, value.encode(), partition=i % PARTITIONS)
        metadata = _group_metadata(producer)
        offset = TopicPartition(INPUT, 0, number)
        producer.send_offsets_to_transaction([offset], metadata, LIMIT_S)
        outcome = ended(producer, commit=chance.random() < 0.8)
    except KafkaException as failed:
        if failed.args[0].txn_requires_abort():
            outcome = ended(producer, commit=False)
    if outcome == "committed":
        ledger.committed.add(number)
    elif outcome == "aborted":
        ledger.aborted.add(number)
    return outcome


_METADATA: dict[str, Any] = {}


def _group_metadata(_: Producer) -> Any:
    return _METADATA[GROUP]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    """A broker with the topics, and the metadata of the consumer group."""
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with running_broker(data_dir=tmp_path / "data", settings=settings) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        topics = [NewTopic(TOPIC, PARTITIONS), NewTopic(INPUT, 1)]
        for made in admin.create_topics(topics).values():
            made.result(10)
        consumer = Consumer({"bootstrap.servers": running.bootstrap, "group.id": GROUP})
        _METADATA[GROUP] = consumer.consumer_group_metadata()
        consumer.close()
        yield running


def committed_values(bootstrap: str) -> list[str]:
    """All records that a read_committed consumer gets, up to the last stable offset."""
    return [value for values in committed(bootstrap, TOPIC, PARTITIONS) for value in values]


def committed_offset(bootstrap: str) -> int:
    """The last offset committed by the transactions."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    try:
        return int(consumer.committed([TopicPartition(INPUT, 0)], LIMIT_S)[0].offset)
    finally:
        consumer.close()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_transactions_are_all_or_nothing_through_kills(broker: RunningBroker, seed: int) -> None:
    chance, ledger = random.Random(seed), Ledger()
    producer = new_producer(broker.bootstrap)
    killer = Killer(broker, chance)
    killer.start()
    number = 0
    while killer.is_alive() or not ledger.committed or number not in ledger.committed:
        number += 1
        if run_transaction(producer, number, chance, ledger) == "unknown":
            producer = new_producer(broker.bootstrap)
    killer.join()
    assert killer.error is None

    seen = Counter(committed_values(broker.bootstrap))
    assert max(seen.values()) == 1, "a record was duplicated"
    for transaction, values in ledger.values.items():
        found = sum(seen[value] for value in values)
        if transaction in ledger.committed:
            assert found == len(values), f"transaction {transaction} lost {len(values) - found}"
        elif transaction in ledger.aborted:
            assert found == 0, f"transaction {transaction} was aborted"
        else:
            assert found in (0, len(values)), f"transaction {transaction} is partly visible"
    assert committed_offset(broker.bootstrap) == number


@pytest.mark.parametrize("seed", [1, 2])
def test_acknowledged_records_are_kept_once_and_in_order(broker: RunningBroker, seed: int) -> None:
    """An idempotent producer goes on through the kills."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "enable.idempotence": True,
        "linger.ms": 1,
        "reconnect.backoff.max.ms": 100,
    }
    producer = Producer(settings, logger=None, error_cb=lambda _: None)
    acknowledged: list[str] = []

    def delivered(error: KafkaError | None, message: Any) -> None:
        if error is None:
            acknowledged.append(message.value().decode())

    killer = Killer(broker, random.Random(seed))
    killer.start()
    number = 0
    while killer.is_alive():
        for _ in range(20):
            producer.produce(TOPIC, b"%06d" % number, partition=0, on_delivery=delivered)
            number += 1
        producer.poll(0.005)
    killer.join()
    assert killer.error is None
    assert producer.flush(LIMIT_S) == 0
    values = committed_values(broker.bootstrap)
    assert values == sorted(set(values)), "duplicated, or out of order"
    assert set(acknowledged) <= set(values)
    assert len(acknowledged) == number
