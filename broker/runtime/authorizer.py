"""Authorizes operations of principals by access control entries, like Kafka's StandardAuthorizer.

DENY takes precedence over ALLOW. `allow.everyone.if.no.acl.found` decides on resources without an
entry. A super user may do everything. ALLOW for READ, WRITE, DELETE or ALTER includes DESCRIBE, and
for ALTER_CONFIGS it includes DESCRIBE_CONFIGS. There is no I/O: principal and host are arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from ...metadata.acl_hosts import is_of_host
from ...metadata.acls import WILDCARD, Acl, Acls
from ...protocol.acls import AclResource, Operation, PatternType, Permission
from ..principals import NODE
from ..settings.authorizers import is_true, super_users
from .memo import Memo, texts_bytes

if TYPE_CHECKING:
    from ..settings.config import BrokerConfig

EVERYBODY: Final = "User:*"
_IMPLYING: Final[Mapping[int, frozenset[Operation]]] = {
    Operation.DESCRIBE: frozenset(
        {Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    ),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS}),
}
_REMEMBERED_BYTES: Final = 8 << 20
_ANY_NAME: Final = "hardcode"  # Kafka's name for a resource that has no entry of its own

_Question = tuple[str, str, int, int, str]


class Authorizer:
    """Decides on operations, and caches decisions until an entry changes.

    Args:
        acls: the access control entries, read at each decision.
        super_users: principals, like `User:admin`.
        allow_if_no_acl: the decision for a resource without an entry.
    """

    def __init__(self, acls: Acls, *, super_users: frozenset[str], allow_if_no_acl: bool) -> None:
        self._acls = acls
        self._super_users = super_users
        self._allow_if_no_acl = allow_if_no_acl
        self._decided: Memo[_Question, bool] = Memo(_REMEMBERED_BYTES)
        self._decided_at = acls.changes

    def allows(
        self, principal: str, host: str, operation: Operation, resource: AclResource, name: str
    ) -> bool:
        """Whether a principal at an address may perform an operation on a resource."""
        if self._decided_at != self._acls.changes:
            self._decided.clear()
            self._decided_at = self._acls.changes
        question = (principal, host, operation, resource, name)
        decided = self._decided.get(question)
        if decided is not None:
            return decided
        size_bytes = texts_bytes(principal, host, name)
        return self._decided.keep(question, self._decide(question), size_bytes)

    def _decide(self, question: _Question) -> bool:
        principal, host, operation, resource, name = question
        if principal in self._super_users:
            return True
        allowed, is_guarded = False, False
        for acl in self._acls.about(resource, name):
            is_guarded = True
            if not _is_about(acl, principal, host) or not _covers(acl, operation):
                continue
            if acl.permission_type == Permission.DENY:
                return False
            allowed = True
        return allowed if is_guarded else self._allow_if_no_acl

    def allows_some(
        self, principal: str, host: str, operation: Operation, resource: AclResource
    ) -> bool:
        """Whether the principal may perform an operation on some resource of a type.

        Follows Kafka's Authorizer.authorizeByResourceType: there is an entry that allows it, and
        none that denies it for all resources of that entry.
        """
        if self.allows(principal, host, operation, resource, _ANY_NAME):
            return True
        allows: list[Acl] = []
        denied: set[tuple[int, str]] = set()
        for acl in self._acls.of_type(resource):
            if not _is_about(acl, principal, host):
                continue
            if acl.operation not in (Operation.ALL, operation):
                continue
            if acl.permission_type == Permission.ALLOW:
                allows.append(acl)
            elif acl.pattern_type == PatternType.LITERAL and acl.resource_name == WILDCARD:
                return False
            else:
                denied.add((acl.pattern_type, acl.resource_name))
        return any(not denied.intersection(_above(acl)) for acl in allows)


def _is_about(acl: Acl, principal: str, host: str) -> bool:
    return acl.principal in (principal, EVERYBODY) and is_of_host(acl.host, host)


def _covers(acl: Acl, operation: int) -> bool:
    if acl.operation in (Operation.ALL, operation):
        return True
    implying = _IMPLYING.get(operation)
    return (
        implying is not None
        and acl.permission_type == Permission.ALLOW
        and acl.operation in implying
    )


def _above(acl: Acl) -> Iterator[tuple[int, str]]:
    """The patterns whose DENY cancels an ALLOW completely."""
    name = acl.resource_name
    if acl.pattern_type == PatternType.LITERAL and name == WILDCARD:
        return
    if acl.pattern_type == PatternType.LITERAL:
        yield PatternType.LITERAL, name
    for length in range(1, len(name) + 1):
        yield PatternType.PREFIXED, name[:length]


def configured_authorizer(config: BrokerConfig, acls: Acls) -> Authorizer:
    """The authorizer of `authorizer.class.name`, with its settings."""
    return Authorizer(
        acls,
        super_users=frozenset({NODE.text, *super_users(config.text("super.users") or "")}),
        allow_if_no_acl=is_true(config.text("allow.everyone.if.no.acl.found") or ""),
    )
