"""What handlers ask before they do something, and what they answer who may not.

Every function is asked with the node and the request. Without an authorizer, which is the default,
all is allowed; a handler on a hot path looks at `node.authorizer is None` itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..protocol.acls import CLUSTER_NAME, OPERATIONS_OF, AclResource, Operation
from ..protocol.errors import Code, Refused
from .context import NODE
from .logs import Log
from .settings import BadSetting

if TYPE_CHECKING:
    from ..storage.catalog_acls import Acls
    from .authorizer import Authorizer
    from .config import BrokerConfig
    from .context import Context
    from .node import Node

__all__ = [
    "AclResource", "Operation", "authorized_operations", "authorizer_of",
    "check_settings", "is_principal", "may", "may_cluster", "may_some", "may_topic", "must",
    "must_cluster",
]  # fmt: skip

_log = Log("authorization")
STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
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


def authorizer_of(config: BrokerConfig, acls: Acls) -> Authorizer | None:
    """Who decides, by `authorizer.class.name` and the settings of that class; None: nobody."""
    if not config["authorizer.class.name"]:
        return None
    from .authorizer import Authorizer

    return Authorizer(
        acls,
        super_users=frozenset({NODE, *_super_users(config.text("super.users") or "")}),
        allow_if_no_acl=_is_true(config.text("allow.everyone.if.no.acl.found") or ""),
    )


def check_settings(config: BrokerConfig) -> None:
    """Raise BadSetting for an authorizer that is not there, or that cannot be set up so."""
    name = config["authorizer.class.name"]
    if name not in ("", STANDARD):
        allowed = f"must be empty or {STANDARD}: Ottla has no other"
        raise BadSetting("authorizer.class.name", name, allowed)
    text = config.text("super.users") or ""
    for principal in _super_users(text):
        if not is_principal(principal):
            allowed = "must be TYPE:NAME, like User:admin, with ; between several"
            raise BadSetting("super.users", text, allowed)


def is_principal(text: str) -> bool:
    """Whether a text is TYPE:NAME (SecurityUtils.parseKafkaPrincipal)."""
    return ":" in text


def _super_users(text: str) -> list[str]:
    return [user.strip() for user in text.split(";") if user.strip()]


def _is_true(text: str) -> bool:
    return text.strip().lower() == "true"
