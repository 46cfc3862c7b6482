"""Times and counts requests, for `ottla serve --metrics`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from .dispatch import Answer, Dispatch

if TYPE_CHECKING:
    from ..runtime.metrics.request_metrics import RequestMetrics
    from ..scheduling.holds import Holds
    from .context import ConnectionInfo, Context


def measure_requests(holds: Holds, dispatch: Dispatch) -> None:
    """Count in `holds` the time until a request is answered or waits.

    The rest of a request that waits is a task with the name of the API, which the loop times. The
    node's `request_metrics` count the request and its answer.
    """
    node, serve = dispatch.node, dispatch.serve
    names = {int(key): key.name for key in ApiKey}

    def measure_and_serve(
        frame: memoryview, connection: ConnectionInfo
    ) -> tuple[Context, Answer | asyncio.Future[Answer]]:
        metrics = node.request_metrics
        received_s = 0.0 if metrics is None else metrics.now_s()
        key, size_bytes = int.from_bytes(frame[:2], "big"), len(frame)
        begun = holds.begin()
        try:
            context, reply = serve(frame, connection)
        finally:
            holds.end(begun, names.get(key, "unknown API"))
        if metrics is not None:
            metrics.received(key, context.version, size_bytes)
            if isinstance(reply, asyncio.Future):
                reply.add_done_callback(partial(_answered_later, metrics, key, received_s))
            else:
                metrics.answered(key, received_s, _size_of(reply))
        return context, reply

    dispatch.serve = measure_and_serve


def _answered_later(
    metrics: RequestMetrics, api_key: int, received_s: float, reply: asyncio.Future[Answer]
) -> None:
    if not reply.cancelled() and reply.exception() is None:
        metrics.answered(api_key, received_s, _size_of(reply.result()))


def _size_of(answer: Answer) -> int:
    if isinstance(answer, list):
        return sum(len(piece) for piece in answer)
    return 0 if answer is None else len(answer)
