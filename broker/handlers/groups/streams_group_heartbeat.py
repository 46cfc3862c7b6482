"""StreamsGroupHeartbeat (88), versions 0-1: join, stay in or leave a streams group (KIP-1071).

0    the member reports its tasks; the answer may have other tasks
1    the acceptable recovery lag is a long; the status MISSING_CLIENT_TAGS

The broker creates missing internal topics before it answers; the next heartbeat gives the tasks. An
answer to a heartbeat that wrote records waits `group.coordinator.append.linger.ms`, as in Kafka.
Skipped: descriptions of topologies are never required, as in Kafka without a plugin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ....coordinator.streams.configured import Status
from ....coordinator.streams.kind import StreamsKind
from ....coordinator.streams.member import Endpoint, Tasks
from ....coordinator.streams.records import encode_topology
from ....coordinator.streams.requests import EndpointPartitions, HeartbeatReply, HeartbeatRequest
from ....coordinator.streams.topology import Topology, is_larger_than, read_subtopology
from ....metadata.catalog import INTERNAL_TOPICS
from ....metadata.topic_names import is_legal_topic_name
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import AclResource, Operation, must
from ...requests.context import Context
from ...requests.fencing_log import log_fenced
from ...requests.streams_topics import create_missing
from ...runtime.groups.group_settings import linger

if TYPE_CHECKING:
    from ....protocol.api_types.streams_group_heartbeat import (
        EndpointToPartitions,
        StreamsGroupHeartbeatRequest,
        StreamsGroupHeartbeatRequestTaskIds,
        StreamsGroupHeartbeatResponse,
        StreamsGroupHeartbeatResponseTaskIds,
        TaskOffset,
        TopicPartition,
    )
    from ....protocol.api_types.streams_group_heartbeat import (
        Status as StatusAnswer,
    )
    from ....protocol.api_types.streams_group_heartbeat import (
        Topology as SentTopology,
    )
    from ...node import Node

_TAGS_SINCE: Final = 1
_FEW_ELEMENTS: Final = 1_000


@serves(ApiKey.STREAMS_GROUP_HEARTBEAT, versions=(0, 1), guard=CHECKED_BY_HANDLER)
async def streams_group_heartbeat(
    node: Node, context: Context, request: StreamsGroupHeartbeatRequest
) -> StreamsGroupHeartbeatResponse:
    check_enabled(node)
    must(node, context, Operation.READ, AclResource.GROUP, request.group_id)
    topology, value = None, None
    if request.topology is not None:
        topology, value = await _topology(node, context, request.topology)
        await _check_topics(node, context, topology)
    heartbeat = replace(_heartbeat(context, request, topology), topology_value=value)
    shard = node.groups.shard_of(request.group_id)
    if value is not None and len(value) > shard.log.config.max_message_bytes:
        # The log would refuse its record, but only after a long decision.
        raise Refused(Code.UNKNOWN_SERVER_ERROR)
    end_before = shard.log.log_end_offset
    try:
        reply = await shard.run(
            lambda machine, now: machine.kind_for(StreamsKind, request.group_id).streams_heartbeat(
                heartbeat, now=now
            )
        )
    except Refused as refused:
        log_fenced(context, refused, group=request.group_id, member=request.member_id)
        raise
    statuses = await _statuses(node, context, reply)
    if shard.log.log_end_offset != end_before:
        await linger(node.clock, node.config)
    return {
        "member_id": reply.member_id,
        "member_epoch": reply.member_epoch,
        "heartbeat_interval_ms": reply.heartbeat_interval_ms,
        "acceptable_recovery_lag_legacy": 0,
        "task_offset_interval_ms": reply.task_offset_interval_ms,
        "acceptable_recovery_lag": reply.acceptable_recovery_lag,
        "status": statuses,
        "active_tasks": None if reply.tasks is None else _task_ids(reply.tasks.active),
        "standby_tasks": None if reply.tasks is None else _task_ids(reply.tasks.standby),
        "warmup_tasks": None if reply.tasks is None else _task_ids(reply.tasks.warmup),
        "endpoint_information_epoch": reply.endpoint_epoch,
        "partitions_by_user_endpoint": None
        if reply.endpoints is None
        else [_endpoint(each) async for each in context.turns.each(reply.endpoints)],
    }


def check_enabled(node: Node) -> None:
    """Check that `streams.version` and the broker's settings allow streams groups.

    Raises:
        Refused: UNSUPPORTED_VERSION.
    """
    if (
        node.catalog.features.get("streams.version", 0) < 1
        or "streams" not in node.config["group.coordinator.rebalance.protocols"]
    ):
        raise Refused(Code.UNSUPPORTED_VERSION)


# ---- the request


async def _topology(
    node: Node, context: Context, sent: SentTopology
) -> tuple[Topology, bytes | None]:
    """The topology; a large one is put in order and encoded in a thread, before the decision."""

    def read() -> Topology:
        return Topology(sent.epoch, tuple(map(read_subtopology, sent.subtopologies)))

    if not is_larger_than(sent, _FEW_ELEMENTS):
        return read(), None

    def made() -> tuple[Topology, bytes]:
        topology = read()
        _ = topology.required_topics, topology.copartitioned  # they are kept
        return topology, encode_topology(topology)

    return await node.workers.run(made)


async def _check_topics(node: Node, context: Context, topology: Topology) -> None:
    """Check the names of all topics of a topology.

    Raises:
        Refused: STREAMS_INVALID_TOPOLOGY, TOPIC_AUTHORIZATION_FAILED.
    """
    names: dict[str, None] = {}
    async for each in context.turns.each(topology.subtopologies):
        infos = (*each.repartition_source_topics, *each.state_changelog_topics)
        listed = (*each.source_topics, *each.repartition_sink_topics, *(t.name for t in infos))
        names |= dict.fromkeys(listed)
    prohibited = [name for name in names if name in INTERNAL_TOPICS]
    if prohibited:
        raise Refused(
            Code.STREAMS_INVALID_TOPOLOGY,
            f"Use of Kafka internal topics {','.join(prohibited)} in a Kafka Streams topology is "
            "prohibited.",
        )
    invalid = [name async for name in context.turns.each(names) if not is_legal_topic_name(name)]
    if invalid:
        why = f"Topic names {','.join(invalid)} are not valid topic names."
        raise Refused(Code.STREAMS_INVALID_TOPOLOGY, why)
    if node.authorizer is not None:
        async for name in context.turns.each(names):
            must(node, context, Operation.DESCRIBE, AclResource.TOPIC, name)


def _heartbeat(
    context: Context, request: StreamsGroupHeartbeatRequest, topology: Topology | None
) -> HeartbeatRequest:
    endpoint, tags = request.user_endpoint, request.client_tags
    return HeartbeatRequest(
        request.group_id,
        request.member_id,
        request.member_epoch,
        request.endpoint_information_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topology=topology,
        active=_tasks(request.active_tasks),
        standby=_tasks(request.standby_tasks),
        warmup=_tasks(request.warmup_tasks),
        process_id=request.process_id,
        user_endpoint=None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        client_tags=None if tags is None else tuple(sorted((t.key, t.value) for t in tags)),
        task_offsets=_offsets(request.task_offsets),
        task_end_offsets=_offsets(request.task_end_offsets),
        shutdown_application=request.shutdown_application,
        client_id=context.client_id or "",
        client_host=f"/{context.connection.host}",  # as Java prints an address without a name
        knows_tags=context.version >= _TAGS_SINCE,
    )


def _tasks(tasks: Iterable[StreamsGroupHeartbeatRequestTaskIds] | None) -> Tasks | None:
    if tasks is None:
        return None
    found: dict[str, set[int]] = {}
    for each in tasks:
        found.setdefault(each.subtopology_id, set()).update(each.partitions)
    return {each: frozenset(partitions) for each, partitions in found.items()}


def _offsets(offsets: Iterable[TaskOffset] | None) -> list[tuple[str, int, int]] | None:
    if offsets is None:
        return None
    return [(each.subtopology_id, each.partition, each.offset) for each in offsets]


# ---- the answer


async def _statuses(node: Node, context: Context, reply: HeartbeatReply) -> list[StatusAnswer]:
    """The statuses of the answer, after missing internal topics were created."""
    besides = ""
    if reply.missing_topics:
        ttl_ms = 2 * reply.heartbeat_interval_ms
        besides = await create_missing(node, context, reply.missing_topics, ttl_ms)
    return [
        {
            "status_code": each.status,
            "status_detail": each.detail
            + (besides if each.status is Status.MISSING_INTERNAL_TOPICS else ""),
        }
        for each in reply.statuses
    ]


def _task_ids(tasks: Mapping[str, Iterable[int]]) -> list[StreamsGroupHeartbeatResponseTaskIds]:
    return [
        {"subtopology_id": each, "partitions": sorted(partitions)}
        for each, partitions in tasks.items()
    ]


def _endpoint(partitions: EndpointPartitions) -> EndpointToPartitions:
    return {
        "user_endpoint": {"host": partitions.endpoint.host, "port": partitions.endpoint.port},
        "active_partitions": _by_topic(partitions.active),
        "standby_partitions": _by_topic(partitions.standby),
    }


def _by_topic(
    partitions: Mapping[str, Iterable[int]],
) -> list[TopicPartition]:
    return [{"topic": topic, "partitions": list(each)} for topic, each in partitions.items()]
