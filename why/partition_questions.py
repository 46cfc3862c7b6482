"""What leaders and the metadata tell of partitions: offsets, replicas, producers, records left."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..client.admin.offsets import EARLIEST, LATEST, Isolation, offsets_at_leader
from ..client.fates import AbortedTransactions
from ..client.log_batches import fetch, marker_in
from ..protocol.api_keys import ApiKey
from ..protocol.batch import headers_in
from ..protocol.errors import Code
from .facts import OpenProducer, PartitionFacts, Place, Rest

if TYPE_CHECKING:
    from ..client.cluster_client import Client

_TOPIC: Final = 2  # the type of a resource with settings
_MIN_IN_SYNC: Final = "min.insync.replicas"
_MOST_FETCHES: Final = 8
_OFFSETS: Final = (
    ("log_start", EARLIEST, Isolation.READ_UNCOMMITTED),
    ("last_stable", LATEST, Isolation.READ_COMMITTED),
    # Last, so that it is never below the last stable offset.
    ("high_watermark", LATEST, Isolation.READ_UNCOMMITTED),
)


def partitions_of(
    client: Client, topics: list[str] | None, *, with_offsets: bool = True
) -> tuple[dict[Place, PartitionFacts], tuple[str, ...]]:
    """The partitions of topics, None for all, and the topics that do not exist.

    Raises:
        NoAnswer: the broker does not answer the request for metadata. A leader that does not answer
            has no offsets.
    """
    if topics == []:
        return {}, ()
    found: dict[Place, PartitionFacts] = {}
    absent = []
    for topic in client.metadata(topics):
        if topic.error_code:
            absent.append(str(topic.name))
        for each in topic.partitions:
            found[topic.name, each.partition_index] = PartitionFacts(
                each.leader_id, tuple(each.replica_nodes), tuple(each.isr_nodes)
            )
    if with_offsets:
        asked = _by_leader(client, found)
        known = {
            name: _offsets(client, asked, time_ms, isolation)
            for name, time_ms, isolation in _OFFSETS
        }
        for place, each in found.items():
            of_place: dict[str, Any] = {name: offsets.get(place) for name, offsets in known.items()}
            found[place] = PartitionFacts(each.leader, each.replicas, each.in_sync, **of_place)
    return found, tuple(absent)


def _by_leader(
    client: Client, partitions: Mapping[Place, PartitionFacts]
) -> dict[int, dict[str, list[int]]]:
    """The indexes of partitions by leader and topic; those without a leader are left out."""
    by_leader: dict[int, dict[str, list[int]]] = {}
    for (topic, index), each in sorted(partitions.items()):
        if each.leader in client.brokers:
            by_leader.setdefault(each.leader, {}).setdefault(topic, []).append(index)
    return by_leader


def _offsets(
    client: Client, asked: Mapping[int, Mapping[str, list[int]]], time_ms: int, isolation: Isolation
) -> dict[Place, int]:
    """The offsets that leaders know; those of partitions that just move are left out.

    Args:
        asked: partitions as `_by_leader` has them.
    """
    found = {}
    for node_id, topics in asked.items():
        times_ms = {(name, index): time_ms for name, each in topics.items() for index in each}
        for place, answered in offsets_at_leader(client, node_id, times_ms, isolation):
            if not answered.error_code:
                found[place] = answered.offset
    return found


def open_producers(
    client: Client, partitions: Mapping[Place, PartitionFacts]
) -> dict[Place, tuple[OpenProducer, ...]]:
    """The producers with an open transaction in each partition. Raises NoAnswer."""
    found = {}
    for node_id, topics in _by_leader(client, partitions).items():
        body = {
            "topics": [
                {"name": name, "partition_indexes": indexes} for name, indexes in topics.items()
            ]
        }
        for topic in client.ask(ApiKey.DESCRIBE_PRODUCERS, body, node_id=node_id).topics:
            for each in topic.partitions:
                found[topic.name, each.partition_index] = tuple(
                    OpenProducer(
                        one.producer_id,
                        one.producer_epoch,
                        one.current_txn_start_offset,
                        one.last_timestamp,
                        one.coordinator_epoch,
                    )
                    for one in (() if each.error_code else each.active_producers)
                    if one.current_txn_start_offset >= 0
                )
    return found


def with_min_in_sync(
    client: Client, partitions: Mapping[Place, PartitionFacts]
) -> dict[Place, PartitionFacts]:
    """The same with min.insync.replicas, where replicas are missing. Raises NoAnswer."""
    topics = {
        topic for (topic, _), each in partitions.items() if len(each.in_sync) < len(each.replicas)
    }
    if not topics:
        return dict(partitions)
    values = _min_in_sync(client, topics)
    return {
        place: replace(each, min_in_sync=values.get(place[0])) if place[0] in topics else each
        for place, each in partitions.items()
    }


def _min_in_sync(client: Client, topics: Iterable[str]) -> dict[str, int]:
    resources = [
        {"resource_type": _TOPIC, "resource_name": name, "configuration_keys": [_MIN_IN_SYNC]}
        for name in sorted(topics)
    ]
    body = {"resources": resources, "include_synonyms": False, "include_documentation": False}
    return {
        each.resource_name: int(setting.value)
        for each in client.ask(ApiKey.DESCRIBE_CONFIGS, body).results
        for setting in each.configs
        if not each.error_code and setting.name == _MIN_IN_SYNC and setting.value is not None
    }


def rest_of(client: Client, place: Place, begin: int, end: int, deadline_s: float) -> Rest:
    """What a read_committed reader gets between two offsets, by the headers of the batches.

    Args:
        deadline_s: by the monotonic clock; afterwards, and after some requests, it is not whole.

    Raises:
        NoAnswer: the leader does not answer.
    """
    topic, partition = place
    counts: dict[str, int] = defaultdict(int)
    at = begin
    for _ in range(_MOST_FETCHES):
        if at >= end or time.monotonic() > deadline_s:
            break
        (answer,) = fetch(
            client, topic, {partition: at}, node_id=client.known_leader(topic, partition),
            isolation=Isolation.READ_COMMITTED,
        )  # fmt: skip
        if answer.error_code != Code.NONE or not answer.records:
            break
        aborted = AbortedTransactions(answer.aborted_transactions or ())
        data = bytes(answer.records)
        for position, header in headers_in(data):
            if header.is_control:
                aborted.pass_marker(header, commits=marker_in(data, position, header))
                kind = "markers"
            elif header.is_transactional and aborted.has(header):
                kind = "aborted"
            else:
                kind = "readable"
            within = header.last_offset - max(header.base_offset, at) + 1
            if header.last_offset >= at and header.base_offset < end:
                counts[kind] += min(header.record_count, max(within, 0))
            at = max(at, header.next_offset)
    return Rest(counts["readable"], counts["markers"], counts["aborted"], is_whole=at >= end)
