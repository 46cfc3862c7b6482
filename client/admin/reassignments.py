"""Reassignments of partitions of a running cluster (KIP-455): which brokers have the replicas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...protocol.api_keys import ApiKey
from ..cluster_client import Client, check
from .groups import Place, by_topic

_TIMEOUT_MS = 60_000


class Reassignment(NamedTuple):
    """A reassignment under way: the replicas, and those that come and go."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class Refusal(NamedTuple):
    """The error of one partition."""

    code: int
    message: str | None


def list_reassignments(
    client: Client, places: Iterable[Place] | None = None
) -> dict[Place, Reassignment]:
    """The reassignments under way (ListPartitionReassignments); None: of all partitions.

    Raises:
        ErrorAnswer: the controller refuses.
    """
    topics = None
    if places is not None:
        named = by_topic(places)
        topics = [{"name": name, "partition_indexes": named[name]} for name in named]
    body = {"timeout_ms": _TIMEOUT_MS, "topics": topics}
    answer = client.ask(ApiKey.LIST_PARTITION_REASSIGNMENTS, body)
    check(answer.error_code, "the reassignments", answer.error_message)
    return {
        (topic.name, each.partition_index): Reassignment(
            topic.name,
            each.partition_index,
            tuple(each.replicas),
            tuple(each.adding_replicas),
            tuple(each.removing_replicas),
        )
        for topic in answer.topics
        for each in topic.partitions
    }


def alter_reassignments(
    client: Client,
    targets: Mapping[Place, Sequence[int] | None],
    *,
    may_change_factor: bool = True,
) -> dict[Place, Refusal]:
    """Begin reassignments, or cancel them; return what was refused (AlterPartitionReassignments).

    Args:
        targets: the replicas by partition; None cancels.
        may_change_factor: whether the number of replicas may change.

    Raises:
        ErrorAnswer: the controller refuses the whole request.
    """
    indexes = by_topic(targets)
    topics = [
        {
            "name": topic,
            "partitions": [
                {"partition_index": index, "replicas": targets[topic, index]}
                for index in indexes[topic]
            ],
        }
        for topic in indexes
    ]
    body = {
        "timeout_ms": _TIMEOUT_MS,
        "allow_replication_factor_change": may_change_factor,
        "topics": topics,
    }
    version = None if may_change_factor else 1  # Kafka 4.1 has the field first
    answer = client.ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, body, version=version)
    check(answer.error_code, "the reassignments", answer.error_message)
    return {
        (topic.name, each.partition_index): Refusal(each.error_code, each.error_message)
        for topic in answer.responses
        for each in topic.partitions
        if each.error_code
    }


def alter_log_directories(
    client: Client, node_id: int, paths: Mapping[Place, str]
) -> dict[Place, int]:
    """Move replicas of a broker to other directories; return error codes (AlterReplicaLogDirs)."""
    dirs = [
        {
            "path": path,
            "topics": [
                {"name": topic, "partitions": indexes}
                for topic, indexes in by_topic(
                    place for place, wanted in paths.items() if wanted == path
                ).items()
            ],
        }
        for path in sorted(set(paths.values()))
    ]
    answer = client.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, {"dirs": dirs}, node_id=node_id)
    return {
        (topic.topic_name, each.partition_index): each.error_code
        for topic in answer.results
        for each in topic.partitions
    }
