"""DeleteAcls (31), versions 1-3: delete the access control entries that match filters.

1    patterns: literal and prefixed names, and filters that match (KIP-290)
2    flexible encoding
3    users are resources too (KIP-373)

Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...metadata.acls import Acl
from ...protocol.acls import Operation
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..requests.authorization import must_cluster
from ..requests.context import Context
from ..requests.dispatch import serves
from .describe_acls import check_authorizer, filter_of

if TYPE_CHECKING:
    from ...protocol.api_types.delete_acls import (
        DeleteAclsFilterResult,
        DeleteAclsRequest,
        DeleteAclsResponse,
    )
    from ..node import Node


@serves(ApiKey.DELETE_ACLS, versions=(1, 3))
async def delete_acls(
    node: Node, context: Context, request: DeleteAclsRequest
) -> DeleteAclsResponse:
    filters = [filter_of(each) async for each in context.turns.each(request.filters)]
    try:
        must_cluster(node, context, Operation.ALTER)
        check_authorizer(node)
    except Refused as refused:
        return {"filter_results": [_result(refused)] * len(filters)}
    results, records = node.catalog.acls.delete(filters)
    try:
        node.controller.change(records)
        await node.decided()
    except Refused as refused:  # the disk
        results = [refused] * len(filters)
    return {"filter_results": [_result(each) async for each in context.turns.each(results)]}


def _result(result: Refused | list[Acl]) -> DeleteAclsFilterResult:
    if isinstance(result, Refused):
        return {
            "error_code": result.code,
            "error_message": result.why,
            "matching_acls": [],
        }
    return {
        "error_code": Code.NONE,
        "error_message": None,
        "matching_acls": [
            {
                "error_code": Code.NONE,
                "error_message": None,
                "resource_type": acl.resource_type,
                "resource_name": acl.resource_name,
                "pattern_type": acl.pattern_type,
                "principal": acl.principal,
                "host": acl.host,
                "operation": acl.operation,
                "permission_type": acl.permission_type,
            }
            for acl in result
        ],
    }
