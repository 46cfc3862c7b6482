"""One node of three dies at each point of a transaction, seen by librdkafka: others take over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from ottla.client import Client
from ottla.lab_client import Event
from ottla.protocol.api_keys import ApiKey
from ottla.testing import Ottla

from .crash_points import OF_TRANSACTION, match_of
from .traces import answers_of, values

pytestmark = pytest.mark.clients


@pytest.fixture(autouse=True)
def _all_run_again(broker: Ottla) -> Iterator[None]:
    yield
    broker.faults.clear()
    for node_id in dead(broker):
        broker.lab().call("POST", f"/nodes/{node_id}/start")


def dead(broker: Ottla) -> list[int]:
    nodes = broker.lab().call("GET", "/nodes")
    return [each["node_id"] for each in nodes if not each["is_running"]]


def transactional(broker: Ottla, name: str) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers, "transactional.id": name,
            "client.id": "librdkafka", "log_level": 0, "reconnect.backoff.max.ms": 100,
            "retry.backoff.ms": 20,
        }
    )  # fmt: skip
    producer.init_transactions(20)
    return producer


def fault_of(broker: Ottla) -> Event:
    """The crash in the trace."""
    (fault,) = broker.trace.where(kind="fault")
    return fault


@pytest.mark.parametrize("point", OF_TRANSACTION)
def test_a_transaction_is_whole_although_a_node_dies_at(
    point: str, broker: Ottla, topic: str
) -> None:
    producer = transactional(broker, topic)
    with broker.faults.expect("crash", point=point, match=match_of(point, topic)) as fault:
        producer.begin_transaction()
        producer.produce(topic, b"x")
        producer.commit_transaction(30)
        assert fault.fired == 1
    crash = fault_of(broker)
    assert [crash["node_id"]] == dead(broker)
    (request,) = broker.trace.where(seq=crash["cause"])
    if point == "prepare_answer":
        assert "response" in answers_of(broker, request)[0]
    else:
        assert all("unanswered" in each for each in answers_of(broker, request))
    assert is_complete(broker, topic)
    assert values(broker, topic) == ["x"]
    broker.lab().call("POST", f"/nodes/{crash['node_id']}/start")
    broker.wait_for(lambda: crash["node_id"] in in_sync(broker, topic))
    producer.begin_transaction()
    producer.produce(topic, b"y")
    producer.commit_transaction(30)
    assert values(broker, topic) == ["x", "y"]


def is_complete(broker: Ottla, transactional_id: str) -> bool:
    def states() -> list[str]:
        found = broker.transactions()
        return [each.state for each in found if each.transactional_id == transactional_id]

    return broker.wait_for(lambda: states() == ["CompleteCommit"])


def in_sync(broker: Ottla, topic: str) -> list[int]:
    with Client.to(broker.bootstrap) as client:
        answer: Any = client.ask(ApiKey.METADATA, {"topics": [{"name": topic}]})
    (found,) = answer.topics
    isr: list[int] = found.partitions[0].isr_nodes
    return isr
