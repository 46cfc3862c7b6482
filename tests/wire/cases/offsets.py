"""OffsetCommit (8), OffsetFetch (9), OffsetDelete (47)."""

from __future__ import annotations

from typing import Any

from ..broker import NO_SUCH_TOPIC, Broker
from ..client import Answer, error_name, until
from ..groups import Member
from ..registry import case


@case
def offsets__all_versions(broker: Broker, topic: str) -> Any:
    out: dict[str, Any] = {
        f"commit-v{v}": broker.commit(broker.fresh("g"), topic, v, version=v) for v in range(2, 10)
    }
    group = broker.fresh("g")
    broker.commit(group, topic, 7)
    return out | {f"fetch-v{v}": broker.offsets(group, topic, version=v) for v in range(1, 10)}


@case
def offsets__metadata_and_epoch(broker: Broker) -> Any:
    """Metadata is returned byte for byte, null as empty, and the leader epoch as committed."""
    topic, group = broker.topic(6), broker.fresh("g")
    texts = ("", None, "é\0x", "m" * 4096, "m" * 4097)
    errors = [
        broker.commit(group, topic, i, partition=i, metadata=text) for i, text in enumerate(texts)
    ]
    epoch = {"partition_index": 5, "committed_offset": 5, "committed_leader_epoch": 3}
    body: Answer = {
        "group_id": group,
        "topics": [{"name": topic, "partitions": [epoch | {"committed_metadata": "e"}]}],
    }
    broker.call("OffsetCommit", 8, body)
    asked = {"group_id": group, "topics": [{"name": topic, "partition_indexes": list(range(6))}]}
    found = broker.call("OffsetFetch", 5, asked)["topics"][0]["partitions"]
    return errors, sorted(
        [
            part["partition_index"],
            part["committed_offset"],
            part["committed_leader_epoch"],
            (part["metadata"] or "")[:10],
            len(part["metadata"] or ""),
        ]
        for part in found
    )


@case
def offsets__commit_errors(broker: Broker) -> Any:
    """Unknown topics, partitions and members, old generations, an empty group id."""
    topic, group = broker.topic(), broker.fresh("g")
    member = broker.stable_member(group, topic=topic)
    outside = Member(broker, group)
    return {
        "unknown_topic": broker.commit(broker.fresh("g"), NO_SUCH_TOPIC, 1),
        "unknown_partition": broker.commit(broker.fresh("g"), topic, 1, partition=9),
        "empty_group": broker.commit("", topic, 1),
        "member": member.commit(topic, 1),
        "old_generation": member.but(generation_id=0).commit(topic, 1),
        "stranger": member.but(member_id="nobody").commit(topic, 1),
        "outside": outside.commit(topic, 1),
        "generation_without_group": Member(broker, broker.fresh("g"), "m", 3).commit(topic, 1),
        "negative_offset": broker.commit(broker.fresh("g"), topic, -5),
        "unknown_instance": member.but(instance="i9").commit(topic, 1),
    }


@case
def offsets__of_all_topics(broker: Broker) -> Any:
    """Null topics: all offsets of the group."""
    group, first, second = broker.fresh("g"), broker.topic(), broker.topic()
    broker.commit(group, first, 1)
    broker.commit(group, second, 2)
    found = broker.call("OffsetFetch", 5, {"group_id": group, "topics": None})
    groups = [{"group_id": name, "topics": None} for name in (group, broker.fresh("g"))]
    batched = broker.call("OffsetFetch", 8, {"groups": groups, "require_stable": False})
    nothing = broker.call("OffsetFetch", 5, {"group_id": group, "topics": []})
    return [
        sorted(p["committed_offset"] for topic in found["topics"] for p in topic["partitions"]),
        [[error_name(one["error_code"]), len(one["topics"])] for one in batched["groups"]],
        nothing["topics"],
    ]


@case
def offsets__fetch_errors(broker: Broker, topic: str) -> Any:
    body = {"group_id": broker.fresh("g"), "topics": [], "require_stable": False}
    return {
        "unknown_group": broker.offsets(broker.fresh("g"), topic),
        "empty_group": broker.offsets("", topic),
        "unknown_topic": broker.offsets(broker.fresh("g"), NO_SUCH_TOPIC),
        "no_topics": broker.call("OffsetFetch", 7, body)["topics"],
    }


@case
def offsets__delete(broker: Broker) -> Any:
    group, topic, other = broker.fresh("g"), broker.topic(2), broker.topic()
    broker.commit(group, topic, 5)

    def deleted(name: str, where: str, partition: int = 0) -> list[Any]:
        parts = [{"partition_index": partition}]
        body = {"group_id": name, "topics": [{"name": where, "partitions": parts}]}
        answer = broker.call("OffsetDelete", 0, body)
        found = [part for one in answer["topics"] for part in one["partitions"]]
        errors = [error_name(part["error_code"]) for part in found]
        return [error_name(answer["error_code"]), errors]

    subscribed = broker.fresh("g")
    member = broker.stable_member(subscribed, topic=topic)
    member.commit(topic, 1)
    member.commit(other, 1)
    return {
        "ok": deleted(group, topic),
        "then": broker.offsets(group, topic),
        "absent": deleted(group, topic, 1),
        "unknown_topic": deleted(group, NO_SUCH_TOPIC),
        "unknown_group": deleted(broker.fresh("g"), topic),
        "subscribed": deleted(subscribed, topic),
        "not_subscribed": deleted(subscribed, other),
        "empty_group": deleted("", topic),
    }


@case
def offsets__topic_deleted(broker: Broker) -> Any:
    """Offsets of a deleted topic are removed."""
    group, topic = broker.fresh("g"), broker.topic()
    broker.commit(group, topic, 5)
    broker.delete_topic(topic)
    return until(lambda: broker.offsets(group, topic), lambda offsets: offsets[0][0] == -1)


@case
def offsets__large_batch(broker: Broker) -> Any:
    """100 partitions in one commit."""
    group, topic = broker.fresh("g"), broker.topic(100)
    parts = [{"partition_index": i, "committed_offset": i} for i in range(100)]
    body = {"group_id": group, "topics": [{"name": topic, "partitions": parts}]}
    answer = broker.call("OffsetCommit", 8, body)["topics"][0]["partitions"]
    found = broker.offsets(group, topic, range(100))
    return [
        sorted({error_name(part["error_code"]) for part in answer}),
        [offset for offset, _ in found] == list(range(100)),
    ]
