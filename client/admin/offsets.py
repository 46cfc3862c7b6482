"""Offsets of partitions of a running cluster (ListOffsets, KIP-79)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple

from ...protocol.api_keys import ApiKey
from ..cluster_client import Client, check
from ..retries import LEADER_MOVES, PATIENCE_S, retried

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
"""The record with the largest timestamp (KIP-734)."""
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
_PENDING_SINCE: Final = 11

Place = tuple[str, int]
"""A topic and the index of one of its partitions."""


class Isolation(IntEnum):
    """Kafka's isolation.level, with its number in requests."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class Offset(NamedTuple):
    """An answer of ListOffsets; offset -1: no record has such a time."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


def list_offsets(
    client: Client,
    times_ms: Mapping[Place, int],
    *,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
    patience_s: float = PATIENCE_S,
) -> dict[Place, Offset]:
    """The offset at a time in each partition: that of the first record not before it.

    Args:
        times_ms: Unix time by partition, or LATEST, EARLIEST and the other constants.
        isolation: with READ_COMMITTED, LATEST is the last stable offset.
        patience_s: for partitions without a leader.

    Raises:
        ErrorAnswer: UNKNOWN_TOPIC_OR_PARTITION, or a leader refuses.
    """
    return retried(LEADER_MOVES, patience_s)(_listed)(client, times_ms, isolation)


def _listed(
    client: Client, times_ms: Mapping[Place, int], isolation: Isolation
) -> dict[Place, Offset]:
    found: dict[Place, Offset] = {}
    for node_id, places in _by_leader(client, times_ms).items():
        asked = {place: times_ms[place] for place in places}
        for place, each in offsets_at_leader(client, node_id, asked, isolation):
            check(each.error_code, f"{place[0]}-{place[1]}")
            found[place] = Offset(each.offset, each.timestamp, each.leader_epoch)
    return {place: found[place] for place in times_ms}


def offsets_at_leader(
    client: Client, node_id: int, times_ms: Mapping[Place, int], isolation: Isolation
) -> Iterator[tuple[Place, Any]]:  # Any: part of an answer
    """What one node answers for partitions, with error codes. Raises NoAnswer.

    Args:
        times_ms, isolation: as for `list_offsets`.
    """
    topics: dict[str, list[dict[str, int]]] = defaultdict(list)
    for (topic, index), time_ms in times_ms.items():
        topics[topic].append(
            {"partition_index": index, "timestamp": time_ms, "current_leader_epoch": -1}
        )
    body = {
        "replica_id": -1,
        "isolation_level": isolation,
        "topics": [{"name": name, "partitions": each} for name, each in topics.items()],
    }
    version = _PENDING_SINCE if EARLIEST_PENDING_UPLOAD in times_ms.values() else None
    answer = client.ask(ApiKey.LIST_OFFSETS, body, node_id=node_id, version=version)
    for found in answer.topics:
        for each in found.partitions:
            yield (found.name, each.partition_index), each


def partition_offsets(
    client: Client,
    topic: str,
    times_ms: Mapping[int, int],
    *,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
    patience_s: float = PATIENCE_S,
) -> dict[int, int]:
    """As `list_offsets`, for one topic: the offset by partition; -1 if no record has such a time.

    Raises:
        ErrorAnswer: UNKNOWN_TOPIC_OR_PARTITION, or a leader refuses.
    """
    places = {(topic, index): time_ms for index, time_ms in times_ms.items()}
    found = list_offsets(client, places, isolation=isolation, patience_s=patience_s)
    return {index: each.offset for (_, index), each in found.items()}


def _by_leader(client: Client, places: Iterable[Place]) -> dict[int, list[Place]]:
    wanted = list(places)
    leaders: dict[Place, int] = {}
    for topic in client.metadata(sorted({name for name, _ in wanted})) if wanted else ():
        check(topic.error_code, topic.name)
        for each in topic.partitions:
            leaders[topic.name, each.partition_index] = each.leader_id
    by_leader: dict[int, list[Place]] = defaultdict(list)
    for place in wanted:
        leader = leaders.get(place, -1)
        if leader < 0:
            leader = client.leader(*place)  # raises the reason
        by_leader[leader].append(place)
    return by_leader
