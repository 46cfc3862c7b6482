"""A dispatch that times and counts requests, for `ottla serve --metrics`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from .dispatch import Answer, Dispatch

if TYPE_CHECKING:
    from ..node import Node
    from ..runtime.request_metrics import RequestMetrics
    from ..scheduling.holds import Holds
    from .context import ConnectionInfo, Context


class MeasuredDispatch(Dispatch):
    """Counts in `holds` the time until a request is answered or waits.

    The rest of a request that waits is a task with the name of the API, which the loop times. The
    node's `request_metrics` count the request and its answer.
    """

    __slots__ = ("_holds", "_names")

    def __init__(self, node: Node, holds: Holds) -> None:
        super().__init__(node)
        self._holds = holds
        self._names = {int(key): key.name for key in ApiKey}

    @classmethod
    def of(cls, node: Node) -> MeasuredDispatch:
        """A dispatch of this class for a node whose time is measured."""
        assert node.cluster.holds is not None
        return cls(node, node.cluster.holds)

    def serve(
        self, frame: memoryview, connection: ConnectionInfo
    ) -> tuple[Context, Answer | asyncio.Future[Answer]]:
        metrics = self._node.request_metrics
        received_s = 0.0 if metrics is None else metrics.now_s()
        key, size_bytes = int.from_bytes(frame[:2], "big"), len(frame)
        begun = self._holds.begin()
        try:
            context, reply = super().serve(frame, connection)
        finally:
            self._holds.end(begun, self._names.get(key, "unknown API"))
        if metrics is not None:
            metrics.received(key, context.version, size_bytes)
            if isinstance(reply, asyncio.Future):
                reply.add_done_callback(partial(_answered_later, metrics, key, received_s))
            else:
                metrics.answered(key, received_s, _size_of(reply))
        return context, reply


def _answered_later(
    metrics: RequestMetrics, api_key: int, received_s: float, reply: asyncio.Future[Answer]
) -> None:
    if not reply.cancelled() and reply.exception() is None:
        metrics.answered(api_key, received_s, _size_of(reply.result()))


def _size_of(answer: Answer) -> int:
    if isinstance(answer, list):
        return sum(len(piece) for piece in answer)
    return 0 if answer is None else len(answer)
