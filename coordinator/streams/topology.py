"""The topology of a streams group as a value, as members send it and as the log holds it.

A topology consists of subtopologies. Each reads source topics and repartition topics, writes to
repartition topics, and keeps its state in changelog topics.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ...protocol.errors import Code, Refused
from ..java_order import names_in_order

if TYPE_CHECKING:
    from ...protocol.api_types.records import StreamsGroupTopologyValueTopicInfo as StoredTopicInfo
    from ...protocol.api_types.records import Subtopology as StoredSubtopology
    from ...protocol.api_types.streams_group_heartbeat import Subtopology as SentSubtopology
    from ...protocol.api_types.streams_group_heartbeat import TopicInfo as SentTopicInfo
    from ...protocol.api_types.streams_group_heartbeat import Topology as SentTopology


class TopicInfo(NamedTuple):
    """An internal topic: of a changelog, or for repartitioning.

    Attributes:
        partitions: 0 if the coordinator decides.
        replication_factor: 0 for the broker's default.
        topic_configs: pairs of key and value.
    """

    name: str
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: tuple[tuple[str, str], ...] = ()


class CopartitionGroup(NamedTuple):
    """Sources that must have the same number of partitions, by their index in the subtopology."""

    source_topics: tuple[int, ...] = ()
    source_topic_regex: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()


class Subtopology(NamedTuple):
    """A part of a topology that shares no task with other parts."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    state_changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()


class Topology:
    """A topology with its epoch; two are equal if they have the same subtopologies.

    Args:
        subtopologies: in the order of the request or record.

    Attributes:
        by_id: the subtopologies by their ids, in Kafka's order.
    """

    def __init__(self, epoch: int, subtopologies: tuple[Subtopology, ...]) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies
        by_id = {each.subtopology_id: each for each in subtopologies}
        self.by_id = {each: by_id[each] for each in names_in_order(by_id)}

    def check(self) -> None:
        """Raises Refused UNKNOWN_SERVER_ERROR where Kafka's coordinator fails on a topology."""
        if len(self.by_id) < len(self.subtopologies) or self.epoch < 0:
            raise Refused(Code.UNKNOWN_SERVER_ERROR)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Topology) and self.epoch == other.epoch and self.by_id == other.by_id
        )

    def __hash__(self) -> int:
        return hash((self.epoch, len(self.by_id)))

    def __repr__(self) -> str:
        return f"Topology({self.epoch}, {self.subtopologies})"

    @cached_property
    def source_topics(self) -> dict[str, str]:
        """The id of the subtopology that reads a topic, by the topic's name."""
        return {
            name: subtopology_id
            for subtopology_id, each in self.by_id.items()
            for name in (*each.source_topics, *(r.name for r in each.repartition_source_topics))
        }

    @cached_property
    def required_topics(self) -> tuple[str, ...]:
        """The names of all topics but sinks, in Kafka's order."""
        return tuple(
            names_in_order(
                dict.fromkeys(
                    name
                    for each in self.by_id.values()
                    for name in (
                        *each.source_topics,
                        *(topic.name for topic in each.repartition_source_topics),
                        *(topic.name for topic in each.state_changelog_topics),
                    )
                )
            )
        )

    @cached_property
    def copartitioned(self) -> tuple[list[str], ...] | None:
        """The names in each copartition group, in Kafka's order; None: an index is out of range."""
        try:
            return tuple(
                _names_in(group, subtopology)
                for subtopology in self.by_id.values()
                for group in subtopology.copartition_groups
            )
        except IndexError:
            return None


def _names_in(group: CopartitionGroup, subtopology: Subtopology) -> list[str]:
    """The names of the topics in a copartition group. Raises IndexError."""
    sources, repartition = group.source_topics, group.repartition_source_topics
    if min((*sources, *repartition), default=0) < 0:
        raise IndexError
    names = dict.fromkeys(map(subtopology.source_topics.__getitem__, sources))
    for index in repartition:
        names[subtopology.repartition_source_topics[index].name] = None
    return names_in_order(names)


def is_larger_than(topology: SentTopology, limit: int) -> bool:
    """Whether a topology of a request has more names, settings and indexes than the limit."""
    size = 0
    for each in topology.subtopologies:
        size += len(each.source_topics) + len(each.source_topic_regex)
        size += len(each.repartition_sink_topics) + 1
        for topic in (*each.state_changelog_topics, *each.repartition_source_topics):
            size += len(topic.topic_configs) + 1
            if size > limit:
                return True
        for group in each.copartition_groups:
            size += len(group.source_topics) + len(group.source_topic_regex)
            size += len(group.repartition_source_topics) + 1
            if size > limit:
                return True
    return size > limit


def read_subtopology(subtopology: SentSubtopology | StoredSubtopology) -> Subtopology:
    """A subtopology of a record or of a StreamsGroupHeartbeat."""
    return Subtopology(
        subtopology.subtopology_id,
        tuple(subtopology.source_topics),
        tuple(subtopology.source_topic_regex),
        tuple(map(_topic_info, subtopology.state_changelog_topics)),
        tuple(subtopology.repartition_sink_topics),
        tuple(map(_topic_info, subtopology.repartition_source_topics)),
        tuple(
            CopartitionGroup(
                tuple(group.source_topics),
                tuple(group.source_topic_regex),
                tuple(group.repartition_source_topics),
            )
            for group in subtopology.copartition_groups
        ),
    )


def _topic_info(topic: SentTopicInfo | StoredTopicInfo) -> TopicInfo:
    return TopicInfo(
        topic.name,
        topic.partitions,
        topic.replication_factor,
        tuple((each.key, each.value) for each in topic.topic_configs),
    )
