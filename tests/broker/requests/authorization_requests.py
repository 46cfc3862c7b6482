"""Requests of a user with some rights, and the answers of Apache Kafka 4.1.1 for each right.

An owner at 127.0.0.1 may do everything. The user comes from 127.0.0.2 and has the rights of one
row of RIGHTS, on resources whose names begin with `mine`, and never on the resources `other`.
`authorization_answers.json` has the answer of each request with each row. Rows with equal answers
are listed together. `python -m tests.broker.requests.authorization_requests HOST:PORT` records them
again, from a new Apache Kafka with the settings of SETTINGS.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from ottla.protocol.acls import AclResource, Operation, PatternType
from tests.broker.handlers.topic_requests import CLOSED, Step, resolved
from tests.broker.requests.authorization_steps import (
    NAMES,
    NOBODY,
    STRANGER,
    Right,
    acl,
    all_steps,
    heartbeat,
    of_stranger,
    topics,
)
from tests.wire.client import TRANSIENT, Closed, Connection, NoAnswer, error_name, until

ANSWERS: Final = Path(__file__).with_name("authorization_answers.json")
OWNER: Final = "127.0.0.1"
SETTINGS: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
}

T, G, X, C = (
    AclResource.TOPIC,
    AclResource.GROUP,
    AclResource.TRANSACTIONAL_ID,
    AclResource.CLUSTER,
)
_ALONE: Final = {
    T: "READ WRITE CREATE DELETE ALTER DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
    G: "READ DELETE DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
    X: "WRITE DESCRIBE TWO_PHASE_COMMIT",
    C: "CREATE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS ALTER_CONFIGS IDEMPOTENT_WRITE",
}
RIGHTS: Final[dict[str, list[Right]]] = {
    "nothing": [],
    **{
        f"{resource.name} {name}": [(resource, Operation[name])]
        for resource, names in _ALONE.items()
        for name in names.split()
    },
    "to consume": [(T, Operation.READ), (G, Operation.READ)],
    "to watch": [(T, Operation.DESCRIBE), (G, Operation.DESCRIBE), (X, Operation.DESCRIBE)],
    "to describe and create": [(T, Operation.DESCRIBE), (T, Operation.CREATE)],
    "to create and show": [(T, Operation.CREATE), (T, Operation.DESCRIBE_CONFIGS)],
    "to create anywhere": [(C, Operation.CREATE), (T, Operation.DESCRIBE)],
    "to delete": [(T, Operation.DELETE), (T, Operation.DESCRIBE)],
    "transactions": [(X, Operation.WRITE), (T, Operation.WRITE)],
    "transactions with offsets": [
        (X, Operation.WRITE),
        (G, Operation.READ),
        (T, Operation.READ),
        (T, Operation.WRITE),
    ],
    "transactions of groups": [(X, Operation.WRITE), (G, Operation.READ)],
    "topics": [(T, Operation.ALL)],
    "groups": [(G, Operation.ALL)],
    "the cluster": [(C, Operation.ALL)],
}


GUARD: Final = [
    Step("CreateAcls", 3, {"creations": [acl((kind, Operation.ALL), OWNER, "*", literal)]})
    for literal in [PatternType.LITERAL]
    for kind in (C, T, G, X)
]
"""What makes every resource the owner's alone; the broker itself is at the owner's address."""


def grant(rights: list[Right]) -> Step:
    creations = [acl(right, STRANGER, "mine", PatternType.PREFIXED) for right in rights]
    return Step("CreateAcls", 3, {"creations": creations})


REVOKE: Final = Step("DeleteAcls", 3, {"filters": [of_stranger()]})
GRANTED: Final = Step("DescribeAcls", 3, of_stranger())


PRELUDE: Final = [
    *GUARD,
    Step(
        "CreateTopics",
        7,
        {
            "topics": [
                {"name": name, "num_partitions": 1, "replication_factor": 1} for name in NAMES
            ],
            "timeout_ms": 5000,
        },
    ),
    *(
        Step("FindCoordinator", 1, {"key": name, "key_type": kind})
        for kind in (0, 1)
        for name in NAMES
    ),
    *(
        Step(
            "OffsetCommit",
            8,
            {
                "group_id": name,
                "topics": [
                    {"name": each, "partitions": [{"partition_index": 0, "committed_offset": 3}]}
                    for each in NAMES
                ],
            },
        )
        for name in NAMES
    ),
    *(
        Step("InitProducerId", 4, {"transactional_id": name, "transaction_timeout_ms": 60_000})
        for name in (*NAMES, None)
    ),
    heartbeat("mine-own", 0, "mine"),
    heartbeat("mine-both", 0, "mine", "other"),
]
"""The first requests of the owner."""


# What differs from broker to broker, or from time to time.
WORDS: Final = (
    "broker_id", "controller_id", "leader_id", "node_id", "port", "producer_id", "base_offset",
    "offset", "end_offset", "high_watermark", "last_stable_offset", "log_start_offset",
    "low_watermark", "group_epoch", "assignment_epoch", "heartbeat_interval_ms",
    "transaction_start_time_ms", "last_timestamp", "leader_epoch",
    "replica_nodes", "isr_nodes", "brokers", "api_keys", "configs", "cluster_id", "host",
    "rack", "active_producers", "members", "producer_epoch", "node_endpoints", "nodes",
    "log_dir", "total_bytes", "usable_bytes",
)  # fmt: skip
_NEEDS: Final = re.compile(r"Request .* needs (\w+) permission")


def comparable(value: Any, names: Mapping[UUID, str]) -> Any:
    """An answer without what differs from broker to broker; an empty list stays one."""
    if isinstance(value, list):
        return sorted((comparable(each, names) for each in value), key=json.dumps)
    if isinstance(value, UUID):
        return names.get(value, "NOBODY" if value == NOBODY else "AN ID")
    if isinstance(value, bytes):
        return "BYTES" if value else ""
    if isinstance(value, str):
        return _NEEDS.sub(r"\1 needed", value)
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, each in value.items():
        if key == "throttle_time_ms":
            continue
        if key.endswith("error_code"):
            made[key] = error_name(each)
        elif key in WORDS and each not in (-1, "", [], None):
            made[key] = key.upper()
        else:
            made[key] = comparable(each, names)
    return made


Ask = Callable[[str, Step], Mapping[str, Any] | None]
"""Make a request from an address; None is a closed connection."""


def play(ask: Ask, steps: list[Step], settled: Callable[[int], None]) -> list[dict[str, list[str]]]:
    """The answers to each request, as JSON, and the rows of rights that it is answered with.

    Args:
        settled: called with the number of rights given; returns when they hold.
    """
    for step in PRELUDE:
        until(partial(ask, OWNER, step), _is_final)
    settled(0)
    told = ask(OWNER, Step("Metadata", 12, {"topics": topics(*NAMES)}))
    assert told is not None
    ids = {each["name"]: each["topic_id"] for each in told["topics"]}
    names = {topic_id: name for name, topic_id in ids.items()}
    found: list[dict[str, list[str]]] = [{} for _ in steps]
    for row, rights in RIGHTS.items():
        if rights:
            ask(OWNER, grant(rights))
            settled(len(rights))
        for step, answers in zip(steps, found, strict=True):
            answer = ask(STRANGER, Step(step.api, step.version, resolved(step.body, ids)))
            text = CLOSED if answer is None else json.dumps(comparable(answer, names))
            answers.setdefault(text, []).append(row)
        ask(OWNER, REVOKE)
        settled(0)
    return found


def _is_final(answer: Mapping[str, Any] | None) -> bool:
    """Whether a coordinator is ready."""
    text = json.dumps(comparable(answer, {}))
    return not any(code in text for code in TRANSIENT)


def recorded() -> list[dict[str, list[str]]]:
    """What Apache Kafka answered, as `play` returns it."""
    found: list[dict[str, list[str]]] = json.loads(ANSWERS.read_text())["answers"]
    return found


def asked_of(host: str, port: int) -> list[dict[str, list[str]]]:
    """A new broker's answers to all requests, in the form of `play`."""
    connections: dict[str, Connection] = {}

    def ask(address: str, step: Step) -> Mapping[str, Any] | None:
        if address not in connections:
            connections[address] = Connection((host, port), source=address)
        try:
            return connections[address].call(step.api, step.version, step.body)
        except (Closed, NoAnswer):
            connections.pop(address).close()
            return None

    def settled(count: int) -> None:
        def number(answer: Mapping[str, Any] | None) -> int:
            return -1 if answer is None else sum(len(each["acls"]) for each in answer["resources"])

        given = until(lambda: ask(OWNER, GRANTED), lambda told: number(told) == count)
        assert number(given) == count
        time.sleep(0.05)

    found = play(ask, all_steps(), settled)
    for connection in connections.values():
        connection.close()
    return found


def record(host: str, port: int) -> None:
    """Write down what an Apache Kafka answers."""
    lines = [json.dumps(each) for each in asked_of(host, port)]
    ANSWERS.write_text('{"answers": [\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    where, _, number = sys.argv[1].rpartition(":")
    record(where, int(number))
