"""Versions of requests that ended with Kafka 4.0 (KIP-896), which older releases serve (`--as`).

A layer around the handlers: each of them sees the lowest version that it knows, and its answer is
encoded in the version of the request. Versions of other formats of messages are not among them:
Produce below 3 and Fetch below 4.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from .context import Context
from .handler import Body
from .served_apis import HANDLERS

if TYPE_CHECKING:
    from .dispatch import Dispatch

OLDEST_SERVED: Final[Mapping[ApiKey, int]] = {
    ApiKey.LIST_OFFSETS: 0,
    ApiKey.OFFSET_COMMIT: 0,
    ApiKey.OFFSET_FETCH: 0,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 0,
    ApiKey.CREATE_TOPICS: 0,
    ApiKey.DELETE_TOPICS: 0,
    ApiKey.WRITE_TXN_MARKERS: 0,
    ApiKey.DESCRIBE_ACLS: 0,
    ApiKey.CREATE_ACLS: 0,
    ApiKey.DELETE_ACLS: 0,
    ApiKey.DESCRIBE_CONFIGS: 0,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 0,
    ApiKey.DESCRIBE_LOG_DIRS: 0,
    ApiKey.CREATE_DELEGATION_TOKEN: 0,
    ApiKey.RENEW_DELEGATION_TOKEN: 0,
    ApiKey.EXPIRE_DELEGATION_TOKEN: 0,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 0,
}
"""The oldest version of each API that is served as a release that has it."""

_DEFAULT: Final = 5  # ConfigSource.DEFAULT_CONFIG
# Any: the fields of an answer, which the function changes.
Adapt: TypeAlias = Callable[[Any], None]


def serve_older_versions(dispatch: Dispatch) -> None:
    """Serve the versions of OLDEST_SERVED, as far as the release offers them."""
    inner = dispatch.handle

    def handle(context: Context, request: object) -> Coroutine[object, None, Body | None]:
        api_key = context.api_key
        if api_key in OLDEST_SERVED and context.version < HANDLERS[api_key].lowest:
            return _served(inner, context, request)
        return inner(context, request)

    dispatch.handle = handle


# Version 0 keeps offsets in ZooKeeper: brokers with KRaft refuse it for each partition.
_REFUSED: Final = frozenset({(ApiKey.OFFSET_COMMIT, 0), (ApiKey.OFFSET_FETCH, 0)})


async def _served(
    inner: Callable[[Context, object], Coroutine[object, None, Body | None]],
    context: Context,
    request: object,
) -> Body | None:
    if (context.api_key, context.version) in _REFUSED:
        return await _refused(context, request)
    asked, context.version = context.version, HANDLERS[context.api_key].lowest
    try:
        body = await inner(context, request)
    finally:
        context.version = asked
    adapt = _ADAPTED.get((context.api_key, asked))
    if adapt is not None and body is not None:
        adapt(body)
    return body


async def _refused(context: Context, request: Any) -> Body:  # Any: a request of either API
    topics = []
    async for topic in context.turns.each(request.topics):
        indexes = getattr(topic, "partition_indexes", None)
        if indexes is None:
            indexes = [each.partition_index for each in topic.partitions]
        partitions = [
            {
                "partition_index": index,
                "committed_offset": -1,
                "metadata": "",
                "error_code": Code.UNSUPPORTED_VERSION,
            }
            async for index in context.turns.each(indexes)
        ]
        topics.append({"name": topic.name, "partitions": partitions})
    return {"topics": topics}


def _as_old_offsets(body: Any) -> None:  # Any: as above
    """ListOffsets 0 has a list of offsets, not one with its timestamp."""
    for topic in body["topics"]:
        for partition in topic["partitions"]:
            offset = cast(int, partition.get("offset", -1))
            partition["old_style_offsets"] = [offset] if offset >= 0 else []


def _with_defaults(body: Any) -> None:  # Any: as above
    """DescribeConfigs 0 tells whether a value is the default, and not its source."""
    for result in body["results"]:
        for config in result["configs"]:
            config["is_default"] = config["config_source"] == _DEFAULT


_ADAPTED: Final[Mapping[tuple[ApiKey, int], Adapt]] = {
    (ApiKey.LIST_OFFSETS, 0): _as_old_offsets,
    (ApiKey.DESCRIBE_CONFIGS, 0): _with_defaults,
}
