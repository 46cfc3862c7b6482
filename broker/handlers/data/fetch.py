"""Fetch (1), versions 4-18: read batches from partitions, and wait for min_bytes.

4    isolation level, last stable offset, aborted transactions (KIP-98)
5    log start offset
7    sessions (KIP-227)
9    the consumer's leader epoch is checked (KIP-320)
11   the consumer's rack; followers may be read, and the answer may name a preferred one (KIP-392)
12   flexible encoding; the last fetched epoch, and the offset where the logs diverge (KIP-595)
13   topics by id (KIP-516)
15   the replica's id moves into a tagged field (KIP-903)
16   endpoints of new leaders (KIP-951)
17   the replica's directory id
18   the replica's high watermark

Skipped: preferred replicas; all are in one process.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ....metadata.catalog import INTERNAL_TOPICS
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.cluster_description import NewLeaders
from ...requests.context import Context
from ...requests.reads.awaited_bytes import AwaitedBytes
from ...requests.reads.fetch_reads import (
    MANY,
    NO_EPOCH,
    SET_ASIDE,
    Limits,
    PartitionRead,
    Reading,
    check_old,
    existing,
    in_steps,
    name_of,
)
from ...requests.reads.session_reads import items_to_read, read_session_later
from ...runtime.fetching.fetch_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    Item,
    PartitionKey,
    Session,
    TopicRef,
    Wanted,
)
from ...scheduling.large_requests import MOST_ELEMENTS

if TYPE_CHECKING:
    from ....protocol.api_types.fetch import (
        FetchableTopicResponse,
        FetchPartition,
        FetchRequest,
        FetchResponse,
        PartitionData,
    )
    from ...node import Node
    from ...runtime.metrics.topic_metrics import TopicMetrics

_SESSIONS_SINCE: Final = 7
_RACKS_SINCE: Final = 11
_IDS_SINCE: Final = 13
_REPLICA_STATE_SINCE: Final = 15
_LEADERS_SINCE: Final = 16
_MOVED: Final = (Code.NOT_LEADER_OR_FOLLOWER, Code.FENCED_LEADER_EPOCH)
_READ_COMMITTED: Final = 1
_ZERO_ID: Final = uuid.UUID(int=0)


class _Plan(NamedTuple):
    """The session of a request and the partitions to read for it.

    Attributes:
        may_settle: whether partitions without changes need no further read; not with an authorizer,
            because ACLs change what may be read.
    """

    session: Session | None
    is_incremental: bool
    items: list[Item]
    may_settle: bool = False


@serves(ApiKey.FETCH, versions=(4, 18), guard=CHECKED_BY_HANDLER)
async def fetch(node: Node, context: Context, request: FetchRequest) -> FetchResponse:
    if request.isolation_level not in (0, _READ_COMMITTED):
        return _error_everywhere(context, request, Code.UNKNOWN_SERVER_ERROR)
    try:
        plan = await _plan(node, context, request)
    except Refused as refused:
        return {"error_code": refused.code, "session_id": NO_SESSION, "responses": []}
    limits = Limits(
        min(request.max_bytes, node.config["fetch.max.bytes"]),
        request.isolation_level == _READ_COMMITTED,
        _replica_id(context, request),
        None if node.authorizer is None else _may_read(node, context, request),
        context.version >= _RACKS_SINCE,
    )
    if context.started_s >= 0 and node.quotas is not None and limits.replica_id < 0:
        return await _answer_within_quota(node, context, request, plan, limits)
    parts = await _read(node, context, request, plan, limits)
    return await _answer(node, context, plan, parts)


async def _read(
    node: Node, context: Context, request: FetchRequest, plan: _Plan, limits: Limits
) -> list[PartitionRead]:
    await check_old(node, context, plan.items, limits)
    reading = Reading(node, limits)
    if len(plan.items) <= MANY:
        reading.read(plan.items)
    else:
        for some in in_steps(plan.items):
            await context.turns.pause()
            reading.read(some)
    min_bytes = min(request.min_bytes, limits.max_bytes)
    if reading.bytes_read >= min_bytes or request.max_wait_ms <= 0 or reading.ends_wait:
        return reading.parts
    session = plan.session
    if plan.is_incremental and session is not None:
        if len(session.partitions) == len(reading.missing):
            return reading.parts
        return await read_session_later(
            node, context, request, session, limits, items=plan.items, reading=reading
        )
    waits = node.fetch_waits
    if not reading.existing or waits.count + len(plan.items) > waits.limit:
        return reading.parts  # max_wait_ms is an upper bound
    return await _read_later(node, context, request, plan.items, limits, reading=reading)


async def _answer_within_quota(
    node: Node, context: Context, request: FetchRequest, plan: _Plan, limits: Limits
) -> FetchResponse:
    """The answer to a client that may have a quota; without records if the quota is used up."""
    from ...requests.throttling import Fetching

    fetching = Fetching(node, context)
    if fetching.most_bytes is not None:  # a larger answer would always be throttled
        limits = limits._replace(max_bytes=min(limits.max_bytes, fetching.most_bytes))
        request.min_bytes = min(request.min_bytes, limits.max_bytes)
    parts = await _read(node, context, request, plan, limits)
    wait_ms = fetching.use(len(part.records) for part in parts)
    if wait_ms == 0:
        return await _answer(node, context, plan, parts)
    session = plan.session
    if session is not None and not plan.is_incremental:
        node.fetch_sessions.end(session.session_id)
        session = None
    session_id = NO_SESSION if session is None else session.session_id
    return {"throttle_time_ms": wait_ms, "session_id": session_id, "responses": []}


async def _answer(
    node: Node, context: Context, plan: _Plan, parts: list[PartitionRead]
) -> FetchResponse:
    """The answer, with the new leaders of partitions that moved."""
    session = plan.session
    topics: list[FetchableTopicResponse] = []
    context.is_large = len(parts) > MOST_ELEMENTS
    for some in (parts,) if len(parts) <= MANY else in_steps(parts):
        if some is not parts:
            await context.turns.pause()
        if node.topic_metrics is not None:
            _count(node, node.topic_metrics, some)
        _add_by_topic(topics, some if session is None else _with_news(plan, session, some))
    answer: FetchResponse = {
        "session_id": session.session_id if session is not None else NO_SESSION,
        "responses": topics,
    }
    if context.version >= _LEADERS_SINCE and any(part.error in _MOVED for part in parts):
        _tell_leaders(node, context, plan, answer)
    return answer


def _count(node: Node, metrics: TopicMetrics, parts: Iterable[PartitionRead]) -> None:
    """Count what is read for a client."""
    for part in parts:
        failed = part.error != Code.NONE
        metrics.read(name_of(node, part.key[0]), len(part.records), failed=failed)


async def _read_later(
    node: Node,
    context: Context,
    request: FetchRequest,
    items: list[Item],
    limits: Limits,
    *,
    reading: Reading,
) -> list[PartitionRead]:
    """Wait until min_bytes are there, a partition has an error, or the time is up; then read.

    Args:
        reading: the partitions as read before the wait.
    """
    deadline_ms = node.clock.live.monotonic_ms() + request.max_wait_ms
    missing = reading.missing
    items, parts = existing(items, missing), reading.existing
    del reading
    topic_partitions = [(name, index) for (_, index), name, _ in items]
    hastened = False

    def time_is_up(waiting: asyncio.Future[bool]) -> None:
        nonlocal hastened
        hastened = True
        if not waiting.done():
            waiting.set_result(False)

    while True:
        awaited = AwaitedBytes(node, limits, request.min_bytes)
        waiting = node.fetch_waits.wait((), awaited.has_enough)
        timer = node.clock.live.call_at_ms(deadline_ms, time_is_up, waiting)
        context.hasten = lambda waiting=waiting: time_is_up(waiting)
        try:
            for start in range(0, len(topic_partitions), MANY):
                step = slice(start, start + MANY)
                awaited.add(items[step], parts[step])
                if awaited.is_enough and not waiting.done():
                    waiting.set_result(True)
                    break
                node.fetch_waits.add(waiting, topic_partitions[step], awaited.has_enough)
                if (
                    len(topic_partitions) > MANY
                ):  # reading took several turns; there may be new appends
                    if any(map(awaited.has_enough, topic_partitions[step])) and not waiting.done():
                        waiting.set_result(True)
                    await context.turns.pause()
            parts = []
            context.release()
            has_enough = await waiting
        finally:
            timer.cancel()
            context.hasten = None
            node.fetch_waits.forget(waiting, topic_partitions)
        reading = Reading(node, limits)
        for some in in_steps(items):
            if some is not items:
                await context.turns.pause()
            reading.read(some)
        parts = reading.parts
        if has_enough or hastened or reading.ends_wait or reading.missing or node.is_stopping:
            return parts + missing
        if reading.bytes_read >= min(request.min_bytes, limits.max_bytes):
            return parts + missing


def _tell_leaders(node: Node, context: Context, plan: _Plan, answer: FetchResponse) -> None:
    """Add the new leaders of moved partitions and their addresses to an answer (KIP-951)."""
    new_leaders = NewLeaders(node, context)
    names = {key: name for key, name, _ in plan.items}
    for topic in answer["responses"]:
        for partition in topic["partitions"]:
            if partition["error_code"] in _MOVED:
                index = partition["partition_index"]
                name = names[topic["topic_id"] or _ZERO_ID, index]
                partition["current_leader"] = new_leaders.of(name, index)
    answer["node_endpoints"] = [*new_leaders.endpoints.values()]


def _may_read(node: Node, context: Context, request: FetchRequest) -> Callable[[str], bool]:
    """The check of topics: consumers need READ on each, followers CLUSTER_ACTION once."""
    from ...requests.authorization import AclResource, Operation, may, may_cluster

    if _replica_id(context, request) >= 0:
        is_broker = may_cluster(node, context, Operation.CLUSTER_ACTION)
        return lambda name: is_broker
    return lambda name: may(node, context, Operation.READ, AclResource.TOPIC, name)


def _replica_id(context: Context, request: FetchRequest) -> int:
    if context.version < _REPLICA_STATE_SINCE:
        return int(request.replica_id)
    state = request.replica_state
    return -1 if state is None else int(state.replica_id)


async def _plan(node: Node, context: Context, request: FetchRequest) -> _Plan:
    """Find or create the session; raises Refused with the error of the whole request."""
    by_id = context.version >= _IDS_SINCE
    named: dict[PartitionKey, Item] = {}
    for topic in request.topics:
        if len(named) > MANY:
            await context.turns.pause()
        ref = (topic.topic_id or _ZERO_ID) if by_id else topic.topic
        name = name_of(node, ref)
        if len(topic.partitions) <= MANY:
            _add_wanted(named, ref, name, topic.partitions)
            continue
        for some in in_steps(topic.partitions):
            await context.turns.pause()
            _add_wanted(named, ref, name, some)
    wanted = list(named.values())
    request.topics = ()  # frees their memory while the request waits
    if context.version < _SESSIONS_SINCE:
        return _Plan(None, False, wanted)
    sessions = node.fetch_sessions
    committed = request.isolation_level == _READ_COMMITTED
    session_id, epoch = request.session_id, request.session_epoch
    if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        if session_id != NO_SESSION:  # its former session ends in either case
            sessions.end(session_id)
        if epoch == FINAL_EPOCH:
            return _Plan(None, False, wanted)
        now_ms = node.clock.monotonic_ms()
        begun = sessions.begin_empty(len(wanted), uses_topic_ids=by_id, now_ms=now_ms)
        if begun is not None:
            await _change(node, context, begun, wanted)
            begun.keys_to_read(now_ms, committed=committed)  # all, by this request
        return _Plan(begun, False, wanted, node.authorizer is None)
    session = sessions.resume(session_id, epoch, uses_topic_ids=by_id)
    session.advance(node.clock.monotonic_ms())
    forgotten = _forgotten(request, by_id=by_id) if request.forgotten_topics_data else ()
    if wanted or forgotten:
        await _change(node, context, session, wanted, forgotten)
    if not session.partitions:  # an empty session ends: answer without one
        sessions.end(session_id)
        return _Plan(None, False, wanted)
    items = await items_to_read(node, context, session, committed=committed)
    return _Plan(session, True, items, node.authorizer is None)


async def _change(
    node: Node,
    context: Context,
    session: Session,
    wanted: list[Item],
    forgotten: Sequence[PartitionKey] = (),
) -> None:
    """Apply a request to its session, in steps; raises Refused like `FetchSessions.change`."""
    if len(wanted) <= MANY and len(forgotten) <= MANY:
        node.fetch_sessions.change(session, wanted, forgotten)
        return
    for some in in_steps(wanted):
        await context.turns.pause()
        node.fetch_sessions.change(session, some)
    for keys in in_steps(forgotten):
        await context.turns.pause()
        node.fetch_sessions.change(session, (), keys)


def _add_wanted(
    wanted: dict[PartitionKey, Item], ref: TopicRef, name: str, partitions: Iterable[FetchPartition]
) -> None:
    """Add the partitions of a requested topic; of a partition named twice the last one counts."""
    for asked in partitions:
        key = (ref, asked.partition)
        wanted[key] = (
            key,
            name,
            Wanted(
                asked.fetch_offset,
                asked.partition_max_bytes,
                max(asked.current_leader_epoch, NO_EPOCH),
                max(asked.last_fetched_epoch, NO_EPOCH),
            ),
        )


def _forgotten(request: FetchRequest, *, by_id: bool) -> list[PartitionKey]:
    return [
        ((topic.topic_id or _ZERO_ID) if by_id else topic.topic, partition)
        for topic in request.forgotten_topics_data or ()
        for partition in topic.partitions
    ]


def _with_news(
    plan: _Plan, session: Session, parts: Iterable[PartitionRead]
) -> list[PartitionRead]:
    """The partitions that an incremental answer contains; updates the session with all of them."""
    changed: list[PartitionRead] = []
    for part in parts:
        cached = session.partitions.get(part.key)
        if cached is None:
            continue
        in_error = part.error != Code.NONE
        has_news = (
            not plan.is_incremental
            or len(part.records) > 0
            or in_error
            or cached.had_error
            or part.diverging is not None
            or part.high_watermark != cached.high_watermark
            or part.log_start_offset != cached.log_start_offset
            or part.last_stable_offset != cached.last_stable_offset
        )
        cached.high_watermark = part.high_watermark
        cached.log_start_offset = part.log_start_offset
        cached.last_stable_offset = part.last_stable_offset
        cached.had_error = in_error
        if plan.may_settle and not in_error and part.diverging is None:
            up_to = part.last_stable_offset if session.committed else part.high_watermark
            # Appends of coordinators are not noted.
            if up_to == cached.fetch_offset and cached.name not in INTERNAL_TOPICS:
                session.settle(part.key)
        if has_news:
            changed.append(part)
    if not changed:
        return changed
    if plan.is_incremental:
        session.rotate([part.key for part in changed if len(part.records)])
    else:  # a session begins in the order of its first answer
        session.rotate([part.key for part in changed if part.error in SET_ASIDE])
    return changed


def _add_by_topic(topics: list[FetchableTopicResponse], parts: Iterable[PartitionRead]) -> None:
    """Add partitions under their topics, in the order of the request; a topic may repeat."""
    last: TopicRef | None = None
    partitions: list[PartitionData] = []
    if topics:
        last = topics[-1].get("topic") or topics[-1].get("topic_id")
        partitions = topics[-1]["partitions"]
    for part in parts:
        ref, index = part.key
        if ref != last:
            partitions, last = [], ref
            if isinstance(ref, str):
                topics.append({"topic": ref, "partitions": partitions})
            else:
                topics.append({"topic_id": ref, "partitions": partitions})
        partitions.append(_partition(index, part))


def _partition(index: int, part: PartitionRead) -> PartitionData:
    answer: PartitionData = {
        "partition_index": index,
        "error_code": part.error,
        "high_watermark": part.high_watermark,
        "last_stable_offset": part.last_stable_offset,
        "log_start_offset": part.log_start_offset,
        "aborted_transactions": part.aborted,
        "preferred_read_replica": -1,
        "records": part.records,
    }
    if part.diverging is not None:
        epoch, end_offset = part.diverging
        answer["diverging_epoch"] = {"epoch": epoch, "end_offset": end_offset}
    return answer


def _error_everywhere(context: Context, request: FetchRequest, code: Code) -> FetchResponse:
    """As FetchRequest.getErrorResponse: up to version 12 each partition has the error."""
    if context.version >= _IDS_SINCE:
        return {"error_code": code, "responses": []}
    return {
        "error_code": code,
        "responses": [
            {
                "topic": topic.topic,
                "partitions": [
                    _partition(
                        asked.partition,
                        PartitionRead((topic.topic, asked.partition), code, aborted=[]),
                    )
                    for asked in topic.partitions
                ],
            }
            for topic in request.topics
        ],
    }
