"""Guards: the authorization checks between a request and its handler, one guard for each API.

A guard removes the unauthorized parts of a request, lets the handler answer the rest, and adds the
errors to the answer, in the places of Kafka (KafkaApis, ControllerApis, AuthHelper). So most
handlers need no checks; those of `CHECKED_BY_HANDLER` make their own. This module is imported only
if there is an authorizer.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from ...protocol.acls import AclResource, Operation
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from .authorization import WHY, may_cluster, must, must_cluster
from .handler import Body

if TYPE_CHECKING:
    from ..node import Node
    from .context import Context
    from .handler import Handler as AnyHandler

# Handlers with a guard always answer. Produce, which does not with acks=0, has no guard.
Request = TypeVar("Request")
Response = TypeVar("Response")
Handler: TypeAlias = Callable[["Node", "Context", Request], Coroutine[object, None, Response]]
# Any: each guard has the request and the handler of its API, which have types of their own.
Guard: TypeAlias = Callable[["Node", "Context", Any, Any], Coroutine[object, None, Body]]
OneGuard = TypeVar("OneGuard", bound=Guard)
Item = TypeVar("Item")

# Requests that are authorized or not as a whole; the error is at the top level of the answer.
_OF_CLUSTER: Final[Mapping[ApiKey, Operation]] = {
    ApiKey.DESCRIBE_LOG_DIRS: Operation.DESCRIBE,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Operation.DESCRIBE,
    ApiKey.DESCRIBE_QUORUM: Operation.DESCRIBE,
    ApiKey.LIST_CONFIG_RESOURCES: Operation.DESCRIBE_CONFIGS,
    ApiKey.UPDATE_FEATURES: Operation.ALTER,
    ApiKey.UNREGISTER_BROKER: Operation.ALTER,
}
_OF_NAMED: Final[Mapping[ApiKey, tuple[Operation, AclResource, str]]] = {
    ApiKey.HEARTBEAT: (Operation.READ, AclResource.GROUP, "group_id"),
    ApiKey.SYNC_GROUP: (Operation.READ, AclResource.GROUP, "group_id"),
    ApiKey.LEAVE_GROUP: (Operation.READ, AclResource.GROUP, "group_id"),
    ApiKey.END_TXN: (Operation.WRITE, AclResource.TRANSACTIONAL_ID, "transactional_id"),
}
_OF_VOTERS: Final = frozenset({ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER})
_GUARDS: Final[Mapping[ApiKey, str]] = {
    **dict.fromkeys((ApiKey.METADATA, ApiKey.LIST_OFFSETS, ApiKey.FIND_COORDINATOR), "clients"),
    **dict.fromkeys((ApiKey.OFFSET_FOR_LEADER_EPOCH, ApiKey.DESCRIBE_TOPIC_PARTITIONS), "clients"),
    **dict.fromkeys((ApiKey.JOIN_GROUP, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH), "groups"),
    **dict.fromkeys((ApiKey.DESCRIBE_GROUPS, ApiKey.LIST_GROUPS, ApiKey.DELETE_GROUPS), "groups"),
    ApiKey.OFFSET_DELETE: "groups",
    **dict.fromkeys((ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN), "transactions"),
    **dict.fromkeys((ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT), "transactions"),
    **dict.fromkeys((ApiKey.WRITE_TXN_MARKERS, ApiKey.LIST_TRANSACTIONS), "transactions"),
    **dict.fromkeys((ApiKey.DESCRIBE_TRANSACTIONS, ApiKey.DESCRIBE_PRODUCERS), "transactions"),
    **dict.fromkeys((ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS), "administration"),
    **dict.fromkeys((ApiKey.CREATE_PARTITIONS, ApiKey.DELETE_RECORDS), "administration"),
    **dict.fromkeys((ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS), "administration"),
    **dict.fromkeys((ApiKey.DESCRIBE_CONFIGS, ApiKey.DESCRIBE_CLUSTER), "administration"),
    **dict.fromkeys((ApiKey.ALTER_REPLICA_LOG_DIRS, ApiKey.ELECT_LEADERS), "administration"),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: "administration",
}

OPEN: Final = frozenset(
    {
        ApiKey.API_VERSIONS,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey.PUSH_TELEMETRY,
        # Refused on every plain connection, before authorization. A token's owner and renewers need
        # no ACL to renew, expire or see it.
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        # Refused before authorization: share groups are switched off.
        ApiKey.SHARE_GROUP_HEARTBEAT,
        ApiKey.SHARE_GROUP_DESCRIBE,
        ApiKey.SHARE_FETCH,
        ApiKey.SHARE_ACKNOWLEDGE,
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    }
)
"""The APIs that need no authorization."""

CHECKED_BY_HANDLER: Final = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.CREATE_ACLS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        ApiKey.DELETE_ACLS,
        ApiKey.DESCRIBE_CLIENT_QUOTAS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE,
        ApiKey.WRITE_SHARE_GROUP_STATE,
        ApiKey.DELETE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    }
)
"""The APIs whose handlers check the authorization themselves."""

_found: dict[ApiKey, Guard] = {}


def guards(*api_keys: ApiKey) -> Callable[[OneGuard], OneGuard]:
    """Register a guard for these APIs; `_GUARDS` has the module of each."""

    def mark(guard: OneGuard) -> OneGuard:
        _found.update(dict.fromkeys(api_keys, guard))
        return guard

    return mark


def guarded(api_key: ApiKey, handler: AnyHandler) -> AnyHandler:
    """A handler behind its guard; an API without an entry in the tables needs CLUSTER_ACTION."""
    if api_key in OPEN or api_key in CHECKED_BY_HANDLER:
        return handler
    guard = _found.get(api_key)
    if guard is None:
        guard = _found[api_key] = _guard(api_key)

    def both(node: Node, context: Context, request: object) -> Coroutine[object, None, Body]:
        return guard(node, context, request, handler)

    return both


def is_known(api_key: ApiKey) -> bool:
    """Whether one of the tables has an API."""
    tables = (OPEN, CHECKED_BY_HANDLER, _OF_CLUSTER, _OF_NAMED, _OF_VOTERS, _GUARDS)
    return any(api_key in table for table in tables)


def _guard(api_key: ApiKey) -> Guard:
    if api_key in _GUARDS:
        import_module(f".guard_{_GUARDS[api_key]}", __package__)
        return _found[api_key]
    if api_key in _OF_NAMED:
        return _whole(*_OF_NAMED[api_key])
    if api_key in _OF_VOTERS:
        return _voters
    return _cluster(_OF_CLUSTER.get(api_key, Operation.CLUSTER_ACTION))


def _whole(operation: Operation, resource: AclResource, field: str) -> Guard:
    async def guard(
        node: Node, context: Context, request: object, handle: Handler[object, Body]
    ) -> Body:
        must(node, context, operation, resource, getattr(request, field))
        return await handle(node, context, request)

    return guard


def _cluster(operation: Operation) -> Guard:
    async def guard(
        node: Node, context: Context, request: object, handle: Handler[object, Body]
    ) -> Body:
        must_cluster(node, context, operation)
        return await handle(node, context, request)

    return guard


async def _voters(
    node: Node, context: Context, request: object, handle: Handler[object, Body]
) -> Body:
    if not may_cluster(node, context, Operation.ALTER):  # with a different message, as in Kafka
        code = Code.CLUSTER_AUTHORIZATION_FAILED
        raise Refused(code, WHY[code])
    return await handle(node, context, request)


async def split_allowed(
    context: Context, items: Iterable[Item], allowed: Callable[[Item], bool]
) -> tuple[list[Item], list[Item]]:
    """The allowed items and the other ones, both in order."""
    yes: list[Item] = []
    no: list[Item] = []
    async for item in context.turns.each(items):
        (yes if allowed(item) else no).append(item)
    return yes, no
