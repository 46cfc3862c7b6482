"""What a cluster consists of: nodes, topics and partitions, as one sweep of Metadata found them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ..client.admin.cluster import ClusterDescription, describe_cluster
from ..client.admin.offsets import Place
from ..client.cluster_client import Client, NoAnswer
from ..protocol.api_keys import ApiKey
from ..protocol.errors import code_name
from .offsets import NO_LEADER, Offsets, offsets_of

MOST_OFFSETS: Final = 1000
"""A page of topics asks for the offsets of so many partitions."""


class Partition(NamedTuple):
    """A partition; `leader` is NO_LEADER if it has none."""

    number: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


class Topic(NamedTuple):
    """A topic with its partitions, in their order."""

    name: str
    topic_id: str
    is_internal: bool
    error: str
    partitions: tuple[Partition, ...]

    @property
    def leaderless(self) -> int:
        """The number of partitions without a leader."""
        return sum(each.leader == NO_LEADER for each in self.partitions)

    @property
    def under_replicated(self) -> int:
        """The number of partitions with a replica that is not in sync."""
        return sum(len(each.in_sync) < len(each.replicas) for each in self.partitions)


class Catalog(NamedTuple):
    """A sweep.

    Attributes:
        topics: by name, sorted.
    """

    cluster: ClusterDescription
    topics: dict[str, Topic]

    def leader(self, place: Place) -> int:
        """The node that leads a partition; NO_LEADER if there is none."""
        topic = self.topics.get(place[0])
        if topic is None or not 0 <= place[1] < len(topic.partitions):
            return NO_LEADER
        return topic.partitions[place[1]].leader


def sweep(client: Client) -> Catalog:
    """Ask for the whole catalog: two requests. Raises ErrorAnswer, NoAnswer."""
    found = sorted(_topics(client))
    return Catalog(describe_cluster(client), {each.name: each for each in found})


def _topics(client: Client) -> Iterator[Topic]:
    for topic in client.metadata(None):
        partitions = sorted(
            Partition(
                each.partition_index,
                each.leader_id if each.leader_id >= 0 else NO_LEADER,
                each.leader_epoch,
                tuple(each.replica_nodes),
                tuple(each.isr_nodes),
            )
            for each in topic.partitions
        )
        error = code_name(topic.error_code) if topic.error_code else ""
        yield Topic(topic.name, str(topic.topic_id), topic.is_internal, error, tuple(partitions))


def cluster_view(catalog: Catalog) -> dict[str, object]:
    """The cluster in numbers, with its nodes."""
    leads: dict[int, int] = {}
    for topic in catalog.topics.values():
        for each in topic.partitions:
            leads[each.leader] = leads.get(each.leader, 0) + 1
    nodes = [
        {
            "node_id": each.node_id,
            "host": each.host,
            "port": each.port,
            "rack": each.rack,
            "is_controller": each.node_id == catalog.cluster.controller_id,
            "leads": leads.get(each.node_id, 0),
        }
        for each in sorted(catalog.cluster.nodes)
    ]
    topics = catalog.topics.values()
    return {
        "cluster_id": catalog.cluster.cluster_id,
        "nodes": nodes,
        "topics": len(catalog.topics),
        "partitions": sum(len(each.partitions) for each in topics),
        "without_leader": leads.get(NO_LEADER, 0),
        "under_replicated": sum(each.under_replicated for each in topics),
    }


def ask_each_node(
    client: Client, api_key: ApiKey, body: dict[str, Any]
) -> tuple[dict[int, Any], list[str]]:  # Any: values of a request, and answers
    """The answers by node, and what could not be asked, a sentence for each node."""
    answers, problems = {}, []
    for node_id in sorted(client.brokers):
        try:
            answer = client.ask(api_key, body, node_id=node_id)
        except NoAnswer as lost:
            problems.append(f"node {node_id}: {lost}")
            continue
        if answer.error_code:
            problems.append(f"node {node_id}: {code_name(answer.error_code)}")
        else:
            answers[node_id] = answer
    return answers, problems


def topic_rows(client: Client, catalog: Catalog, topics: list[Topic]) -> list[dict[str, object]]:
    """The rows of a page of topics; `offsets` is None where it would take too many questions."""
    leaders: dict[Place, int] = {}
    asked = set()
    for topic in topics:
        if len(leaders) + len(topic.partitions) <= MOST_OFFSETS:
            asked.add(topic.name)
            leaders |= {(topic.name, each.number): each.leader for each in topic.partitions}
    found = offsets_of(client, leaders)
    rows: list[dict[str, object]] = []
    for topic in topics:
        its = [found[topic.name, each.number] for each in topic.partitions if topic.name in asked]
        rows.append(
            {
                "name": topic.name,
                "is_internal": topic.is_internal,
                "error": topic.error,
                "partitions": len(topic.partitions),
                "without_leader": topic.leaderless,
                "under_replicated": topic.under_replicated,
                "offsets": _kept(its) if topic.name in asked else None,
                "unstable": sum(_is_unstable(each) for each in its),
            }
        )
    return rows


def _kept(found: list[Offsets]) -> int:
    """The offsets between the starts and the ends: records and markers, also compacted ones."""
    return sum(
        each.high_watermark - each.log_start
        for each in found
        if each.high_watermark is not None and each.log_start is not None
    )


def _is_unstable(found: Offsets) -> bool:
    """Whether an open transaction holds the last stable offset."""
    if found.high_watermark is None or found.last_stable_offset is None:
        return False
    return found.last_stable_offset < found.high_watermark


def partition_rows(
    client: Client, topic: Topic, partitions: list[Partition]
) -> list[dict[str, object]]:
    """The rows of partitions of a topic, with their offsets. Raises ErrorAnswer."""
    found = offsets_of(client, {(topic.name, each.number): each.leader for each in partitions})
    return [
        {
            "partition": each.number,
            "leader": None if each.leader == NO_LEADER else each.leader,
            "leader_epoch": each.leader_epoch,
            "replicas": list(each.replicas),
            "in_sync": list(each.in_sync),
            **found[topic.name, each.number]._asdict(),
        }
        for each in partitions
    ]
