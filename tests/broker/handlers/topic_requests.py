"""Requests about topics, in scenes, and what Apache Kafka 4.1.1 answered to each.

A scene is a list of requests made one after the other; `topic_answers.json` has the answers, made
comparable: errors by name, topic ids as "id of NAME", settings that are not Kafka's defaults only.
`python -m tests.broker.handlers.topic_requests HOST:PORT` records them from an Apache Kafka.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.wire.client import Closed, Connection, error_name

ANSWERS = Path(__file__).with_name("topic_answers.json")
ZERO = UUID(int=0)
STRANGER = UUID(int=77)
DEFAULT_SOURCE = 5
CLOSED = "the connection is closed"


@dataclass(frozen=True)
class IdOf:
    """The id that a topic got earlier in the scene."""

    name: str


@dataclass(frozen=True)
class Step:
    """One request."""

    api: str
    version: int
    body: Mapping[str, Any]


def topic(name: str, partitions: int = -1, replicas: int = -1, **fields: Any) -> dict[str, Any]:
    configs = fields.pop("configs", {})
    assigned = fields.pop("assigned", [])
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replicas,
        "assignments": [{"partition_index": p, "broker_ids": ids} for p, ids in assigned],
        "configs": [{"name": key, "value": value} for key, value in configs.items()],
    }


def create(
    *topics: dict[str, Any] | str, version: int = 7, dry: bool = False, timeout_ms: int = 5000
) -> Step:
    wanted = [topic(each) if isinstance(each, str) else each for each in topics]
    body = {"topics": wanted, "timeout_ms": timeout_ms, "validate_only": dry}
    return Step("CreateTopics", version, body)


def delete(*names: str, version: int = 5, timeout_ms: int = 5000) -> Step:
    return Step("DeleteTopics", version, {"topic_names": list(names), "timeout_ms": timeout_ms})


def delete_by(*named: tuple[str | None, UUID | IdOf | None], timeout_ms: int = 5000) -> Step:
    topics = [{"name": name, "topic_id": topic_id or ZERO} for name, topic_id in named]
    return Step("DeleteTopics", 6, {"topics": topics, "timeout_ms": timeout_ms})


def grow(
    *topics: tuple[str, int] | tuple[str, int, list[list[int]]],
    version: int = 3,
    dry: bool = False,
    timeout_ms: int = 5000,
) -> Step:
    wanted = [
        {
            "name": name,
            "count": count,
            "assignments": [{"broker_ids": ids} for ids in rest[0]] if rest else None,
        }
        for name, count, *rest in topics
    ]
    body = {"topics": wanted, "timeout_ms": timeout_ms, "validate_only": dry}
    return Step("CreatePartitions", version, body)


def metadata(*names: str, version: int = 9, auto: bool = False, **fields: Any) -> Step:
    body: dict[str, Any] = {"topics": [{"name": name} for name in names], **fields}
    if version >= 4:
        body["allow_auto_topic_creation"] = auto
    return Step("Metadata", version, body)


def metadata_by(
    *named: tuple[UUID | IdOf | None, str | None], version: int = 12, **fields: Any
) -> Step:
    topics = [{"topic_id": topic_id or ZERO, "name": name} for topic_id, name in named]
    body = {"topics": topics, "allow_auto_topic_creation": False, **fields}
    return Step("Metadata", version, body)


def describe(*names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Step:
    place = cursor and {"topic_name": cursor[0], "partition_index": cursor[1]}
    topics = [{"name": name} for name in names]
    body = {"topics": topics, "response_partition_limit": limit, "cursor": place}
    return Step("DescribeTopicPartitions", 0, body)


def cluster(version: int, *, operations: bool = False, **fields: Any) -> Step:
    body = {"include_cluster_authorized_operations": operations, **fields}
    return Step("DescribeCluster", version, body)


def coordinator(version: int, key_type: int, *keys: str) -> Step:
    body: dict[str, Any] = {"coordinator_keys": list(keys)} if version >= 4 else {"key": keys[0]}
    if version >= 1:
        body["key_type"] = key_type
    return Step("FindCoordinator", version, body)


LONGEST = "n" * 249
ILL_NAMED = ("", ".", "..", "a b", "a/b", "é", "a:b", LONGEST + "n")
SHARE_KEY = "shares:AAAAAAAAAAAAAAAAAAAAAQ:0"

SCENES: dict[str, list[Step]] = {
    "create: versions": [
        step
        for version in range(2, 8)
        for step in (
            create(topic(f"v{version}", 2, 1), version=version),
            create(topic(f"v{version}", 2, 1), version=version),
            create(topic(f"w{version}"), version=version),
        )
    ],
    "create: names": [
        *(create(name, dry=True) for name in (*ILL_NAMED, LONGEST, "_ok-1.2")),
        create("__cluster_metadata"),
        create("__consumer_offsets"),
        create(topic("__transaction_state", replicas=0)),
        create("same_name"),
        create("same.name"),
        create("same_name"),
        create("same_other", "same.other", dry=True),
        delete("same_name"),
        create("same.name"),
    ],
    "create: names alike": [
        create("twin_a", "twin.a", dry=True),
        create("twin_a", "twin.a"),
        create("twin_a"),
        delete("twin_a"),
        create("twin_a", "twin.b", "twin_b"),
        create("two.of.us", "two_of.us", "two.of_us", topic("two_of_us", 0)),
        create("two_of_us", "two.of.us"),
        create("two.of.you", version=2),
        metadata("three.of_you", "three_of.you", auto=True),
        metadata("twin_a", "twin.a", "twin_b", "twin.b"),
        metadata("two_of.us", "two.of_us"),
        metadata("three.of_you", "three_of.you", "three.of.you", auto=True),
        metadata("three.of_you", "three_of.you", "three.of.you"),
    ],
    "create: numbers": [
        *(
            create(topic("numbers", partitions, replicas))
            for partitions, replicas in (
                (-1, 0), (-1, -2), (-1, 2), (-1, 32767), (0, -1), (-2, -1), (0, 0), (1, 2)
            )
        ),
        create(topic("numbers", 10001), dry=True),
        create(topic("numbers", 10000), dry=True),
        create(topic("numbers", 9999), dry=True),
        create(topic("numbers", 6000), topic("numbers2", 6000), dry=True),
        create(topic("numbers", 6000), topic("..", 6000), "numbers2", dry=True),
        create(topic("numbers", 6000), topic("numbers", 6000), topic("more", 6000), dry=True),
        create(topic("numbers", 0), topic("numbers2", 9999), topic("numbers3", 2), dry=True),
        metadata("numbers", "numbers2", "more"),
    ],
    "create: assignments": [
        create(topic("assigned", 1, -1, assigned=[(0, [1])])),
        create(topic("assigned", -1, 1, assigned=[(0, [1])])),
        create(topic("assigned", 1, 1, assigned=[(0, [1])])),
        create(topic("assigned", assigned=[(0, [1]), (0, [1])])),
        create(topic("assigned", assigned=[(0, [1]), (2, [1])])),
        create(topic("assigned", assigned=[(-1, [1])])),
        create(topic("assigned", assigned=[(1, [1])])),
        create(topic("assigned", assigned=[(0, [])])),
        create(topic("assigned", assigned=[(0, [99])])),
        create(topic("assigned", assigned=[(0, [1, 1])])),
        create(topic("assigned", assigned=[(0, [1]), (1, [1, 99])])),
        create(topic("assigned", assigned=[(0, [1]), (1, [])])),
        create(topic("assigned", assigned=[(1, [1]), (0, [1])])),
        metadata("assigned"),
    ],
    "create: settings": [
        create(topic("settings", configs={"retention.ms": "5", "cleanup.policy": "compact"})),
        create(topic("no", configs={"retention.ms": None, "segment.ms": None})),
        create(topic("no", configs={"nonsense": None, "retention.ms": "x"})),
        create(topic("no", configs={"nonsense": "1", "retention.ms": "x"})),
        create(topic("no", configs={"": "1"})),
        create(topic("no", configs={"retention.ms": "x"})),
        create(topic("no", configs={"retention.ms": "-2"})),
        create(topic("no", configs={"cleanup.policy": "foo"})),
        create(topic("no", configs={"segment.bytes": "1"})),
        create(topic("no", configs={"preallocate": "maybe"})),
        create(topic("no", configs={"min.insync.replicas": "0"})),
        create(topic("no", configs={"message.format.version": "3.0"})),
        create(topic("no", configs={"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "5"})),
        create(topic("no", configs={"remote.storage.enable": "true"})),
        create(topic("no", 0, configs={"retention.ms": "x"})),
        create(topic("settings", configs={"retention.ms": "x"})),
        create(topic("yes", configs={"cleanup.policy": ""}), dry=True),
        create(topic("yes", configs={"min.insync.replicas": "2"}), dry=True),
        create(topic("yes5", configs={"max.message.bytes": "9"}), version=5),
        create(topic("yes4", configs={"max.message.bytes": "9"}), version=4),
        metadata("no", "yes", "yes4"),
    ],
    "create: several": [
        create(),
        create("..", "one", "__cluster_metadata", "__consumer_offsets", "two"),
        create("twice", "other", "twice", "third", "twice"),
        metadata("one", "two", "twice", "other"),
        create("late", "late", "..", "__cluster_metadata", timeout_ms=0),
        create("late", timeout_ms=-1),
        metadata("late"),
        create("dry", dry=True),
        metadata("dry"),
        create("dry"),
    ],
    "delete": [
        create("a", "b", "c", "d", "e"),
        *(delete("nobody", version=version) for version in range(1, 6)),
        delete_by(("nobody", None)),
        delete_by((None, STRANGER)),
        delete_by((None, None)),
        delete_by(("a", IdOf("a"))),
        delete_by(("a", None), ("a", None)),
        delete_by(("a", None), ("a", None), ("a", None)),
        delete_by((None, IdOf("a")), (None, IdOf("a"))),
        delete_by(("a", None), (None, IdOf("a"))),
        delete_by(("..", None)),
        delete_by(("", None)),
        delete_by(("__cluster_metadata", None)),
        delete_by(),
        delete("a", "a"),
        metadata("a"),
        delete_by(("a", None), timeout_ms=0),
        delete("a", timeout_ms=-1),
        delete_by(("a", None), ("a", None), (None, STRANGER), timeout_ms=0),
        metadata("a"),
        delete_by((None, IdOf("a"))),
        metadata("a"),
        metadata_by((IdOf("a"), None)),
        delete_by(("b", None)),
        delete("c", version=1),
        delete("c", version=1),
        delete("d", version=5),
        delete("e", version=4),
        create("a"),
        metadata("a"),
    ],
    "partitions": [
        create(topic("few", 2), topic("one", 1)),
        *(grow(("few", count)) for count in (2, 1, 0, -5)),
        *(grow(("nobody", 3), version=version) for version in range(4)),
        grow(("..", 3)),
        grow(("__cluster_metadata", 3)),
        grow(("few", 3, [])),
        grow(("few", 5, [[1]])),
        grow(("few", 3, [[99]])),
        grow(("few", 3, [[]])),
        grow(("few", 3, [[1, 1]])),
        grow(("few", 3, [[1, 99]])),
        grow(("few", 3), ("few", 4), ("one", 9), dry=True),
        grow(("few", 20000), dry=True),
        grow(("few", 2**31 - 1), dry=True),
        grow(("few", 10003), dry=True),
        grow(("few", 10002), dry=True),
        grow(),
        grow(("nobody", 3), ("few", 3), ("one", 1), dry=True),
        grow(("few", 3), timeout_ms=0),
        grow(("few", 3), ("few", 3), timeout_ms=-1),
        metadata("few"),
        grow(("few", 3), version=0),
        grow(("few", 5, [[1], [1]])),
        metadata("few"),
        describe("few"),
    ],
    "metadata: versions": [
        create(topic("meta", 2)),
        *(metadata("meta", "nobody", version=version) for version in range(4, 14)),
        *(metadata("meta", version=version) for version in range(4)),
        *(metadata(version=version) for version in (1, 9, 12, 13)),
    ],
    "metadata: operations": [
        create("meta"),
        *(
            metadata("meta", "nobody", "", version=version, **asked)
            for version in range(8, 11)
            for asked in (
                {"include_topic_authorized_operations": True},
                {"include_cluster_authorized_operations": True},
            )
        ),
        *(
            metadata("meta", "nobody", version=version, include_topic_authorized_operations=True)
            for version in range(11, 14)
        ),
        metadata_by((STRANGER, None), include_topic_authorized_operations=True),
    ],
    "metadata: names": [
        create("here", "there"),
        *(metadata(*ILL_NAMED[:3], version=version, auto=True) for version in (0, 1, 9, 12)),
        metadata(*ILL_NAMED[:3]),
        *(metadata(name, auto=True) for name in ILL_NAMED),
        metadata("here", "here", "nobody", "nobody"),
        metadata("nobody", "here", "anybody", "there"),
        metadata("__cluster_metadata", auto=True),
        metadata("__cluster_metadata"),
    ],
    "metadata: made when asked for": [
        step
        for version in (0, 1, 3, 4, 8, 13)
        for step in (
            metadata(f"auto{version}", version=version, auto=True),
            metadata(f"auto{version}", version=9),
        )
    ]
    + [
        metadata("not-auto"),
        metadata("not-auto"),
        create("auto_collides"),
        metadata("auto.collides", auto=True),
        metadata("auto.collides"),
    ],
    "metadata: ids": [
        create("here", "there"),
        metadata_by((IdOf("here"), None)),
        metadata_by((IdOf("here"), None), (None, "there")),
        metadata_by((STRANGER, None), (IdOf("here"), None), (UUID(int=78), "x")),
        metadata_by((IdOf("here"), None), (IdOf("here"), None)),
        metadata_by((None, None)),
        metadata_by((None, None), (None, "here")),
        metadata_by((None, None), (IdOf("here"), None)),
        metadata_by((IdOf("here"), "nobody")),
        metadata_by((None, "here")),
        metadata_by((IdOf("here"), None), version=13),
        metadata_by((None, None), version=13),
        *(
            metadata_by(*asked, version=version)
            for version in (10, 11)
            for asked in (
                [(IdOf("here"), None)],
                [(IdOf("here"), "here")],
                [(None, None)],
                [(None, "here"), (IdOf("here"), "zz"), (None, None)],
                [(None, "here")],
            )
        ),
    ],
    "describe partitions": [
        create(topic("p-a"), topic("p-b", 3), topic("p-c")),
        describe("p-b"),
        describe("nobody", "p-a"),
        describe("p-b", "p-a", "aaa"),
        describe("p-a", "p-a"),
        describe("..", ""),
        describe("zz z", "p-a"),
        *(describe("p-a", "p-b", "p-c", limit=limit) for limit in (1, 2, 3, 4, 5, 0, -1, 2001)),
        describe("p-a", "p-b", "p-c", cursor=("p-b", 1)),
        describe("p-a", "p-b", "p-c", cursor=("p-b", 1), limit=1),
        describe("p-a", "p-b", "p-c", cursor=("p-b", 9)),
        describe("p-b", cursor=("p-b", -1)),
        describe("p-a", "p-c", cursor=("p-b", 1)),
        describe("p-a", "p-c", cursor=("nobody", 1)),
        describe("p-a", cursor=("", 0)),
        describe("p-a", "p-nobody", cursor=("p-nobody", 1)),
        describe("nobody1", "nobody2", "p-b", limit=2),
        describe("p-b", "p-nobody1", "p-nobody2", limit=3),
        describe("p-b", limit=3),
        describe("p-b", "p-c", limit=3),
        describe("__consumer_offsets", limit=1),
        describe("__cluster_metadata"),
    ],
    "cluster": [
        *(cluster(version, operations=asked) for version in range(3) for asked in (True, False)),
        *(
            cluster(version, endpoint_type=kind)
            for version in (1, 2)
            for kind in (1, 2, 3, 0, -1)
        ),
        cluster(2, endpoint_type=1, include_fenced_brokers=True),
        cluster(2, endpoint_type=2, include_fenced_brokers=True),
    ],
    "coordinators": [
        coordinator(0, 0, "k"),
        coordinator(0, 0, ""),
        *(
            coordinator(version, kind, "k")
            for version in range(1, 4)
            for kind in (0, 1, 2, 3, -1)
        ),
        *(
            coordinator(version, kind, "k", "", "k")
            for version in range(4, 7)
            for kind in (0, 1, 2, 3, -1)
        ),
        coordinator(4, 0),
        coordinator(5, 2, SHARE_KEY),
        coordinator(6, 2, SHARE_KEY, "shares:x:0", "shares:1", "", SHARE_KEY[:-2], SHARE_KEY + "x"),
        coordinator(6, 2, "k", SHARE_KEY, ":AAAAAAAAAAAAAAAAAAAAAQ:0", SHARE_KEY[:-1] + "-1"),
    ],
    "internal topics": [
        metadata("__consumer_offsets", "__transaction_state", "__share_group_state", version=9),
        describe("__transaction_state", limit=2),
        grow(("__consumer_offsets", 51), dry=True),
    ],
}  # fmt: skip

PRELUDE = [coordinator(6, 0, "k"), coordinator(6, 1, "k"), coordinator(6, 2, SHARE_KEY)]
"""What makes the internal topics."""


def play(
    scene: str, call: Callable[[Step], Mapping[str, Any] | None], pause: Callable[[], None]
) -> list[Any]:
    """Make the requests of a scene; the answers, made comparable.

    Args:
        call: makes one request; None is a closed connection.
        pause: waits until what a request has begun is done.
    """
    names: dict[UUID, str] = {}
    answers = []
    for step in SCENES[scene]:
        ids = {name: topic_id for topic_id, name in names.items()}
        answer = call(Step(step.api, step.version, resolved(step.body, ids)))
        if answer is None:
            answers.append(CLOSED)
            continue
        _learn(answer, names)
        answers.append(_comparable(answer, names))
        if step.api != "FindCoordinator":
            pause()
    return answers


def resolved(value: Any, ids: Mapping[str, UUID]) -> Any:
    """A request with the ids of topics in the place of those that were meant."""
    match value:
        case IdOf():
            return ids[value.name]
        case dict():
            return {key: resolved(each, ids) for key, each in value.items()}
        case list():
            return [resolved(each, ids) for each in value]
        case _:
            return value


def _learn(answer: Any, names: dict[UUID, str]) -> None:
    for each in answer.get("topics", []):
        if each.get("topic_id") and each.get("name") and not each["error_code"]:
            names[each["topic_id"]] = each["name"]


def _comparable(value: Any, names: Mapping[UUID, str]) -> Any:
    if isinstance(value, UUID):
        return f"id of {names[value]}" if value in names else str(value)
    if isinstance(value, list):
        return [_comparable(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, each in value.items():
        if key == "throttle_time_ms":
            continue
        if key == "error_code":
            made[key] = error_name(each)
        elif key in ("host", "cluster_id") and each:
            made[key] = key.upper()
        elif key == "port" and each > 0:
            made[key] = "PORT"
        elif key == "configs":
            made[key] = _settings(each)
        elif key == "results":  # ... and so has CreatePartitions the topics
            made[key] = sorted(_comparable(each, names), key=lambda one: one["name"])
        elif key == "partitions":  # Metadata has them in the order of a hash table
            made[key] = sorted(_comparable(each, names), key=lambda one: one["partition_index"])
        else:
            made[key] = _comparable(each, names)
    return made


def _settings(entries: list[dict[str, Any]]) -> list[Any]:
    """How many there are, and those that are not Kafka's defaults."""
    ours = [
        [entry["name"], entry["value"], entry["config_source"]]
        for entry in entries
        if entry["config_source"] != DEFAULT_SOURCE or entry["read_only"] or entry["is_sensitive"]
    ]
    return [len(entries), *ours]


def recorded() -> dict[str, list[Any]]:
    answers: dict[str, list[Any]] = json.loads(ANSWERS.read_text())
    return answers


def record(host: str, port: int) -> None:
    """Play all scenes on an Apache Kafka; its topics of these names are deleted."""
    connection = Connection((host, port))

    def call(step: Step) -> Mapping[str, Any] | None:
        nonlocal connection
        try:
            return connection.call(step.api, step.version, step.body)
        except Closed:
            connection = Connection((host, port))
            return None

    def settle() -> None:
        time.sleep(0.1)

    def clean() -> None:
        present = connection.call("Metadata", 1, {"topics": None})["topics"]
        ours = {each["name"] for each in present} & _names_used()
        connection.call("DeleteTopics", 5, delete(*ours).body)
        settle()

    for step in PRELUDE:
        call(step)
        time.sleep(1)
    lines = []
    for scene in SCENES:
        clean()
        answers = ",\n".join(json.dumps(answer) for answer in play(scene, call, settle))
        lines.append(f"{json.dumps(scene)}: [\n{answers}\n]")
    clean()
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _names_used() -> set[str]:
    names = set()
    for steps in SCENES.values():
        for step in steps:
            for each in step.body.get("topics") or []:
                names.add(each["name"])
    return {name for name in names if name and not name.startswith("__")}


if __name__ == "__main__":
    where, _, number = sys.argv[1].rpartition(":")
    record(where, int(number))
