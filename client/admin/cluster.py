"""The cluster itself: id, nodes, versions of APIs, the metadata quorum, features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple
from uuid import UUID

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, code_name
from ..cluster_client import Client, ErrorAnswer, check


class Change(IntEnum):
    """How a level of a feature changes (FeatureUpdate.UpgradeType)."""

    UPGRADE = 1
    SAFE = 2
    UNSAFE = 3


class Node(NamedTuple):
    """A broker of the cluster."""

    node_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool


class ClusterDescription(NamedTuple):
    """The cluster as DescribeCluster answers it (KIP-919)."""

    cluster_id: str
    controller_id: int
    nodes: tuple[Node, ...]


class Replica(NamedTuple):
    """A replica of the metadata log; times in milliseconds, -1 if unknown."""

    node_id: int
    directory_id: UUID
    log_end_offset: int
    last_fetch_ms: int
    last_caught_up_ms: int


class Quorum(NamedTuple):
    """The metadata quorum (DescribeQuorum, KIP-595).

    Attributes:
        endpoints: name, host and port of the listeners of each voter.
    """

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...]
    endpoints: dict[int, tuple[tuple[str, str, int], ...]]


class Feature(NamedTuple):
    """A feature of the cluster (KIP-584); finalized None: no level is finalized."""

    name: str
    lowest: int
    highest: int
    finalized: int | None


def describe_cluster(client: Client, *, include_fenced: bool = False) -> ClusterDescription:
    """The cluster's id, controller and brokers. Raises ErrorAnswer."""
    body = {"endpoint_type": 1, "include_fenced_brokers": include_fenced}
    answer = client.ask(ApiKey.DESCRIBE_CLUSTER, body)
    check(answer.error_code, "the cluster", answer.error_message)
    nodes = tuple(
        Node(each.broker_id, each.host, each.port, each.rack, each.is_fenced)
        for each in answer.brokers
    )
    return ClusterDescription(answer.cluster_id, answer.controller_id, nodes)


def api_versions(client: Client, node_id: int | None = None) -> dict[int, tuple[int, int]]:
    """The lowest and the highest version of each API of a broker. Raises ErrorAnswer."""
    answer = _versions(client, node_id)
    return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}


def features(client: Client, node_id: int | None = None) -> tuple[int, list[Feature]]:
    """The epoch of the finalized features, and all features by name. Raises ErrorAnswer."""
    answer = _versions(client, node_id)
    finalized = {each.name: each.max_version_level for each in answer.finalized_features}
    every = [
        Feature(each.name, each.min_version, each.max_version, finalized.get(each.name))
        for each in answer.supported_features
    ]
    return answer.finalized_features_epoch, sorted(every)


def change_features(client: Client, levels: Mapping[str, int]) -> dict[str, int]:
    """Finalize levels, all or none of them; return those before, 0 for none. Raises ErrorAnswer."""
    finalized = {each.name: each.finalized or 0 for each in features(client)[1]}
    before = {name: finalized.get(name, 0) for name in levels}
    updates = [
        {
            "feature": name,
            "max_version_level": level,
            "upgrade_type": Change.UPGRADE if level > before[name] else Change.SAFE,
        }
        for name, level in levels.items()
        if level != before[name]
    ]
    if updates:
        body = {"timeout_ms": 60_000, "feature_updates": updates}
        answer = client.ask(ApiKey.UPDATE_FEATURES, body)
        if answer.error_code != Code.NONE:
            raise ErrorAnswer(answer.error_code, answer.error_message or "the features")
    return before


def update_features(
    client: Client, levels: Mapping[str, int], kind: Change, *, validate_only: bool = False
) -> dict[str, str]:
    """Finalize levels, all or none of them (UpdateFeatures); return why features are refused.

    Args:
        levels: 0 disables a feature.
        validate_only: only ask whether it is possible.
    """
    updates = [
        {"feature": name, "max_version_level": level, "upgrade_type": kind}
        for name, level in levels.items()
    ]
    body = {"timeout_ms": 60_000, "feature_updates": updates, "validate_only": validate_only}
    answer = client.ask(ApiKey.UPDATE_FEATURES, body, version=2)
    if answer.error_code == Code.NONE:
        return {}
    return dict.fromkeys(levels, answer.error_message or code_name(answer.error_code))


def describe_quorum(client: Client) -> Quorum:
    """Leader, voters and observers of the metadata log. Raises ErrorAnswer."""
    asked = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
    answer = client.ask(ApiKey.DESCRIBE_QUORUM, {"topics": [asked]})
    check(answer.error_code, "the quorum", answer.error_message)
    (log,) = answer.topics[0].partitions
    check(log.error_code, "the quorum", log.error_message)
    endpoints = {
        node.node_id: tuple((each.name, each.host, each.port) for each in node.listeners)
        for node in answer.nodes
    }
    return Quorum(
        log.leader_id,
        log.leader_epoch,
        log.high_watermark,
        tuple(map(_replica, log.current_voters)),
        tuple(map(_replica, log.observers)),
        endpoints,
    )


def unregister_broker(client: Client, node_id: int) -> None:
    """Forget a broker that has ended. Raises ErrorAnswer."""
    answer = client.ask(ApiKey.UNREGISTER_BROKER, {"broker_id": node_id})
    check(answer.error_code, f"broker {node_id}", answer.error_message)


def unregister_controller(client: Client, node_id: int) -> None:
    """Forget a controller that has ended. Raises ErrorAnswer."""
    answer = client.ask(ApiKey.UNREGISTER_CONTROLLER, {"controller_id": node_id})
    check(answer.error_code, f"controller {node_id}", answer.error_message)


def add_voter(
    client: Client,
    node_id: int,
    directory_id: UUID,
    endpoints: Sequence[tuple[str, str, int]],
) -> None:
    """Add a voter to the metadata quorum (KIP-853). Raises ErrorAnswer.

    Args:
        endpoints: name, host and port of its listeners.
    """
    body = {
        "cluster_id": None,
        "timeout_ms": 60_000,
        "voter_id": node_id,
        "voter_directory_id": directory_id,
        "listeners": [{"name": name, "host": host, "port": port} for name, host, port in endpoints],
    }
    answer = client.ask(ApiKey.ADD_RAFT_VOTER, body)
    check(answer.error_code, f"voter {node_id}", answer.error_message)


def remove_voter(client: Client, node_id: int, directory_id: UUID) -> None:
    """Remove a voter from the metadata quorum (KIP-853). Raises ErrorAnswer."""
    body = {"cluster_id": None, "voter_id": node_id, "voter_directory_id": directory_id}
    answer = client.ask(ApiKey.REMOVE_RAFT_VOTER, body)
    check(answer.error_code, f"voter {node_id}", answer.error_message)


def _replica(each: Any) -> Replica:  # Any: part of an answer
    return Replica(
        each.replica_id,
        each.replica_directory_id,
        each.log_end_offset,
        each.last_fetch_timestamp,
        each.last_caught_up_timestamp,
    )


def _versions(client: Client, node_id: int | None) -> Any:  # Any: an answer
    named = {"client_software_name": "ottla", "client_software_version": "1"}
    answer = client.ask(ApiKey.API_VERSIONS, named, node_id=node_id)
    check(answer.error_code, "ApiVersions")
    return answer
