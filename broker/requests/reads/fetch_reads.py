"""Reads the partitions of a Fetch from their logs: checks, limits, isolation.

Follows ReplicaManager.readFromLog: partitions are read in the order of the request, each within the
rest of the request's limit; the first batch of the first partition with data is always returned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from ....protocol.errors import Code, Refused
from ....storage.log import PartitionLog
from ....storage.segments.reads import FileRange, ReadLimits
from ...runtime.fetching.fetch_sessions import Item, PartitionKey, TopicRef, Wanted

if TYPE_CHECKING:
    from ....protocol.api_types.fetch import AbortedTransaction
    from ...node import Node
    from ..context import Context

T = TypeVar("T")

NO_EPOCH = -1

_AT_ONCE_BYTES: Final = 1 << 18  # of an answer; the rest is read when the socket takes it


class Limits(NamedTuple):
    """The limits for all partitions of a Fetch.

    Attributes:
        max_bytes: of the whole answer; one batch is returned even if it is zero or less.
        committed: read_committed: only records below the last stable offset.
        replica_id: -1 and -2 for consumers; other replicas are refused.
        may_read: whether the client may read a topic; None without an authorizer.
        from_followers: whether a follower may be read too, as by consumers of version 11 and later
            (KIP-392).
    """

    max_bytes: int
    committed: bool
    replica_id: int
    may_read: Callable[[str], bool] | None = None
    from_followers: bool = False


class PartitionRead(NamedTuple):
    """The part of one partition in an answer.

    Attributes:
        bytes_read: the bytes that Kafka would return, which cuts the last batch at the limit.
        ends_wait: whether a Fetch with this partition is answered at once.
    """

    key: PartitionKey
    error: Code
    records: bytes | memoryview | FileRange = b""
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: list[AbortedTransaction] | None = None
    diverging: tuple[int, int] | None = None  # epoch and its end offset
    bytes_read: int = 0
    ends_wait: bool = False


MANY: Final = 64
"""A request for more partitions is read in slices, of at least so many."""

SET_ASIDE: Final = frozenset({
    Code.TOPIC_AUTHORIZATION_FAILED, Code.UNKNOWN_TOPIC_ID, Code.UNKNOWN_TOPIC_OR_PARTITION,
})  # fmt: skip
"""Errors that Kafka finds before it reads: they do not end the wait for other partitions."""


def in_steps(items: Sequence[T]) -> Iterable[Sequence[T]]:
    """A long list in parts, with turns for other requests in between; a short one as one part."""
    if len(items) <= MANY:
        return (items,)
    return (items[start : start + MANY] for start in range(0, len(items), MANY))


async def check_old(node: Node, context: Context, wanted: Sequence[Item], limits: Limits) -> None:
    """Check batches from before the last start, in steps between other requests.

    `Reading` reports an error that this finds.
    """
    left, open_logs = limits.max_bytes, node.log_directory.open_logs
    turns = context.turns if len(wanted) > MANY else None
    for key, name, asked in wanted:
        if turns is not None and turns.is_over():
            await turns.pause()
        log = open_logs.get((name, key[1]))
        if log is None or not log.log_start_offset <= asked.fetch_offset < log.end_offset_at_open:
            continue
        with suppress(OSError, Refused):
            most_bytes = min(asked.max_bytes, left)
            for _ in log.check_in_steps(asked.fetch_offset, most_bytes, committed=limits.committed):
                await asyncio.sleep(0)
        left -= asked.max_bytes
        if left <= 0:
            return


class Reading:
    """Reads the partitions of a Fetch, a few at a time.

    Attributes:
        bytes_read: the bytes of all partitions read so far, as Kafka counts them.
        ends_wait: whether a partition ends the wait: it has an error or diverged, or its records
            are in an older segment.
        missing: the partitions that are not there or not allowed; they do not end the wait
            (KafkaApis.handleFetchRequest).
    """

    __slots__ = ("_limits", "_nameless", "_node", "_parts", "bytes_read", "ends_wait", "missing")

    def __init__(self, node: Node, limits: Limits) -> None:
        self._node = node
        self._limits = limits
        self._parts: list[PartitionRead] = []
        self.missing: list[PartitionRead] = []
        self._nameless = 0
        self.bytes_read = 0
        self.ends_wait = False

    @property
    def parts(self) -> list[PartitionRead]:
        """Existing partitions in the order of the request, then the missing ones, as in Kafka."""
        return self._parts + self.missing if self.missing else self._parts

    @property
    def existing(self) -> list[PartitionRead]:
        """The parts without the missing ones, in the order of the request."""
        return self._parts

    def read(self, wanted: Iterable[Item]) -> None:
        """Read each partition once."""
        node, limits = self._node, self._limits
        open_logs = node.log_directory.open_logs
        for item in wanted:
            key, name, _ = item
            if limits.may_read is not None and name and not limits.may_read(name):
                self._miss(key, Code.TOPIC_AUTHORIZATION_FAILED)
                continue
            log = open_logs.get((name, key[1])) or node.open_log_of(name, key[1])
            if log is None or name not in node.catalog.topics:
                nameless = not name and not isinstance(key[0], str)
                code = Code.UNKNOWN_TOPIC_ID if nameless else node.why_missing(name, key[1])
                self._miss(key, code)
                continue
            bytes_read = self.bytes_read
            left = limits.max_bytes - bytes_read
            room = (left, bytes_read == 0, max(_AT_ONCE_BYTES - bytes_read, 0))
            try:
                part = _read(node, log, item, limits, room)
            except Refused as refused:
                node.storage_trouble.report(log, refused)
                part = PartitionRead(key, refused.code, ends_wait=True)
            self.bytes_read += part.bytes_read
            if part.ends_wait:
                self.ends_wait = True
            self._parts.append(part)

    def _miss(self, key: PartitionKey, code: Code) -> None:
        part = PartitionRead(key, code, aborted=[])
        if code == Code.UNKNOWN_TOPIC_ID:  # Kafka finds these before all others
            self.missing.insert(self._nameless, part)
            self._nameless += 1
        elif code in SET_ASIDE:
            self.missing.append(part)
        else:
            self._parts.append(part)
            self.ends_wait = True


def _read(
    node: Node, log: PartitionLog, item: Item, limits: Limits, room: tuple[int, bool, int]
) -> PartitionRead:
    """Read one partition; `room` has the limits left for it: max_bytes, min_one, at_once."""
    key, _, asked = item
    _check_may_read(node, log, key[0], limits, asked.current_leader_epoch)
    diverging = None if asked.last_fetched_epoch == NO_EPOCH else _divergence(log, asked)
    high_watermark, stable = log.high_watermark, log.last_stable_offset
    records: bytes | memoryview | FileRange = b""
    aborted: list[AbortedTransaction] | None = None
    bytes_read, ends_wait = 0, diverging is not None
    if diverging is None:
        if limits.committed:
            aborted = []
        up_to = stable if limits.committed else high_watermark
        offset = asked.fetch_offset
        if not log.log_start_offset <= offset <= log.log_end_offset:
            raise Refused(Code.OFFSET_OUT_OF_RANGE)
        if offset != up_to:
            if offset > up_to:  # behind the last stable offset, so that Kafka does not wait
                ends_wait = log.layout.start_of_batch(offset) > up_to
            else:
                ends_wait = log.layout.is_older(offset, up_to)
        left, min_one, at_once = room
        if offset < up_to and (min_one or left > 0):
            max_bytes = min(asked.max_bytes, left)
            read = log.find(offset, ReadLimits(max_bytes, up_to, min_one, at_once))
            records = read.records
            bytes_read = len(records)
            is_cut = 0 < bytes_read < max_bytes and read.next_offset < up_to
            if is_cut and not log.layout.is_older(offset, read.next_offset):
                bytes_read = max_bytes  # Kafka has a part of the next batch, unless a segment ends
            if limits.committed and bytes_read:
                aborted = _aborted(log, offset, read.next_offset)
            elif max_bytes > 0:
                aborted = None  # max_bytes is below one batch: Kafka returns null here
    return PartitionRead(
        key, Code.NONE, records, high_watermark, stable, log.log_start_offset, aborted, diverging,
        bytes_read, ends_wait,
    )  # fmt: skip


def _check_may_read(
    node: Node, log: PartitionLog, ref: TopicRef, limits: Limits, leader_epoch: int
) -> None:
    """Check that this node may read a partition for the request; raises Refused."""
    topic = node.catalog.topics[log.topic]
    leads = topic.partitions[log.partition].leader_id == node.node_id
    if not leads and not node.follows(log.topic, log.partition):
        raise Refused(Code.NOT_LEADER_OR_FOLLOWER)
    if not isinstance(ref, str) and topic.topic_id != ref:
        raise Refused(Code.INCONSISTENT_TOPIC_ID, "the topic was deleted and made again")
    if limits.replica_id >= 0:
        raise Refused(Code.NOT_LEADER_OR_FOLLOWER, "no replica of this partition is elsewhere")
    if leader_epoch != NO_EPOCH:
        node.check_leader_epoch(log, leader_epoch)
    if not leads and not limits.from_followers:
        raise Refused(Code.NOT_LEADER_OR_FOLLOWER)


def existing(items: list[Item], missing: Sequence[PartitionRead]) -> list[Item]:
    """The partitions of a Fetch without the missing ones."""
    if not missing:
        return items
    keys = {part.key for part in missing}
    return [item for item in items if item[0] not in keys]


def name_of(node: Node, ref: TopicRef) -> str:
    """The name of a topic; empty if no topic has the id."""
    if isinstance(ref, str):
        return ref
    return node.catalog.names.get(ref, "")


def _divergence(log: PartitionLog, asked: Wanted) -> tuple[int, int] | None:
    """The epoch and end offset where the fetcher's log diverges (KIP-595); None if it does not."""
    epoch, end_offset = log.offset_for_leader_epoch(asked.last_fetched_epoch)
    if epoch == NO_EPOCH or end_offset == -1:
        raise Refused(Code.OFFSET_OUT_OF_RANGE, "an epoch that this log never had")
    if epoch < asked.last_fetched_epoch or end_offset < asked.fetch_offset:
        return epoch, end_offset
    return None


def _aborted(log: PartitionLog, first_offset: int, next_offset: int) -> list[AbortedTransaction]:
    return [
        {"producer_id": aborted.producer_id, "first_offset": aborted.first_offset}
        for aborted in log.aborted_transactions(first_offset, next_offset - 1)
    ]
