"""Scenes of elections and reassignments on three brokers, 1 to 3; see `admin_requests`."""

from __future__ import annotations

from typing import Any, Final

from tests.broker.handlers.topic_requests import Step, create, delete, topic

MOVED: Final = "moved"


def reassigned(replicas: dict[int, list[int] | None], *, resize: bool = True) -> list[Step]:
    """Partitions get replicas; then what waits, and how they are."""
    partitions = [
        {"partition_index": index, "replicas": wanted} for index, wanted in replicas.items()
    ]
    body = {
        "timeout_ms": 5000,
        "allow_replication_factor_change": resize,
        "topics": [{"name": MOVED, "partitions": partitions}],
    }
    return [Step("AlterPartitionReassignments", 1, body), *seen()]


def elected(*partitions: int, kind: int = 0, every: bool = False) -> list[Step]:
    """An election; then how the partitions are."""
    asked = [{"topic": MOVED, "partitions": list(partitions)}]
    body: dict[str, Any] = {
        "election_type": kind,
        "topic_partitions": None if every else asked,
        "timeout_ms": 5000,
    }
    return [Step("ElectLeaders", 2, body), *seen()]


def seen() -> list[Step]:
    return [
        Step("ListPartitionReassignments", 0, {"timeout_ms": 5000, "topics": None}),
        Step(
            "DescribeTopicPartitions",
            0,
            {"topics": [{"name": MOVED}], "response_partition_limit": 99, "cursor": None},
        ),
    ]


# Not asked of a broker but done to one, whose id takes the place of the version.
STOP, START = "stop", "start"


def done(what: str, node_id: int) -> list[Step]:
    return [Step(what, node_id, {}), *seen()]


CLUSTER_SCENES: Final[dict[str, list[Step]]] = {
    "partitions that move": [
        create(topic(MOVED, assigned=[(0, [1, 2]), (1, [2, 3]), (2, [3, 1])])),
        *seen(),
        *elected(0, 1, 2),
        *elected(0, kind=1),
        *reassigned({0: [2, 1]}),
        *elected(0),
        *elected(0),
        *reassigned({0: [3]}),
        *reassigned({0: [1, 2, 3]}),
        *reassigned({0: [1, 2, 3]}),
        *reassigned({0: [3, 2, 1], 1: [1, 3], 2: [9]}),
        *elected(every=True),
        *elected(every=True),
        *reassigned({0: [1, 2]}, resize=False),
        *reassigned({0: [1, 1, 2]}, resize=False),
        *reassigned({0: [2, 3, 1]}, resize=False),
        *reassigned({0: None, 1: [2]}),
        *elected(every=True, kind=1),
        *reassigned({0: [1], 1: [1], 2: [1]}),
        *elected(0, 1, 2, 3),
        delete(MOVED),
    ],
    "partitions that move to a broker that is away": [
        create(topic(MOVED, assigned=[(0, [1]), (1, [3]), (2, [1]), (3, [2])])),
        *reassigned({2: [1, 3], 3: [2, 3]}),
        *done(STOP, 3),
        *reassigned({0: [3]}),
        *reassigned({0: [3, 2]}),
        *reassigned({0: [2, 1]}),
        *reassigned({0: [3]}),
        *reassigned({0: None}),
        *reassigned({2: [3]}),
        *reassigned({2: None}),
        *reassigned({2: [1]}),
        *reassigned({3: [3]}),
        *(step for index in (1, 3) for kind in (0, 1) for step in elected(index, kind=kind)),
        *reassigned({0: [3]}),
        *reassigned({1: [1]}),
        *reassigned({1: None}),
        *reassigned({0: [3, 1]}, resize=False),
        *reassigned({0: [1]}, resize=False),
        *done(START, 3),
        *done(STOP, 3),
        Step("UnregisterBroker", 0, {"broker_id": 3}),
        *seen(),
        Step("DescribeCluster", 2, {"include_fenced_brokers": True}),
        *reassigned({2: [3]}),
        *done(START, 3),
        Step("DescribeCluster", 2, {"include_fenced_brokers": True}),
        *elected(0, 1, 2, 3),
        delete(MOVED),
    ],
}
