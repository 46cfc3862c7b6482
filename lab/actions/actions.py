"""The actions of rules on requests. Each gets the request and a function that applies it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ...broker.requests.context import Context, DelayedClose, WholeAnswer
from ...broker.requests.dispatch import encode_answer, unsupported_api_versions
from ...broker.requests.handler import Body
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ...protocol.messages import has_field, read_request, read_request_header
from ..answers.corrupt_answer import Answered, joined
from ..answers.corruption import KINDS, corrupt_frame
from ..answers.error_answers import ErrorFor, refuse
from ..rules import rule as rules
from ..rules.rule import Action, code_of
from ..tracing.sights import topic_name_of
from .moves import move_coordinator, move_leaders

if TYPE_CHECKING:
    from ...broker.node import Node
    from ..rules.rule_table import ActiveRule
    from .lab_state import LabState

Applied: TypeAlias = Coroutine[object, None, "Body | None"]
Apply: TypeAlias = Callable[[object], Applied]
# Any: an action is called with rules of its own type alone.
Act: TypeAlias = Callable[["Site", "ActiveRule", object, Apply], Applied]

_MOST_READ_BYTES: Final = 1 << 20
ACTS: Final[dict[type[Action], Act]] = {}


class Site:
    """A request on which rules act.

    Args:
        apply: applies a request, as without rules.

    Attributes:
        number: the sequence number of the request in the trace; 0 without a trace.
        frame: a copy of the request as it was received.
    """

    def __init__(
        self,
        lab: LabState,
        node: Node,
        context: Context,
        number: int,
        apply: Callable[[Context, object], Applied],
    ) -> None:
        self.lab = lab
        self.node = node
        self.context = context
        self.number = number
        self._apply = apply
        frame: memoryview | None = getattr(context, "frame", None)
        self.frame = b"" if frame is None else bytes(frame)

    def apply(self, request: object) -> Applied:
        """Apply a request."""
        return self._apply(self.context, request)

    def again(self) -> object:
        """The request, decoded once more: handlers may change what they get."""
        frame = memoryview(self.frame)
        return read_request(read_request_header(frame), frame)

    def fired(self, rule: ActiveRule) -> None:
        """Note in the trace that a rule acts."""
        self.lab.traced(rule, self.number)

    def closed(self, rule: ActiveRule) -> DelayedClose:
        """What closes the connection without an answer."""
        return DelayedClose(f"rule {rule.number} closes the connection", None, 0)

    async def silence(self, rule: ActiveRule) -> None:
        """Wait until the connection or the rule ends; raises what closes the connection."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def end(is_stopping: bool = True) -> None:
            if not ended.done():
                ended.set_result(None)

        rule.silence(self, end)
        self.context.on_end = end
        self.context.release()
        try:
            await ended
        finally:
            rule.forget(self)
            self.context.on_end = None
        raise self.closed(rule)

    async def gate(self, rule: ActiveRule) -> None:
        """Wait until the rule is released or removed; raises what closes the connection."""
        released: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def let_go(ends: bool) -> None:
            if not released.done():
                released.set_result(ends)

        rule.hold(self, let_go)
        self.context.on_end = lambda is_stopping: let_go(True) if is_stopping else None
        self.context.release()
        try:
            ends = await released
        finally:
            rule.forget(self)
            self.context.on_end = None
        if ends:
            raise self.closed(rule)

    async def wait_ms(self, rule: ActiveRule, wait_ms: float, *, is_late: bool = False) -> None:
        """Wait, by the broker's clock, but not longer than the rule is there, or its node runs.

        Args:
            is_late: whether the connection does not wait for it.
        """
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def end() -> None:
            if not ended.done():
                ended.set_result(None)

        if not is_late:
            self.context.on_end = lambda is_stopping: end() if is_stopping else None
        self.context.release()
        timer = self.node.clock.live.call_after_ms(wait_ms, end)
        rule.wait(self, end)
        try:
            await ended
        finally:
            rule.forget(self)
            timer.cancel()
            if not is_late:
                self.context.on_end = None

    def detached(self, running: Applied) -> Awaitable[Body | None]:
        """Run a request to its end even if its client goes away."""
        return asyncio.shield(
            self.lab.run(self.node.node_id, self.lab.tracer.caused(self.number, running))
        )

    def read_before(self, topic: str, partition: int, end: int, offsets: int) -> bytes:
        """Whole batches of the last offsets of a log before an offset; empty if there are none."""
        log = self.node.open_log_of(topic, partition)
        start = end if log is None else max(end - offsets, log.log_start_offset)
        if log is None or start >= end:
            return b""
        return bytes(log.read(start, max_bytes=_MOST_READ_BYTES, up_to=end, min_one=True).records)

    def encoded(self, body: Body | None) -> bytearray | None:
        """The answer with a body as bytes in memory; None for none."""
        answer = encode_answer(self.context, body)
        if answer is None or isinstance(answer, bytearray):
            return answer
        return joined(answer)


def acts(kind: type[Action]) -> Callable[[Act], Act]:
    """Register the function of an action."""

    def mark(function: Act) -> Act:
        ACTS[kind] = function
        return function

    return mark


@acts(rules.Error)
async def _error(site: Site, rule: ActiveRule, request: Any, apply: Apply) -> Body | None:
    action, context = rule.action_of(rules.Error), site.context
    code = code_of(action.code)
    if context.api_key is ApiKey.PRODUCE and request.acks == 0:
        raise site.closed(rule)  # as Kafka does with an error that has no answer
    if context.api_key is ApiKey.API_VERSIONS and code is Code.UNSUPPORTED_VERSION:
        raise WholeAnswer(*unsupported_api_versions(context))
    error = ErrorFor(code, action.message, rule.partitions_chosen, topic_name_of(site.node))
    refusal = refuse(context.api_key, context.version, request, error)
    body = None if refusal.rest is None else await apply(refusal.rest)
    return refusal.merge(None if body is None else dict(body))


@acts(rules.Delay)
async def _delay(site: Site, rule: ActiveRule, request: object, apply: Apply) -> Body | None:
    action = rule.action_of(rules.Delay)
    wait_ms: float = action.ms
    if action.up_to_ms is not None:
        wait_ms = rule.draws.uniform(action.ms, action.up_to_ms)

    async def later() -> Body | None:
        if action.point == "before":
            await site.wait_ms(rule, wait_ms)
            return await apply(request)
        body = await apply(request)
        await site.wait_ms(rule, wait_ms)
        return body

    return await site.detached(later())


@acts(rules.Throttle)
async def _throttle(site: Site, rule: ActiveRule, request: object, apply: Apply) -> Body | None:
    action, context = rule.action_of(rules.Throttle), site.context
    body = await apply(request)
    if body is None or not has_field(context.api_key, context.version, "throttle_time_ms"):
        return body
    if action.mutes:
        context.throttle_time_ms = max(context.throttle_time_ms, action.ms)
    return {**body, "throttle_time_ms": action.ms}


@acts(rules.DropRequest)
async def _drop_request(site: Site, rule: ActiveRule, request: object, apply: Apply) -> Body | None:
    action = rule.action_of(rules.DropRequest)
    if action.close:
        raise site.closed(rule)
    await site.silence(rule)
    return None


@acts(rules.DropAnswer)
async def _drop_answer(site: Site, rule: ActiveRule, request: object, apply: Apply) -> Body | None:
    action = rule.action_of(rules.DropAnswer)
    await _wait_for_answer(apply(request))
    if action.close:
        raise site.closed(rule)
    await site.silence(rule)
    return None


@acts(rules.CloseBefore)
async def _close_before(site: Site, rule: ActiveRule, request: object, apply: Apply) -> Body | None:
    raise site.closed(rule)


@acts(rules.CloseAfter)
async def _close_after(site: Site, rule: ActiveRule, request: object, apply: Apply) -> Body | None:
    await _wait_for_answer(apply(request))
    raise site.closed(rule)


@acts(rules.ApplyTwice)
async def _apply_twice(site: Site, rule: ActiveRule, request: object, apply: Apply) -> Body | None:
    action = rule.action_of(rules.ApplyTwice)
    first = await _wait_for_answer(apply(request))
    second = await apply(site.again())
    return first if action.answer == "first" and first is not None else second


@acts(rules.ApplyLate)
async def _apply_late(site: Site, rule: ActiveRule, request: object, apply: Apply) -> Body | None:
    action = rule.action_of(rules.ApplyLate)
    silent = Site(site.lab, site.node, site.context, 0, site._apply)

    async def later() -> Body | None:
        if action.ms is None:
            await site.gate(rule)
        else:
            await site.wait_ms(rule, action.ms, is_late=True)
        return await apply(site.again())

    site.lab.run(site.node.node_id, site.lab.tracer.caused(site.number, later()))
    if action.close:
        raise site.closed(rule)
    await silent.silence(rule)
    return None


@acts(rules.CutAnswer)
async def _cut_answer(site: Site, rule: ActiveRule, request: object, apply: Apply) -> Body | None:
    action = rule.action_of(rules.CutAnswer)
    frame = site.encoded(await apply(request))
    cut = None if frame is None else frame[: action.bytes]
    raise DelayedClose(f"rule {rule.number} cuts the answer", cut, 0)


@acts(rules.Hold)
async def _hold(site: Site, rule: ActiveRule, request: object, apply: Apply) -> Body | None:
    action = rule.action_of(rules.Hold)

    async def later() -> Body | None:
        if action.point == "before":
            await site.gate(rule)
            return await apply(request)
        body = await apply(request)
        await site.gate(rule)
        return body

    return await site.detached(later())


@acts(rules.Corrupt)
async def _corrupt(site: Site, rule: ActiveRule, request: object, apply: Apply) -> Body | None:
    action = rule.action_of(rules.Corrupt)
    change = KINDS[action.what].change
    changed: Body | bytearray | None
    with rule.wait_for_answer() as has_place:
        body = await apply(request)
        if body is None:
            return None
        if change is None:
            frame = site.encoded(body)
            assert frame is not None
            changed = corrupt_frame(action.what, frame, rule.draws)
        else:
            changed = change(_answered(site, rule, action, body))
        if changed is None:
            return body
        has_place()
    site.fired(rule)
    if isinstance(changed, bytearray):
        raise WholeAnswer(changed, body if KINDS[action.what].is_legal else None)
    return changed


def _answered(site: Site, rule: ActiveRule, action: rules.Corrupt, body: Body) -> Answered:
    context, chosen = site.context, rule.partitions_chosen
    return Answered(
        context.api_key, context.version, context.correlation_id, body, rule.draws,
        chosen or (lambda topic, index: True), topic_name_of(site.node), site.read_before,
        action.place,
    )  # fmt: skip


@acts(rules.ForgetSession)
async def _forget_session(site: Site, rule: ActiveRule, request: Any, apply: Apply) -> Body | None:
    site.node.fetch_sessions.end(getattr(request, "session_id", 0) or 0)
    return await apply(request)


@acts(rules.MoveLeader)
async def _move_leader(site: Site, rule: ActiveRule, request: object, apply: Apply) -> Body | None:
    action = rule.action_of(rules.MoveLeader)
    move_leaders(site.node, site.context, request, rule.partitions_chosen, action.node_id)
    return await apply(request)


@acts(rules.MoveCoordinator)
async def _move_coordinator(
    site: Site, rule: ActiveRule, request: object, apply: Apply
) -> Body | None:
    action = rule.action_of(rules.MoveCoordinator)
    move_coordinator(site.node, site.context, request, action.node_id)
    return await apply(request)


async def _wait_for_answer(running: Applied) -> Body | None:
    """The answer, or None if the request was refused: it was applied all the same."""
    try:
        return await running
    except Refused:
        return None
