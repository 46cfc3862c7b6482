"""Guards: the authorization checks between a request and its handler.

Each handler declares the guard of its API (api.py). A guard removes the unauthorized parts of a
request, lets the handler answer the rest, and adds the errors to the answer, in the places of Kafka
(KafkaApis, ControllerApis, AuthHelper). So most handlers need no checks; those with
`CHECKED_BY_HANDLER` make their own. This module is imported only if there is an authorizer.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from ....protocol.errors import Code, Refused
from .. import api
from ..api import Api, NoGuard, OnCluster, OnResource
from ..authorization import may_cluster, must, must_cluster
from ..handler import Body

if TYPE_CHECKING:
    from ....protocol.acls import AclResource, Operation
    from ...node import Node
    from ..context import Context
    from ..handler import Handler as AnyHandler

# Handlers with a guard always answer. Produce, which does not with acks=0, has no guard.
Request = TypeVar("Request")
Response = TypeVar("Response")
Handler: TypeAlias = Callable[["Node", "Context", Request], Coroutine[object, None, Response]]
# Any: each guard has the request and the handler of its API, which have types of their own.
Guard: TypeAlias = Callable[["Node", "Context", Any, Any], Coroutine[object, None, Body]]
Item = TypeVar("Item")

_made: Final[dict[api.Guard, Guard]] = {}


def guarded(declared: Api) -> AnyHandler:
    """The handler of an API behind its guard, if it has one."""
    if isinstance(declared.guard, NoGuard):
        return declared.handler
    guard, handler = guard_of(declared.guard), declared.handler

    def both(node: Node, context: Context, request: object) -> Coroutine[object, None, Body]:
        return guard(node, context, request, handler)

    return both


def guard_of(declared: OnCluster | OnResource | str) -> Guard:
    """The guard that a handler declares; its module is imported at first use."""
    guard = _made.get(declared)
    if guard is None:
        if isinstance(declared, OnCluster):
            guard = _on_cluster(*declared)
        elif isinstance(declared, OnResource):
            guard = _on_resource(*declared)
        else:
            module, _, name = declared.partition(".")
            guard = getattr(import_module(f".{module}", __package__), name)
        _made[declared] = guard
    return guard


def _on_resource(operation: Operation, resource: AclResource, field: str) -> Guard:
    async def guard(
        node: Node, context: Context, request: object, handle: Handler[object, Body]
    ) -> Body:
        must(node, context, operation, resource, getattr(request, field))
        return await handle(node, context, request)

    return guard


def _on_cluster(operation: Operation, why: str | None) -> Guard:
    async def guard(
        node: Node, context: Context, request: object, handle: Handler[object, Body]
    ) -> Body:
        if why is None:
            must_cluster(node, context, operation)
        elif not may_cluster(node, context, operation):
            raise Refused(Code.CLUSTER_AUTHORIZATION_FAILED, why)
        return await handle(node, context, request)

    return guard


async def split_allowed(
    context: Context, items: Iterable[Item], allowed: Callable[[Item], bool]
) -> tuple[list[Item], list[Item]]:
    """The allowed items and the other ones, both in order."""
    yes: list[Item] = []
    no: list[Item] = []
    async for item in context.turns.each(items):
        (yes if allowed(item) else no).append(item)
    return yes, no
