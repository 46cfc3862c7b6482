"""DescribeClientQuotas (48), versions 0-1: the quotas of users, clients and addresses (KIP-546).

1    flexible encoding

Skipped: nothing.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from ....metadata.client_quotas import Component
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import Operation, may_cluster
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.describe_client_quotas import (
        DescribeClientQuotasRequest,
        DescribeClientQuotasResponse,
    )
    from ...node import Node


@serves(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), guard=CHECKED_BY_HANDLER)
async def describe_client_quotas(
    node: Node, context: Context, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    components = [
        Component(each.entity_type, each.match_type, each.match) for each in request.components
    ]
    if not may_cluster(node, context, Operation.DESCRIBE_CONFIGS):
        return {
            "error_code": Code.CLUSTER_AUTHORIZATION_FAILED,
            "error_message": None,
            "entries": None,
        }
    try:
        matching = node.catalog.quotas.describe(components, strict=request.strict)
    except Refused as refused:
        return {"error_code": refused.code, "error_message": refused.why, "entries": None}
    found = [each async for each in context.turns.each(matching)]
    found.sort(key=itemgetter(0))
    return {
        "error_message": "",
        "entries": [
            {
                "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
                "values": [{"key": key, "value": value} for key, value in quotas.items()],
            }
            async for _, entity, quotas in context.turns.each(found)
        ],
    }
