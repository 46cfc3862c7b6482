"""CreateTopics (19), DeleteTopics (20), CreatePartitions (37)."""

from __future__ import annotations

import uuid
from typing import Any

from ..batches import batch
from ..broker import NO_SUCH_TOPIC, ZERO_ID, Broker
from ..client import Answer, error_name, retrying, until
from ..registry import case
from .metadata import topic_errors


@case
def createtopics__answer(broker: Broker) -> Any:
    answer = broker.create_raw(broker.fresh(), partitions=3, configs={"retention.ms": "12345"})
    configs = {
        config["name"]: [
            config["value"],
            config["read_only"],
            config["config_source"],
            config["is_sensitive"],
        ]
        for config in answer["configs"]
    }
    return {
        "partitions": answer["num_partitions"],
        "rf": answer["replication_factor"],
        "id": answer["topic_id"] != ZERO_ID,
        "message": answer["error_message"],
        "retention": configs.get("retention.ms"),
        "cleanup": configs.get("cleanup.policy"),
        "max_bytes": configs.get("max.message.bytes"),
        "n": len(configs) > 20,
    }


@case
def createtopics__all_versions(broker: Broker) -> Any:
    """Every field of each version, and the number of configs."""
    out = {}
    for version in range(2, 8):
        name = broker.fresh()
        answer = broker.create_raw(name, partitions=2, version=version)
        answer["name"] = answer["name"] == name
        if "topic_id" in answer:
            answer["topic_id"] = answer["topic_id"] != ZERO_ID
        if "configs" in answer:
            answer["configs"] = len(answer["configs"])
        out[f"v{version}"] = answer
    return out


@case
def createtopics__configs_in_the_answer(broker: Broker) -> Any:
    """All settings of a topic with their defaults and sources."""
    answer = broker.create_raw(broker.fresh(), configs={"cleanup.policy": "compact"})
    return {
        config["name"]: [config["value"], config["read_only"], config["config_source"]]
        for config in answer["configs"]
    }


@case
def createtopics__validate_only_makes_nothing(broker: Broker) -> Any:
    name = broker.fresh()
    answer = broker.create_raw(name, partitions=2, validate_only=True)
    return [
        error_name(answer["error_code"]),
        answer["num_partitions"],
        topic_errors(broker.metadata([name])),
    ]


def _told(broker: Broker, name: str, **fields: Any) -> list[Any]:
    """Error name and message, with a normalized topic name."""
    answer = broker.create_raw(name, **fields)
    message = answer["error_message"]
    if message and name:
        message = message.replace(name, "T")
    return [error_name(answer["error_code"]), message]


@case
def createtopics__errors(broker: Broker) -> Any:
    """Codes and messages of refused topics."""
    known, node = broker.topic(), broker.node_id()
    dotted = broker.fresh().replace("-", ".")
    broker.create_raw(dotted)
    fresh = broker.fresh
    return {
        "exists": _told(broker, known),
        "exists_validate": _told(broker, known, validate_only=True),
        "collides": [_told(broker, dotted.replace(".", "_"))[0]],
        "empty": _told(broker, ""),
        "dot": _told(broker, "."),
        "dots": _told(broker, ".."),
        "space": _told(broker, "a b"),
        "long": _told(broker, "x" * 250)[0],
        "longest": _told(broker, fresh() + "x" * (249 - len(fresh())), validate_only=True)[0],
        "internal": _told(broker, "__consumer_offsets"),
        "partitions_0": _told(broker, fresh(), partitions=0),
        "partitions_minus_2": _told(broker, fresh(), partitions=-2),
        "factor_0": _told(broker, fresh(), replication_factor=0),
        "factor_2": _told(broker, fresh(), replication_factor=2),
        "factor_minus_2": _told(broker, fresh(), replication_factor=-2),
        "assigned_unknown": _told(
            broker, fresh(), partitions=-1, replication_factor=-1, assignments=[(0, [999])]
        ),
        "assigned_gap": _told(
            broker, fresh(), partitions=-1, replication_factor=-1, assignments=[(1, [node])]
        ),
        "assigned_empty": _told(
            broker, fresh(), partitions=-1, replication_factor=-1, assignments=[(0, [])]
        ),
        "assigned_twice": _told(
            broker, fresh(), partitions=-1, replication_factor=-1, assignments=[(0, [node, node])]
        ),
        "assigned_and_counted": _told(broker, fresh(), assignments=[(0, [node])]),
    }


@case
def createtopics__bad_configs(broker: Broker) -> Any:
    """Unknown names and values out of range, with their messages."""
    wrong: dict[str, dict[str, str | None]] = {
        "unknown": {"nonsense": "1"},
        "not_a_number": {"retention.ms": "x"},
        "too_small": {"segment.bytes": "1"},
        "not_in_list": {"cleanup.policy": "keep"},
        "not_a_ratio": {"min.cleanable.dirty.ratio": "2"},
        "not_a_boolean": {"preallocate": "maybe"},
        "compression": {"compression.type": "brotli"},
        "timestamp": {"message.timestamp.type": "Never"},
        "null": {"retention.ms": None},
        "local": {"local.retention.ms": "99", "retention.ms": "9"},
        "broker_setting": {"log.retention.hours": "1"},
        "empty_policy": {"cleanup.policy": ""},
    }
    return {name: _told(broker, broker.fresh(), configs=cfg) for name, cfg in wrong.items()}


@case
def createtopics__defaults_and_assignments(broker: Broker) -> Any:
    """-1 for the broker's defaults; assignments of replicas."""
    node = broker.node_id()
    default = broker.create_raw(broker.fresh(), partitions=-1, replication_factor=-1)
    assigned = broker.create_raw(
        broker.fresh(),
        partitions=-1,
        replication_factor=-1,
        assignments=[(1, [node]), (0, [node]), (2, [node])],
    )
    return [
        [error_name(a["error_code"]), a["num_partitions"], a["replication_factor"]]
        for a in (default, assigned)
    ]


@case
def createtopics__defaults_need_version_4(broker: Broker) -> Any:
    """Before KIP-464, -1 was valid only with assignments."""
    return {
        f"v{v}": _told(broker, broker.fresh(), partitions=-1, replication_factor=-1, version=v)
        for v in (2, 3, 4, 5)
    }


@case
def createtopics__many_at_once(broker: Broker) -> Any:
    """Good topics beside bad ones; a name twice; the order of the answers."""
    good, twice, known = broker.fresh(), broker.fresh(), broker.topic()
    topics = [
        {"name": name, "num_partitions": 1, "replication_factor": 1}
        for name in (good, "a b", twice, known, twice)
    ]
    body = {"topics": topics, "timeout_ms": 5000, "validate_only": False}
    answer = broker.call("CreateTopics", 5, body)
    places = {good: "good", twice: "twice", known: "known"}
    told = [
        [places.get(topic["name"], topic["name"]), error_name(topic["error_code"])]
        for topic in answer["topics"]
    ]
    return [sorted(told), topic_errors(broker.metadata([good, twice]))]


@case
def createtopics__is_there_at_once(broker: Broker) -> Any:
    """Produce right after the answer, and again after a deletion."""
    name, out = broker.fresh(), []
    for _ in range(3):
        out.append(error_name(broker.create_raw(name)["error_code"]))
        unknown = frozenset({"UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER"})
        out.append(retrying(lambda: broker.produced(name, batch())[0], transient=unknown))
        out.append(broker.delete_topic(name))
    return out


def _deleted(broker: Broker, *topics: Answer, version: int = 6) -> list[Answer]:
    body = {"topics": list(topics), "timeout_ms": 5000}
    answer: list[Answer] = broker.call("DeleteTopics", version, body)["responses"]
    return answer


@case
def deletetopics__all_versions(broker: Broker) -> Any:
    """Deletion by name, and the answer."""
    out = {}
    for version in range(1, 7):
        topic = broker.topic()
        if version >= 6:
            answer = _deleted(broker, {"name": topic, "topic_id": ZERO_ID})[0]
            answer["topic_id"] = answer["topic_id"] == broker.topic_ids[topic]
        else:
            body = {"topic_names": [topic], "timeout_ms": 5000}
            answer = broker.call("DeleteTopics", version, body)["responses"][0]
        answer["name"] = answer["name"] == topic
        out[f"v{version}"] = answer
    return out


@case
def deletetopics__errors(broker: Broker) -> Any:
    """Unknown names and ids, ids with names, the same topic twice."""
    topic, other = broker.topic(), broker.topic()
    topic_id = broker.topic_ids[topic]
    by_name, by_id = {"name": topic, "topic_id": ZERO_ID}, {"name": None, "topic_id": topic_id}
    asked: dict[str, list[Answer]] = {
        "unknown_name": [{"name": NO_SUCH_TOPIC, "topic_id": ZERO_ID}],
        "unknown_id": [{"name": None, "topic_id": uuid.uuid4()}],
        "both": [{"name": topic, "topic_id": topic_id}],
        "neither": [{"name": None, "topic_id": ZERO_ID}],
        "name_twice": [by_name, by_name],
        "id_twice": [by_id, by_id],
        "name_and_id": [by_name, by_id],
        "beside_unknown": [
            {"name": other, "topic_id": ZERO_ID},
            {"name": NO_SUCH_TOPIC, "topic_id": ZERO_ID},
        ],
        "bad_name": [{"name": "a b", "topic_id": ZERO_ID}],
        "nothing": [],
    }
    names = {topic: "T", other: "O"}

    def told(answer: Answer) -> list[Any]:
        message = answer["error_message"]
        for name, letter in names.items():
            message = message and message.replace(name, letter)
        ids = (str(topic_id), str(answer["topic_id"]))
        if message and any(text in message for text in ids):
            message = "..."
        return [
            error_name(answer["error_code"]),
            message,
            names.get(answer["name"], answer["name"]),
        ]

    return {
        name: sorted((told(a) for a in _deleted(broker, *topics)), key=str)
        for name, topics in asked.items()
    }


@case
def deletetopics__by_id(broker: Broker, topic: str) -> Any:
    answer = _deleted(broker, {"name": None, "topic_id": broker.topic_ids[topic]})[0]
    gone = until(lambda: topic_errors(broker.metadata([topic])), lambda e: e != ["NONE"])
    return [
        error_name(answer["error_code"]),
        answer["name"] == topic,
        answer["topic_id"] == broker.topic_ids[topic],
        gone,
        broker.produced(topic, batch(), version=9)[0],
        broker.list_offset(topic)[0],
    ]


@case
def deletetopics__data_is_gone(broker: Broker) -> Any:
    """A topic of the same name starts at offset 0, with its own configs."""
    topic = broker.filled_topic(3, retention_ms=1_000_000)
    broker.delete_topic(topic)
    until(lambda: topic_errors(broker.metadata([topic])), lambda e: e != ["NONE"])
    broker.create_raw(topic)
    until(lambda: broker.list_offset(topic)[0], lambda error: error == "NONE")
    body = {
        "resources": [
            {"resource_type": 2, "resource_name": topic, "configuration_keys": ["retention.ms"]}
        ]
    }
    config = broker.call("DescribeConfigs", 1, body)["results"][0]["configs"][0]
    return [broker.ends(topic), config["value"], config["config_source"]]


@case
def partitions__create(broker: Broker) -> Any:
    topic, node = broker.topic(2), broker.node_id()

    def grown(count: int, name: str = topic, **fields: Any) -> str:
        return str(_partitions(broker, count, name, **fields)[0])

    out: dict[str, Any] = {
        "validate": grown(3, validate_only=True),
        "grow": grown(4),
        "same": grown(4),
        "fewer": grown(1),
        "zero": grown(0),
        "negative": grown(-1),
        "unknown": grown(3, NO_SUCH_TOPIC),
        "assigned": grown(5, assignments=[[node]]),
        "assigned_wrong_count": grown(7, assignments=[[node]]),
        "assigned_unknown": grown(6, assignments=[[999]]),
    }
    out["count"] = until(
        lambda: len(broker.metadata([topic])["topics"][0]["partitions"]), lambda n: n >= 5
    )
    unknown = frozenset({"UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER"})
    out["produce"] = retrying(lambda: broker.produced(topic, batch(), 4)[0], transient=unknown)
    return out


def _partitions(
    broker: Broker,
    count: int,
    name: str,
    *,
    validate_only: bool = False,
    assignments: list[list[int]] | None = None,
    version: int = 3,
) -> list[Any]:
    """CreatePartitions for one topic: error name and message."""
    given = None
    if assignments is not None:
        given = [{"broker_ids": brokers} for brokers in assignments]
    topic = {"name": name, "count": count, "assignments": given}
    body = {"topics": [topic], "timeout_ms": 5000, "validate_only": validate_only}
    answer = broker.call("CreatePartitions", version, body)["results"][0]
    message = answer["error_message"]
    return [error_name(answer["error_code"]), message and message.replace(name, "T")]


@case
def partitions__messages(broker: Broker) -> Any:
    topic, node = broker.topic(2), broker.node_id()
    return {
        "same": _partitions(broker, 2, topic),
        "fewer": _partitions(broker, 1, topic),
        "negative": _partitions(broker, -1, topic),
        "unknown": _partitions(broker, 3, NO_SUCH_TOPIC),
        "wrong_count": _partitions(broker, 5, topic, assignments=[[node]]),
        "unknown_broker": _partitions(broker, 3, topic, assignments=[[999]]),
        "two_replicas": _partitions(broker, 3, topic, assignments=[[node, node]]),
        "no_replicas": _partitions(broker, 3, topic, assignments=[[]]),
        "internal": _partitions(broker, 1, "__consumer_offsets"),
        "bad_name": _partitions(broker, 3, "a b"),
    }


@case
def partitions__same_topic_twice(broker: Broker) -> Any:
    topic, other = broker.topic(), broker.topic()
    topics = [
        {"name": name, "count": count, "assignments": None}
        for name, count in ((topic, 2), (other, 2), (topic, 3))
    ]
    body = {"topics": topics, "timeout_ms": 5000, "validate_only": False}
    results = broker.call("CreatePartitions", 2, body)["results"]
    return sorted(
        ["T" if r["name"] == topic else "O", error_name(r["error_code"])] for r in results
    )


@case
def partitions__all_versions(broker: Broker, topic: str) -> Any:
    return {f"v{v}": _partitions(broker, v + 2, topic, version=v) for v in range(4)}
