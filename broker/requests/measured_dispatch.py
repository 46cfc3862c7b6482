"""A dispatch that times the work of each request, for `ottla serve --metrics`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from .dispatch import Answer, Dispatch

if TYPE_CHECKING:
    from ..node import Node
    from ..scheduling.holds import Holds
    from .context import ConnectionInfo, Context


class MeasuredDispatch(Dispatch):
    """Counts in `holds` the time until a request is answered or waits.

    The rest of a request that waits is a task with the name of the API, which the loop times.
    """

    __slots__ = ("_holds", "_names")

    def __init__(self, node: Node, holds: Holds) -> None:
        super().__init__(node)
        self._holds = holds
        self._names = {int(key): key.name for key in ApiKey}

    def serve(
        self, frame: memoryview, connection: ConnectionInfo
    ) -> tuple[Context, Answer | asyncio.Future[Answer]]:
        begun = self._holds.begin()
        try:
            return super().serve(frame, connection)
        finally:
            key = int.from_bytes(frame[:2], "big")
            self._holds.end(begun, self._names.get(key, "unknown API"))
