"""Measures requests against quotas, and throttles their clients (KIP-219).

`broker/runtime/quotas/quotas.py` has the quotas and the usage of each client. This module is
imported when the first quota is set.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import TYPE_CHECKING, Final, cast

from ...metadata.client_quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Refused
from ...protocol.lazy_dataclass import dataclass
from ...protocol.messages import has_field
from ..runtime.quotas.quotas import Exceeded

if TYPE_CHECKING:
    from ...protocol.api_types.produce import ProduceRequest
    from ..node import Node
    from .context import Context
    from .handler import Body, Handler

_READING_S: Final = 0.001
_PARTITION_BYTES: Final = 50  # the approximate size of a partition in an answer, without records
_READS: Final = frozenset({ApiKey.FETCH, ApiKey.SHARE_FETCH})  # `Fetching` counts them
# Requests between brokers are not throttled.
_EXEMPT: Final = frozenset({ApiKey.WRITE_TXN_MARKERS})


def client_of(context: Context) -> tuple[str, str]:
    """The user and client id of a request, as quotas name them."""
    return context.principal.name, context.client_id or ""


def metered(handler: Handler) -> Handler:
    """A handler whose time, and the size of whose requests, count against quotas."""

    async def both(node: Node, context: Context, request: object) -> Body | None:
        now_s = node.clock.live.monotonic_s
        steps = _Steps(now_s, now_s() - context.started_s)  # begin with the time for decoding
        try:
            body = await _Timed(handler(node, context, request), steps)
        except Refused:
            _throttle(node, context, request, steps)
            raise
        if context.api_key not in _READS:
            _throttle(node, context, request, steps)
        wait_ms = context.throttle_time_ms
        key, version = context.api_key, context.version
        if isinstance(body, dict) and wait_ms > 0 and has_field(key, version, "throttle_time_ms"):
            body["throttle_time_ms"] = wait_ms
        return body

    return both


@dataclass(slots=True)
class _Steps:
    """The time that a handler has worked, without its waits."""

    now_s: Callable[[], float]
    spent_s: float


class _Timed:
    """An awaitable that measures the time of a coroutine's steps."""

    def __init__(self, coroutine: Coroutine[object, None, Body | None], steps: _Steps) -> None:
        self._coroutine = coroutine
        self._steps = steps

    def __await__(self) -> Generator[object, None, Body | None]:
        step: Callable[..., object] = self._coroutine.send
        argument: BaseException | None = None
        now_s = self._steps.now_s
        while True:
            started_s = now_s()
            try:
                waited_for = step(argument)
            except StopIteration as done:
                body: Body | None = done.value
                return body
            finally:
                self._steps.spent_s += now_s() - started_s
            step = self._coroutine.send
            try:
                argument = yield waited_for
            except BaseException as thrown:
                step, argument = self._coroutine.throw, thrown


def _throttle(node: Node, context: Context, request: object, steps: _Steps) -> None:
    """Count a request, and set the throttle time of its connection in the context."""
    quotas = node.quotas
    if quotas is None or context.api_key in _EXEMPT:
        return
    who, now_ms = client_of(context), node.clock.live.monotonic_ms()
    waits = [context.throttle_time_ms]
    if context.api_key == ApiKey.PRODUCE:
        waits.append(quotas.use(PRODUCER_BYTE_RATE, who, context.size_bytes, now_ms))
    if context.api_key != ApiKey.PRODUCE or cast("ProduceRequest", request).acks != 0:
        waits.append(quotas.use(REQUEST_PERCENTAGE, who, steps.spent_s * 100, now_ms))
    context.throttle_time_ms = max(waits)


class Fetching:
    """The quotas of a Fetch or ShareFetch; created when it begins to read.

    Attributes:
        most_bytes: the maximum bytes of its answer; None for no limit.
    """

    def __init__(self, node: Node, context: Context) -> None:
        assert node.quotas is not None
        self._node = node
        self._quotas = node.quotas
        self._context = context
        self._who = client_of(context)
        self._started_s = node.clock.live.monotonic_s()
        self.most_bytes = self._quotas.most_bytes(self._who)

    def use(self, sizes_bytes: Iterable[int]) -> int:
        """Count the bytes of the answer; return the throttle time in ms.

        If the time is not 0, the answer must be sent without records, and they do not count.

        Args:
            sizes_bytes: of the records of each partition.
        """
        size_bytes = sum(size + _PARTITION_BYTES for size in sizes_bytes)
        now_ms = self._node.clock.live.monotonic_ms()
        # At most the time of reading: the Fetch may have waited for new records in between.
        spent_s = min(self._node.clock.live.monotonic_s() - self._started_s, _READING_S)
        wait_ms = max(
            self._quotas.use(REQUEST_PERCENTAGE, self._who, spent_s * 100, now_ms),
            self._quotas.use(CONSUMER_BYTE_RATE, self._who, size_bytes, now_ms),
        )
        if wait_ms > 0:
            self._quotas.take_back(CONSUMER_BYTE_RATE, self._who, size_bytes, now_ms)
            self._context.throttle_time_ms = wait_ms
        return wait_ms


def mutating(node: Node, context: Context, *, strict_since: int) -> Callable[[int], None] | None:
    """The function to call with each number of partitions to create or delete; None if no quota.

    Beyond the quota it raises Refused (THROTTLING_QUOTA_EXCEEDED) from version `strict_since` on.
    Otherwise it sets the throttle time of the answer.
    """
    quotas = node.quotas
    if quotas is None:
        return None
    who = client_of(context)
    if quotas.limit(CONTROLLER_MUTATION_RATE, *who) is None:
        return None

    def mutate(count: int) -> None:
        assert quotas is not None
        try:
            wait_ms = quotas.mutate(
                who, count, node.clock.live.monotonic_ms(), strict=context.version >= strict_since
            )
        except Exceeded as exceeded:
            context.throttle_time_ms = max(context.throttle_time_ms, exceeded.wait_ms)
            raise
        context.throttle_time_ms = max(context.throttle_time_ms, wait_ms)

    return mutate
