"""An authorizer whose test says what it allows."""

from __future__ import annotations

from collections.abc import Callable

from ottla.broker.runtime.authorizer import Authorizer
from ottla.metadata.acls import Acls
from ottla.protocol.acls import AclResource, Operation


class Rights(Authorizer):
    """All clients have the same rights.

    Args:
        allowed: whether an operation on the resource of a name is allowed.
    """

    def __init__(self, allowed: Callable[[Operation, AclResource, str], bool]) -> None:
        super().__init__(Acls(), super_users=frozenset(), allow_if_no_acl=False)
        self._allowed = allowed

    def allows(
        self, principal: str, host: str, operation: Operation, resource: AclResource, name: str
    ) -> bool:
        return self._allowed(operation, resource, name)
