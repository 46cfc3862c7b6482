"""Faults and the trace around the requests of a node, only while there is a rule or a trace."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Final, get_args

from ...broker.requests.context import ConnectionInfo, Context, DelayedClose, WholeAnswer
from ...broker.requests.dispatch import Answer, Dispatch
from ...broker.requests.handler import Body
from ...protocol.errors import Malformed
from ...protocol.messages import read_request_header
from ..answers.corruption import KINDS
from ..answers.error_answers import why_no_place
from ..rules.rule import AnyAction, Corrupt, Error, Match, OfRequest, code_of
from ..tracing.sights import RequestSight
from .actions import ACTS, Site

if TYPE_CHECKING:
    from ..rules.rule_table import ActiveRule
    from .lab_state import LabState

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


def act_on_requests(lab: LabState, dispatch: Dispatch) -> None:
    """Let the rules of a lab act on the requests of a dispatch, and trace them."""
    _LabLayer(lab, dispatch)


class _LabLayer:
    """What stands around the requests of one node while there is a rule or a trace."""

    def __init__(self, lab: LabState, dispatch: Dispatch) -> None:
        self._lab = lab
        self._node = dispatch.node
        self._key_of = dispatch.key_of
        self._serve_inner, self._handle_inner = dispatch.serve, dispatch.handle
        dispatch.serve, dispatch.handle = self._serve, self._handle

    def _serve(
        self, frame: memoryview, connection: ConnectionInfo
    ) -> tuple[Context, Answer | asyncio.Future[Answer]]:
        self._lab.frame = frame
        try:
            context, reply = self._serve_inner(frame, connection)
        except Malformed as malformed:
            self._trace_unreadable(frame, connection, malformed)
            raise
        finally:
            self._lab.frame = None
        if isinstance(reply, asyncio.Future):
            context.frame = frame
            reply.add_done_callback(partial(self._end, context, frame))
        return context, reply

    def _end(self, context: Context, frame: memoryview, reply: asyncio.Future[Answer]) -> None:
        """End a request that waited; a large one may have turned out to be unreadable."""
        context.frame = None
        if not reply.cancelled() and isinstance(malformed := reply.exception(), Malformed):
            self._trace_unreadable(frame, context.connection, malformed)

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
            self._key_of(header)
        except Malformed as unserved:
            tracer.unreadable(self._node, connection, header, str(unserved))
        else:
            tracer.unreadable(self._node, connection, header, f"broken: {malformed}")

    def _handle(self, context: Context, request: object) -> Coroutine[object, None, Body | None]:
        if self._lab.frame is not None:  # that of a large request is in its context
            context.frame = self._lab.frame
        return self._watch(context, request)

    async def _watch(self, context: Context, request: object) -> Body | None:
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
        site = Site(lab, node, context, number, self._handle_inner)
        running = (
            self._handle_inner(context, request) if not rules else self._act(site, rules, request)
        )
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

    async def _act(self, site: Site, rules: list[ActiveRule], request: object) -> Body | None:
        """Let rules act, the first one outermost."""
        if not rules:
            return await site.apply(request)
        rule, *others = rules
        if not isinstance(rule.spec.action, Corrupt):  # which the answer may have no place for
            site.fired(rule)

        async def proceed(changed: object) -> Body | None:
            return await self._act(site, others, changed)

        return await ACTS[type(rule.spec.action)](site, rule, request, proceed)
