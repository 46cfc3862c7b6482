"""Metrics of requests, connections and partitions, under Kafka's names where it has one.

The names are those that Prometheus' JMX exporter makes of Kafka's MBeans, so that dashboards for
Kafka work. All but the counts of requests are read when the page is, in slices beside requests:
there may be very many partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from ..protocol.api_keys import ApiKey
from .coordinator_metrics import collect_coordinators
from .quota_metrics import collect_quotas
from .scheduling.holds import Histogram
from .scheduling.turns import Turns
from .share_metrics import collect_shares

if TYPE_CHECKING:
    from ..storage.log import PartitionLog
    from .node import Node

_NAMES = {int(key): "".join(map(str.capitalize, key.name.split("_"))) for key in ApiKey}
_OF_TOPICS: Final = {
    "messagesin": "Records appended by producers",
    "bytesin": "Bytes of the batches appended by producers",
    "bytesout": "Bytes of the batches sent to consumers",
    "bytesrejected": "Bytes of batches that are too large",
    "totalproducerequests": "Batches of Produce requests",
    "failedproducerequests": "Batches that were refused",
    "totalfetchrequests": "Partitions of Fetch answers",
    "failedfetchrequests": "Partitions with an error",
    "totalsharefetchrequests": "Partitions of ShareFetch answers",
    "failedsharefetchrequests": "Partitions with an error",
    "totalshareacknowledgementrequests": "Partitions of acknowledgements by share groups",
    "failedshareacknowledgementrequests": "Partitions whose acknowledgements were refused",
}


class Sockets(Protocol):
    """What the metrics need of a node's sockets."""

    @property
    def connection_count(self) -> int: ...
    @property
    def accepted_count(self) -> int: ...


async def collect_kafka(nodes: Iterable[Node], sockets: Mapping[int, Sockets]) -> list[Metric]:
    """The metrics now.

    Args:
        sockets: by node id; a node may lack them.
    """
    listed, turns = [*nodes], Turns()
    return [
        *_requests(listed),
        *_topics(listed),
        *_connections(sockets),
        *await _partitions(listed, turns),
        *await _logs(listed[0].log_directory.logs(), turns),
        *await collect_coordinators(listed, turns),
        *await collect_quotas(listed, turns),
        *await collect_shares(listed, turns),
    ]


def _requests(nodes: list[Node]) -> Iterable[Metric]:
    requests = CounterMetricFamily(
        "kafka_network_requestmetrics_requests", "Requests", labels=["node", "request", "version"]
    )
    received = CounterMetricFamily(
        "ottla_request_bytes", "Bytes of requests", labels=["node", "request"]
    )
    answered = CounterMetricFamily(
        "ottla_response_bytes", "Bytes of answers", labels=["node", "request"]
    )
    durations = HistogramMetricFamily(
        "kafka_network_requestmetrics_totaltimems",
        "From the receipt of a request to its answer, in milliseconds",
        labels=["node", "request"],
    )
    for node in nodes:
        label, counts = str(node.node_id), node.request_metrics
        if counts is None:
            continue
        for (key, version), count in sorted(counts.requests.items()):
            requests.add_metric([label, _NAMES[key], str(version)], count)
        for family, sizes in ((received, counts.received_bytes), (answered, counts.answered_bytes)):
            for key, size_bytes in sorted(sizes.items()):
                family.add_metric([label, _NAMES[key]], size_bytes)
        for key, histogram in sorted(counts.durations.items()):
            buckets = _buckets_ms(histogram)
            durations.add_metric([label, _NAMES[key]], buckets, histogram.sum_s * 1000)
    return requests, received, answered, durations


def _buckets_ms(histogram: Histogram) -> list[tuple[str, float]]:
    reached, buckets = 0, []
    for bound, count in zip([*histogram.bounds_s, None], histogram.counts, strict=True):
        reached += count
        buckets.append(("+Inf" if bound is None else f"{bound * 1000:g}", float(reached)))
    return buckets


def _topics(nodes: list[Node]) -> Iterable[Metric]:
    """The BrokerTopicMetrics; a sample without a topic is that of all topics."""
    families = {
        name: CounterMetricFamily(
            f"kafka_server_brokertopicmetrics_{name}", what, labels=["node", "topic"]
        )
        for name, what in _OF_TOPICS.items()
    }
    for node in nodes:
        label, counts = str(node.node_id), node.topic_metrics
        for topic, found in () if counts is None else counts.listed():
            for name, family in families.items():
                family.add_metric([label, topic], getattr(found, name))
    return families.values()


def _connections(sockets: Mapping[int, Sockets]) -> Iterable[Metric]:
    name = "kafka_server_socket_server_metrics_connection"
    count = GaugeMetricFamily(f"{name}_count", "Open connections", labels=["node"])
    created = CounterMetricFamily(f"{name}_creation", "Accepted connections", labels=["node"])
    for node_id, each in sockets.items():
        count.add_metric([str(node_id)], each.connection_count)
        created.add_metric([str(node_id)], each.accepted_count)
    return count, created


async def _partitions(nodes: list[Node], turns: Turns) -> Iterable[Metric]:
    catalog = nodes[0].catalog
    led: Counter[int] = Counter()
    held: Counter[int] = Counter()
    behind: Counter[int] = Counter()
    for topic in [*catalog.topics.values()]:
        for each in topic.partitions:
            led[each.leader_id] += 1
            held.update(each.replicas)
            behind[each.leader_id] += len(each.isr) < len(each.replicas)
        await turns.pause()
    families = []
    for name, what, counts in (
        ("leadercount", "Partitions that the node leads", led),
        ("partitioncount", "Partitions of which the node has a replica", held),
        ("underreplicatedpartitions", "Led partitions with a replica out of sync", behind),
    ):
        family = GaugeMetricFamily(f"kafka_server_replicamanager_{name}", what, labels=["node"])
        for node in nodes:
            family.add_metric([str(node.node_id)], counts[node.node_id])
        families.append(family)
    fenced = sum(broker.is_fenced for broker in catalog.brokers.values())
    for name, what, value in (
        ("activebrokercount", "Brokers that run", len(catalog.brokers) - fenced),
        ("fencedbrokercount", "Registered brokers that do not run", fenced),
        ("globaltopiccount", "Topics", len(catalog.topics)),
        ("globalpartitioncount", "Partitions", led.total()),
        ("offlinepartitionscount", "Partitions without a leader", led[-1]),
    ):
        family = GaugeMetricFamily(f"kafka_controller_kafkacontroller_{name}", what)
        family.add_metric([], value)
        families.append(family)
    return families


async def _logs(logs: Iterable[PartitionLog], turns: Turns) -> Iterable[Metric]:
    labels = ["topic", "partition"]
    size = GaugeMetricFamily("kafka_log_log_size", "Bytes of the data files", labels=labels)
    start = GaugeMetricFamily("kafka_log_log_logstartoffset", "First offset", labels=labels)
    end = GaugeMetricFamily("kafka_log_log_logendoffset", "Offset after the last", labels=labels)
    segments = GaugeMetricFamily("kafka_log_log_numlogsegments", "Data files", labels=labels)
    for log in [*logs]:
        named = [log.topic, str(log.partition)]
        size.add_metric(named, log.size_bytes)
        start.add_metric(named, log.log_start_offset)
        end.add_metric(named, log.log_end_offset)
        segments.add_metric(named, len(log.segments))
        await turns.pause()
    return size, start, end, segments
