"""Random request bodies of every version, on Ottla and on an Apache Kafka.

Both give the same answer or both close the connection. The comparison leaves out ids, times,
messages and orders. A seed repeats a run. OTTLA_BODIES is the number of requests of each seed (80).
"""

from __future__ import annotations

import os
import random
import uuid
from typing import Any, Final

import pytest

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.codec import api_name

from ..wire.broker import Broker
from ..wire.client import TRANSIENT, Body, Closed, NoAnswer, until
from .bodies import Bodies, comparable
from .conftest import Pair

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SEEDS = range(30)
REQUESTS = int(os.environ.get("OTTLA_BODIES", "80"))

# Requests that are answered at once, concern single resources, and do no harm to other clients.
APIS: Final = (
    "AddOffsetsToTxn", "AddPartitionsToTxn", "AlterConfigs", "AlterPartitionReassignments",
    "ConsumerGroupDescribe", "ConsumerGroupHeartbeat", "CreatePartitions", "CreateTopics",
    "DeleteGroups", "DeleteRecords", "DescribeConfigs", "DescribeGroups", "DescribeProducers",
    "DescribeTopicPartitions", "DescribeTransactions", "ElectLeaders", "EndTxn",
    "FindCoordinator", "Heartbeat", "IncrementalAlterConfigs", "InitProducerId", "LeaveGroup",
    "ListOffsets", "ListPartitionReassignments", "OffsetCommit", "OffsetDelete", "OffsetFetch",
    "OffsetForLeaderEpoch", "SyncGroup", "TxnOffsetCommit",
)  # fmt: skip


def result_of(broker: Broker, api: str, version: int, body: Body) -> Any:
    """A broker's answer to a request, repeated while it is not ready."""
    for _ in range(20):
        connection = broker.connect()
        try:
            answer = comparable(connection.call(api, version, body))
        except Closed:
            return "closed"
        except NoAnswer:
            return "silent"
        finally:
            connection.close()
        if not any(name in repr(answer) for name in TRANSIENT):
            break
    return answer


def is_an_accident_of_kafka(api: str, body: Any) -> bool:
    """Bodies that Kafka never answers, or that overflow in it."""
    if api == "DescribeTopicPartitions" and body["cursor"] is not None:
        return bool(body["cursor"]["partition_index"] == 2**31 - 1)
    return api == "AddPartitionsToTxn" and body.get("transactions") == []


def is_about_everything(api: str, body: Any) -> bool:
    """Other clients may have changed one of the brokers in the meantime."""
    named = {
        "AlterPartitionReassignments": "topics", "DescribeTopicPartitions": "topics",
        "ElectLeaders": "topic_partitions", "ListPartitionReassignments": "topics",
    }.get(api)  # fmt: skip
    return named is not None and not body.get(named)


def make(broker: Broker, topic: str) -> None:
    """Create a topic of two partitions and wait until all parts of the broker know it."""
    assert broker.create_raw(topic, partitions=2)["error_code"] == 0
    for partition in range(2):
        found = until(
            lambda: broker.list_offset(topic, partition=partition)[0],  # noqa: B023
            lambda error: error == "NONE",
        )
        assert found == "NONE"


@pytest.mark.parametrize("seed", SEEDS)
def test_random_bodies_get_the_same_answers(pair: Pair, seed: int) -> None:
    chance = random.Random(seed)
    brokers = [Broker(address, "bodies") for address in pair]
    versions = {api_name(key): (each.lowest, each.highest) for key, each in HANDLERS.items()}
    label = f"{uuid.uuid4()}"[:8]
    topics = [f"t{number}-{label}" for number in range(2)]
    try:
        for broker in brokers:
            for topic in topics:
                make(broker, topic)
        bodies = Bodies(chance, topics, label)
        for _ in range(REQUESTS):
            api = chance.choice(APIS)
            version = chance.randint(*versions[api])
            body = bodies.body(api, version)
            if is_an_accident_of_kafka(api, body) or is_about_everything(api, body):
                continue
            ours, theirs = (result_of(broker, api, version, body) for broker in brokers)
            assert ours == theirs, f"seed {seed}: {api} {version} {body}"
    finally:
        for broker in brokers:
            broker.delete_topics()
            broker.close()
