"""Requests of administrators, in scenes, and what Apache Kafka 4.1.1 answered to each.

A scene is a list of requests made one after the other, on a broker of id 1 with topics `two`
(two partitions) and `one`; `admin_answers.json` has the answers, made comparable: errors by name,
times, ports and sizes of volumes as words, and lists in order where Kafka's have none.
`python -m tests.broker.handlers.admin_requests HOST:PORT` records them again. The Apache Kafka must
be new, because it still lists groups that had settings once. With `--cluster` the command records
the scenes of `cluster_scenes`, from three brokers.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from tests.broker.handlers.cluster_scenes import CLUSTER_SCENES, START, STOP
from tests.broker.handlers.config_scenes import CONFIG_SCENES
from tests.broker.handlers.record_scenes import RECORD_SCENES
from tests.broker.handlers.share_scenes import SHARE_SCENES
from tests.broker.handlers.topic_requests import CLOSED, Step, create, delete, topic
from tests.wire.batches import batch
from tests.wire.client import APIS, Address, Closed, Connection, error_name

ANSWERS: Final = Path(__file__).with_name("admin_answers.json")
CLUSTER_ANSWERS: Final = Path(__file__).with_name("cluster_answers.json")
MOVES: Final = ("AlterPartitionReassignments", "ElectLeaders", "UnregisterBroker")
METADATA: Final = "__cluster_metadata"
ZERO, STRANGER = UUID(int=0), UUID(int=77)
# Words for the broker's own directory and cluster.
HERE, CLUSTER = "HERE", "CLUSTER"

PRELUDE: Final = [create(topic("two", 2), topic("one", 1))]


def all_versions(api: str, versions: range, *bodies: Mapping[str, Any]) -> list[Step]:
    """Each body in each version, without the fields that a version does not have."""
    fields = APIS[api][0]._struct.fields
    return [
        Step(api, v, {key: value for key, value in body.items() if fields[key].for_version_q(v)})
        for v in versions
        for body in bodies
    ]


def produce(name: str, records: bytes) -> Step:
    data = [{"name": name, "partition_data": [{"index": 0, "records": records}]}]
    body = {"transactional_id": None, "acks": -1, "timeout_ms": 5000, "topic_data": data}
    return Step("Produce", 11, body)


def log_dirs(*asked: tuple[str, list[int]]) -> dict[str, Any]:
    return {"topics": [{"topic": name, "partitions": indexes} for name, indexes in asked]}


def moved(*wanted: tuple[str, str, list[int]]) -> dict[str, Any]:
    return {
        "dirs": [
            {"path": path, "topics": [{"name": name, "partitions": indexes}]}
            for path, name, indexes in wanted
        ]
    }


def elect(
    *asked: tuple[str, list[int]], kind: int = 0, timeout_ms: int = 5000, every: bool = False
) -> dict[str, Any]:
    partitions = [{"topic": name, "partitions": indexes} for name, indexes in asked]
    return {
        "election_type": kind,
        "topic_partitions": None if every else partitions,
        "timeout_ms": timeout_ms,
    }


def reassign(
    *wanted: tuple[str, dict[int, list[int] | None]], timeout_ms: int = 5000, resize: bool = True
) -> dict[str, Any]:
    return {
        "timeout_ms": timeout_ms,
        "allow_replication_factor_change": resize,
        "topics": [
            {
                "name": name,
                "partitions": [
                    {"partition_index": index, "replicas": replicas}
                    for index, replicas in partitions.items()
                ],
            }
            for name, partitions in wanted
        ],
    }


def reassignments(*asked: tuple[str, list[int]], every: bool = False) -> dict[str, Any]:
    topics = [{"name": name, "partition_indexes": indexes} for name, indexes in asked]
    return {"timeout_ms": 5000, "topics": None if every else topics}


def quorum(*asked: tuple[str, list[int]]) -> dict[str, Any]:
    return {
        "topics": [
            {"topic_name": name, "partitions": [{"partition_index": each} for each in indexes]}
            for name, indexes in asked
        ]
    }


def voter(
    node_id: int = 5, directory: UUID = STRANGER, cluster: str | None = None, **fields: Any
) -> dict[str, Any]:
    return {
        "cluster_id": cluster, "voter_id": node_id, "voter_directory_id": directory, **fields
    }  # fmt: skip


def listener(name: str) -> dict[str, Any]:
    return {"name": name, "host": "there", "port": 4}


def of_types(*types: int) -> dict[str, Any]:
    return {"resource_types": list(types)}


def set_config(resource_type: int, name: str, key: str, value: str | None) -> Step:
    """A setting, or none of it."""
    change = {"name": key, "config_operation": 1 if value is None else 0, "value": value}
    resource = {"resource_type": resource_type, "resource_name": name, "configs": [change]}
    return Step("IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False})


SOMEBODY: Final = {"principal_type": "User", "principal_name": "somebody"}
TOKEN: Final = {"renewers": [SOMEBODY], "max_lifetime_ms": -1}

SCENES: dict[str, list[Step]] = {
    "log directories": [
        produce("two", batch([b"x" * 99], timestamp=1_600_000_000_000)),
        *all_versions(
            "DescribeLogDirs",
            range(1, 5),
            log_dirs(("two", [0, 1, 9])),
            log_dirs(),
            {"topics": None},
        ),
        *all_versions(
            "DescribeLogDirs",
            range(4, 5),
            log_dirs(("two", [])),
            log_dirs(("two", [0]), ("two", [1])),
            log_dirs(("two", [0, 0]), ("one", [0]), ("nobody", [0])),
            log_dirs((METADATA, [0])),
            log_dirs(("..", [0])),
        ),
    ],
    "moves between log directories": all_versions(
        "AlterReplicaLogDirs",
        range(1, 3),
        moved((HERE, "two", [0, 1, 9])),
        moved(("/nowhere", "two", [0]), ("/nowhere", "nobody", [0])),
        moved(("nowhere", "two", [0])),
        moved((f"{HERE}/", "two", [0])),
        moved((HERE, "two", [0]), ("/nowhere", "two", [0])),
        moved(("/nowhere", "two", [0]), (HERE, "two", [0])),
        moved((HERE, METADATA, [0])),
        moved((HERE, "two", [])),
        moved((HERE, "two", [-1])),
        moved(),
    ),
    "elections": [
        *all_versions(
            "ElectLeaders",
            range(3),
            elect(("two", [0, 1, 9]), ("nobody", [0])),
            elect(),
            elect(every=True),
        ),
        *all_versions(
            "ElectLeaders",
            range(1, 3),
            elect(("two", [0, 1, 9]), ("nobody", [0]), kind=1),
            elect(every=True, kind=1),
            elect(("two", [0, 9]), ("nobody", [0]), kind=2),
            elect(every=True, kind=2),
            elect(("two", [0]), kind=-1),
            elect(("two", [0, 0])),
            elect(("two", [])),
            elect(("two", [0]), ("two", [1])),
            elect(("two", [-1])),
            elect(("..", [0]), ("", [0]), (METADATA, [0])),
            elect(("two", [0]), timeout_ms=0),
            elect(("two", [0]), timeout_ms=-5, kind=2),
            elect(timeout_ms=0),
            elect(every=True, timeout_ms=0),
        ),
    ],
    "reassignments": [
        *all_versions(
            "AlterPartitionReassignments",
            range(2),
            reassign(("two", {0: [1], 1: [99], 9: [1]}), ("nobody", {0: [1]})),
            reassign(("two", {0: None, 9: None}), ("nobody", {0: None})),
            reassign(),
            reassign(("two", {0: [], 1: [1, 1]})),
            reassign(("two", {0: [1, 99], 1: [-1, 99]})),
            reassign(("..", {0: [1]}), ("", {0: [1]}), (METADATA, {0: [1]})),
            reassign(("two", {-1: [1]})),
            reassign(("two", {})),
            reassign(("two", {0: [1]}), ("two", {1: [99]})),
            reassign(("two", {0: [1]}), timeout_ms=0),
            reassign(timeout_ms=0),
            reassign(("two", {0: [1], 1: [99]}), timeout_ms=-1),
            reassign(("two", {0: [1]}), resize=False),
            reassign(("two", {0: [1, 1], 1: [1, 99]}), resize=False),
        ),
        *all_versions(
            "ListPartitionReassignments",
            range(1),
            reassignments(every=True),
            reassignments(),
            reassignments(("two", [0, 1, 9])),
            reassignments(("nobody", [0])),
        ),
    ],
    "the quorum": [
        *all_versions(
            "DescribeQuorum",
            range(3),
            quorum((METADATA, [0])),
            quorum((METADATA, [1])),
            quorum(("two", [0])),
            quorum(),
            quorum((METADATA, [])),
            quorum((METADATA, [0, 1])),
            quorum((METADATA, [0]), ("two", [1])),
        ),
        *all_versions(
            "AddRaftVoter",
            range(1),
            *(
                voter(timeout_ms=1000, listeners=[listener("CONTROLLER")], **fields)
                for fields in (
                    {},
                    {"directory": ZERO},
                    {"node_id": -1},
                    {"node_id": 1},
                    {"cluster": CLUSTER},
                    {"cluster": ""},
                    {"cluster": "other"},
                )
            ),
            voter(timeout_ms=1000, listeners=[]),
            voter(timeout_ms=0, listeners=[listener("OTHER")]),
            voter(timeout_ms=-1, listeners=[listener("OTHER"), listener("CONTROLLER")]),
        ),
        *all_versions(
            "RemoveRaftVoter",
            range(1),
            voter(),
            voter(directory=ZERO),
            voter(-1),
            voter(1),
            voter(cluster=CLUSTER),
            voter(cluster=""),
            voter(cluster="other"),
        ),
    ],
    "resources with settings": [
        *all_versions(
            "ListConfigResources",
            range(2),
            *(of_types(*types) for types in ((), (2, 4), (2, 2), (3, 2), (2, 3))),
            *(of_types(number) for number in (0, 1, 2, 3, 4, 8, 16, 32, 64, -1, 127)),
        ),
        set_config(16, "watched", "interval.ms", "5000"),
        set_config(32, "members", "consumer.session.timeout.ms", "50000"),
        *all_versions(
            "ListConfigResources", range(2), *(of_types(*types) for types in ((), (16,), (32,)))
        ),
        set_config(16, "watched", "interval.ms", None),
        set_config(32, "members", "consumer.session.timeout.ms", None),
        *all_versions("ListConfigResources", range(2), of_types(16)),
    ],
    "brokers that are not there": all_versions(
        "UnregisterBroker", range(1), {"broker_id": 77}, {"broker_id": -1}
    ),
    "delegation tokens": [
        *all_versions(
            "CreateDelegationToken",
            range(1, 4),
            TOKEN,
            {**TOKEN, "renewers": []},
            {**TOKEN, "owner_principal_type": "User", "owner_principal_name": "somebody"},
        ),
        *all_versions("RenewDelegationToken", range(1, 3), {"hmac": b"x", "renew_period_ms": 5}),
        *all_versions(
            "ExpireDelegationToken", range(1, 3), {"hmac": b"x", "expiry_time_period_ms": 5}
        ),
        *all_versions(
            "DescribeDelegationToken",
            range(1, 4),
            {"owners": None},
            {"owners": []},
            {"owners": [SOMEBODY]},
        ),
    ],
    "logging in where nobody has to": [
        *all_versions("SaslHandshake", range(2), {"mechanism": "PLAIN"}, {"mechanism": ""}),
        *all_versions("SaslAuthenticate", range(3), {"auth_bytes": b"\0me\0secret"}),
    ],
    **CONFIG_SCENES,
    **RECORD_SCENES,
    **SHARE_SCENES,
}


def play(
    steps: list[Step],
    call: Callable[[Step], Mapping[str, Any] | None],
    *,
    log_dir: str,
    cluster_id: str,
) -> list[Any]:
    """Make the requests of a scene; the answers, made comparable.

    Args:
        call: makes one request; None is a closed connection.
    """
    words = {log_dir: HERE, cluster_id: CLUSTER}
    answers = []
    for step in steps:
        answer = call(Step(step.api, step.version, _filled(step.body, words)))
        answers.append(CLOSED if answer is None else comparable(answer, words))
    return answers


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    match value:
        case str():
            for meant, word in words.items():
                value = value.replace(word, meant)
            return value
        case dict():
            return {key: _filled(each, words) for key, each in value.items()}
        case list():
            return [_filled(each, words) for each in value]
        case _:
            return value


# Numbers that differ from broker to broker, and lists that Kafka has in the order of a hash table.
WORDS: Final = (
    "controller_id", "total_bytes", "usable_bytes", "log_end_offset", "high_watermark", "port",
    "last_fetch_timestamp", "last_caught_up_timestamp",
)  # fmt: skip
TEXTS: Final = ("host", "documentation", "topic_id")
UNORDERED: Final = (
    "config_resources", "configs", "isr_nodes", "partitions", "replica_election_results",
    "results", "topics",
)  # fmt: skip


def comparable(value: Any, words: Mapping[str, str]) -> Any:
    """An answer without what differs from broker to broker."""
    if isinstance(value, str):
        for meant, word in words.items():
            value = value.replace(meant, word)
        return value
    if isinstance(value, bytes | UUID):
        return str(value)
    if isinstance(value, list):
        return [comparable(each, words) for each in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, each in value.items():
        if key == "throttle_time_ms":
            continue
        if key == "error_code":
            made[key] = error_name(each)
        elif (key in WORDS and each > 0) or (key in TEXTS and each):
            made[key] = key.upper()
        elif key in UNORDERED:
            made[key] = sorted((comparable(one, words) for one in each), key=json.dumps)
        else:
            made[key] = comparable(each, words)
    return made


def recorded(answers: Path = ANSWERS) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(answers.read_text())
    return found


def record(address: Address, scenes: Mapping[str, list[Step]], to: Path) -> None:
    """Play scenes on an Apache Kafka, after PRELUDE."""
    connection = Connection(address)

    def call(step: Step) -> Mapping[str, Any] | None:
        nonlocal connection
        if step.api in (STOP, START):
            input(f"{step.api} broker {step.version}, wait, and press Enter")
            settle()
            return {}
        try:
            answer = connection.call(step.api, step.version, step.body)
        except Closed:
            connection = Connection(address)
            return None
        if step.body.get("validate_only") is False or step.api in MOVES or step.api == "Produce":
            settle()
        if step.api == "CreateTopics":
            time.sleep(1)
        return answer

    def settle() -> None:
        """Wait until what has changed is known to the broker, and nothing moves."""
        body = {"timeout_ms": 5000, "topics": None}
        time.sleep(0.1)
        end = time.monotonic() + 2  # what waits for a broker that is away waits on
        while connection.call("ListPartitionReassignments", 0, body)["topics"]:
            time.sleep(0.1)
            if time.monotonic() > end:
                break
        time.sleep(0.3 if scenes is CLUSTER_SCENES else 0)

    present = connection.call("Metadata", 1, {"topics": None})["topics"]
    call(delete(*(each["name"] for each in present)))
    if scenes is not CLUSTER_SCENES:
        for step in PRELUDE:
            call(step)
        time.sleep(2)
    cluster_id = connection.call("DescribeCluster", 0, {})["cluster_id"]
    (found,) = connection.call("DescribeLogDirs", 4, {"topics": []})["results"]
    lines = []
    for name, steps in scenes.items():
        played = play(steps, call, log_dir=found["log_dir"], cluster_id=cluster_id)
        answers = ",\n".join(json.dumps(answer) for answer in played)
        lines.append(f"{json.dumps(name)}: [\n{answers}\n]")
    call(delete("one", "two"))
    to.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    where, _, number = sys.argv[1].rpartition(":")
    if "--cluster" in sys.argv:
        record((where, int(number)), CLUSTER_SCENES, CLUSTER_ANSWERS)
    else:
        record((where, int(number)), SCENES, ANSWERS)
