"""The answers of Apache Kafka while the markers of a transaction are not all written.

Kafka is in that state for milliseconds, and Ottla's requests never meet it. With many partitions,
and requests in the same write as EndTxn, the test meets it in Kafka. The answers equal those of
tests/coordinator/transactions/table.txt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ottla.coordinator.transactions.states import State
from tests.coordinator.transactions.table import cells

from ..wire.broker import Broker
from ..wire.client import decode, encode, error_name
from .conftest import Pair

pytestmark = pytest.mark.kafka

PARTITIONS = 60
ATTEMPTS = 50
Request = tuple[str, int, dict[str, object]]


@pytest.fixture(scope="module")
def kafka(pair: Pair) -> Iterator[tuple[Broker, str]]:
    """An Apache Kafka, and a topic with many partitions."""
    broker = Broker(pair[1], "prepared")
    yield broker, broker.topic(partitions=PARTITIONS)
    broker.delete_topics()
    broker.close()


def request_of(name: str, identity: dict[str, object], topic: str) -> Request:
    topics = [{"name": topic, "partitions": [0]}]
    if name.startswith("init"):
        if name == "init anew":
            identity = {"transactional_id": identity["transactional_id"]}
        return "InitProducerId", 4, {**identity, "transaction_timeout_ms": 60_000}
    if name == "verify":
        verify = {**identity, "verify_only": True, "topics": topics}
        return "AddPartitionsToTxn", 5, {"transactions": [verify]}
    if name == "add":
        fields = {f"v3_and_below_{key}": value for key, value in identity.items()}
        return "AddPartitionsToTxn", 3, {**fields, "v3_and_below_topics": topics}
    version = 4 if name.startswith("end4") else 5
    return "EndTxn", version, {**identity, "committed": name.endswith("commit")}


def error_of(request: Request, frame: bytes) -> str:
    api, version, _ = request
    answer = decode(api, version, frame)
    if api != "AddPartitionsToTxn":
        return error_name(answer["error_code"])
    topics = answer.get("results_by_topic_v3_and_below")
    if version > 3:
        topics = answer["results_by_transaction"][0]["topic_results"]
    assert topics
    return error_name(topics[0]["results_by_partition"][0]["partition_error_code"])


def caught(broker: Broker, topic: str, name: str, who: str) -> str | None:
    """End a transaction and send a request; its answer if the transaction was still prepared."""
    producer = broker.producer()
    for _ in range(2):
        producer = broker.init(producer.transactional_id)
    assert producer.add(topic) == "NONE"
    producer.add_all({topic: list(range(PARTITIONS))})
    identity: dict[str, object] = {
        "transactional_id": producer.transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
    }
    steps = {"owner": 0, "stale": -1, "older": -2, "newer": 1}
    asker = replace(producer, epoch=producer.epoch + steps.get(who, 0))
    if who == "other":
        asker = replace(asker, producer_id=987_654_321)
    asking = {
        **identity,
        "producer_id": asker.producer_id,
        "producer_epoch": asker.epoch,
    }
    requests: list[Request] = [
        ("EndTxn", 4, {**identity, "committed": True}),
        request_of(name, asking, topic),
        ("DescribeTransactions", 0, {"transactional_ids": [producer.transactional_id]}),
    ]
    connection = broker.connection
    connection.send_raw(b"".join(encode(*request, correlation_id=1) for request in requests))
    frames = [connection.frame() for _ in requests]
    (known,) = decode("DescribeTransactions", 0, frames[2])["transaction_states"]
    producer.wait_ended()
    if known["transaction_state"] != "PrepareCommit":
        return None
    return error_of(requests[1], frames[1])


@pytest.mark.parametrize(
    ("name", "who", "wanted"),
    [
        (name, who, content)
        for name, who, level, state, content in cells()
        if state is State.PREPARE_COMMIT and level == 2
        if name.split()[0] not in ("markers", "timeout", "expiry") and name != "add again"
        if who in ("owner", "stale", "older", "newer", "other")
    ],
)
def test_the_table_has_kafkas_answers_in_prepared_states(
    name: str, who: str, wanted: str, kafka: tuple[Broker, str]
) -> None:
    for _ in range(ATTEMPTS):
        answer = caught(*kafka, name, who)
        if answer is not None:
            assert answer == wanted
            return
    pytest.skip("the markers were written before the request each time")
