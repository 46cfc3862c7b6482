"""Versions of requests that ended with Kafka 4.0 (KIP-896), which older releases serve (`--as`).

A layer around the handlers: each of them sees the lowest version that it knows, and its answer is
encoded in the version of the request. Fetch below 4 is not among them, because its records have
another format; neither are such records in a Produce below 3.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from .context import Context
from .handler import Body
from .offered import OLDEST_SERVED
from .served_apis import HANDLERS

if TYPE_CHECKING:
    from ...protocol.api_types.offset_commit import OffsetCommitRequest
    from ...protocol.api_types.offset_fetch import OffsetFetchRequest
    from .dispatch import Dispatch

_DEFAULT: Final = 5  # ConfigSource.DEFAULT_CONFIG
Adapt: TypeAlias = Callable[[Body], None]
"""Changes the fields of an answer."""
Parts: TypeAlias = "list[dict[str, list[dict[str, object]]]]"


def serve_older_versions(dispatch: Dispatch) -> None:
    """Serve the versions of OLDEST_SERVED, as far as the release offers them."""
    inner = dispatch.handle

    def handle(context: Context, request: object) -> Coroutine[object, None, Body | None]:
        api_key = context.api_key
        if api_key in OLDEST_SERVED and context.version < _lowest(api_key):
            return _serve(inner, context, request)
        return inner(context, request)

    dispatch.handle = handle


# Version 0 keeps offsets in ZooKeeper: brokers with KRaft refuse it for each partition.
_REFUSED: Final = frozenset({(ApiKey.OFFSET_COMMIT, 0), (ApiKey.OFFSET_FETCH, 0)})


def _lowest(api_key: ApiKey) -> int:
    """The lowest version that the handler knows."""
    return max(HANDLERS[api_key].lowest, HANDLERS[api_key].closed_below)


async def _serve(
    inner: Callable[[Context, object], Coroutine[object, None, Body | None]],
    context: Context,
    request: object,
) -> Body | None:
    if (context.api_key, context.version) in _REFUSED:
        return await _refuse(context, request)
    asked, context.version = context.version, _lowest(context.api_key)
    try:
        body = await inner(context, request)
    finally:
        context.version = asked
    adapt = _ADAPTED.get((context.api_key, asked))
    if adapt is not None and body is not None:
        adapt(body)
    return body


async def _refuse(context: Context, request: object) -> Body:
    if context.api_key is ApiKey.OFFSET_FETCH:
        nothing = {"committed_offset": -1, "metadata": "", "error_code": Code.UNSUPPORTED_VERSION}
        fetched = cast("OffsetFetchRequest", request).topics or ()
        indexes = [(topic.name, topic.partition_indexes) for topic in fetched]
    else:
        nothing = {"error_code": Code.UNSUPPORTED_VERSION}
        committed = cast("OffsetCommitRequest", request).topics
        indexes = [
            (each.name, [one.partition_index for one in each.partitions]) for each in committed
        ]
    topics = []
    async for name, numbers in context.turns.each(indexes):
        partitions = [
            {"partition_index": number, **nothing} async for number in context.turns.each(numbers)
        ]
        topics.append({"name": name, "partitions": partitions})
    return {"topics": topics}


def _as_old_offsets(body: Body) -> None:
    """ListOffsets 0 has a list of offsets, not one with its timestamp."""
    for topic in cast(Parts, body["topics"]):
        for partition in topic["partitions"]:
            offset = cast(int, partition.get("offset", -1))
            partition["old_style_offsets"] = [offset] if offset >= 0 else []


def _with_defaults(body: Body) -> None:
    """DescribeConfigs 0 tells whether a value is the default, and not its source."""
    for result in cast(Parts, body["results"]):
        for config in result["configs"]:
            config["is_default"] = config["config_source"] == _DEFAULT


_ADAPTED: Final[Mapping[tuple[ApiKey, int], Adapt]] = {
    (ApiKey.LIST_OFFSETS, 0): _as_old_offsets,
    (ApiKey.DESCRIBE_CONFIGS, 0): _with_defaults,
}
