"""StreamsGroupDescribe (89), versions 0-1: describe streams groups and members (KIP-1071).

1    the name of the assignor; the description of the topology, if asked for (KIP-1331)

A group of another kind is not found. Skipped: no topology has a description, as in Kafka without a
plugin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from ....coordinator.streams.configured import ConfiguredTopology, InternalTopic
from ....coordinator.streams.kind import StreamsKind
from ....coordinator.streams.member import NO_OFFSETS, NO_TASKS, StreamsMember, TaskOffsets
from ....coordinator.streams.requests import DescribedStreamsGroup
from ....coordinator.streams.topology import Subtopology as SentSubtopology
from ....coordinator.streams.topology import TopicInfo
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.context import Context
from ...requests.described_groups import check_topics, describe_each
from .streams_group_heartbeat import check_enabled

if TYPE_CHECKING:
    from ....protocol.api_types.streams_group_describe import (
        Assignment,
        DescribedGroup,
        Member,
        StreamsGroupDescribeRequest,
        StreamsGroupDescribeResponse,
        Subtopology,
        TaskIds,
        TaskOffset,
        Topology,
    )
    from ....protocol.api_types.streams_group_describe import (
        TopicInfo as TopicInfoAnswer,
    )
    from ...node import Node

_NOT_STORED: Final = 1
"""The status of a topology without a description."""


@serves(ApiKey.STREAMS_GROUP_DESCRIBE, versions=(0, 1), guard=CHECKED_BY_HANDLER)
async def streams_group_describe(
    node: Node, context: Context, request: StreamsGroupDescribeRequest
) -> StreamsGroupDescribeResponse:
    describe = partial(_describe, asks_description=request.include_topology_description)
    return {"groups": await describe_each(node, context, request, check_enabled, describe)}


async def _describe(
    node: Node, context: Context, group_id: str, *, asks_description: bool
) -> DescribedGroup:
    group = node.groups.shard_of(group_id).ask(
        lambda machine: machine.kind_for(StreamsKind, group_id).describe(group_id)
    )
    members = [_member(group, each) async for each in context.turns.each(group.members)]
    topology = await _topology(context, group)
    if node.authorizer is not None and topology is not None:
        why = "The described group uses topics that the client is not authorized to describe."
        await check_topics(node, context, _topics_in(topology), why)
    answer: DescribedGroup = {
        "group_id": group_id,
        "error_code": Code.NONE,
        "group_state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "topology": topology,
        "members": members,
        "assignor_name": group.assignor,
    }
    if asks_description:
        answer["topology_description_status"] = _NOT_STORED
    return answer


# ---- the topology


async def _topology(context: Context, group: DescribedStreamsGroup) -> Topology | None:
    """The topology with decided numbers of partitions, if its topics fit; else as it was sent."""
    topology, known = group.topology, group.configured
    if topology is None:
        return None
    return {
        "epoch": topology.epoch,
        "subtopologies": [
            _subtopology(each, topology.by_id[each], known)
            async for each in context.turns.each(sorted(topology.by_id))
        ],
    }


def _subtopology(
    subtopology_id: str, sent: SentSubtopology, known: ConfiguredTopology | None
) -> Subtopology:
    repartition: Iterable[InternalTopic | TopicInfo] = sent.repartition_source_topics
    changelog: Iterable[InternalTopic | TopicInfo] = sent.state_changelog_topics
    if known is not None and known.subtopologies is not None:
        configured = known.subtopologies[subtopology_id]
        repartition = configured.repartition_source_topics
        changelog = configured.state_changelog_topics
    return {
        "subtopology_id": subtopology_id,
        "source_topics": sorted(sent.source_topics),
        "repartition_sink_topics": sorted(sent.repartition_sink_topics),
        "state_changelog_topics": _topic_infos(changelog),
        "repartition_source_topics": _topic_infos(repartition),
    }


def _topic_infos(topics: Iterable[InternalTopic | TopicInfo]) -> list[TopicInfoAnswer]:
    return [
        {
            "name": each.name,
            "partitions": each.partitions,
            "replication_factor": each.replication_factor,
            "topic_configs": [{"key": key, "value": value} for key, value in each.topic_configs],
        }
        for each in sorted(topics, key=lambda topic: topic.name)
    ]


def _topics_in(topology: Topology) -> set[str]:
    return {
        name
        for each in topology["subtopologies"] or ()
        for name in (
            *each["source_topics"],
            *each["repartition_sink_topics"],
            *(topic["name"] for topic in each["repartition_source_topics"]),
            *(topic["name"] for topic in each["state_changelog_topics"]),
        )
    }


# ---- members


def _member(group: DescribedStreamsGroup, member: StreamsMember) -> Member:
    member_id, endpoint = member.member_id, member.user_endpoint
    offsets: TaskOffsets = group.offsets.get(member_id, NO_OFFSETS)
    target = group.targets.get(member_id, NO_TASKS)
    return {
        "member_id": member_id,
        "member_epoch": member.member_epoch,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "topology_epoch": member.topology_epoch,
        "process_id": member.process_id,
        "user_endpoint": None
        if endpoint is None
        else {"host": endpoint.host, "port": endpoint.port},
        "client_tags": [{"key": key, "value": value} for key, value in member.client_tags],
        "task_offsets": _offsets(offsets.offsets),
        "task_end_offsets": _offsets(offsets.end_offsets),
        "assignment": _assignment(*member.assigned),
        "target_assignment": _assignment(*target),
        "is_classic": False,
    }


def _assignment(
    active: Mapping[str, Iterable[int]],
    standby: Mapping[str, Iterable[int]],
    warmup: Mapping[str, Iterable[int]],
) -> Assignment:
    return {
        "active_tasks": _task_ids(active),
        "standby_tasks": _task_ids(standby),
        "warmup_tasks": _task_ids(warmup),
    }


def _task_ids(tasks: Mapping[str, Iterable[int]]) -> list[TaskIds]:
    return [{"subtopology_id": each, "partitions": sorted(tasks[each])} for each in sorted(tasks)]


def _offsets(offsets: Mapping[str, Mapping[int, int]]) -> list[TaskOffset]:
    return [
        {
            "subtopology_id": subtopology_id,
            "partition": partition,
            "offset": offsets[subtopology_id][partition],
        }
        for subtopology_id in sorted(offsets)
        for partition in sorted(offsets[subtopology_id])
    ]
