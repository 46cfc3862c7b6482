"""What handlers ask before they do something, and what they answer who may not.

Every function is asked with the node and the request. Without an authorizer, which is the default,
all is allowed; a handler on a hot path looks at `node.authorizer is None` itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...protocol.acls import CLUSTER_NAME, OPERATIONS_OF, AclResource, Operation
from ...protocol.errors import Code, Refused
from ..log_output import Log

if TYPE_CHECKING:
    from ..node import Node
    from .context import Context

__all__ = [
    "AclResource", "Operation", "authorized_operations", "may", "may_cluster", "may_some",
    "may_topic", "must", "must_cluster",
]  # fmt: skip

_log = Log("authorization")
_CODES: Final = {
    AclResource.TOPIC: Code.TOPIC_AUTHORIZATION_FAILED,
    AclResource.GROUP: Code.GROUP_AUTHORIZATION_FAILED,
    AclResource.CLUSTER: Code.CLUSTER_AUTHORIZATION_FAILED,
    AclResource.TRANSACTIONAL_ID: Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    AclResource.DELEGATION_TOKEN: Code.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
WHY: Final = {
    Code.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    Code.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    Code.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
}
"""Kafka's words, where a refusal has any (Errors)."""


def may(
    node: Node, context: Context, operation: Operation, resource: AclResource, name: str
) -> bool:
    """Whether who asks may do this to a resource."""
    authorizer = node.authorizer
    if authorizer is None:
        return True
    host = context.connection.host
    if authorizer.allows(context.principal, host, operation, resource, name):
        return True
    _log.debug(
        "denied", principal=context.principal, host=host, operation=operation.name,
        resource=resource.name, name=name, **context.log_fields(),
    )  # fmt: skip
    return False


def may_topic(node: Node, context: Context, operation: Operation, name: str) -> bool:
    """Whether who asks may do this to a topic."""
    return may(node, context, operation, AclResource.TOPIC, name)


def may_cluster(node: Node, context: Context, operation: Operation) -> bool:
    """Whether who asks may do this to the cluster as a whole."""
    return may(node, context, operation, AclResource.CLUSTER, CLUSTER_NAME)


def must(
    node: Node, context: Context, operation: Operation, resource: AclResource, name: str
) -> None:
    """Go on only if who asks may do this to a resource.

    Raises:
        Refused: the resource's *_AUTHORIZATION_FAILED.
    """
    if not may(node, context, operation, resource, name):
        raise Refused(_CODES[resource])


def must_cluster(node: Node, context: Context, operation: Operation) -> None:
    """Go on only if who asks may do this to the cluster; raises CLUSTER_AUTHORIZATION_FAILED."""
    if not may_cluster(node, context, operation):
        why = f"Request {context.api_key.name} needs {operation.name} permission."
        raise Refused(Code.CLUSTER_AUTHORIZATION_FAILED, why)


def may_some(node: Node, context: Context, operation: Operation, resource: AclResource) -> bool:
    """Whether who asks may do this to one resource of a type at least, whichever it is."""
    authorizer = node.authorizer
    return authorizer is None or authorizer.allows_some(
        context.principal, context.connection.host, operation, resource
    )


def authorized_operations(
    node: Node, context: Context, resource: AclResource, name: str
) -> frozenset[int]:
    """What who asks may do to a resource, as answers tell it."""
    return frozenset(
        int(operation)
        for operation in OPERATIONS_OF[resource]
        if may(node, context, operation, resource, name)
    )
