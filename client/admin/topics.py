"""Topics of a running cluster: list, describe, create, delete, add partitions, delete records.

The functions do what Kafka's admin client does (org.apache.kafka.clients.admin.Admin), one request
each, and raise ErrorAnswer with the broker's own message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from ...protocol.api_keys import ApiKey
from ..cluster_client import Client, check

TIMEOUT_MS: Final = 60_000
PREFERRED: Final = 0
UNCLEAN: Final = 1


class Partition(NamedTuple):
    """One partition of a topic, as the metadata has it.

    Attributes:
        leader: its node id; -1: the partition has none.
        eligible, last_known_eligible: replicas of KIP-966 (ELR and LastKnownElr).
    """

    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...]
    eligible: tuple[int, ...] = ()
    last_known_eligible: tuple[int, ...] = ()


class Topic(NamedTuple):
    """A topic and its partitions, in the order of their indexes."""

    name: str
    topic_id: UUID
    is_internal: bool
    partitions: tuple[Partition, ...]


class LogDirectory(NamedTuple):
    """A directory of logs of one broker.

    Attributes:
        replicas: topic, partition, size in bytes, offset lag, and whether it is a future replica.
        error_code: 0 if the directory works.
    """

    node_id: int
    path: str
    error_code: int
    replicas: tuple[tuple[str, int, int, int, bool], ...]


class Election(NamedTuple):
    """The result of the election of a partition's leader; error code 0: it has a new leader."""

    topic: str
    partition: int
    error_code: int
    message: str | None


def topic_names(client: Client) -> list[str]:
    """The names of all topics, sorted; internal ones too."""
    return sorted(each.name for each in client.metadata(None))


def describe_topics(client: Client, names: Sequence[str]) -> list[Topic]:
    """The topics with these names, sorted (DescribeTopicPartitions, KIP-966).

    Raises:
        ErrorAnswer: UNKNOWN_TOPIC_OR_PARTITION if one does not exist.
    """
    found: dict[str, Topic] = {}
    cursor: dict[str, Any] | None = None
    wanted = sorted(set(names))
    while wanted:
        asked = [{"name": name} for name in wanted]
        body = {"topics": asked, "response_partition_limit": 2000, "cursor": cursor}
        answer = client.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, body)
        for each in answer.topics:
            check(each.error_code, each.name)
            before = found[each.name].partitions if each.name in found else ()
            partitions = (*before, *map(_partition, each.partitions))
            found[each.name] = Topic(each.name, each.topic_id, each.is_internal, partitions)
        following = answer.next_cursor
        if following is None:
            break
        cursor = {
            "topic_name": following.topic_name,
            "partition_index": following.partition_index,
        }
        wanted = [name for name in wanted if name >= following.topic_name]
    return [found[name] for name in sorted(found)]


def create_topic(
    client: Client,
    name: str,
    *,
    partitions: int = -1,
    replication_factor: int = -1,
    assignments: Sequence[Sequence[int]] = (),
    settings: Mapping[str, str] | None = None,
) -> None:
    """Create a topic (CreateTopics).

    Args:
        partitions, replication_factor: -1: the broker's default.
        assignments: the replicas of each partition, instead of both numbers.

    Raises:
        ErrorAnswer: TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_CONFIG and others.
    """
    topic = {
        "name": name,
        "num_partitions": -1 if assignments else partitions,
        "replication_factor": -1 if assignments else replication_factor,
        "assignments": [
            {"partition_index": index, "broker_ids": list(nodes)}
            for index, nodes in enumerate(assignments)
        ],
        "configs": [{"name": key, "value": value} for key, value in (settings or {}).items()],
    }
    body = {"topics": [topic], "timeout_ms": TIMEOUT_MS, "validate_only": False}
    (made,) = client.ask(ApiKey.CREATE_TOPICS, body).topics
    check(made.error_code, name, made.error_message)


def delete_topic(client: Client, name: str) -> None:
    """Delete a topic (DeleteTopics). Raises ErrorAnswer."""
    body = {"topics": [{"name": name, "topic_id": None}], "timeout_ms": TIMEOUT_MS}
    (gone,) = client.ask(ApiKey.DELETE_TOPICS, body).responses
    check(gone.error_code, name, gone.error_message)


def add_partitions(
    client: Client, name: str, count: int, assignments: Sequence[Sequence[int]] | None = None
) -> None:
    """Increase the number of a topic's partitions (CreatePartitions).

    Args:
        count: the new total.
        assignments: the replicas of each new partition; None: the controller chooses.

    Raises:
        ErrorAnswer: INVALID_PARTITIONS unless `count` is above the present number.
    """
    added = None if assignments is None else [{"broker_ids": list(each)} for each in assignments]
    topic = {"name": name, "count": count, "assignments": added}
    body = {"topics": [topic], "timeout_ms": TIMEOUT_MS, "validate_only": False}
    (done,) = client.ask(ApiKey.CREATE_PARTITIONS, body).results
    check(done.error_code, name, done.error_message)


def delete_records(client: Client, topic: str, partition: int, offset: int) -> int:
    """Delete the records before an offset; return the new low watermark (DeleteRecords).

    Args:
        offset: -1: the high watermark.

    Raises:
        ErrorAnswer: OFFSET_OUT_OF_RANGE behind the high watermark.
    """
    where = {"partition_index": partition, "offset": offset}
    body = {"topics": [{"name": topic, "partitions": [where]}], "timeout_ms": TIMEOUT_MS}
    answer = client.ask(ApiKey.DELETE_RECORDS, body, node_id=client.leader(topic, partition))
    (done,) = answer.topics[0].partitions
    check(done.error_code, f"{topic}-{partition}")
    return int(done.low_watermark)


def elect_leaders(
    client: Client, election_type: int, partitions: Mapping[str, Sequence[int]] | None
) -> list[Election]:
    """Elect leaders (ElectLeaders, KIP-460); return the result of each partition.

    Args:
        election_type: PREFERRED or UNCLEAN.
        partitions: indexes by topic; None: all partitions.

    Raises:
        ErrorAnswer: the request is refused as a whole.
    """
    asked = None
    if partitions is not None:
        asked = [{"topic": name, "partitions": list(each)} for name, each in partitions.items()]
    body = {"election_type": election_type, "topic_partitions": asked, "timeout_ms": TIMEOUT_MS}
    answer = client.ask(ApiKey.ELECT_LEADERS, body)
    check(answer.error_code, "the election")
    return [
        Election(topic.topic, each.partition_id, each.error_code, each.error_message)
        for topic in answer.replica_election_results
        for each in topic.partition_result
    ]


def log_directories(client: Client, nodes: Sequence[int]) -> Iterator[LogDirectory]:
    """The log directories of brokers with the size of each replica (DescribeLogDirs).

    Raises:
        ErrorAnswer: a broker refuses. NoAnswer: no broker has such an id.
    """
    for node_id in nodes:
        answer = client.ask(ApiKey.DESCRIBE_LOG_DIRS, {"topics": None}, node_id=node_id)
        check(answer.error_code, f"broker {node_id}")
        for each in answer.results:
            replicas = tuple(
                (
                    topic.name,
                    partition.partition_index,
                    partition.partition_size,
                    partition.offset_lag,
                    partition.is_future_key,
                )
                for topic in each.topics
                for partition in topic.partitions
            )
            yield LogDirectory(node_id, each.log_dir, each.error_code, replicas)


def _partition(found: Any) -> Partition:  # Any: part of an answer
    return Partition(
        found.partition_index,
        found.leader_id,
        found.leader_epoch,
        tuple(found.replica_nodes),
        tuple(found.isr_nodes),
        tuple(found.offline_replicas),
        tuple(found.eligible_leader_replicas or ()),
        tuple(found.last_known_elr or ()),
    )
