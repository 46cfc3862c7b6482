"""Asks a broker small things in every version that it offers, and in the one above.

`python -m tests.broker.releases.asked HOST:PORT NAME` writes answers-NAME.json.
"""

from __future__ import annotations

import json
import struct
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name
from tests.wire.batches import batch
from tests.wire.client import TRANSIENT, Address, Closed, Connection, NoAnswer, error_name, retrying

HERE: Final = Path(__file__).resolve().parent
TOPIC, GROUP = "asked", "asked"
NO_TOPIC = "asked-missing"
_SOFTWARE: Final = {"client_software_name": "a", "client_software_version": "1"}
# Fields that differ between brokers or between runs.
_LEFT_OUT: Final = frozenset(
    {
        *("host", "port", "node_id", "broker_id", "brokers", "cluster_id", "controller_id", "rack"),
        *("topic_id", "producer_id", "member_id", "throttle_time_ms", "leader_epoch", "log_dir"),
        *(
            "replica_nodes",
            "isr_nodes",
            "offline_replicas",
            "leader_id",
            "timestamp",
            "total_bytes",
        ),
        *("usable_bytes", "error_message", "documentation", "session_id", "records", "nodes"),
        *("log_append_time_ms", "log_append_time", "configs", "api_keys", "size", "is_cordoned"),
        *("supported_features", "finalized_features", "finalized_features_epoch"),
        *("cluster_authorized_operations", "topic_authorized_operations", "endpoints", "voters"),
        *("leader", "preferred_read_replica", "node_endpoints", "diverging_epoch"),
        *("zk_migration_ready", "current_leader", "snapshot_id", "eligible_leader_replicas"),
        *(
            "last_known_elr",
            "endpoint_type",
            "offset_lag",
            "is_future_key",
            "authorized_operations",
        ),
    }
)
_TIMEOUT_S: Final = 4.0
_BEGUN_MS: Final = int(time.time() * 1000)
# There are no transactions, so no node coordinates them.
_PASSING: Final = TRANSIENT - {"NOT_COORDINATOR"}
Body = Mapping[str, Any]
Bodies = Callable[[int], Body]


def _metadata(version: int) -> Body:
    return {"topics": [{"name": "not a topic"}], "allow_auto_topic_creation": False}


def _list_offsets(version: int) -> Body:
    asked = [{"partition_index": 0, "timestamp": -1}, {"partition_index": 7, "timestamp": -1}]
    return {"replica_id": -1, "topics": [{"name": TOPIC, "partitions": asked}]}


def _first_offset(version: int) -> Body:
    asked = [{"partition_index": 0, "timestamp": -2}]
    return {"replica_id": -1, "topics": [{"name": TOPIC, "partitions": asked}]}


def _largest_timestamp(version: int) -> Body:
    asked = [{"partition_index": 0, "timestamp": -3}]
    return {"replica_id": -1, "topics": [{"name": TOPIC, "partitions": asked}]}


def _offset_commit(version: int) -> Body:
    asked = [{"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}]
    return {
        "group_id": GROUP,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": TOPIC, "partitions": asked}],
    }


def _offset_fetch(version: int) -> Body:
    topics = [{"name": TOPIC, "partition_indexes": [0]}]
    if version >= 8:
        return {"groups": [{"group_id": GROUP, "topics": topics}]}
    return {"group_id": GROUP, "topics": topics}


def _find_coordinator(version: int) -> Body:
    return {"coordinator_keys": [GROUP]} if version >= 4 else {"key": GROUP}


def _join_group(version: int) -> Body:
    return {
        "group_id": "",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }


def _of_a_stranger(version: int) -> Body:
    return {"group_id": GROUP, "generation_id": 1, "member_id": "stranger"}


def _leave_group(version: int) -> Body:
    if version >= 3:
        return {"group_id": GROUP, "members": [{"member_id": "stranger"}]}
    return {"group_id": GROUP, "member_id": "stranger"}


def _create_topics(version: int) -> Body:
    topic = {"name": f"asked-v{version}", "num_partitions": 1, "replication_factor": 1}
    twice = {"name": TOPIC, "num_partitions": 1, "replication_factor": 1}
    return {"topics": [topic, twice], "timeout_ms": 5000}


def _delete_topics(version: int) -> Body:
    if version >= 6:
        return {"topics": [{"name": f"asked-v{version}"}, {"name": NO_TOPIC}], "timeout_ms": 5000}
    return {"topic_names": [f"asked-v{version}", NO_TOPIC], "timeout_ms": 5000}


def _describe_configs(version: int) -> Body:
    asked = {"resource_type": 2, "resource_name": NO_TOPIC, "configuration_keys": None}
    return {"resources": [asked]}


def _init_producer_id(version: int) -> Body:
    return {"transactional_id": None, "transaction_timeout_ms": 1000}


def _leader_epoch(version: int) -> Body:
    asked = [{"partition": 0, "leader_epoch": 0}, {"partition": 7, "leader_epoch": 0}]
    return {"replica_id": -1, "topics": [{"topic": TOPIC, "partitions": asked}]}


def _of_no_transaction(version: int) -> Body:
    return {"transactional_id": "asked", "producer_id": 1, "producer_epoch": 0}


def _end_txn(version: int) -> Body:
    return {**_of_no_transaction(version), "committed": True}


def _add_offsets(version: int) -> Body:
    return {**_of_no_transaction(version), "group_id": GROUP}


def _add_partitions(version: int) -> Body:
    topics = [{"name": TOPIC, "partitions": [0]}]
    of_client = {
        "v3_and_below_transactional_id": "asked",
        "v3_and_below_producer_id": 1,
        "v3_and_below_producer_epoch": 0,
        "v3_and_below_topics": topics,
    }
    return of_client if version < 4 else {"transactions": []}


def _produce(version: int) -> Body:
    # The last version has the largest timestamp.
    data = batch(timestamp=_BEGUN_MS + version)
    asked = [{"index": 0, "records": data}, {"index": 7, "records": data}]
    return {
        "acks": -1,
        "timeout_ms": 5000,
        "topic_data": [{"name": TOPIC, "partition_data": asked}],
    }


def _fetch(version: int) -> Body:
    asked = [{"partition": 7, "fetch_offset": 0, "partition_max_bytes": 1000}]
    name = {"topic_id": uuid.UUID(int=5)} if version >= 13 else {"topic": TOPIC}
    return {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": 1000,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{**name, "partitions": asked}],
    }


def _quotas(version: int) -> Body:
    return {"components": [], "strict": False}


def _acls(version: int) -> Body:
    return {
        "resource_type_filter": 1, "resource_name_filter": None, "principal_filter": None,
        "host_filter": None, "operation": 1, "permission_type": 1,
    }  # fmt: skip


def _features(version: int) -> Body:
    update = {"feature": "no.such.feature", "max_version_level": 3}
    return {"timeout_ms": 5000, "feature_updates": [update]}


def _group(version: int) -> Body:
    return {"groups": ["asked-missing"]}


def _groups_to_delete(version: int) -> Body:
    return {"groups_names": ["asked-missing"]}


def _records_to_delete(version: int) -> Body:
    asked = [{"partition_index": 7, "offset": 0}]
    return {"topics": [{"name": TOPIC, "partitions": asked}], "timeout_ms": 5000}


def _offsets_to_delete(version: int) -> Body:
    topics = [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]
    return {"group_id": "asked-missing", "topics": topics}


def _consumer_heartbeat(version: int) -> Body:
    return {
        "group_id": GROUP, "member_id": "stranger", "member_epoch": 3, "rebalance_timeout_ms": -1,
        "subscribed_topic_names": None, "topic_partitions": None,
    }  # fmt: skip


def _partitions(version: int) -> Body:
    return {"topics": [{"name": NO_TOPIC, "count": 3}], "timeout_ms": 5000}


def _nothing(version: int) -> Body:
    return {}


QUESTIONS: Final[Mapping[str, tuple[ApiKey, Bodies]]] = {
    "metadata of a wrong name": (ApiKey.METADATA, _metadata),
    "produce": (ApiKey.PRODUCE, _produce),
    "latest offset": (ApiKey.LIST_OFFSETS, _list_offsets),
    "first offset": (ApiKey.LIST_OFFSETS, _first_offset),
    "largest timestamp": (ApiKey.LIST_OFFSETS, _largest_timestamp),
    "fetch of no partition": (ApiKey.FETCH, _fetch),
    "end of an epoch": (ApiKey.OFFSET_FOR_LEADER_EPOCH, _leader_epoch),
    "find a coordinator": (ApiKey.FIND_COORDINATOR, _find_coordinator),
    "commit an offset": (ApiKey.OFFSET_COMMIT, _offset_commit),
    "fetch an offset": (ApiKey.OFFSET_FETCH, _offset_fetch),
    "join no group": (ApiKey.JOIN_GROUP, _join_group),
    "sync as a stranger": (ApiKey.SYNC_GROUP, _of_a_stranger),
    "heartbeat of a stranger": (ApiKey.HEARTBEAT, _of_a_stranger),
    "leave as a stranger": (ApiKey.LEAVE_GROUP, _leave_group),
    "describe no group": (ApiKey.DESCRIBE_GROUPS, _group),
    "delete no group": (ApiKey.DELETE_GROUPS, _groups_to_delete),
    "create topics": (ApiKey.CREATE_TOPICS, _create_topics),
    "delete topics": (ApiKey.DELETE_TOPICS, _delete_topics),
    "partitions of no topic": (ApiKey.CREATE_PARTITIONS, _partitions),
    "delete records of no partition": (ApiKey.DELETE_RECORDS, _records_to_delete),
    "settings of no topic": (ApiKey.DESCRIBE_CONFIGS, _describe_configs),
    "a producer id": (ApiKey.INIT_PRODUCER_ID, _init_producer_id),
    "partitions of no transaction": (ApiKey.ADD_PARTITIONS_TO_TXN, _add_partitions),
    "offsets to no transaction": (ApiKey.ADD_OFFSETS_TO_TXN, _add_offsets),
    "end no transaction": (ApiKey.END_TXN, _end_txn),
    "quotas": (ApiKey.DESCRIBE_CLIENT_QUOTAS, _quotas),
    "acls": (ApiKey.DESCRIBE_ACLS, _acls),
    "directories": (ApiKey.DESCRIBE_LOG_DIRS, _nothing),
    "no feature": (ApiKey.UPDATE_FEATURES, _features),
    "cluster": (ApiKey.DESCRIBE_CLUSTER, _nothing),
    "transactions": (ApiKey.LIST_TRANSACTIONS, _nothing),
    "heartbeat of no consumer": (ApiKey.CONSUMER_GROUP_HEARTBEAT, _consumer_heartbeat),
    "versions": (ApiKey.API_VERSIONS, lambda version: _SOFTWARE if version >= 3 else {}),
    "offsets to delete of no group": (ApiKey.OFFSET_DELETE, _offsets_to_delete),
}


def answers(address: Address) -> dict[str, dict[str, Any]]:
    """The answers by question and version: fields that are not left out, or `closed`."""
    with closing(Connection(address)) as connection:
        offered = {
            each["api_key"]: range(each["min_version"], each["max_version"] + 2)
            for each in connection.call("ApiVersions", 0)["api_keys"]
        }
        topic = {"name": TOPIC, "num_partitions": 1, "replication_factor": 1}
        connection.call("CreateTopics", 5, {"topics": [topic], "timeout_ms": 5000})
        for api, body in (("FindCoordinator", {"key": GROUP}), ("Heartbeat", _of_a_stranger(0))):
            retrying(partial(_error_code, connection, api, body))
    return {
        question: {
            str(version): _answer(address, api_key, version, body(version))
            for version in offered.get(int(api_key), ())
        }
        for question, (api_key, body) in QUESTIONS.items()
    }


def _answer(address: Address, api_key: ApiKey, version: int, body: Body) -> Any:
    with closing(Connection(address, _TIMEOUT_S)) as connection:
        try:
            return retrying(
                lambda: _told(connection.call(api_name(api_key), version, body)),
                lambda answer: {word for word in json.dumps(answer).split('"') if word.isupper()},
                transient=_PASSING,
            )
        except Closed:
            return "closed"
        except NoAnswer:
            return "no answer"
        except struct.error:
            return "an answer of another version"
        except (ValueError, KeyError, AttributeError, TypeError) as unknown:
            return f"not asked: {type(unknown).__name__}"


def _error_code(connection: Connection, api: str, body: Body) -> Any:
    return _told(connection.call(api, 0, body))["error_code"]


def _told(answer: Any) -> Any:
    if isinstance(answer, dict):
        return dict(_fields(answer))
    if isinstance(answer, list | tuple):
        told = [_told(each) for each in answer]
        return sorted(told, key=_name)  # Kafka's order is that of a hash map of a run
    return answer if isinstance(answer, str | int | bool | None) else str(answer)


def _name(told: Any) -> str:
    return str(told.get("name", "")) if isinstance(told, dict) else ""


def _fields(answer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in answer.items():
        if name == "error_code":
            yield name, error_name(value)
        elif name not in _LEFT_OUT:
            yield name, _told(value)


def answers_of(name: str) -> Path:
    """The recorded answers of a release."""
    return HERE / f"answers-{name}.json"


def write(found: Mapping[str, Mapping[str, Any]], file: Path) -> None:
    """Write answers, a line for each version."""
    questions = []
    for question, by_version in found.items():
        lines = [f"  {json.dumps(v)}: {json.dumps(answer)}" for v, answer in by_version.items()]
        questions.append(f" {json.dumps(question)}: {{\n" + ",\n".join(lines) + "\n }")
    file.write_text("{\n" + ",\n".join(questions) + "\n}\n")


def main() -> None:
    """Record a broker."""
    host, _, port = sys.argv[1].rpartition(":")
    write(answers((host, int(port))), answers_of(sys.argv[2]))


if __name__ == "__main__":
    main()
