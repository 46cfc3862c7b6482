"""CreateAcls (30), versions 1-3: add access control entries that allow or deny operations.

1    patterns: literal and prefixed names (KIP-290)
2    flexible encoding
3    users are resources too (KIP-373)

Skipped: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from ....metadata.acl_hosts import RANGES_SINCE, is_range, range_of
from ....metadata.acls import Acl
from ....protocol.acls import CLUSTER_NAME, AclResource, Operation, PatternType, Permission
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import must_cluster
from ...requests.context import Context
from ...runtime.controller.controller import random_topic_id
from ...runtime.shards.encoded_ahead import decide_ahead
from .describe_acls import check_authorizer, known

if TYPE_CHECKING:
    from ....protocol.api_types.create_acls import (
        AclCreation,
        AclCreationResult,
        CreateAclsRequest,
        CreateAclsResponse,
    )
    from ...node import Node

_NO_RANGES: Final = "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher."


@serves(ApiKey.CREATE_ACLS, versions=(1, 3), guard=CHECKED_BY_HANDLER)
async def create_acls(
    node: Node, context: Context, request: CreateAclsRequest
) -> CreateAclsResponse:
    wanted = [_acl(creation) async for creation in context.turns.each(request.creations)]
    try:
        must_cluster(node, context, Operation.ALTER)
        check_authorizer(node)
        async for acl in context.turns.each(wanted):
            if _is_a_filter(acl):
                raise Refused(Code.UNKNOWN_SERVER_ERROR)
    except Refused as refused:
        return {"results": [_result(refused)] * len(wanted)}
    has_ranges = node.catalog.features.get("metadata.version", 0) >= RANGES_SINCE
    errors = [_error_of(acl, has_ranges) async for acl in context.turns.each(wanted)]
    valid = [acl for acl, refused in zip(wanted, errors, strict=True) if refused is None]
    results = await _create(node, context, valid)
    next_results = iter(results)
    each = context.turns.each(errors)
    return {"results": [_result(refused or next(next_results)) async for refused in each]}


async def _create(node: Node, context: Context, wanted: list[Acl]) -> Sequence[Refused | None]:
    """Create entries, all in one append; return the result for each."""
    begin = partial(node.catalog.acls.creation, random_topic_id)
    results, records, framed = await decide_ahead(begin, wanted, context.turns)
    try:
        node.controller.change(records, framed)
        await node.decided()
    except Refused as refused:  # the disk
        return [refused] * len(wanted)
    return results


def _acl(creation: AclCreation) -> Acl:
    return Acl(
        known(AclResource, creation.resource_type),
        creation.resource_name,
        known(PatternType, creation.resource_pattern_type),
        creation.principal,
        creation.host,
        known(Operation, creation.operation),
        known(Permission, creation.permission_type),
    )


def _is_a_filter(acl: Acl) -> bool:
    """Whether an entry has a value only for filters; Kafka then refuses the whole request."""
    return (
        acl.resource_type == AclResource.ANY
        or acl.pattern_type in (PatternType.ANY, PatternType.MATCH)
        or acl.operation == Operation.ANY
        or acl.permission_type == Permission.ANY
    )


def _error_of(acl: Acl, has_ranges: bool) -> Refused | None:
    if acl.resource_type == AclResource.CLUSTER and acl.resource_name != CLUSTER_NAME:
        why = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
        return Refused(Code.INVALID_REQUEST, why)
    if not acl.resource_name:
        return Refused(Code.INVALID_REQUEST, "Invalid empty resource name")
    if not acl.host:
        return Refused(Code.INVALID_REQUEST, "Host pattern cannot be null or empty")
    if not is_range(acl.host):
        return None
    if not has_ranges:
        return Refused(Code.UNSUPPORTED_VERSION, _NO_RANGES)
    try:
        range_of(acl.host)
    except ValueError as wrong:
        why = f"Invalid CIDR notation '{acl.host}': {wrong}"
        return Refused(Code.INVALID_REQUEST, why)
    return None


def _result(refused: Refused | None) -> AclCreationResult:
    if refused is None:
        return {"error_code": Code.NONE, "error_message": ""}
    return {"error_code": refused.code, "error_message": refused.why}
