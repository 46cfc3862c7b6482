"""The cluster as clients are told of it: brokers, where to reach them, and what one may do.

Shared by the handlers that answer with brokers or authorized operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..storage.catalog import Broker
    from .context import Context
    from .node import Node

# AclOperation's numbers; without an authorizer everybody may do everything a resource knows of.
TOPIC_OPERATIONS: Final = frozenset({3, 4, 5, 6, 7, 8, 10, 11})
CLUSTER_OPERATIONS: Final = frozenset({5, 7, 8, 9, 10, 11, 12})
TOPIC_OPERATION_BITS: Final = sum(1 << operation for operation in TOPIC_OPERATIONS)


def address_of(node: Node, context: Context, broker: Broker) -> tuple[str, int]:
    """Host and port of a broker, as who asks can reach it: by the listener they came through."""
    if broker.node_id == node.node_id or not broker.end_points:
        return context.connection.advertised
    return broker.end_points[0].host, broker.end_points[0].port


def brokers_alive(
    node: Node, context: Context, *, id_field: str = "node_id"
) -> list[dict[str, Any]]:
    """The brokers that are not fenced, by id: `id_field`, host, port and rack."""
    alive = []
    for node_id, broker in sorted(node.catalog.brokers.items()):
        if not broker.is_fenced:
            host, port = address_of(node, context, broker)
            alive.append({id_field: node_id, "host": host, "port": port, "rack": broker.rack})
    return alive


def offline_replicas(node: Node, replicas: tuple[int, ...]) -> list[int]:
    """Those of a partition's replicas whose brokers are away."""
    brokers = node.catalog.brokers
    return [each for each in replicas if each not in brokers or brokers[each].is_fenced]
