"""Metrics of quotas, as Kafka names them: the use of each quota, and the clients that wait.

There are none before the first quota is set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client.core import GaugeMetricFamily, Metric

from ..metadata.client_quotas import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE
from .scheduling.turns import Turns

if TYPE_CHECKING:
    from .node import Node

_RATES: Final = {
    CONSUMER_BYTE_RATE: ("fetch_byte_rate", "Bytes per second of Fetch and ShareFetch"),
    PRODUCER_BYTE_RATE: ("produce_byte_rate", "Bytes per second of Produce"),
    REQUEST_PERCENTAGE: ("request_request_time", "Share of a core for requests, in percent"),
}


async def collect_quotas(nodes: list[Node], turns: Turns) -> list[Metric]:
    """The metrics now."""
    labels = ["node", "user", "client_id"]
    rates = {
        kind: GaugeMetricFamily(f"kafka_server_{name}", what, labels=labels)
        for kind, (name, what) in _RATES.items()
    }
    throttled = GaugeMetricFamily(
        "ottla_throttled_seconds", "For how long a client is not read yet", labels=labels
    )
    for node in nodes:
        quotas, now_ms = node.quotas, node.clock.live.monotonic_ms()
        if quotas is None:
            continue
        label = str(node.node_id)
        async for kind, user, client_id, rate in turns.each([*quotas.rates(now_ms)]):
            if kind in rates:
                rates[kind].add_metric([label, user, client_id], rate)
        async for user, client_id, wait_ms in turns.each([*quotas.waits(now_ms)]):
            throttled.add_metric([label, user, client_id], wait_ms / 1000)
    return [*rates.values(), throttled]
