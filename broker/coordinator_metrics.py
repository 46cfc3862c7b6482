"""Metrics of groups and of the coordinators of groups and of share states, under Kafka's names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from .scheduling.turns import Turns

if TYPE_CHECKING:
    from ..coordinator.groups import Groups
    from .node import Node

_GROUPS: Final = "kafka_server_group_coordinator_metrics"
_STATES: Final = {
    "classic": ("empty", "preparingrebalance", "completingrebalance", "stable", "dead"),
    "consumer": ("empty", "assigning", "reconciling", "stable", "dead"),
    "share": ("empty", "stable", "dead"),
    "streams": ("empty", "notready", "assigning", "reconciling", "stable", "dead"),
}
"""The states of each kind of group."""


async def collect_coordinators(nodes: list[Node], turns: Turns) -> list[Metric]:
    """The metrics now."""
    return [*await _groups(nodes, turns), *_loaded(nodes)]


async def _groups(nodes: list[Node], turns: Turns) -> Iterable[Metric]:
    groups = GaugeMetricFamily(f"{_GROUPS}_group_count", "Groups", labels=["node", "protocol"])
    by_state = {
        kind: GaugeMetricFamily(
            f"{_GROUPS}_{kind}_group_count", f"Groups of the kind {kind}", labels=["node", "state"]
        )
        for kind in _STATES
    }
    labels = ["consumergroup", "topic", "partition"]
    committed = GaugeMetricFamily(
        "kafka_consumergroup_current_offset", "Committed offset", labels=labels
    )
    lag = GaugeMetricFamily(
        "kafka_consumergroup_lag", "Records behind the committed offset", labels=labels
    )
    for node in nodes:
        found = {kind: Counter(dict.fromkeys(states, 0)) for kind, states in _STATES.items()}
        for shard in [each for each in node.groups.shards() if not each.is_loading]:
            for group in [each for kind in shard.machine.kinds.all for each in kind.listed()]:
                found[group.group_type][group.state.lower()] += 1
                for topic, partition, offset in _offsets(shard.machine, group.group_id):
                    named = [group.group_id, topic, str(partition)]
                    committed.add_metric(named, offset)
                    log = node.log_directory.log_of(topic, partition)
                    if log is not None:
                        lag.add_metric(named, max(0, log.high_watermark - offset))
                await turns.pause()
        for kind, counts in found.items():
            groups.add_metric([str(node.node_id), kind], counts.total())
            for state, count in counts.items():
                by_state[kind].add_metric([str(node.node_id), state], count)
    return groups, *by_state.values(), committed, lag


def _offsets(machine: Groups, group_id: str) -> Iterable[tuple[str, int, int]]:
    """Topic, partition and committed offset of a group."""
    for topic, partitions in machine.committed_partitions(group_id).items():
        for partition in partitions:
            fetched = machine.fetch_offset(group_id, topic, partition, require_stable=False)
            yield topic, partition, fetched.offset


def _loaded(nodes: list[Node]) -> Iterator[Metric]:
    """The partitions of coordinators, and what those of share groups have written."""
    name = "kafka_server_share_coordinator_metrics"
    of_groups, of_shares = (
        GaugeMetricFamily(f"{each}_num_partitions", what, labels=["node", "state"])
        for each, what in (
            (_GROUPS, "Partitions of __consumer_offsets that the node coordinates"),
            (name, "Partitions of __share_group_state that the node coordinates"),
        )
    )
    for node in nodes:
        for family, coordinator in ((of_groups, node.groups), (of_shares, node.share_states)):
            loading = [shard.is_loading for shard in coordinator.shards()]
            family.add_metric([str(node.node_id), "loading"], sum(loading))
            family.add_metric([str(node.node_id), "active"], len(loading) - sum(loading))
    writes = CounterMetricFamily(f"{name}_write", "Stored changes of share partitions")
    writes.add_metric([], nodes[0].cluster.share_persister.writes)
    yield from (of_groups, of_shares, writes)
