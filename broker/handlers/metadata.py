"""Metadata (3), versions 0-13: brokers, and topics with their partitions and leaders.

0     no topics is all topics
1     null is all topics, an empty list none; the controller, racks and internal topics are told
2     the cluster id is told
4     a client may say that it wants no topic made
5     offline replicas
7     leader epochs
8     authorized operations; those of the cluster up to version 10 only
9     flexible encoding
10    topic ids are told
12    topics may be asked for by id; then names beside them are passed over
13    an error of the request as a whole has a field

A missing topic that may be made is made, and the answer is still UNKNOWN_TOPIC_OR_PARTITION, as
Kafka's is: clients ask again, and those that take the first answer's partitions for final do not
get any. Skipped: nothing.
"""

from __future__ import annotations

from collections.abc import Container
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ...storage.catalog import INTERNAL_TOPICS, Partition, Topic
from ..cluster import CLUSTER_OPERATIONS, TOPIC_OPERATIONS, brokers_alive, offline_replicas
from ..context import Context
from ..dispatch import serves
from ..topic_names import is_legal_topic_name

if TYPE_CHECKING:
    from ..node import Node

_IDS_SINCE: Final = 12


@serves(ApiKey.METADATA, versions=(0, 13))
async def metadata(node: Node, context: Context, request: Any) -> dict[str, Any]:
    asked = request.topics
    if asked is None or (context.version == 0 and not asked):
        topics = [_existing(node, topic) for topic in node.catalog.topics.values()]
    else:
        wrong = _what_is_wrong(context, asked)
        if wrong is not None:
            return _refused(asked, wrong)
        ids = dict.fromkeys(topic.topic_id for topic in asked if _has_id(topic))
        if ids:
            topics = _by_id(node, ids)
        else:
            topics = _by_name(node, request, dict.fromkeys(topic.name for topic in asked))
    if request.include_topic_authorized_operations:
        for topic in topics:
            if topic["name"] is not None:
                topic["authorized_operations"] = TOPIC_OPERATIONS
    body = {
        "brokers": brokers_alive(node, context),
        "cluster_id": node.cluster_id,
        "controller_id": node.node_id,
        "topics": topics,
    }
    if request.include_cluster_authorized_operations:
        body["authorized_operations"] = CLUSTER_OPERATIONS
    return body


def _has_id(topic: Any) -> bool:
    topic_id: UUID | None = topic.topic_id
    return topic_id is not None and topic_id.int != 0


def _what_is_wrong(context: Context, asked: list[Any]) -> Code | None:
    """The error of the whole request, if any."""
    if context.version < _IDS_SINCE:
        if any(topic.name is None or _has_id(topic) for topic in asked):
            return Code.INVALID_REQUEST
    elif any(topic.name is None for topic in asked) and not any(map(_has_id, asked)):
        return Code.UNKNOWN_SERVER_ERROR  # Kafka's own words for neither a name nor an id
    return None


def _refused(asked: list[Any], code: Code) -> dict[str, Any]:
    topics = [
        {"error_code": code, "name": topic.name or "", "topic_id": topic.topic_id}
        for topic in asked
    ]
    return {"controller_id": -1, "topics": topics, "error_code": code}


def _by_id(node: Node, ids: dict[UUID, None]) -> list[dict[str, Any]]:
    found = {topic_id: node.catalog.topic_by_id(topic_id) for topic_id in ids}
    unknown: list[dict[str, Any]] = [
        {"error_code": Code.UNKNOWN_TOPIC_ID, "name": None, "topic_id": topic_id}
        for topic_id, topic in found.items()
        if topic is None
    ]
    return unknown + [_existing(node, topic) for topic in found.values() if topic is not None]


def _by_name(node: Node, request: Any, names: dict[str, None]) -> list[dict[str, Any]]:
    topics = node.catalog.topics
    present = [_existing(node, topics[name]) for name in names if name in topics]
    missing = dict.fromkeys(name for name in names if name not in topics)
    makes = request.allow_auto_topic_creation and node.config["auto.create.topics.enable"]
    return present + [_missing(node, name, missing if makes else None) for name in missing]


def _missing(node: Node, name: str, made: Container[str] | None) -> dict[str, Any]:
    """What is told of a topic that is not there, which is made now, with those of `made`."""
    code = Code.UNKNOWN_TOPIC_OR_PARTITION
    if not is_legal_topic_name(name):
        code = Code.INVALID_TOPIC_EXCEPTION
    elif made is not None:
        with suppress(Refused):  # that it is not there is told anyway, and remains so
            node.controller.auto_create_topic(name, beside=made)
    return {"error_code": code, "name": name, "is_internal": name in INTERNAL_TOPICS}


def _existing(node: Node, topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.is_internal,
        "partitions": [_partition(node, partition) for partition in topic.partitions],
    }


def _partition(node: Node, partition: Partition) -> dict[str, Any]:
    leads = partition.leader_id >= 0
    return {
        "error_code": Code.NONE if leads else Code.LEADER_NOT_AVAILABLE,
        "partition_index": partition.index,
        "leader_id": partition.leader_id,
        "leader_epoch": partition.leader_epoch,
        "replica_nodes": list(partition.replicas),
        "isr_nodes": list(partition.isr),
        "offline_replicas": offline_replicas(node, partition.replicas),
    }
