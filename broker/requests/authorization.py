"""Checks whether the client of a request is authorized for an operation on a resource.

Guards and handlers call these functions with the node and the request's context. Without an
authorizer, which is the default, everything is allowed; handlers on hot paths check
`node.authorizer is None` themselves.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from ...protocol.acls import CLUSTER_NAME, OPERATIONS_OF, AclResource, Operation
from ...protocol.errors import Code, Refused
from ..log_output import Log

if TYPE_CHECKING:
    from ..node import Node
    from .context import Context

__all__ = [
    "AclResource", "Operation", "authorized_operations", "may", "may_cluster", "may_some",
    "may_topic", "must", "must_cluster", "operations_of",
]  # fmt: skip

_log = Log("authorization")
_OF_SETTINGS: Final = frozenset({Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS})
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
"""Kafka's error messages, for responses with one (Errors)."""


def may(
    node: Node, context: Context, operation: Operation, resource: AclResource, name: str
) -> bool:
    """Whether the client may perform an operation on a resource."""
    authorizer = node.authorizer
    if authorizer is None:
        return True
    host = context.connection.host
    if authorizer.allows(context.principal.text, host, operation, resource, name):
        return True
    _log.debug(
        "the client is not authorized", principal=context.principal.text, host=host,
        operation=operation.name, resource=resource.name, name=name, **context.log_fields(),
    )  # fmt: skip
    return False


def may_topic(node: Node, context: Context, operation: Operation, name: str) -> bool:
    """Whether the client may perform an operation on a topic."""
    return may(node, context, operation, AclResource.TOPIC, name)


def may_cluster(node: Node, context: Context, operation: Operation) -> bool:
    """Whether the client may perform an operation on the cluster."""
    return may(node, context, operation, AclResource.CLUSTER, CLUSTER_NAME)


def must(
    node: Node, context: Context, operation: Operation, resource: AclResource, name: str
) -> None:
    """Check that the client may perform an operation on a resource.

    Raises:
        Refused: the *_AUTHORIZATION_FAILED of the resource type.
    """
    if not may(node, context, operation, resource, name):
        raise Refused(_CODES[resource])


def must_cluster(node: Node, context: Context, operation: Operation) -> None:
    """Check that the client may perform an operation on the cluster.

    Raises:
        Refused: CLUSTER_AUTHORIZATION_FAILED.
    """
    if not may_cluster(node, context, operation):
        why = f"Request {context.api_key.name} needs {operation.name} permission."
        raise Refused(Code.CLUSTER_AUTHORIZATION_FAILED, why)


def may_some(node: Node, context: Context, operation: Operation, resource: AclResource) -> bool:
    """Whether the client may perform an operation on at least one resource of a type."""
    authorizer = node.authorizer
    return authorizer is None or authorizer.allows_some(
        context.principal.text, context.connection.host, operation, resource
    )


def operations_of(node: Node, resource: AclResource) -> Collection[Operation]:
    """The operations that exist for a resource; groups have no settings before Kafka 4.1."""
    known = OPERATIONS_OF[resource]
    if resource is AclResource.GROUP and node.release is not None and node.release.is_before("4.1"):
        return [each for each in known if each not in _OF_SETTINGS]
    return known


def authorized_operations(
    node: Node, context: Context, resource: AclResource, name: str
) -> frozenset[int]:
    """The operations that the client may perform on a resource, for responses."""
    return frozenset(
        int(operation)
        for operation in operations_of(node, resource)
        if may(node, context, operation, resource, name)
    )
