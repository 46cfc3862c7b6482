"""Dispatch with faults and a trace. It serves clients only while there is a rule or a trace."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Final, cast, get_args

from ..broker.requests.context import ConnectionInfo, Context, DelayedClose
from ..broker.requests.dispatch import Answer, Dispatch
from ..broker.requests.handler import Body
from ..protocol.errors import Malformed
from ..protocol.messages import read_request_header
from .actions import ACTS, Site, WholeAnswer
from .corruption import KINDS
from .error_answers import why_no_place
from .rules import AnyAction, Corrupt, Error, Match, OfRequest, code_of
from .sights import RequestSight

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ..protocol.messages import RequestHeader
    from .faults import Rule
    from .state import LabState

OF_REQUEST: Final = get_args(OfRequest)


def has_place(action: AnyAction, match: Match, context: Context) -> bool:
    """Whether the answer to a request has a place for an error or a change of it."""
    if isinstance(action, Corrupt):
        return KINDS[action.what].has_place(context.api_key, context.version)
    if not isinstance(action, Error):
        return True
    versions = (context.version, context.version)
    has_parts = match.topic is not None or match.partition is not None
    return why_no_place(context.api_key, versions, code_of(action.code), has_parts) is None


class LabDispatch(Dispatch):
    """Lets rules act on requests, and traces them; for a cluster with a lab.

    It is mixed with the dispatch that would serve otherwise (`with_lab`).
    """

    __slots__ = ()

    @property
    def _lab(self) -> LabState:
        return cast("LabState", self._node.cluster.lab)

    def serve(
        self, frame: memoryview, connection: ConnectionInfo
    ) -> tuple[Context, Answer | asyncio.Future[Answer]]:
        self._lab.frame = frame
        try:
            return super().serve(frame, connection)
        except WholeAnswer as whole:
            return whole.context, whole.data
        except Malformed as malformed:
            self._trace_unreadable(frame, connection, malformed)
            raise
        finally:
            self._lab.frame = None

    def _trace_unreadable(
        self, frame: memoryview, connection: ConnectionInfo, malformed: Malformed
    ) -> None:
        """Trace a request of an API or version that is not served, or one that cannot be read."""
        tracer = self._lab.tracer
        if not tracer.is_on:
            return
        try:
            header = read_request_header(frame)
        except Malformed:
            return
        try:
            self._header_of(frame)
        except Malformed as unserved:
            tracer.unreadable(self._node, connection, header, str(unserved))
        else:
            tracer.unreadable(self._node, connection, header, f"broken: {malformed}")

    def _handle(self, context: Context, request: object) -> Answer | asyncio.Future[Answer]:
        context.frame = self._lab.frame
        return super()._handle(context, request)

    async def _large(self, context: Context, header: RequestHeader, frame: memoryview) -> Answer:
        context.frame = frame
        try:
            return await super()._large(context, header, frame)
        except Malformed as malformed:
            self._trace_unreadable(frame, context.connection, malformed)
            raise

    async def _later(self, context: Context, rest: Awaitable[Body | None]) -> Answer:
        try:
            return await super()._later(context, rest)
        except WholeAnswer as whole:
            return whole.data
        finally:
            context.frame = None

    def _handling(self, context: Context, request: object) -> Coroutine[object, None, Body | None]:
        return self._watched(context, request)

    async def _watched(self, context: Context, request: object) -> Body | None:
        """Apply a request under the rules that act on it, and trace both."""
        lab, node = self._lab, self._node
        tracer = lab.tracer
        number = tracer.request(node, context, request) if tracer.is_on else 0
        kills = lab.kills[node.node_id]
        sight = RequestSight(node, context, request)

        def fits(action: AnyAction, match: Match) -> bool:
            return isinstance(action, OF_REQUEST) and has_place(action, match, context)

        rules = lab.faults.acting_on(sight, node.clock.monotonic_ms(), fits)
        began_s = node.clock.live.monotonic_s()
        site = Site(lab, node, context, number, self._apply)
        running = self._apply(context, request) if not rules else self._acted(site, rules, request)
        try:
            body = await tracer.caused(number, running)
            if lab.kills[node.node_id] != kills:
                raise DelayedClose("the node is killed", None, 0)
        except WholeAnswer as whole:
            if tracer.is_on and whole.body is not None:
                tracer.answer(number, context, whole.body, began_s)
            elif tracer.is_on:
                tracer.ended(number, context, whole, began_s)
            raise
        except BaseException as ended:
            if tracer.is_on:
                tracer.ended(number, context, ended, began_s)
            raise
        if tracer.is_on:
            tracer.answer(number, context, body, began_s)
        return body

    def _apply(self, context: Context, request: object) -> Coroutine[object, None, Body | None]:
        return super()._handling(context, request)

    async def _acted(self, site: Site, rules: list[Rule], request: object) -> Body | None:
        """Let rules act, the first one outermost."""
        if not rules:
            return await site.apply(request)
        rule, *others = rules
        if not isinstance(rule.spec.action, Corrupt):  # which the answer may have no place for
            site.fired(rule)

        async def proceed(changed: object) -> Body | None:
            return await self._acted(site, others, changed)

        return await ACTS[type(rule.spec.action)](site, rule, request, proceed)


def with_lab(served_by: type[object]) -> type[object]:
    """A dispatch with faults and a trace in front of another one."""
    return type(f"Lab{served_by.__name__}", (LabDispatch, served_by), {"__slots__": ()})
