"""Requests with bodies made by chance, of every version, on Ottla and on an Apache Kafka.

Both answer alike, or close the connection alike: error codes, and all that is neither an id, a
time, a text for people, nor an order. A run is told by its seed. OTTLA_BODIES says how many
requests of each seed to send (80).
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
from ..wire.client import TRANSIENT, Body, Closed, NoAnswer, error_name, until
from .bodies import Bodies
from .conftest import Pair

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SEEDS = range(30)
REQUESTS = int(os.environ.get("OTTLA_BODIES", "80"))

# What can be asked of brokers that others use too, is answered at once, and not about all of it.
APIS: Final = (
    "AddOffsetsToTxn", "AddPartitionsToTxn", "AlterConfigs", "AlterPartitionReassignments",
    "ConsumerGroupDescribe", "ConsumerGroupHeartbeat", "CreatePartitions", "CreateTopics",
    "DeleteGroups", "DeleteRecords", "DescribeConfigs", "DescribeGroups", "DescribeProducers",
    "DescribeTopicPartitions", "DescribeTransactions", "ElectLeaders", "EndTxn",
    "FindCoordinator", "Heartbeat", "IncrementalAlterConfigs", "InitProducerId", "LeaveGroup",
    "ListOffsets", "ListPartitionReassignments", "OffsetCommit", "OffsetDelete", "OffsetFetch",
    "OffsetForLeaderEpoch", "SyncGroup", "TxnOffsetCommit",
)  # fmt: skip

OF_ONE_BROKER: Final = frozenset(
    {
        "throttle_time_ms", "error_message", "host", "port", "cluster_id", "topic_id", "member_id",
        "producer_id", "documentation", "broker_endpoints", "last_timestamp",
    }
)  # fmt: skip


def comparable(answer: Any) -> Any:
    """An answer without what each broker has for itself; lists in an order of their own."""
    if isinstance(answer, dict):
        return {
            name: error_name(value) if name.endswith("error_code") else comparable(value)
            for name, value in answer.items()
            if name not in OF_ONE_BROKER
        }
    if isinstance(answer, list):
        return sorted((comparable(each) for each in answer), key=repr)
    return str(answer) if isinstance(answer, uuid.UUID) else answer


def told(broker: Broker, api: str, version: int, body: Body) -> Any:
    """What a broker makes of a request; once more where it is not ready."""
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
    """Nothing to be added to no transaction is never answered; a place in a topic overflows."""
    if api == "DescribeTopicPartitions" and body["cursor"] is not None:
        return bool(body["cursor"]["partition_index"] == 2**31 - 1)
    return api == "AddPartitionsToTxn" and body.get("transactions") == []


def is_about_everything(api: str, body: Any) -> bool:
    """Others may have made something in the meantime, on one of the two."""
    named = {
        "AlterPartitionReassignments": "topics", "DescribeTopicPartitions": "topics",
        "ElectLeaders": "topic_partitions", "ListPartitionReassignments": "topics",
    }.get(api)  # fmt: skip
    return named is not None and not body.get(named)


def make(broker: Broker, topic: str) -> None:
    """A topic of two partitions, and wait until it is known everywhere in the broker."""
    assert broker.create_raw(topic, partitions=2)["error_code"] == 0
    for partition in range(2):
        found = until(
            lambda: broker.list_offset(topic, partition=partition)[0],  # noqa: B023
            lambda error: error == "NONE",
        )
        assert found == "NONE"


@pytest.mark.parametrize("seed", SEEDS)
def test_bodies_made_by_chance_are_answered_alike(pair: Pair, seed: int) -> None:
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
            ours, theirs = (told(broker, api, version, body) for broker in brokers)
            assert ours == theirs, f"seed {seed}: {api} {version} {body}"
    finally:
        for broker in brokers:
            broker.delete_topics()
            broker.close()
