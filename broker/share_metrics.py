"""Metrics of share groups, under Kafka's names: sessions, records in flight, acknowledgements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ..coordinator.share_partition.states import AcknowledgeType
from .scheduling.turns import Turns

if TYPE_CHECKING:
    from .node import Node
    from .runtime.share.dead_letters import DeadLetterQueues


async def collect_shares(nodes: list[Node], turns: Turns) -> list[Metric]:
    """The metrics now; without samples for a node that no share group has used."""
    cache, of_node = "kafka_server_sharesessioncache", ["node"]
    sessions = GaugeMetricFamily(f"{cache}_sharesessionscount", "Share sessions", labels=of_node)
    fetched = GaugeMetricFamily(
        f"{cache}_sharepartitionscount", "Partitions of share sessions", labels=of_node
    )
    lost = CounterMetricFamily(
        f"{cache}_sharesessionevictions", "Sessions lost with a connection", labels=of_node
    )
    expired = CounterMetricFamily(
        "kafka_server_delayedsharefetchmetrics_expires",
        "ShareFetch requests whose time was over before there were records", labels=of_node,
    )  # fmt: skip
    acknowledged = CounterMetricFamily(
        "kafka_server_sharegroupmetrics_recordacknowledgements",
        "Acknowledged records", labels=["node", "acktype"],
    )  # fmt: skip
    timeouts = CounterMetricFamily(
        "kafka_server_sharepartitionmetrics_acquisitionlocktimeout",
        "Records whose lock has ended", labels=of_node,
    )  # fmt: skip
    labels = ["group", "topic", "partition"]
    records = GaugeMetricFamily(
        "kafka_server_sharepartitionmetrics_inflightmessagecount",
        "Records from the start to the end of a share partition", labels=labels,
    )  # fmt: skip
    batches = GaugeMetricFamily(
        "kafka_server_sharepartitionmetrics_inflightbatchcount",
        "Their batches", labels=labels,
    )  # fmt: skip
    for node in nodes:
        shares = node.loaded_share_partitions
        if shares is None:
            continue
        label = str(node.node_id)
        sessions.add_metric([label], len(shares.sessions))
        fetched.add_metric([label], shares.sessions.partitions)
        lost.add_metric([label], shares.counts.lost_sessions)
        expired.add_metric([label], shares.counts.expired_fetches)
        timeouts.add_metric([label], shares.counts.lock_timeouts)
        for kind in AcknowledgeType:
            count = shares.counts.acknowledged[kind]
            acknowledged.add_metric([label, kind.name.lower()], count)
        async for led in turns.each(list(shares)):
            named = [led.key.group_id, led.log.topic, str(led.key.partition)]
            records.add_metric(named, led.machine.records_in_flight)
            batches.add_metric(named, len(led.machine.in_flight.batches))
    letters = _dead_letters(nodes[0].cluster.loaded_dead_letters)
    return [sessions, fetched, lost, expired, acknowledged, timeouts, records, batches, *letters]


def _dead_letters(queues: DeadLetterQueues | None) -> list[Metric]:
    """The counts of dead letters, which all nodes share."""
    prefix = "kafka_server_sharegroupmetrics_deadletterqueue"
    written = CounterMetricFamily(f"{prefix}recordcount", "Dead letters", labels=["group"])
    tried = CounterMetricFamily(
        f"{prefix}totalproducerequests", "Batches of dead letters", labels=["group"]
    )
    failed = CounterMetricFamily(
        f"{prefix}failedproducerequests", "Batches that were refused", labels=["group"]
    )
    if queues is not None:
        for group_id, counts in sorted(queues.counts.items()):
            written.add_metric([group_id], counts.letters)
            tried.add_metric([group_id], counts.batches)
            failed.add_metric([group_id], counts.refused_batches)
    return [written, tried, failed]
