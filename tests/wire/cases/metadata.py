"""Metadata (3) and DescribeTopicPartitions (75)."""

from __future__ import annotations

import time
import uuid
from typing import Any

from ..broker import NO_SUCH_TOPIC, ZERO_ID, Broker
from ..client import Answer, Closed, error_name, until
from ..registry import case


def topic_errors(answer: Answer) -> list[str]:
    """The error names of a metadata answer's topics."""
    return [error_name(topic["error_code"]) for topic in answer["topics"]]


@case
def metadata__null_and_empty(broker: Broker, topic: str) -> Any:
    """v0 empty = all; v1 and later: null = all, empty = none."""

    def has(answer: Answer) -> bool:
        return any(one["name"] == topic for one in answer["topics"])

    return {
        "v0_empty": has(broker.metadata([], version=0)),
        "v1_null": has(broker.metadata(version=1)),
        "v1_empty": broker.metadata([], version=1)["topics"],
        "v12_null": has(broker.metadata(version=12)),
        "v12_empty": broker.metadata([], version=12)["topics"],
    }


@case
def metadata__all_versions(broker: Broker) -> Any:
    """Every field of each version, with normalized ids and addresses."""
    topic = broker.topic(2)
    node = broker.node_id()
    out = {}
    for version in range(14):
        answer = broker.metadata([topic], version=version)
        for one in answer["brokers"]:
            one["node_id"] = one["node_id"] == node
            one["host"] = one["host"] == broker.address[0]
            one["port"] = one["port"] == broker.address[1]
        if version >= 1:
            answer["controller_id"] = answer["controller_id"] == node
        if version >= 2:
            answer["cluster_id"] = len(answer["cluster_id"])
        for one in answer["topics"]:
            one["name"] = one["name"] == topic
            if version >= 10:
                one["topic_id"] = one["topic_id"] == broker.topic_ids[topic]
            one["partitions"].sort(key=lambda part: part["partition_index"])
            for part in one["partitions"]:
                part["leader_id"] = part["leader_id"] == node
                for name in ("replica_nodes", "isr_nodes"):
                    part[name] = part[name] == [node]
        out[f"v{version}"] = answer
    return out


@case
def metadata__unknown_topic_no_auto_create(broker: Broker) -> Any:
    name = broker.fresh("nt")
    first = topic_errors(broker.metadata([name]))
    time.sleep(0.3)
    return [first, topic_errors(broker.metadata([name]))]


@case
def metadata__unknown_topic_fields(broker: Broker) -> Any:
    """The answer for an unknown topic, by version."""
    out = {}
    for version in (4, 7, 9, 10, 12, 13):
        topic = broker.metadata([NO_SUCH_TOPIC], version=version)["topics"][0]
        topic["topic_id"] = str(topic.get("topic_id"))
        out[f"v{version}"] = topic
    return out


@case
def metadata__auto_create(broker: Broker) -> Any:
    """The first answer; then the topic exists with num.partitions."""
    name = broker.fresh("at")
    first = topic_errors(broker.metadata([name], auto_create=True))
    made = until(
        lambda: broker.metadata([name])["topics"][0], lambda topic: topic["error_code"] == 0
    )
    return [first, error_name(made["error_code"]), len(made["partitions"])]


@case
def metadata__auto_create_of_bad_names(broker: Broker) -> Any:
    """Invalid names, a name that differs only by `.` and `_`, and an internal topic."""
    dotted = broker.fresh().replace("-", ".")
    broker.create_raw(dotted)
    until(lambda: topic_errors(broker.metadata([dotted])), lambda errors: errors == ["NONE"])
    names = ("a b", "x" * 250, ".", "..", "", "é", dotted.replace(".", "_"))
    return [topic_errors(broker.metadata([name], auto_create=True)) for name in names]


@case
def metadata__topic_ids(broker: Broker, topic: str) -> Any:
    topic_id = broker.topic_ids[topic]

    def told(asked_id: uuid.UUID, name: str | None, version: int = 12) -> list[Any]:
        found = broker.metadata(ids=[(asked_id, name)], version=version)["topics"][0]
        error = error_name(found["error_code"])
        return [error, found["name"] == topic, found["topic_id"] == topic_id]

    unknown = broker.metadata(ids=[(uuid.uuid4(), None)], version=12)
    out: dict[str, Any] = {
        "nonzero": topic_id != ZERO_ID,
        "by_id": told(topic_id, None),
        "unknown_id": topic_errors(unknown),
    }
    asked = {
        "zero_id_null_name": (ZERO_ID, None, 12),
        "id_and_name": (topic_id, topic, 12),
        "by_id_v10": (topic_id, None, 10),
        "by_id_v11": (topic_id, None, 11),
    }
    for name, question in asked.items():
        try:
            out[name] = told(*question)
        except Closed:
            out[name] = "closed"
            broker.connection = broker.connect()
    return out


@case
def metadata__ids_and_names_mixed(broker: Broker, topic: str) -> Any:
    """A known and an unknown topic id in one request; the name of the unknown one."""
    asked = [(broker.topic_ids[topic], None), (uuid.uuid4(), None)]
    answer = broker.metadata(ids=asked, version=12)
    return sorted([error_name(t["error_code"]), t["name"] == topic] for t in answer["topics"])


@case
def metadata__same_topic_twice(broker: Broker, topic: str) -> Any:
    return [topic_errors(broker.metadata([topic, topic], version=v)) for v in (1, 9, 12)]


@case
def metadata__authorized_operations(broker: Broker, topic: str) -> Any:
    asked = broker.metadata(
        [topic],
        version=9,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    not_asked = broker.metadata([topic], version=9)
    return [
        asked["topics"][0]["authorized_operations"],
        asked["authorized_operations"],
        not_asked["topics"][0]["authorized_operations"],
        not_asked["authorized_operations"],
    ]


@case
def metadata__internal_topics(broker: Broker) -> Any:
    answer = broker.metadata(["__consumer_offsets", "__transaction_state"])
    return {
        topic["name"]: [
            error_name(topic["error_code"]),
            topic["is_internal"],
            len(topic["partitions"]),
        ]
        for topic in answer["topics"]
    }


@case
def metadata__after_deletion(broker: Broker, topic: str) -> Any:
    """A deleted topic by name and by id; a new topic of the same name has another id."""
    old_id = broker.topic_ids[topic]
    broker.delete_topic(topic)
    gone = until(
        lambda: topic_errors(broker.metadata([topic], version=12)), lambda e: e != ["NONE"]
    )
    by_id = topic_errors(broker.metadata(ids=[(old_id, None)], version=12))
    broker.create_raw(topic)
    made = until(
        lambda: broker.metadata([topic], version=12)["topics"][0], lambda t: t["error_code"] == 0
    )
    return [gone, by_id, made["topic_id"] != old_id]


def _describe(broker: Broker, names: list[str], limit: int = 2000, **fields: Any) -> Answer:
    body = {
        "topics": [{"name": name} for name in names],
        "response_partition_limit": limit,
        "cursor": None,
        **fields,
    }
    return broker.call("DescribeTopicPartitions", 0, body)


def _pages(answer: Answer, names: list[str]) -> list[Any]:
    """The described topics, as indexes among the names, and the cursor."""
    topics = [
        [
            names.index(topic["name"]) if topic["name"] in names else topic["name"],
            error_name(topic["error_code"]),
            [part["partition_index"] for part in topic["partitions"]],
        ]
        for topic in answer["topics"]
    ]
    cursor = answer["next_cursor"]
    if cursor:
        cursor = [names.index(cursor["topic_name"]), cursor["partition_index"]]
    return [topics, cursor]


@case
def describepartitions__fields(broker: Broker) -> Any:
    topic = broker.topic(2)
    node = broker.node_id()
    answer = _describe(broker, [topic])
    for one in answer["topics"]:
        one["name"] = one["name"] == topic
        one["topic_id"] = one["topic_id"] == broker.topic_ids[topic]
        for part in one["partitions"]:
            part["leader_id"] = part["leader_id"] == node
            for name in ("replica_nodes", "isr_nodes"):
                part[name] = part[name] == [node]
    return answer


@case
def describepartitions__pages(broker: Broker) -> Any:
    """The limit, and a second request with the cursor."""
    names = sorted([broker.topic(3), broker.topic(1), broker.topic(2)])
    out = []
    for limit in (1, 2, 4, 100, 0, -5):
        try:
            out.append(_pages(_describe(broker, names[::-1], limit), names))
        except Closed:
            out.append(["closed", None])
            broker.connection = broker.connect()
    for topic, partition in ((names[1], 0), (names[0], 1), (names[2], 5)):
        cursor = {"topic_name": topic, "partition_index": partition}
        out.append(_pages(_describe(broker, names, cursor=cursor), names))
    return out


@case
def describepartitions__walk(broker: Broker) -> Any:
    """Two partitions per answer until there is no cursor."""
    names = sorted([broker.topic(3), broker.topic(4)])
    cursor, out = None, []
    for _ in range(6):
        answer = _describe(broker, names, 2, cursor=cursor)
        out.append(_pages(answer, names))
        cursor = answer["next_cursor"]
        if cursor is None:
            break
    return out


@case
def describepartitions__errors(broker: Broker, topic: str) -> Any:
    """Unknown and invalid names; a cursor to an unknown topic or a negative partition."""
    names = [topic]
    cursors = {
        "unknown": {"topic_name": "zzz-" + NO_SUCH_TOPIC, "partition_index": 0},
        "negative": {"topic_name": topic, "partition_index": -1},
        "beyond": {"topic_name": topic, "partition_index": 1},
    }
    out: dict[str, Any] = {
        "unknown_topic": _pages(_describe(broker, [NO_SUCH_TOPIC, topic]), names),
        "bad_name": _pages(_describe(broker, ["a b"]), names),
        "twice": _pages(_describe(broker, [topic, topic]), names),
    }
    for name, cursor in cursors.items():
        try:
            out["cursor_" + name] = _pages(_describe(broker, names, cursor=cursor), names)
        except Closed:
            out["cursor_" + name] = "closed"
            broker.connection = broker.connect()
    return out
