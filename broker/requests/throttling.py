"""Measures requests against quotas, and throttles their clients (KIP-219).

`broker/runtime/quotas.py` knows the quotas and what each client uses. Nothing here is imported
before a first quota is set.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ...metadata.client_quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Refused
from ...protocol.messages import has_field
from ..clock import monotonic_s
from ..runtime.quotas import Exceeded

if TYPE_CHECKING:
    from ..node import Node
    from .context import Context
    from .handler import Handler

_READING_S: Final = 0.001
# Requests between brokers are not throttled.
_EXEMPT: Final = frozenset({ApiKey.WRITE_TXN_MARKERS})


def who_asks(context: Context) -> tuple[str, str]:
    """User and client id, as quotas name them."""
    return context.principal.partition(":")[2], context.client_id or ""


def metered(handler: Handler) -> Handler:
    """A handler whose work, and the bytes of whose requests, count against quotas."""

    async def both(node: Node, context: Context, request: Any) -> dict[str, Any] | None:
        steps = _Steps(monotonic_s() - context.started_s)  # it had to be read from its bytes
        try:
            body: dict[str, Any] | None = await _Timed(handler(node, context, request), steps)
        except Refused:
            _throttle(node, context, request, steps)
            raise
        _throttle(node, context, request, steps)
        wait_ms = context.throttle_time_ms
        key, version = context.api_key, context.version
        if body is not None and wait_ms > 0 and has_field(key, version, "throttle_time_ms"):
            body["throttle_time_ms"] = wait_ms
        return body

    return both


@dataclass(slots=True)
class _Steps:
    """The time that a handler has worked, without that in which it waited."""

    spent_s: float


class _Timed:
    """A coroutine whose steps are timed."""

    def __init__(self, coroutine: Any, steps: _Steps) -> None:
        self._coroutine = coroutine
        self._steps = steps

    def __await__(self) -> Generator[Any, Any, Any]:
        step, argument = self._coroutine.send, None
        while True:
            started_s = monotonic_s()
            try:
                waited_for = step(argument)
            except StopIteration as done:
                return done.value
            finally:
                self._steps.spent_s += monotonic_s() - started_s
            step = self._coroutine.send
            try:
                argument = yield waited_for
            except BaseException as thrown:
                step, argument = self._coroutine.throw, thrown


def _throttle(node: Node, context: Context, request: Any, steps: _Steps) -> None:
    """Put into the context how long its connection is to be left alone."""
    quotas = node.quotas
    if quotas is None or context.api_key in _EXEMPT or context.api_key == ApiKey.FETCH:
        return
    who, now_ms = who_asks(context), node.clock.monotonic_ms()
    waits = [context.throttle_time_ms]
    if context.api_key == ApiKey.PRODUCE:
        waits.append(quotas.use(PRODUCER_BYTE_RATE, who, context.size_bytes, now_ms))
    if context.api_key != ApiKey.PRODUCE or request.acks != 0:
        waits.append(quotas.use(REQUEST_PERCENTAGE, who, steps.spent_s * 100, now_ms))
    context.throttle_time_ms = max(waits)


class Fetching:
    """A Fetch, whose answer counts; made where its handler begins to work.

    Attributes:
        most_bytes: what it may be answered with at most; None: any number.
    """

    def __init__(self, node: Node, context: Context) -> None:
        assert node.quotas is not None
        self._node = node
        self._quotas = node.quotas
        self._context = context
        self._who = who_asks(context)
        self._started_s = monotonic_s()
        self.most_bytes = self._quotas.most_bytes(self._who)

    def use(self, size_bytes: int) -> int:
        """It is to be answered with so many bytes; the milliseconds to wait for them.

        Where that is not 0 the answer is to have no records: they are not counted.
        """
        now_ms = self._node.clock.monotonic_ms()
        # Not more than reading takes: it may have waited for something new in the meantime.
        spent_s = min(monotonic_s() - self._started_s, _READING_S)
        wait_ms = max(
            self._quotas.use(REQUEST_PERCENTAGE, self._who, spent_s * 100, now_ms),
            self._quotas.use(CONSUMER_BYTE_RATE, self._who, size_bytes, now_ms),
        )
        if wait_ms > 0:
            self._quotas.take_back(CONSUMER_BYTE_RATE, self._who, size_bytes, now_ms)
            self._context.throttle_time_ms = wait_ms
        return wait_ms


def mutating(node: Node, context: Context, *, strict_since: int) -> Callable[[int], None] | None:
    """What is called with each number of partitions that are to be made or deleted.

    It raises Refused(THROTTLING_QUOTA_EXCEEDED) where that is too much from version `strict_since`
    on; before it, and else, the answer says how long to wait. None where there is no such quota.
    """
    quotas = node.quotas
    if quotas is None:
        return None
    who = who_asks(context)
    if quotas.limit(CONTROLLER_MUTATION_RATE, *who) is None:
        return None

    def mutate(count: int) -> None:
        assert quotas is not None
        try:
            wait_ms = quotas.mutate(
                who, count, node.clock.monotonic_ms(), strict=context.version >= strict_since
            )
        except Exceeded as exceeded:
            context.throttle_time_ms = max(context.throttle_time_ms, exceeded.wait_ms)
            raise
        context.throttle_time_ms = max(context.throttle_time_ms, wait_ms)

    return mutate
