"""Checks a topology against the topics of the cluster, and decides on its internal topics.

Follows Kafka's InternalTopicManager: sources must exist, topics that are joined must have the same
number of partitions, and missing internal topics are created with the numbers decided here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from ...protocol.errors import Code, Refused
from ..consumer.topics import Topics
from ..java_order import names_in_order
from .repartition import PartitionCounts, repartition_counts
from .topology import Subtopology, TopicInfo, Topology

_MOST_NAMED: Final = 3


class Status(IntEnum):
    """The codes of the statuses in an answer (StreamsGroupHeartbeatResponse.Status)."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5
    MISSING_CLIENT_TAGS = 6


class GroupStatus(NamedTuple):
    """A status that a heartbeat tells, with its sentence."""

    status: Status
    detail: str


class InternalTopic(NamedTuple):
    """An internal topic with its number of partitions.

    Attributes:
        replication_factor: 0 for the broker's default.
    """

    name: str
    partitions: int
    replication_factor: int
    topic_configs: tuple[tuple[str, str], ...]


class ConfiguredSubtopology(NamedTuple):
    """A subtopology whose topics are known.

    Attributes:
        task_count: the number of partitions of its largest source.
    """

    task_count: int
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    repartition_source_topics: tuple[InternalTopic, ...]
    state_changelog_topics: tuple[InternalTopic, ...]


class ConfiguredTopology(NamedTuple):
    """A topology after the check (ConfiguredTopology).

    Attributes:
        topology: what was checked.
        metadata_hash: of the topics that it was checked against.
        subtopologies: in the order of their ids; None if sources are missing or do not fit.
        missing: the internal topics to create.
        problem: why members get no tasks; None if they may get some.
    """

    topology: Topology
    metadata_hash: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None
    missing: tuple[InternalTopic, ...] = ()
    problem: GroupStatus | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None


class _Wrong(Exception):
    """The topics do not fit the topology."""

    def __init__(self, status: Status, detail: str) -> None:
        super().__init__(detail)
        self.problem = GroupStatus(status, detail)


def configure(topology: Topology, metadata_hash: int, topics: Topics) -> ConfiguredTopology:
    """Check a topology.

    Raises:
        Refused: STREAMS_INVALID_TOPOLOGY; UNKNOWN_SERVER_ERROR where Kafka's coordinator fails.
    """
    copartitioned = topology.copartitioned
    if copartitioned is None:
        raise Refused(Code.UNKNOWN_SERVER_ERROR)
    counts = PartitionCounts(topology, topics)
    try:
        _check_sources(topology, topics)
        counts.decided |= repartition_counts(topology, counts)
        for names in copartitioned:
            counts.decided |= _enforced(names, counts)
        for subtopology in topology.by_id.values():
            largest = _task_count(subtopology, counts)
            for changelog in subtopology.state_changelog_topics:
                counts.decided[changelog.name] = largest
        subtopologies = {
            subtopology_id: _configured(topology.by_id[subtopology_id], counts)
            for subtopology_id in sorted(topology.by_id)
        }
        missing = _missing(subtopologies.values(), topology, topics)
    except _Wrong as wrong:
        return ConfiguredTopology(topology, metadata_hash, None, (), wrong.problem)
    problem = None
    if missing:
        detail = f"Internal topics are missing: {_some(each.name for each in missing)}"
        problem = GroupStatus(Status.MISSING_INTERNAL_TOPICS, detail)
    return ConfiguredTopology(topology, metadata_hash, subtopologies, missing, problem)


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - _MOST_NAMED
    named = ", ".join(listed[:_MOST_NAMED])
    return f"{named} and {more} additional topics" if more > 0 else named


def _check_sources(topology: Topology, topics: Topics) -> None:
    missing = {
        name
        for subtopology in topology.by_id.values()
        for name in subtopology.source_topics
        if topics.by_name(name) is None
    }
    if missing:
        detail = f"Source topics {_some(sorted(missing))} are missing."
        raise _Wrong(Status.MISSING_SOURCE_TOPICS, detail)


def _enforced(names: Collection[str], counts: PartitionCounts) -> Mapping[str, int]:
    """The partitions of the repartition topics in a copartition group.

    As CopartitionedTopicsEnforcer of Kafka, which compares all repartition topics with a given
    number if a group has repartition topics only.
    """
    if not names:
        return {}
    own = {name: counts.of(name) for name in names if name in counts.repartition_topics}
    others = {name: counts.of(name) for name in names if name not in own}
    if others:
        wanted = _same(others, others)
    elif counts.fixed:
        wanted = _same({name: counts.of(name) for name in counts.fixed}, own)
    else:
        wanted = max(own.values())
    for name, count in own.items():
        if name in counts.fixed and count != wanted:
            raise _Wrong(
                Status.INCORRECTLY_PARTITIONED_TOPICS,
                f"Number of partitions [{count}] of repartition topic [{name}] doesn't match "
                f"number of partitions [{wanted}] of the source topic.",
            )
    return dict.fromkeys(own, wanted)


def _same(counts: Mapping[str, int], told: Mapping[str, int]) -> int:
    """The one number of partitions that the topics have; `told` are those that a refusal names."""
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name}={told[name]}" for name in sorted(told))
        raise _Wrong(
            Status.INCORRECTLY_PARTITIONED_TOPICS,
            f"Following topics do not have the same number of partitions: [{{{listed}}}]",
        )
    return next(iter(counts.values()))


def _task_count(subtopology: Subtopology, counts: PartitionCounts) -> int:
    sources = [*subtopology.source_topics]
    sources += [topic.name for topic in subtopology.repartition_source_topics]
    if not sources:
        raise Refused(
            Code.STREAMS_INVALID_TOPOLOGY,
            f"No source topics found for subtopology {subtopology.subtopology_id}",
        )
    return max(map(counts.of, sources))


def _configured(subtopology: Subtopology, counts: PartitionCounts) -> ConfiguredSubtopology:
    return ConfiguredSubtopology(
        _task_count(subtopology, counts),
        subtopology.source_topics,
        subtopology.repartition_sink_topics,
        _internal(subtopology.repartition_source_topics, counts),
        _internal(subtopology.state_changelog_topics, counts),
    )


def _internal(infos: Sequence[TopicInfo], counts: PartitionCounts) -> tuple[InternalTopic, ...]:
    """Internal topics with their numbers of partitions.

    Raises:
        Refused: UNKNOWN_SERVER_ERROR: a name or the key of a setting comes twice, or a number of
            partitions is negative; Kafka's coordinator fails there.
    """
    if not infos:
        return ()
    made = tuple(
        InternalTopic(
            each.name,
            each.partitions or counts.decided[each.name],
            each.replication_factor,
            each.topic_configs,
        )
        for each in infos
    )
    names = {each.name for each in made}
    if len(names) < len(made) or any(
        each.partitions < 1 or len(dict(each.topic_configs)) < len(each.topic_configs)
        for each in made
    ):
        raise Refused(Code.UNKNOWN_SERVER_ERROR)
    return made


def _missing(
    subtopologies: Iterable[ConfiguredSubtopology], topology: Topology, topics: Topics
) -> tuple[InternalTopic, ...]:
    """The internal topics that do not exist. Raises _Wrong: one has other partitions."""
    wanted = {
        topic.name: topic
        for each in subtopologies
        for topic in (*each.repartition_source_topics, *each.state_changelog_topics)
    }
    ordered = names_in_order(wanted)
    for name in topology.required_topics:
        existing = topics.by_name(name)
        if existing is None or name not in wanted:
            continue
        expected = wanted.pop(name).partitions
        if existing.partition_count != expected:
            raise _Wrong(
                Status.INCORRECTLY_PARTITIONED_TOPICS,
                f"Existing topic {name} has different number of partitions: expected {expected}, "
                f"found {existing.partition_count}",
            )
    return tuple(wanted[name] for name in ordered if name in wanted)
