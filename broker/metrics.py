"""The metrics of a broker for Prometheus, on a port of their own (`--metrics HOST:PORT`).

Threads serve the page (metrics_page.py); the values are collected in the event loop, so that no
count is read while it changes. docs/reference/metrics.md lists all metrics.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from .kafka_metrics import collect_kafka
from .metrics_page import Page
from .net.listening import listen_on
from .probes import probes_of
from .runtime.metrics.request_metrics import RequestMetrics
from .runtime.metrics.topic_metrics import TopicMetrics
from .runtime.metrics.transaction_metrics import TransactionMetrics
from .scheduling.holds import Histogram

if TYPE_CHECKING:
    from .clock import Clock
    from .net.sockets import NodeSockets
    from .node import Node
    from .scheduling.holds import Holds

_COLLECT_TIMEOUT_S: Final = 5.0


class Metrics:
    """The metrics page, from `open` to `close`.

    Args:
        nodes: the nodes of this process.
        sockets: of each node, by its id.
        clock: the time; None: that of the first node.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        sockets: Mapping[int, NodeSockets] | None = None,
        clock: Clock | None = None,
    ) -> None:
        own = tuple(nodes)
        self._nodes: list[Node] = []
        self._sockets = dict(sockets or {})
        self._clock = clock or own[0].clock
        for node in own:
            self._measure(node)
        self._own = own
        self._close: Callable[[], None] = lambda: None

    def _measure(self, node: Node) -> None:
        node.request_metrics = RequestMetrics(node.clock.live.monotonic_s)
        counts = TopicMetrics(node.catalog.topics.__contains__)
        node.topic_metrics = counts
        node.controller.on_topic_deleted.append(counts.forget)
        metrics = TransactionMetrics(node.node_id, node.clock.live.monotonic_s)
        node.transaction_metrics = metrics
        node.events.add(metrics.observe)
        self._nodes.append(node)

    def add(self, node: Node, door: NodeSockets) -> None:
        """Show another node, which takes the place of one with its id; probes do not ask it."""
        for known in [each for each in self._nodes if each.node_id == node.node_id]:
            self._nodes.remove(known)
        self._sockets[node.node_id] = door
        self._measure(node)

    def open(self, host: str, port: int) -> int:
        """Serve the page; return the bound port. Raises OSError."""
        return self.serve(listen_on(host, port, "metrics"))

    def serve(self, listening: socket.socket) -> int:
        """Serve the page on a socket, which `close` closes; return its port."""
        registry, loop = CollectorRegistry(), asyncio.get_running_loop()
        registry.register(_InLoop(loop, self._nodes, self._sockets))
        probes = probes_of(loop, self._own, self._sockets)
        page = Page(registry, self._clock.live.monotonic_s, probes)
        self._close = page.close
        return page.serve(listening)

    def close(self) -> None:
        """Stop serving."""
        self._close()


class _InLoop(Collector):
    """Collects the metrics in the event loop, on behalf of a thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        nodes: list[Node],
        sockets: Mapping[int, NodeSockets],
    ) -> None:
        self._loop = loop
        self._nodes = nodes
        self._sockets = sockets

    def describe(self) -> Iterable[Metric]:
        """No metrics: a registry that called `collect` instead would block the event loop."""
        return []

    def collect(self) -> Iterable[Metric]:
        collected = asyncio.run_coroutine_threadsafe(self._collect(), self._loop)
        try:
            return collected.result(_COLLECT_TIMEOUT_S)
        except TimeoutError:
            collected.cancel()
            raise

    async def _collect(self) -> list[Metric]:
        return [*collect(self._nodes), *await collect_kafka(self._nodes, self._sockets)]


def collect(nodes: Iterable[Node]) -> Iterator[Metric]:
    """The current metrics of some nodes."""
    listed = [node for node in nodes if node.transaction_metrics is not None]
    for family in (_decisions, _phases, _open_ones, _markers, _timers):
        yield from family(listed)
    if listed:
        yield _lags(listed[0])
        holds = listed[0].cluster.holds
        if holds is not None:
            yield from _holds(holds)


def _counted(node: Node) -> tuple[list[str], TransactionMetrics]:
    assert node.transaction_metrics is not None
    return [str(node.node_id)], node.transaction_metrics


def _decisions(nodes: list[Node]) -> Iterator[Metric]:
    commits = CounterMetricFamily(
        "ottla_transaction_commits", "Transactions decided to be committed", labels=["node"]
    )
    aborts = CounterMetricFamily(
        "ottla_transaction_aborts", "Transactions decided to be aborted", labels=["node", "cause"]
    )
    fencings = CounterMetricFamily(
        "ottla_transaction_fencings", "Producers fenced, and refused", labels=["node", "cause"]
    )
    ratio = GaugeMetricFamily(
        "ottla_transaction_success_ratio", "Commits of all that was decided", labels=["node"]
    )
    for labels, counts in map(_counted, nodes):
        commits.add_metric(labels, counts.commits)
        for cause, count in sorted(counts.aborts.items()):
            aborts.add_metric([*labels, cause], count)
        for cause, count in sorted(counts.fencings.items()):
            fencings.add_metric([*labels, cause], count)
        if counts.success_ratio is not None:
            ratio.add_metric(labels, counts.success_ratio)
    yield from (commits, aborts, fencings, ratio)


def _phases(nodes: list[Node]) -> Iterator[Metric]:
    family = HistogramMetricFamily(
        "ottla_transaction_phase_seconds",
        "How long transactions were open, and how long their markers took",
        labels=["node", "phase"],
    )
    for labels, counts in map(_counted, nodes):
        for phase, histogram in counts.phases.items():
            family.add_metric([*labels, phase], _buckets(histogram), histogram.sum_s)
    yield family


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    bounds, reached = [*map(str, histogram.bounds_s), "+Inf"], accumulate(histogram.counts)
    return [(bound, float(count)) for bound, count in zip(bounds, reached, strict=True)]


def _open_ones(nodes: list[Node]) -> Iterator[Metric]:
    ongoing = GaugeMetricFamily("ottla_transactions_ongoing", "Open transactions", labels=["node"])
    pending = GaugeMetricFamily(
        "ottla_transactions_pending", "Decided transactions without all markers", labels=["node"]
    )
    oldest = GaugeMetricFamily(
        "ottla_transaction_oldest_open_seconds", "Age of the oldest open one", labels=["node"]
    )
    for node in nodes:
        labels, now_ms = [str(node.node_id)], node.clock.now_ms()
        machines = [s.machine for s in node.transactions.shards() if not s.is_loading]
        started = (each.started_ms for machine in machines for each in machine.ongoing())
        ongoing.add_metric(labels, sum(len(machine.ongoing()) for machine in machines))
        pending.add_metric(labels, sum(machine.prepared_count for machine in machines))
        age_ms = now_ms - min(started, default=now_ms)
        oldest.add_metric(labels, max(0, age_ms) / 1000)
    yield from (ongoing, pending, oldest)


def _markers(nodes: list[Node]) -> Iterator[Metric]:
    queued = GaugeMetricFamily(
        "ottla_transaction_marker_queue_length",
        "Markers that wait to be written, by the node that is to write them",
        labels=["node", "destination"],
    )
    retries = CounterMetricFamily(
        "ottla_transaction_marker_retries", "Markers sent once more", labels=["node"]
    )
    refused = GaugeMetricFamily(
        "ottla_transaction_markers_refused",
        "Markers that a partition refuses permanently; their transactions stay prepared",
        labels=["node"],
    )
    for node in nodes:
        label, channel = str(node.node_id), node.marker_channel
        queued.add_metric([label, "unknown"], len(channel.unknown_leader))
        for destination in channel.destinations.values():
            queued.add_metric([label, str(destination.node_id)], len(destination))
        retries.add_metric([label], channel.retries)
        refused.add_metric([label], channel.refused_for_good())
    yield from (queued, retries, refused)


def _timers(nodes: list[Node]) -> Iterator[Metric]:
    failing = GaugeMetricFamily(
        "ottla_coordinator_timers_failing",
        "Coordinators whose log does not take what their timers decide; see the broker's log",
        labels=["node", "topic"],
    )
    for node in nodes:
        for coordinator in node.coordinators.values():
            count = sum(shard.failing_timer is not None for shard in coordinator.shards())
            failing.add_metric([str(node.node_id), coordinator.topic], count)
    yield failing


def _lags(node: Node) -> Metric:
    """The metrics of the storage, which all nodes share."""
    family = GaugeMetricFamily(
        "ottla_partition_last_stable_offset_lag",
        "Records that readers of committed ones do not see yet; partitions without are left out",
        labels=["topic", "partition"],
    )
    for log in node.log_directory.logs():
        lag = log.high_watermark - log.last_stable_offset
        if lag:
            family.add_metric([log.topic, str(log.partition)], lag)
    return family


def _holds(holds: Holds) -> Iterator[Metric]:
    """The metrics of the event loop, which all nodes share."""
    for name, what, durations in (
        ("ottla_loop_hold_seconds", "How long pieces of work hold the event loop", holds.pieces),
        ("ottla_loop_lag_seconds", "How late timers are called", holds.lags),
    ):
        family = HistogramMetricFamily(name, what)
        family.add_metric([], _buckets(durations), durations.sum_s)
        yield family
    longest = GaugeMetricFamily(
        "ottla_loop_longest_hold_seconds",
        "The longest piece of each kind of work since the last scrape",
        labels=["work"],
    )
    for work, took_s in sorted(holds.take_longest().items()):
        longest.add_metric([work], took_s)
    over = CounterMetricFamily(
        "ottla_loop_long_holds", "Pieces of work longer than 20 ms", labels=["work"]
    )
    for work, count in sorted(holds.over_limit.items()):
        over.add_metric([work], count)
    yield from (longest, over)
