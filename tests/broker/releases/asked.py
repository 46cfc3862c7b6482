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
Asked = Body | Callable[[int], Body]
"""A request; a function where it depends on the version."""


_STRANGER: Final = {"group_id": GROUP, "generation_id": 1, "member_id": "stranger"}
_NO_TRANSACTION: Final = {"transactional_id": "asked", "producer_id": 1, "producer_epoch": 0}


def _of_partition(index: int, **fields: Any) -> Body:
    return {"topics": [{"name": TOPIC, "partitions": [{"partition_index": index, **fields}]}]}


def _offset_at(timestamp: int) -> Body:
    return {"replica_id": -1, **_of_partition(0, timestamp=timestamp)}


def _offset_fetch(version: int) -> Body:
    asked = {"group_id": GROUP, "topics": [{"name": TOPIC, "partition_indexes": [0]}]}
    return {"groups": [asked]} if version >= 8 else asked


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


def _add_partitions(version: int) -> Body:
    topics = [{"name": TOPIC, "partitions": [0]}]
    fields = {**_NO_TRANSACTION, "topics": topics}
    of_client = {f"v3_and_below_{name}": value for name, value in fields.items()}
    return of_client if version < 4 else {"transactions": []}


def _produce(version: int) -> Body:
    # The last version has the largest timestamp.
    data = batch(timestamp=_BEGUN_MS + version)
    asked = [{"index": 0, "records": data}, {"index": 7, "records": data}]
    topic_data = [{"name": TOPIC, "partition_data": asked}]
    return {"acks": -1, "timeout_ms": 5000, "topic_data": topic_data}


def _fetch(version: int) -> Body:
    asked = [{"partition": 7, "fetch_offset": 0, "partition_max_bytes": 1000}]
    name = {"topic_id": uuid.UUID(int=5)} if version >= 13 else {"topic": TOPIC}
    return {
        "replica_id": -1, "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1000,
        "session_id": 0, "session_epoch": -1, "topics": [{**name, "partitions": asked}],
    }  # fmt: skip


QUESTIONS: Final[Mapping[str, tuple[ApiKey, Asked]]] = {
    "metadata of a wrong name": (ApiKey.METADATA, {
        "topics": [{"name": "not a topic"}], "allow_auto_topic_creation": False}),
    "produce": (ApiKey.PRODUCE, _produce),
    "latest offset": (ApiKey.LIST_OFFSETS, {"replica_id": -1, "topics": [
        {"name": TOPIC, "partitions": [
            {"partition_index": index, "timestamp": -1} for index in (0, 7)]}]}),
    "first offset": (ApiKey.LIST_OFFSETS, _offset_at(-2)),
    "largest timestamp": (ApiKey.LIST_OFFSETS, _offset_at(-3)),
    "fetch of no partition": (ApiKey.FETCH, _fetch),
    "end of an epoch": (ApiKey.OFFSET_FOR_LEADER_EPOCH, {"replica_id": -1, "topics": [
        {"topic": TOPIC, "partitions": [
            {"partition": index, "leader_epoch": 0} for index in (0, 7)]}]}),
    "find a coordinator": (
        ApiKey.FIND_COORDINATOR,
        lambda version: {"coordinator_keys": [GROUP]} if version >= 4 else {"key": GROUP}),
    "commit an offset": (ApiKey.OFFSET_COMMIT, {
        "group_id": GROUP, "generation_id_or_member_epoch": -1, "member_id": "",
        **_of_partition(0, committed_offset=1, committed_metadata="m")}),
    "fetch an offset": (ApiKey.OFFSET_FETCH, _offset_fetch),
    "join no group": (ApiKey.JOIN_GROUP, {
        "group_id": "", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000,
        "member_id": "", "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}]}),
    "sync as a stranger": (ApiKey.SYNC_GROUP, _STRANGER),
    "heartbeat of a stranger": (ApiKey.HEARTBEAT, _STRANGER),
    "leave as a stranger": (ApiKey.LEAVE_GROUP, _leave_group),
    "describe no group": (ApiKey.DESCRIBE_GROUPS, {"groups": ["asked-missing"]}),
    "delete no group": (ApiKey.DELETE_GROUPS, {"groups_names": ["asked-missing"]}),
    "create topics": (ApiKey.CREATE_TOPICS, _create_topics),
    "delete topics": (ApiKey.DELETE_TOPICS, _delete_topics),
    "partitions of no topic": (ApiKey.CREATE_PARTITIONS, {
        "topics": [{"name": NO_TOPIC, "count": 3}], "timeout_ms": 5000}),
    "delete records of no partition": (ApiKey.DELETE_RECORDS, {
        **_of_partition(7, offset=0), "timeout_ms": 5000}),
    "settings of no topic": (ApiKey.DESCRIBE_CONFIGS, {"resources": [
        {"resource_type": 2, "resource_name": NO_TOPIC, "configuration_keys": None}]}),
    "a producer id": (
        ApiKey.INIT_PRODUCER_ID, {"transactional_id": None, "transaction_timeout_ms": 1000}),
    "partitions of no transaction": (ApiKey.ADD_PARTITIONS_TO_TXN, _add_partitions),
    "offsets to no transaction": (
        ApiKey.ADD_OFFSETS_TO_TXN, {**_NO_TRANSACTION, "group_id": GROUP}),
    "end no transaction": (ApiKey.END_TXN, {**_NO_TRANSACTION, "committed": True}),
    "quotas": (ApiKey.DESCRIBE_CLIENT_QUOTAS, {"components": [], "strict": False}),
    "acls": (ApiKey.DESCRIBE_ACLS, {
        "resource_type_filter": 1, "resource_name_filter": None, "principal_filter": None,
        "host_filter": None, "operation": 1, "permission_type": 1}),
    "directories": (ApiKey.DESCRIBE_LOG_DIRS, {}),
    "no feature": (ApiKey.UPDATE_FEATURES, {"timeout_ms": 5000, "feature_updates": [
        {"feature": "no.such.feature", "max_version_level": 3}]}),
    "cluster": (ApiKey.DESCRIBE_CLUSTER, {}),
    "transactions": (ApiKey.LIST_TRANSACTIONS, {}),
    "heartbeat of no consumer": (ApiKey.CONSUMER_GROUP_HEARTBEAT, {
        "group_id": GROUP, "member_id": "stranger", "member_epoch": 3, "rebalance_timeout_ms": -1,
        "subscribed_topic_names": None, "topic_partitions": None}),
    "versions": (ApiKey.API_VERSIONS, lambda version: _SOFTWARE if version >= 3 else {}),
    "offsets to delete of no group": (ApiKey.OFFSET_DELETE, {
        "group_id": "asked-missing", **_of_partition(0)}),
}  # fmt: skip


def answers(address: Address) -> dict[str, dict[str, Any]]:
    """The answers by question and version: fields that are not left out, or `closed`."""
    with closing(Connection(address)) as connection:
        offered = {
            each["api_key"]: range(each["min_version"], each["max_version"] + 2)
            for each in connection.call("ApiVersions", 0)["api_keys"]
        }
        topic = {"name": TOPIC, "num_partitions": 1, "replication_factor": 1}
        connection.call("CreateTopics", 5, {"topics": [topic], "timeout_ms": 5000})
        for api, body in (("FindCoordinator", {"key": GROUP}), ("Heartbeat", _STRANGER)):
            retrying(partial(_error_code, connection, api, body))
    return {
        question: {
            str(version): _answer(
                address, api_key, version, body(version) if callable(body) else body
            )
            for version in offered.get(int(api_key), ())
        }
        for question, (api_key, body) in QUESTIONS.items()
    }


def _answer(address: Address, api_key: ApiKey, version: int, asked: Asked) -> Any:
    body = asked(version) if callable(asked) else asked
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
