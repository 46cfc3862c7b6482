"""DeleteAcls (31), versions 1-3: delete the access control entries that match filters.

1    patterns: literal and prefixed names, and filters that match (KIP-290)
2    flexible encoding
3    users are resources too (KIP-373)

Skipped: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from ....metadata.acls import Acl, AclFilter
from ....protocol.acls import Operation
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import must_cluster
from ...requests.context import Context
from ...runtime.shards.encoded_ahead import ATTEMPTS, encode_ahead
from .describe_acls import check_authorizer, filter_of

if TYPE_CHECKING:
    from ....metadata.records import MetadataRecord
    from ....protocol.api_types.delete_acls import (
        DeleteAclsFilterResult,
        DeleteAclsRequest,
        DeleteAclsResponse,
    )
    from ....protocol.batch import Framed
    from ...node import Node


@serves(ApiKey.DELETE_ACLS, versions=(1, 3), guard=CHECKED_BY_HANDLER)
async def delete_acls(
    node: Node, context: Context, request: DeleteAclsRequest
) -> DeleteAclsResponse:
    filters = [filter_of(each) async for each in context.turns.each(request.filters)]
    try:
        must_cluster(node, context, Operation.ALTER)
        check_authorizer(node)
    except Refused as refused:
        return {"filter_results": [await _result(context, refused)] * len(filters)}
    results, records, framed = await _decide(node, context, filters)
    try:
        node.controller.change(records, framed)
        await node.decided()
    except Refused as refused:  # the disk
        results = [refused] * len(filters)
    each = context.turns.each(results)
    return {"filter_results": [await _result(context, result) async for result in each]}


async def _decide(
    node: Node, context: Context, filters: Sequence[AclFilter]
) -> tuple[list[Refused | list[Acl]], Sequence[MetadataRecord], Framed | None]:
    """The results and records, of entries that did not change while it was made.

    A filter without a name looks at all entries, so that thousands of filters take seconds. If
    other requests change entries meanwhile, the last attempt pauses no more.
    """
    for _ in range(ATTEMPTS):
        deletion = node.catalog.acls.deletion()
        steps = chain.from_iterable(map(deletion.add_in_steps, filters))
        async for _ in context.turns.each(steps):
            pass
        if deletion.is_outdated:
            continue
        records, framed = await encode_ahead(deletion.records(), context.turns)
        if not deletion.is_outdated:
            return deletion.results, records, framed
    deletion = node.catalog.acls.deletion()
    for each in filters:
        deletion.add(each)
    return deletion.results, [*deletion.records()], None


async def _result(context: Context, result: Refused | list[Acl]) -> DeleteAclsFilterResult:
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
            async for acl in context.turns.each(result)
        ],
    }
