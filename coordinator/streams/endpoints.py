"""The partitions whose state each instance has, for interactive queries (KIP-1071).

Follows Kafka's EndpointToPartitionsManager. What an endpoint has is computed once for each
assignment of its member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..consumer.topics import Topics
from ..volatile import Volatile
from .configured import ConfiguredSubtopology, ConfiguredTopology
from .member import StreamsMember, Tasks, TasksTupleWithEpochs
from .requests import EndpointPartitions


class _Known(NamedTuple):
    """What an endpoint has, and what that was computed from."""

    assigned: TasksTupleWithEpochs
    configured: ConfiguredTopology
    partitions: EndpointPartitions


class Endpoints(Volatile):
    """The partitions of the endpoints of a group's members.

    Attributes:
        epoch: raised when the partitions of an endpoint change.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self._known: dict[str, _Known] = {}

    def forget(self, member_id: str) -> None:
        """Drop what is known of a member that is gone."""
        self._known.pop(member_id, None)

    def of(
        self, member: StreamsMember, configured: ConfiguredTopology, topics: Topics
    ) -> EndpointPartitions:
        """The partitions of the endpoint of a member that has one.

        Args:
            configured: the topology with its topics; the task of an unknown subtopology counts
                for nothing.
        """
        endpoint = member.user_endpoint
        assert endpoint is not None, member
        known = self._known.get(member.member_id)
        if (
            known is None
            or known.assigned is not member.assigned
            or known.configured is not configured
            or known.partitions.endpoint != endpoint
        ):
            tasks = member.assigned.without_epochs
            partitions = EndpointPartitions(
                endpoint,
                _partitions((tasks.active,), configured, topics),
                _partitions((tasks.standby, tasks.warmup), configured, topics),
            )
            known = _Known(member.assigned, configured, partitions)
            self._known[member.member_id] = known
        return known.partitions


def _partitions(
    roles: tuple[Tasks, ...], configured: ConfiguredTopology, topics: Topics
) -> Mapping[str, Sequence[int]]:
    """The partitions of source topics that the tasks read."""
    found: dict[str, set[int]] = {}
    subtopologies: Mapping[str, ConfiguredSubtopology] = configured.subtopologies or {}
    for tasks in roles:
        for subtopology_id, partitions in tasks.items():
            subtopology = subtopologies.get(subtopology_id)
            for name in () if subtopology is None else _sources(subtopology):
                topic = topics.by_name(name)
                if topic is not None:
                    existing = {each for each in partitions if each < topic.partition_count}
                    found[name] = found.get(name, set()) | existing
    return {name: sorted(indexes) for name, indexes in found.items() if indexes}


def _sources(subtopology: ConfiguredSubtopology) -> tuple[str, ...]:
    repartition = (topic.name for topic in subtopology.repartition_source_topics)
    return tuple(dict.fromkeys((*subtopology.source_topics, *repartition)))
