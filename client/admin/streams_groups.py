"""Streams groups of a running cluster (KIP-1071): members, tasks, topology.

`groups.py` lists and deletes them, and has their committed offsets, which are those of all groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

from ...protocol.api_keys import ApiKey
from ..cluster_client import Client, check
from ..retries import COORDINATOR_MOVES, retried
from .cluster import api_versions
from .groups import coordinator_of

_WITH_DESCRIPTION: Final = 1
"""The first version of StreamsGroupDescribe with the assignor and the described topology."""


class Tasks(NamedTuple):
    """Tasks of a member: the partitions by subtopology id, of each kind."""

    active: Mapping[str, tuple[int, ...]]
    standby: Mapping[str, tuple[int, ...]]
    warmup: Mapping[str, tuple[int, ...]]


class StreamsMember(NamedTuple):
    """A member of a Streams group.

    Attributes:
        tasks: what it has.
        target: what it is to have.
        is_classic: it speaks the protocol of classic groups.
    """

    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    client_id: str
    host: str
    topology_epoch: int
    process_id: str
    tasks: Tasks
    target: Tasks
    is_classic: bool


class Subtopology(NamedTuple):
    """A part of a topology, with the names of its topics."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    changelog_topics: tuple[str, ...]
    repartition_source_topics: tuple[str, ...]


class Description(IntEnum):
    """Whether the broker has a description of the topology (KIP-1331)."""

    NOT_REQUESTED = 0
    NOT_STORED = 1
    ERROR = 2
    AVAILABLE = 3


class NodeType(IntEnum):
    """What a node of a described topology is."""

    SOURCE = 1
    PROCESSOR = 2
    SINK = 3


class TopologyNode(NamedTuple):
    """A node of a described topology; a sink may choose its topic by record (None)."""

    name: str
    node_type: NodeType
    topics: tuple[str, ...]
    sink_topic: str | None
    stores: tuple[str, ...]
    successors: tuple[str, ...]


class TopologyDescription(NamedTuple):
    """A topology as its application describes it: nodes by subtopology id, then global stores."""

    subtopologies: tuple[tuple[str, tuple[TopologyNode, ...]], ...]
    global_stores: tuple[tuple[TopologyNode, TopologyNode], ...]


@dataclass(frozen=True, slots=True)
class StreamsGroup:
    """A Streams group as its coordinator describes it (StreamsGroupDescribe).

    Attributes:
        assignor: empty if the broker does not say it.
        coordinator: node id, host and port.
        description: None unless `description_status` is AVAILABLE.
    """

    group_id: str
    state: str
    assignor: str
    coordinator: tuple[int, str, int]
    members: tuple[StreamsMember, ...]
    group_epoch: int
    target_epoch: int
    topology_epoch: int
    subtopologies: tuple[Subtopology, ...]
    description_status: Description
    description: TopologyDescription | None

    @property
    def input_topics(self) -> frozenset[str]:
        """The topics that the application reads and does not write itself."""
        return frozenset(topic for each in self.subtopologies for topic in each.source_topics)

    @property
    def source_topics(self) -> frozenset[str]:
        """The topics from which tasks read: input topics and repartition topics."""
        repartitioned = (each.repartition_source_topics for each in self.subtopologies)
        return self.input_topics.union(*repartitioned)

    @property
    def internal_topics(self) -> list[str]:
        """The topics that belong to the application: repartition topics and changelogs."""
        inputs = self.input_topics
        return [
            topic
            for each in self.subtopologies
            for topic in (*each.repartition_source_topics, *each.changelog_topics)
            if topic not in inputs
        ]

    def partitions_of(self, tasks: Mapping[str, tuple[int, ...]]) -> list[tuple[str, int]]:
        """The partitions that tasks read, by topic and index."""
        topics = {
            each.subtopology_id: (*each.source_topics, *each.repartition_source_topics)
            for each in self.subtopologies
        }
        return [
            (topic, index)
            for subtopology_id, indexes in tasks.items()
            for topic in topics[subtopology_id]
            for index in indexes
        ]


@retried(COORDINATOR_MOVES)
def describe_streams_group(
    client: Client, group_id: str, *, with_description: bool = False
) -> StreamsGroup:
    """A Streams group with its members, their tasks and its topology.

    Args:
        with_description: ask for the described topology too; brokers before 4.4 have none.

    Raises:
        ErrorAnswer: GROUP_ID_NOT_FOUND, also for a group of another type, and others.
    """
    node_id = coordinator_of(client, group_id)
    served = api_versions(client, node_id).get(ApiKey.STREAMS_GROUP_DESCRIBE, (0, 0))
    version = min(served[1], _WITH_DESCRIPTION)
    body: dict[str, Any] = {"group_ids": [group_id]}
    if version >= _WITH_DESCRIPTION:
        body["include_topology_description"] = with_description
    answer = client.ask(ApiKey.STREAMS_GROUP_DESCRIBE, body, node_id=node_id, version=version)
    (found,) = answer.groups
    check(found.error_code, group_id, found.error_message)
    is_new = version >= _WITH_DESCRIPTION
    status = Description(found.topology_description_status if is_new else 0)
    topology = found.topology
    return StreamsGroup(
        group_id,
        found.group_state,
        (found.assignor_name or "") if is_new else "",
        (node_id, *client.brokers[node_id]),
        tuple(map(_member, found.members)),
        found.group_epoch,
        found.assignment_epoch,
        topology.epoch if topology else -1,
        tuple(map(_subtopology, (topology.subtopologies or ()) if topology else ())),
        status,
        _description(found.topology_description) if status is Description.AVAILABLE else None,
    )


# Any, below: parts of an answer.


def _member(found: Any) -> StreamsMember:
    return StreamsMember(
        found.member_id,
        found.member_epoch,
        found.instance_id,
        found.rack_id,
        found.client_id,
        found.client_host,
        found.topology_epoch,
        found.process_id,
        _tasks(found.assignment),
        _tasks(found.target_assignment),
        found.is_classic,
    )


def _tasks(found: Any) -> Tasks:
    kinds = (found.active_tasks, found.standby_tasks, found.warmup_tasks)
    return Tasks(*({one.subtopology_id: tuple(one.partitions) for one in kind} for kind in kinds))


def _subtopology(found: Any) -> Subtopology:
    return Subtopology(
        found.subtopology_id,
        tuple(found.source_topics),
        tuple(found.repartition_sink_topics),
        tuple(each.name for each in found.state_changelog_topics),
        tuple(each.name for each in found.repartition_source_topics),
    )


def _description(found: Any) -> TopologyDescription:
    return TopologyDescription(
        tuple((each.subtopology_id, tuple(map(_node, each.nodes))) for each in found.subtopologies),
        tuple((_node(each.source), _node(each.processor)) for each in found.global_stores),
    )


def _node(found: Any) -> TopologyNode:
    return TopologyNode(
        found.name,
        NodeType(found.node_type),
        tuple(found.source_topics),
        found.sink_topic,
        tuple(found.stores),
        tuple(found.successors),
    )
