"""The whole state of a broker as clients see it, which both brokers must show for a directory.

librdkafka reads records, topics, settings and offsets; raw requests read producers, transactions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import TopicCollection
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    ResourceType,
)

from ..whole_topics import records_in
from ..wire.broker import Broker
from ..wire.client import Answer, error_name, retrying
from .place import address

TIMEOUT_S = 20.0
EARLIEST = -2
OWN_SETTING = 1  # ConfigSource.DYNAMIC_TOPIC_CONFIG
LONG_VALUE = 64
VALUE = 5  # index of a record's value

Seen = dict[str, Any]


def seen(bootstrap: str) -> Seen:
    """The whole state, as plain values to compare."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = partitions_of(admin)
    users = {name: count for name, count in topics.items() if not name.startswith("__")}
    broker = Broker(address(bootstrap), "seen")
    try:
        return {
            "topics": topics,
            "topic ids": topic_ids(admin, topics),
            "settings": settings(admin, topics),
            "ends": {name: ends(broker, name, count) for name, count in users.items()},
            "records": {
                level: records(bootstrap, users, level)
                for level in ("read_uncommitted", "read_committed")
            },
            "offsets": committed_offsets(broker),
            "transactions": transactions(broker),
            "producers": {name: producers(broker, name, count) for name, count in users.items()},
        }
    finally:
        broker.close()


def partitions_of(admin: AdminClient) -> dict[str, int]:
    """The number of partitions of each topic."""
    found = admin.list_topics(timeout=TIMEOUT_S).topics
    return {name: len(found[name].partitions) for name in sorted(found)}


def topic_ids(admin: AdminClient, names: Iterable[str]) -> dict[str, str]:
    """The id of each topic."""
    asked = admin.describe_topics(TopicCollection(list(names)), request_timeout=TIMEOUT_S)
    return {name: str(answer.result(TIMEOUT_S).topic_id) for name, answer in asked.items()}


def settings(admin: AdminClient, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """The settings of each topic itself."""
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    return {
        resource.name: {
            name: entry.value
            for name, entry in sorted(answer.result(TIMEOUT_S).items())
            if entry.source == OWN_SETTING
        }
        for resource, answer in admin.describe_configs(resources).items()
    }


def ends(broker: Broker, topic: str, partitions: int) -> dict[int, tuple[int, int, int]]:
    """Log start, last stable offset and high watermark of each partition."""
    return {
        index: (
            _offset(broker, topic, index, timestamp=EARLIEST),
            _offset(broker, topic, index, isolation=1),
            _offset(broker, topic, index),
        )
        for index in range(partitions)
    }


def _offset(broker: Broker, topic: str, partition: int, **fields: int) -> int:
    error, offset, _ = retrying(
        lambda: broker.list_offset(topic, partition=partition, **fields),
        lambda answer: [answer[0]],
        limit_s=TIMEOUT_S,
    )
    assert error == "NONE", (topic, partition, error)
    return int(offset)


def records(
    bootstrap: str, topics: Mapping[str, int], level: str
) -> dict[str, list[tuple[Any, ...]]]:
    """Every record that a consumer gets, by topic, in the order of partition and offset."""
    found: dict[str, list[tuple[Any, ...]]] = {topic: [] for topic in topics}
    for message in records_in(bootstrap, topics, level, TIMEOUT_S):
        found[str(message.topic())].append(_plain(message))
    return {topic: sorted(read, key=lambda record: record[:2]) for topic, read in found.items()}


def _plain(message: Any) -> tuple[Any, ...]:
    value = message.value()
    if value is not None and len(value) > LONG_VALUE:
        value = hashlib.sha256(value).hexdigest()
    return (
        message.partition(),
        message.offset(),
        message.timestamp(),
        message.leader_epoch(),
        message.key(),
        value,
        message.headers(),
    )


def committed_offsets(broker: Broker) -> dict[str, dict[str, tuple[int, str]]]:
    """Offset and metadata by group, topic and partition, without pending ones."""

    def listed() -> Any:
        return broker.call("ListGroups", 4, {"states_filter": []})

    answer = retrying(listed, lambda answer: [error_name(answer["error_code"])], limit_s=TIMEOUT_S)
    found = {}
    names = [known["group_id"] for known in answer["groups"] if known["protocol_type"] != "share"]
    for group in sorted(names):
        body: Answer = {"groups": [{"group_id": group, "topics": None}], "require_stable": False}
        offsets = broker.call("OffsetFetch", 8, body)["groups"][0]
        assert error_name(offsets["error_code"]) == "NONE", (group, offsets)
        found[group] = {
            f"{topic['name']}-{part['partition_index']}": (
                part["committed_offset"],
                part["metadata"],
            )
            for topic in sorted(offsets["topics"], key=lambda topic: str(topic["name"]))
            for part in sorted(topic["partitions"], key=lambda part: int(part["partition_index"]))
        }
    return found


def transactions(broker: Broker) -> dict[str, Any]:
    """The result of DescribeTransactions for each transactional id of ListTransactions."""

    def listed() -> Any:
        body: Answer = {"state_filters": [], "producer_id_filters": []}
        return broker.call("ListTransactions", 0, body)

    answer = retrying(listed, lambda answer: [error_name(answer["error_code"])], limit_s=TIMEOUT_S)
    names = sorted(state["transactional_id"] for state in answer["transaction_states"])
    described = broker.call("DescribeTransactions", 0, {"transactional_ids": names})
    for state in described["transaction_states"]:
        for topic in state["topics"]:
            topic["partitions"].sort()
        state["topics"].sort(key=lambda topic: str(topic["topic"]))
    return {state["transactional_id"]: state for state in described["transaction_states"]}


def producers(broker: Broker, topic: str, partitions: int) -> dict[int, Any]:
    """The result of DescribeProducers for each partition."""
    body: Answer = {"topics": [{"name": topic, "partition_indexes": list(range(partitions))}]}
    answer = broker.call("DescribeProducers", 0, body)["topics"][0]["partitions"]
    return {
        part["partition_index"]: sorted(
            part["active_producers"], key=lambda producer: int(producer["producer_id"])
        )
        for part in answer
    }
