"""The numbers of partitions of repartition topics, from those of the topics before them.

Follows Kafka's RepartitionTopics: a topic without a number gets that of the largest source of the
subtopology that writes it, once one of these is known.
"""

from __future__ import annotations

import heapq

from ...protocol.errors import Code, Refused
from ..consumer.topics import Topics
from .topology import Subtopology, Topology


class PartitionCounts:
    """The number of partitions of each topic: as it exists, else as it was decided.

    Args:
        topology: names the topics.
        topics: those of the cluster.

    Attributes:
        decided: for internal topics, by name.
        repartition_topics: the names of the topology's repartition topics.
        fixed: the numbers of those that the topology gives a number.
    """

    def __init__(self, topology: Topology, topics: Topics) -> None:
        self._topics = topics
        infos = [
            topic for each in topology.by_id.values() for topic in each.repartition_source_topics
        ]
        self.decided: dict[str, int] = {}
        self.repartition_topics = frozenset(topic.name for topic in infos)
        self.fixed = {topic.name: topic.partitions for topic in infos if topic.partitions != 0}

    def find(self, name: str) -> int | None:
        """None for a topic that neither exists nor was decided."""
        topic = self._topics.by_name(name)
        return self.decided.get(name) if topic is None else topic.partition_count

    def of(self, name: str) -> int:
        """As `find`. Raises Refused UNKNOWN_SERVER_ERROR instead of None, as Kafka."""
        count = self.find(name)
        if count is None:
            raise Refused(Code.UNKNOWN_SERVER_ERROR)
        return count


def repartition_counts(topology: Topology, counts: PartitionCounts) -> dict[str, int]:
    """The number of partitions of each repartition topic.

    Kafka goes through all subtopologies again and again until nothing is left. Here a subtopology
    comes up when it can be decided, in the same order, so that a long chain takes no longer.

    Raises:
        Refused: STREAMS_INVALID_TOPOLOGY: a number cannot be decided.
    """
    subtopologies = list(topology.by_id.values())
    known = dict(counts.fixed)
    readers: dict[str, list[int]] = {}
    for index, each in enumerate(subtopologies):
        for topic in each.repartition_source_topics:
            readers.setdefault(topic.name, []).append(index)
    # A round of Kafka's and a subtopology: decided in this order.
    due = [(0, index) for index in range(len(subtopologies))]
    undecided = {index for index, each in enumerate(subtopologies) if each.repartition_sink_topics}
    while due:
        turn, index = heapq.heappop(due)
        if index not in undecided:
            continue
        found = _decide(subtopologies[index], known, counts)
        if found is None:
            continue
        undecided.discard(index)
        for name in found:
            for reader in readers.get(name, ()):
                if reader in undecided:
                    heapq.heappush(due, (turn if reader > index else turn + 1, reader))
    if any(
        name not in known for index in undecided
        for name in subtopologies[index].repartition_sink_topics
    ):  # fmt: skip
        raise Refused(
            Code.STREAMS_INVALID_TOPOLOGY,
            "Failed to compute number of partitions for all repartition topics. There may be loops "
            "in the topology that cannot be resolved.",
        )
    if not known.keys() >= counts.repartition_topics:
        raise Refused(
            Code.STREAMS_INVALID_TOPOLOGY,
            "Failed to compute number of partitions for all repartition topics, because a "
            "repartition source topic is never used as a sink topic.",
        )
    return known


def _decide(
    subtopology: Subtopology, known: dict[str, int], counts: PartitionCounts
) -> list[str] | None:
    """Add the sinks of a subtopology to `known`; the names added, None if it has to wait."""
    added = []
    for sink in subtopology.repartition_sink_topics:
        if sink in known:
            continue
        sources = [known.get(topic.name) for topic in subtopology.repartition_source_topics] + [
            counts.find(name) for name in subtopology.source_topics
        ]
        found = [count for count in sources if count is not None]
        if not found:
            return None
        known[sink] = max(found)
        added.append(sink)
    return added
