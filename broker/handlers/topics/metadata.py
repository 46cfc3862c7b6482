"""Metadata (3), versions 0-13: brokers, and topics with their partitions and leaders.

0     an empty list means all topics
1     null means all topics, an empty list none; the controller, racks and internal topics
2     the cluster id
3     throttle time
4     a client may switch off topic creation
5     offline replicas
7     leader epochs
8     authorized operations of topics and of the cluster
9     flexible encoding
10    topic ids in the answer
11    no authorized operations of the cluster; DescribeCluster has them
12    topics may be requested by id; names beside ids are ignored
13    the answer has a field for an error of the whole request

A missing topic is created if allowed, and the answer is still UNKNOWN_TOPIC_OR_PARTITION, as in
Kafka: clients repeat the request, and a client that does not gets no partitions. Skipped: nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ....metadata.catalog import INTERNAL_TOPICS, Partition, Topic
from ....metadata.topic_names import is_legal_topic_name
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ....protocol.java_hash import cached_hash_code, in_hash_map
from ...requests.api import serves
from ...requests.cluster_description import (
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS,
    brokers_alive,
    offline_replicas,
)
from ...requests.context import Context
from ...requests.deleted_topics import finish_deletion
from ...requests.refused_topics import log_refused_topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....protocol.api_types.metadata import (
        MetadataRequest,
        MetadataRequestTopic,
        MetadataResponse,
        MetadataResponsePartition,
        MetadataResponseTopic,
    )
    from ...node import Node

_IDS_SINCE: Final = 12
_FEW: Final = 16  # elements that are answered without a check of the time
_MANY: Final = 1000  # names beyond which a thread puts them into an order


@serves(ApiKey.METADATA, versions=(0, 13), guard="clients.metadata")
async def metadata(node: Node, context: Context, request: MetadataRequest) -> MetadataResponse:
    asked = request.topics
    if asked is None or (context.version == 0 and not asked):
        topics = await _all(node, context)
    else:
        ids, names = await _collect_names(context, asked)
        error = _request_error(context, ids, names)
        if error is not None:
            return await _refuse(context, asked, error)
        if ids:
            topics = await _by_id(node, context, ids)
        else:
            topics = await _by_name(node, context, request, names)
    if request.include_topic_authorized_operations:
        for topic in topics:
            await context.turns.pause()
            if topic["name"] is not None:
                topic["authorized_operations"] = TOPIC_OPERATIONS
    body: MetadataResponse = {
        "brokers": brokers_alive(node, context),
        "cluster_id": node.cluster_id,
        "controller_id": node.node_id,
        "topics": topics,
    }
    if request.include_cluster_authorized_operations:
        body["authorized_operations"] = CLUSTER_OPERATIONS
    return body


async def _collect_names(
    context: Context, asked: Sequence[MetadataRequestTopic]
) -> tuple[dict[UUID, None], dict[str | None, None]]:
    """The topic ids and names of a request, without duplicates."""
    ids: dict[UUID, None] = {}
    names: dict[str | None, None] = {}
    turns = context.turns if len(asked) > _FEW else None
    for topic in asked:
        if turns is not None and turns.is_over():
            await turns.pause()
        if topic.topic_id is not None and topic.topic_id.int != 0:
            ids[topic.topic_id] = None
        names[topic.name] = None
    return ids, names


def _request_error(
    context: Context, ids: dict[UUID, None], names: dict[str | None, None]
) -> Code | None:
    """The error of the whole request, if any."""
    if context.version < _IDS_SINCE:
        if None in names or ids:
            return Code.INVALID_REQUEST
    elif None in names and not ids:
        return Code.UNKNOWN_SERVER_ERROR  # Kafka's error for neither a name nor an id
    return None


async def _refuse(
    context: Context, asked: Sequence[MetadataRequestTopic], code: Code
) -> MetadataResponse:
    topics: list[MetadataResponseTopic] = []
    for topic in asked:
        await context.turns.pause()
        name, topic_id = topic.name or "", topic.topic_id
        topics.append({"error_code": code, "name": name, "topic_id": topic_id, "partitions": []})
    return {"brokers": [], "controller_id": -1, "topics": topics, "error_code": code}


async def _all(node: Node, context: Context) -> list[MetadataResponseTopic]:
    """Every topic; topics created or deleted during this call may or may not be included."""
    topics = list(node.catalog.topics.values())
    return [await _existing(node, context, topic) async for topic in context.turns.each(topics)]


async def _by_id(
    node: Node, context: Context, ids: dict[UUID, None]
) -> list[MetadataResponseTopic]:
    found: list[MetadataResponseTopic] = []
    unknown: list[MetadataResponseTopic] = []
    for topic_id in ids:
        await context.turns.pause()
        topic = node.catalog.topic_by_id(topic_id)
        if topic is None:
            code = Code.UNKNOWN_TOPIC_ID
            unknown.append(
                {"error_code": code, "name": None, "topic_id": topic_id, "partitions": []}
            )
        else:
            found.append(await _existing(node, context, topic))
    return unknown + found


async def _by_name(
    node: Node, context: Context, request: MetadataRequest, names: Collection[str | None]
) -> list[MetadataResponseTopic]:
    present: list[MetadataResponseTopic] = []
    missing: dict[str, None] = {}
    turns = context.turns if len(names) > _FEW else None
    for name in names:
        assert name is not None  # checked before
        if turns is not None and turns.is_over():
            await turns.pause()
        topic = node.catalog.topics.get(name)
        if topic is None:
            missing[name] = None
        else:
            present.append(await _existing(node, context, topic))
    made = None
    if request.allow_auto_topic_creation and node.config["auto.create.topics.enable"]:
        made = missing
    for name in await _in_kafkas_order(node, names, missing):
        await context.turns.pause()
        present.append(await _missing(node, context, name, made if made is None else missing))
    return present


async def _in_kafkas_order(
    node: Node, names: Collection[str | None], missing: Collection[str]
) -> Collection[str]:
    """The missing names in the order of the HashSet in which Kafka has all names of a request."""
    if len(missing) <= 1:
        return missing

    def order() -> list[str]:
        asked = in_hash_map([name for name in names if name is not None], cached_hash_code)
        return [name for name in asked if name in missing]

    return order() if len(names) <= _MANY else await node.workers.run(order)


async def _missing(
    node: Node, context: Context, name: str, made: Container[str] | None
) -> MetadataResponseTopic:
    """The answer for a missing topic: it does not exist, even if this call creates it.

    Args:
        made: all missing topics of the request, which are to be created; None: none is created.
    """
    code = Code.UNKNOWN_TOPIC_OR_PARTITION
    if not is_legal_topic_name(name):
        code = Code.INVALID_TOPIC_EXCEPTION
    elif made is not None:
        try:
            if (failed := await finish_deletion(node, name)) is not None:
                raise failed
            node.controller.auto_create_topic(name, node.config, beside=made)
        except Refused as refused:  # the answer is that it does not exist in either case
            log_refused_topic(context, name, refused)
    return {
        "error_code": code,
        "name": name,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": [],
    }


async def _existing(node: Node, context: Context, topic: Topic) -> MetadataResponseTopic:
    partitions: list[MetadataResponsePartition] = []
    turns = context.turns if len(topic.partitions) > _FEW else None
    for partition in topic.partitions:
        if turns is not None and turns.is_over():
            await turns.pause()
        partitions.append(_partition(node, partition))
    return {
        "error_code": Code.NONE,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.is_internal,
        "partitions": partitions,
    }


def _partition(node: Node, partition: Partition) -> MetadataResponsePartition:
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
