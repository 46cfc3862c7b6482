"""DescribeAcls (29), versions 1-3: list the access control entries that match a filter.

1    patterns: literal and prefixed names, and filters that match (KIP-290)
2    flexible encoding
3    users are resources too (KIP-373)

A request with a value of UNKNOWN closes the connection, as in Kafka.
Skipped: nothing.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import groupby
from typing import TYPE_CHECKING

from ....metadata.acls import Acl, AclFilter
from ....protocol.acls import AclResource, Operation, PatternType, Permission
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import must_cluster
from ...requests.context import Context, Disconnect

if TYPE_CHECKING:
    from ....protocol.api_types.delete_acls import DeleteAclsFilter
    from ....protocol.api_types.describe_acls import DescribeAclsRequest, DescribeAclsResponse
    from ...node import Node


@serves(ApiKey.DESCRIBE_ACLS, versions=(1, 3), guard=CHECKED_BY_HANDLER)
async def describe_acls(
    node: Node, context: Context, request: DescribeAclsRequest
) -> DescribeAclsResponse:
    wanted = filter_of(request)
    must_cluster(node, context, Operation.DESCRIBE)
    check_authorizer(node, "No Authorizer is configured on the broker")
    found = sorted(node.catalog.acls.matching(wanted))
    return {
        "resources": [
            {
                "resource_type": resource_type,
                "resource_name": name,
                "pattern_type": pattern_type,
                "acls": [
                    {
                        "principal": acl.principal,
                        "host": acl.host,
                        "operation": acl.operation,
                        "permission_type": acl.permission_type,
                    }
                    async for acl in context.turns.each(acls)
                ],
            }
            for (resource_type, name, pattern_type), acls in groupby(found, _resource)
        ]
    }


def check_authorizer(node: Node, why: str = "No Authorizer is configured.") -> None:
    """Raise Refused (SECURITY_DISABLED) without an authorizer."""
    if node.authorizer is None:
        raise Refused(Code.SECURITY_DISABLED, why)


def _resource(acl: Acl) -> tuple[int, str, int]:
    return acl[:3]


def filter_of(asked: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    """The filter of a request, or of one element of a request; raises Disconnect."""
    return AclFilter(
        known(AclResource, asked.resource_type_filter),
        asked.resource_name_filter,
        known(PatternType, asked.pattern_type_filter),
        asked.principal_filter,
        asked.host_filter,
        known(Operation, asked.operation),
        known(Permission, asked.permission_type),
    )


def known(kind: type[IntEnum], number: int) -> int:
    """The number if known, else that of UNKNOWN; raises Disconnect if it is UNKNOWN itself."""
    if number == 0:
        raise Disconnect(f"{kind.__name__} UNKNOWN")
    return number if number in kind.__members__.values() else 0
