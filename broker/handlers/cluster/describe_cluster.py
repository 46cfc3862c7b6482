"""DescribeCluster (60), versions 0-2: the cluster's id, its brokers and its controller.

1     the client states whether it expects a broker or a controller
2     also fenced brokers, on request

Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.cluster_description import CLUSTER_OPERATIONS, address_of
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.describe_cluster import (
        DescribeClusterBroker,
        DescribeClusterRequest,
        DescribeClusterResponse,
    )
    from ...node import Node

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


@serves(ApiKey.DESCRIBE_CLUSTER, versions=(0, 2), guard="administration.describe_cluster")
async def describe_cluster(
    node: Node, context: Context, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    endpoint_type = request.endpoint_type
    if endpoint_type == _CONTROLLERS:
        raise Refused(
            Code.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of "
            "type CONTROLLER",
        )
    if endpoint_type != _BROKERS:
        why = f"Unsupported endpoint type {endpoint_type}"
        raise Refused(Code.UNSUPPORTED_ENDPOINT_TYPE, why)
    body: DescribeClusterResponse = {
        "cluster_id": node.cluster_id,
        "controller_id": node.node_id,
        "brokers": _brokers(node, context, fenced_too=request.include_fenced_brokers),
    }
    if request.include_cluster_authorized_operations:
        body["authorized_operations"] = CLUSTER_OPERATIONS
    return body


def _brokers(node: Node, context: Context, *, fenced_too: bool) -> list[DescribeClusterBroker]:
    brokers: list[DescribeClusterBroker] = []
    for node_id, broker in sorted(node.catalog.brokers.items()):
        if broker.is_fenced and not fenced_too:
            continue
        host, port = address_of(node, context, broker)
        brokers.append(
            {
                "broker_id": node_id,
                "host": host,
                "port": port,
                "rack": broker.rack,
                "is_fenced": broker.is_fenced,
            }
        )
    return brokers
