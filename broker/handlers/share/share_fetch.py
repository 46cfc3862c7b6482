"""ShareFetch (78), versions 1-2: a member of a share group acquires records (KIP-932).

1    acknowledgements, then records from the partitions of the member's share session
2    the mode that never exceeds max_records (KIP-1206); renewal of locks (KIP-1222)

The acknowledgements of a request are stored before records are acquired. Without records the
request waits, as a Fetch does. The broker does not ask whether the member is in the group.
The quotas of Fetch apply. Skipped: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ....coordinator.share_partition.states import Acquired, AcquireMode, AcquireRequest
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.cluster_description import NewLeaders
from ...requests.context import Context
from ...requests.share.share_reads import check_old_batches, read_and_acquire
from ...requests.share.share_requests import (
    MOVED,
    RENEWS_SINCE,
    ZERO_ID,
    Acknowledged,
    acknowledge_all,
    moved_leader,
    session_key,
    topic_name,
    why_not,
)
from ...runtime.share.led_share_partition import LedSharePartition, ShareKey
from ...runtime.share.share_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    SessionKey,
    ShareSession,
    TopicIdPartition,
)

if TYPE_CHECKING:
    from ....protocol.api_types.share_fetch import (
        AcknowledgementBatch,
        PartitionData,
        ShareFetchableTopicResponse,
        ShareFetchRequest,
        ShareFetchResponse,
    )
    from ....storage.segments.reads import FileRange
    from ...node import Node

_MODES_SINCE: Final = 2

Asked = dict[TopicIdPartition, "Sequence[AcknowledgementBatch]"]


class Part:
    """What is answered for one partition.

    Attributes:
        is_named: whether the answer has it even if nothing is acquired.
    """

    __slots__ = ("acknowledged", "acquired", "code", "is_named", "records")

    def __init__(self, code: Code = Code.NONE) -> None:
        self.code = code
        self.acknowledged = Acknowledged()
        self.records: bytes | memoryview | FileRange = b""
        self.acquired: Sequence[Acquired] = ()
        self.is_named = False


@serves(ApiKey.SHARE_FETCH, versions=(1, 2), guard=CHECKED_BY_HANDLER)
async def share_fetch(
    node: Node, context: Context, request: ShareFetchRequest
) -> ShareFetchResponse:
    key = session_key(node, context, request.group_id, request.member_id)
    renews = context.version >= RENEWS_SINCE and request.is_renew_ack
    if renews:
        _check_fetches_nothing(request)
    asked: list[TopicIdPartition] = []
    to_acknowledge: Asked = {}
    async for topic in context.turns.each(request.topics):
        async for each in context.turns.each(topic.partitions):
            partition = TopicIdPartition(topic.topic_id or ZERO_ID, each.partition_index)
            asked.append(partition)
            if each.acknowledgement_batches:
                to_acknowledge[partition] = each.acknowledgement_batches
    acknowledges = bool(to_acknowledge)
    session = await _session(node, context, request, key, acknowledges=acknowledges)
    async for partition in context.turns.each(asked):
        exists = node.catalog.topic_by_id(partition.topic_id) is not None
        session.add(partition, is_known=exists)
    acknowledged = await acknowledge_all(node, context, key, to_acknowledge, renews=renews)
    if request.share_session_epoch == FINAL_EPOCH:
        parts: dict[TopicIdPartition, Part] = {}
        node.share_partitions.sessions.end(key)
        await node.share_partitions.release(session)
    elif node.quotas is not None:
        parts = await _fetch_within_quota(node, context, request, session)
    else:
        parts = await _fetch(node, context, request, session)
    if node.topic_metrics is not None:
        async for partition, part in context.turns.each(parts.items()):
            name, failed = topic_name(node, partition.topic_id), part.code is not Code.NONE
            node.topic_metrics.read_by_share_group(name, len(part.records), failed=failed)
    async for partition, part in context.turns.each(parts.items()):
        has_error = part.code is not Code.NONE
        part.is_named = session.must_answer(partition, has_error=has_error) or bool(part.acquired)
    async for partition, result in context.turns.each(acknowledged.items()):
        part = parts.setdefault(partition, Part())
        part.acknowledged, part.is_named = result, True
    return await _answer(node, context, key, parts)


def _check_fetches_nothing(request: ShareFetchRequest) -> None:
    """Raise Refused (INVALID_REQUEST) if a request that renews locks asks for records, too."""
    wanted = {
        "max_bytes": request.max_bytes,
        "min_bytes": request.min_bytes,
        "max_records": request.max_records,
        "max_wait_ms": request.max_wait_ms,
    }
    wrong = [name for name, value in wanted.items() if value != 0]
    if wrong:
        why = f"{', '.join(wrong)} must be 0 in a request that renews acquisition locks."
        raise Refused(Code.INVALID_REQUEST, why)


async def _session(
    node: Node,
    context: Context,
    request: ShareFetchRequest,
    key: SessionKey,
    *,
    acknowledges: bool,
) -> ShareSession:
    """Begin the session, or continue it.

    Raises:
        Refused: INVALID_REQUEST, SHARE_SESSION_LIMIT_REACHED, SHARE_SESSION_NOT_FOUND,
            INVALID_SHARE_SESSION_EPOCH.
    """
    sessions, epoch = node.share_partitions.sessions, request.share_session_epoch
    if epoch == INITIAL_EPOCH:
        if acknowledges:
            raise Refused(Code.INVALID_REQUEST)
        try:
            session = sessions.begin(key, context.connection.id)
        except Refused:  # the client asks again at once
            await node.clock.live.sleep_ms(max(request.max_wait_ms, 0))
            raise
        context.connection.on_lost = sessions.connection_lost
        return session
    session = sessions.resume(key, epoch)
    if epoch != FINAL_EPOCH:
        async for topic in context.turns.each(request.forgotten_topics_data or ()):
            async for partition in context.turns.each(topic.partitions):
                session.forget(TopicIdPartition(topic.topic_id or ZERO_ID, partition))
    return session


class _Fetching:
    """One ShareFetch: its partitions, and what is acquired so far."""

    __slots__ = ("_max_bytes", "_node", "_request", "is_over", "led", "parts", "request")

    def __init__(
        self, node: Node, context: Context, request: ShareFetchRequest, member_id: str
    ) -> None:
        self._node = node
        self._request = request
        self._max_bytes = min(request.max_bytes, node.config["fetch.max.bytes"])
        mode = AcquireMode.BATCH_OPTIMIZED
        if context.version >= _MODES_SINCE:
            try:
                mode = AcquireMode(request.share_acquire_mode)
            except ValueError as wrong:
                raise Refused(Code.UNKNOWN_SERVER_ERROR, str(wrong)) from wrong
        self.request = AcquireRequest(member_id, request.max_records, request.batch_size, mode)
        self.parts: dict[TopicIdPartition, Part] = {}
        self.led: dict[TopicIdPartition, LedSharePartition] = {}
        self.is_over = False

    async def load(
        self, context: Context, session: ShareSession, partitions: Iterable[TopicIdPartition]
    ) -> None:
        """Find or load the share partitions; errors are parts of the answer.

        A session of Kafka has the names of its topics, also of those that are deleted.
        """
        node = self._node
        async for partition in context.turns.each(partitions):
            code = why_not(node, context, partition)
            if code is Code.UNKNOWN_TOPIC_ID and partition in session.known:
                code = Code.UNKNOWN_TOPIC_OR_PARTITION
            if code is not Code.NONE:
                self.parts[partition] = Part(code)
                continue
            try:
                led = await node.share_partitions.get(ShareKey(session.key.group_id, *partition))
                await check_old_batches(led, self._max_bytes)
            except Refused as refused:
                self.parts[partition] = Part(refused.code)
                continue
            self.led[partition] = led
            self.parts[partition] = Part()

    async def read(self, context: Context) -> None:
        """Acquire what is there now."""
        left = self._request.max_records
        share = max(self._max_bytes // max(len(self.led), 1), 1)
        async for partition, led in context.turns.each(tuple(self.led.items())):
            if left <= 0:
                break
            part = self.parts[partition]
            request = self.request._replace(max_records=left)
            try:
                if node_leads_no_more(self._node, led):
                    raise Refused(Code.NOT_LEADER_OR_FOLLOWER)
                read = read_and_acquire(
                    led, request, max_bytes=share, now_ms=self._node.clock.monotonic_ms()
                )
                while not read.acquired and read.has_moved and not context.turns.is_over():
                    read = read_and_acquire(
                        led, request, max_bytes=share, now_ms=self._node.clock.monotonic_ms()
                    )
            except Refused as refused:
                self._node.storage_trouble.report(led.log, refused)
                part.code = refused.code
                self.is_over = True
                continue
            part.records, part.acquired = read.records, read.acquired
            left -= sum(each.last_offset - each.first_offset + 1 for each in read.acquired)
            self.is_over = self.is_over or bool(read.acquired) or read.has_moved
        for led in self.led.values():
            led.pass_on()

    def may_be_empty(self) -> bool:
        """Whether the next read is answered even if it acquires nothing.

        So if the request wants no bytes, and a partition has fewer acquired records than it may
        have (DelayedShareFetch.isMinBytesSatisfied).
        """
        return self._request.min_bytes <= 0 and any(
            led.machine.may_acquire(led.settings.limits) for led in self.led.values()
        )

    def has_min_bytes(self) -> bool:
        """Whether there is as much to read as the request waits for."""
        min_bytes = min(self._request.min_bytes, self._max_bytes)
        if min_bytes <= 1:
            return True
        found = sum(led.bytes_to_read(self._max_bytes) for led in self.led.values())
        return found >= int(min_bytes)


def node_leads_no_more(node: Node, led: LedSharePartition) -> bool:
    """Whether a share partition was forgotten, or must be."""
    return led.is_fenced or node.share_partitions.known(led.key) is not led


async def _fetch_within_quota(
    node: Node, context: Context, request: ShareFetchRequest, session: ShareSession
) -> dict[TopicIdPartition, Part]:
    """What a client with a quota gets; nothing if the quota is used up.

    The records that are left out stay acquired by the member until their lock ends, as in Kafka.
    """
    from ...requests.throttling import Fetching

    fetching = Fetching(node, context)
    if fetching.most_bytes is not None:  # a larger answer would always be throttled
        request.max_bytes = min(request.max_bytes, fetching.most_bytes)
    parts = await _fetch(node, context, request, session)
    wait_ms = fetching.use(len(part.records) for part in parts.values())
    return parts if wait_ms == 0 else {}


async def _fetch(
    node: Node, context: Context, request: ShareFetchRequest, session: ShareSession
) -> dict[TopicIdPartition, Part]:
    """Acquire records of the session's partitions; wait for some until max_wait_ms is over."""
    partitions = list(session.partitions)
    if partitions:  # each request begins with another one
        first = request.share_session_epoch % len(partitions)
        partitions = partitions[first:] + partitions[:first]
    fetching = _Fetching(node, context, request, session.key.member_id)
    deadline_ms = node.clock.live.monotonic_ms() + request.max_wait_ms
    await fetching.load(context, session, partitions)
    if request.max_records <= 0 or request.max_bytes <= 0 or not fetching.led:
        return fetching.parts
    while True:
        is_late = node.clock.live.monotonic_ms() >= deadline_ms or node.is_stopping
        if is_late or fetching.has_min_bytes():
            fetching.is_over = fetching.may_be_empty()
            await fetching.read(context)
        if fetching.is_over or is_late:
            return fetching.parts
        if not await _wait(node, context, fetching, deadline_ms):
            node.share_partitions.counts.expired_fetches += 1
            await fetching.read(context)
            return fetching.parts


async def _wait(node: Node, context: Context, fetching: _Fetching, deadline_ms: int) -> bool:
    """Wait for news of the partitions; False if the time is up or the connection ends."""
    is_hastened = False

    def time_is_up() -> None:
        nonlocal is_hastened
        is_hastened = True
        if not waiting.done():
            waiting.set_result(False)

    waiting = node.fetch_waits.wait_in_session()
    timer = node.clock.live.call_at_ms(deadline_ms, time_is_up)
    context.hasten = time_is_up
    try:
        async for led in context.turns.each(tuple(fetching.led.values())):
            led.wait(waiting)
        context.release()
        await waiting
    finally:
        timer.cancel()
        context.hasten = None
        node.fetch_waits.forget_in_session(waiting)
        for led in fetching.led.values():
            led.stop_waiting(waiting)
        if waiting.cancelled():
            for led in fetching.led.values():
                led.pass_on()
    return not is_hastened


async def _answer(
    node: Node, context: Context, key: SessionKey, parts: dict[TopicIdPartition, Part]
) -> ShareFetchResponse:
    topics: dict[UUID, ShareFetchableTopicResponse] = {}
    leaders = NewLeaders(node, context)
    async for (topic_id, index), part in context.turns.each(parts.items()):
        if not part.is_named:
            continue
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = {"topic_id": topic_id, "partitions": []}
        answered: PartitionData = {
            "partition_index": index,
            "error_code": part.code,
            "error_message": None,
            "acknowledge_error_code": part.acknowledged.code,
            "acknowledge_error_message": part.acknowledged.why,
            "current_leader": {"leader_id": 0, "leader_epoch": 0},
            "records": part.records,
            "acquired_records": [
                {
                    "first_offset": each.first_offset,
                    "last_offset": each.last_offset,
                    "delivery_count": each.delivery_count,
                }
                for each in part.acquired
            ],
        }
        if part.code in MOVED:
            answered["current_leader"] = moved_leader(node, leaders, topic_id, index)
        topic["partitions"].append(answered)
    settings = node.share_partitions.services.settings_of(key.group_id)
    return {
        "acquisition_lock_timeout_ms": settings.limits.lock_duration_ms,
        "responses": list(topics.values()),
        "node_endpoints": list(leaders.endpoints.values()),
    }
