"""Right bodies of requests, and the numbers in them at the edges of their types."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ottla.protocol.api_keys import ApiKey
from tests.library_classes import library_class

BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16}

# Right values of fields with one meaning; others get "x", 0 and False.
VALUES: Final[dict[str, Any]] = {
    "acks": -1, "batch_size": 10, "broker_id": 1, "broker_ids": [1], "client_software_name": "name",
    "client_software_version": "1.0", "cluster_id": None, "coordinator_keys": ["group"],
    "count": 5, "current_leader_epoch": -1, "entity_name": "user", "entity_type": "user",
    "expiry_time_period_ms": 1_000, "feature": "metadata.version", "generation_id": 1,
    "generation_id_or_member_epoch": 1, "group_id": "group", "group_ids": ["group"],
    "group_instance_id": None, "groups": ["group"], "groups_names": ["other group"],
    "host": "*", "index": 0, "instance_id": None, "iterations": 4_096,
    "key": "group", "last_fetched_epoch": -1, "leader_epoch": 0, "log_start_offset": -1,
    "max_bytes": 1 << 20, "max_lifetime_ms": 100_000, "max_wait_ms": 10, "mechanism": "PLAIN",
    "member_epoch": 0, "min_bytes": 0, "num_partitions": 1, "offset": 0, "operation": 3,
    "partition_max_bytes": 1 << 20, "path": "/nowhere", "permission_type": 3,
    "principal": "User:a", "protocol_name": "range", "protocol_type": "consumer", "records": None,
    "producer_id_filters": [1], "rebalance_timeout_ms": 10_000, "renew_period_ms": 1_000,
    "replica_id": -1, "replicas": [1], "replication_factor": 1, "resource_name": "orders",
    "resource_pattern_type": 3, "resource_type": 2, "resource_type_filter": 1,
    "pattern_type_filter": 3, "response_partition_limit": 10, "retention_time_ms": -1,
    "session_epoch": -1, "session_timeout_ms": 10_000, "state_filters": [], "states_filter": [],
    "subscribed_topic_names": ["orders"], "subscribed_topic_regex": None, "server_assignor": None,
    "timeout_ms": 1_000, "topic": "orders", "topic_name": "orders", "topic_names": ["orders"],
    "transaction_timeout_ms": 10_000, "transactional_id": "shop", "transactional_ids": ["shop"],
    "transactional_id_pattern": None, "types_filter": [], "v3_and_below_transactional_id": "shop",
    "configuration_keys": None, "duration_filter": -1, "coordinator_epoch": 0,
    "committed_leader_epoch": -1, "timestamp": -1, "upgrade_type": 1, "max_version_level": 1,
}  # fmt: skip
# Where a name has another meaning.
OF_APIS: Final[dict[ApiKey, dict[str, Any]]] = {
    ApiKey.CREATE_TOPICS: {"name": "new", "value": "1000", "assignments": [], "configs": []},
    ApiKey.DELETE_TOPICS: {"topic_names": ["missing"], "name": "missing"},
    ApiKey.CREATE_PARTITIONS: {"assignments": None},
    ApiKey.ALTER_CONFIGS: {"name": "retention.ms", "value": "1000"},
    ApiKey.INCREMENTAL_ALTER_CONFIGS: {"name": "retention.ms", "value": "1000"},
    ApiKey.CONSUMER_GROUP_HEARTBEAT: {
        "group_id": "consumers",
        "member_id": "m",
        "topic_partitions": [],
        "rebalance_timeout_ms": 1_000,
    },
    ApiKey.JOIN_GROUP: {"name": "range", "metadata": bytes(10)},
    ApiKey.DESCRIBE_CLUSTER: {"endpoint_type": 1},
    ApiKey.ALTER_CLIENT_QUOTAS: {"key": "producer_byte_rate", "value": 1_000.0},
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: {
        "name": "user",
        "mechanism": 1,
        "salt": b"salt",
        "salted_password": bytes(32),
        "deletions": [],
    },
    ApiKey.DELETE_RECORDS: {"offset": 1},
    ApiKey.CREATE_DELEGATION_TOKEN: {"renewers": [], "owner_principal_type": None},
    ApiKey.DESCRIBE_DELEGATION_TOKEN: {"owners": None},
    ApiKey.LEAVE_GROUP: {"member_id": "stranger"},
    ApiKey.FIND_COORDINATOR: {"coordinator_keys": ["shop"], "key": "shop", "key_type": 1},
    ApiKey.OFFSET_FOR_LEADER_EPOCH: {"replica_id": -2},
    ApiKey.DESCRIBE_QUORUM: {"topic_name": "__cluster_metadata"},
    ApiKey.DELETE_ACLS: {"resource_name_filter": "never", "principal_filter": None},
}


def _usual(kind: str) -> Any:
    if kind.startswith("[]"):
        return [_usual(kind[2:])]
    match kind:
        case "string":
            return "x"
        case "bytes":
            return b""
        case "bool":
            return False
        case "uuid":
            return uuid.UUID(int=7)
        case "float64":
            return 1.0
    return 0


Place = tuple[str | int, ...]


def numbers_in(
    struct: Any, body: Any, version: int, place: Place = ()
) -> Iterator[tuple[Place, str]]:
    """Place and type of each whole number in a body."""
    for each in struct._fields:
        if each.name not in body or body[each.name] is None:
            continue
        here, value = (*place, each.name), body[each.name]
        if each.is_struct_array():
            for index, element in enumerate(value):
                yield from numbers_in(each.array_of, element, version, (*here, index))
        elif each.is_struct():
            yield from numbers_in(each, value, version, here)
        elif each.type_str.removeprefix("[]") in BITS or each.type_str == "float64":
            is_list = each.type_str.startswith("[]")
            if not is_list or value:
                yield (*here, 0) if is_list else here, each.type_str.removeprefix("[]")


def extremes(kind: str) -> tuple[float, ...]:
    """Values at the edges of a type."""
    if kind == "float64":
        return 0.0, -1.0, 1e308, -1e308, float("inf"), float("-inf"), float("nan"), 5e-324
    if kind == "uint16":
        return 0, 1, 0xFFFF
    largest = (1 << BITS[kind] - 1) - 1
    return 0, -1, largest, -largest - 1


def put(body: Any, place: Place, value: float) -> None:
    for step in place[:-1]:
        body = body[step]
    body[place[-1]] = value


def right_body(key: ApiKey, version: int, known: Mapping[str, Any]) -> dict[str, Any]:
    """A right body; `known` has the values of fields that a broker gave."""
    return _struct(key, library_class(key, "Request")._struct, version, known)


def _struct(key: ApiKey, struct: Any, version: int, known: Mapping[str, Any]) -> dict[str, Any]:
    return {
        each.name: _value(key, each, version, known)
        for each in struct._fields
        if each.for_version_q(version) and not each.tagged_field_q(version)
    }


def _value(key: ApiKey, field: Any, version: int, known: Mapping[str, Any]) -> Any:
    for values in (OF_APIS.get(key, {}), known):
        if field.name in values:
            return values[field.name]
    if field.is_struct_array():
        return [_struct(key, field.array_of, version, known)]
    if field.is_struct():
        return _struct(key, field, version, known)
    if field.name in VALUES:
        return VALUES[field.name]
    return "orders" if field.name == "name" else _usual(field.type_str)
