"""ListConfigResources (74), versions 0-1: list the resources with settings, by type and name.

0     client-metrics subscriptions only (as ListClientMetricsResources, KIP-714)
1     any types; an empty list means all (KIP-1142)

Skipped: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from ....metadata.catalog import ResourceType
from ....protocol.acls import Operation
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ....protocol.java_hash import in_hash_map, java_hash_code
from ...requests.api import OnCluster, serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.list_config_resources import (
        ConfigResource,
        ListConfigResourcesRequest,
        ListConfigResourcesResponse,
    )
    from ...node import Node

_TYPES_SINCE: Final = 1


def _brokers(node: Node) -> list[str]:
    brokers = sorted(node.catalog.brokers.items())
    return [str(node_id) for node_id, broker in brokers if not broker.is_fenced]


# In Kafka's order, independent of the order in the request; Kafka has no order of subscriptions.
_NAMES: Final[Mapping[int, Callable[[Node], Iterable[str]]]] = {
    ResourceType.GROUP: lambda node: in_hash_map(
        node.catalog.resources(ResourceType.GROUP), java_hash_code
    ),
    ResourceType.CLIENT_METRICS: lambda node: node.catalog.resources(ResourceType.CLIENT_METRICS),
    ResourceType.BROKER_LOGGER: _brokers,
    ResourceType.BROKER: _brokers,
    ResourceType.TOPIC: lambda node: node.catalog.topics,
}


@serves(ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 1), guard=OnCluster(Operation.DESCRIBE_CONFIGS))
async def list_config_resources(
    node: Node, context: Context, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    wanted: Collection[int] = (ResourceType.CLIENT_METRICS,)
    if context.version >= _TYPES_SINCE:
        wanted = request.resource_types or _NAMES
    if not all(kind in _NAMES for kind in wanted):
        raise Refused(Code.UNSUPPORTED_VERSION)
    resources: list[ConfigResource] = []
    for kind, names in _NAMES.items():
        if kind not in wanted:
            continue
        listed = [*names(node)]
        if kind == ResourceType.TOPIC:
            codes = {name: java_hash_code(name) async for name in context.turns.each(listed)}
            listed.sort(key=codes.__getitem__)
        resources += [
            {"resource_name": name, "resource_type": kind}
            async for name in context.turns.each(listed)
        ]
    return {"config_resources": resources}
