"""The brokers, their addresses and the authorized operations in responses.

Shared by Metadata, DescribeCluster and the other handlers that return them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ...metadata.catalog import Broker
    from ...protocol.api_types.fetch import LeaderIdAndEpoch, NodeEndpoint
    from ...protocol.api_types.metadata import MetadataResponseBroker
    from ..node import Node
    from .context import Context

# Numbers of AclOperation; without an authorizer every operation of a resource is authorized.
TOPIC_OPERATIONS: Final = frozenset({3, 4, 5, 6, 7, 8, 10, 11})
CLUSTER_OPERATIONS: Final = frozenset({5, 7, 8, 9, 10, 11, 12})
TOPIC_OPERATION_BITS: Final = sum(1 << operation for operation in TOPIC_OPERATIONS)


def address_of(node: Node, context: Context, broker: Broker) -> tuple[str, int]:
    """The host and port of a broker's listener that has the name of the client's listener."""
    listener = context.connection.listener
    if broker.node_id == node.node_id or not broker.end_points:
        return listener.host, listener.port
    by_name = {each.name: each for each in broker.end_points}
    end_point = by_name.get(listener.name, broker.end_points[0])
    return end_point.host, end_point.port


class NewLeaders:
    """The leaders of partitions that a client requested from the wrong node (KIP-951).

    Attributes:
        endpoints: the addresses of these leaders, by node id, as the responses have them.
    """

    __slots__ = ("_context", "_node", "endpoints")

    def __init__(self, node: Node, context: Context) -> None:
        self._node = node
        self._context = context
        self.endpoints: dict[int, NodeEndpoint] = {}

    def of(self, topic: str, partition: int) -> LeaderIdAndEpoch:
        """The leader's id and epoch, -1 if unknown; adds its address to `endpoints`."""
        known = self._node.catalog.topics.get(topic)
        if known is None or not 0 <= partition < len(known.partitions):
            return {"leader_id": -1, "leader_epoch": -1}
        leader_id = known.partitions[partition].leader_id
        broker = self._node.catalog.brokers.get(leader_id)
        if broker is not None and not broker.is_fenced and leader_id not in self.endpoints:
            host, port = address_of(self._node, self._context, broker)
            self.endpoints[leader_id] = {
                "node_id": leader_id, "host": host, "port": port, "rack": broker.rack
            }  # fmt: skip
        return {
            "leader_id": leader_id,
            "leader_epoch": known.partitions[partition].leader_epoch,
        }


def brokers_alive(node: Node, context: Context) -> list[MetadataResponseBroker]:
    """The brokers that are not fenced, by id."""
    alive: list[MetadataResponseBroker] = []
    for node_id, broker in sorted(node.catalog.brokers.items()):
        if not broker.is_fenced:
            host, port = address_of(node, context, broker)
            alive.append({"node_id": node_id, "host": host, "port": port, "rack": broker.rack})
    return alive


def offline_replicas(node: Node, replicas: tuple[int, ...]) -> list[int]:
    """The replicas of a partition whose brokers are fenced or unknown."""
    brokers = node.catalog.brokers
    return [each for each in replicas if each not in brokers or brokers[each].is_fenced]
