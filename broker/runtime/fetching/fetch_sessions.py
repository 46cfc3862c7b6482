"""Incremental fetch sessions (KIP-227): the broker remembers the partitions of a consumer.

A full fetch (epoch 0) begins a session. Later requests name only the changes, and their answers
have only partitions with news. The number of sessions is limited: beyond the limit the least
recently used one is evicted if it is old enough; otherwise the new consumer gets no session. The
number of partitions in all sessions is limited too. A consumer works as well without a session.

A Fetch of a session reads only the partitions with changes since the last answer: a read of all
costs 9 microseconds for each, so that with 1,000 partitions a record took 10 ms of a processor.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ....protocol.errors import Code, Refused
from ....protocol.lazy_dataclass import dataclass
from ....protocol.named_tuple import NamedTuple
from .fetch_waits import FetchWaits, TopicPartition

FINAL_EPOCH: Final = -1
INITIAL_EPOCH: Final = 0
NO_SESSION: Final = 0
MOST_PARTITIONS: Final = 80_000
"""The maximum of all sessions together; each partition takes up to 500 bytes."""

READ_ALL_AFTER_MS: Final = 5_000
"""After this time a Fetch reads all partitions of its session, whatever changes were noted."""

_EVICT_AFTER_MS: Final = 120_000  # a session unused for this time may be evicted
_MAX_EPOCH: Final = 0x7FFFFFFF

TopicRef = uuid.UUID | str
"""A topic as a request names it: by id since Fetch 13, by name before."""


class Wanted(NamedTuple):
    """A consumer's request for one partition (FetchPartition in Fetch requests)."""

    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    last_fetched_epoch: int


@dataclass(slots=True)
class Cached:
    """One partition of a session: its request, and the offsets of the last answer.

    It has the fields of the request itself, because a `Wanted` takes 80 bytes more.

    Attributes:
        name: of the topic; a topic requested by id keeps the name from the first request.
        rank: its place in the order of the session.
    """

    name: str
    rank: int
    fetch_offset: int = 0
    max_bytes: int = 0
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    high_watermark: int = -1
    log_start_offset: int = -1
    last_stable_offset: int = -1
    had_error: bool = False
    is_watched: bool = False

    @property
    def wanted(self) -> Wanted:
        """The request for the partition."""
        return Wanted(
            self.fetch_offset, self.max_bytes, self.current_leader_epoch, self.last_fetched_epoch
        )


PartitionKey = tuple[TopicRef, int]
HasEnough = Callable[[PartitionKey, TopicPartition], bool]
Item = tuple[PartitionKey, str, Wanted]
"""A partition to read: its key, the topic's name ("" for an unknown id), the request for it."""


class Session:
    """The partitions of one consumer, in the order of its requests.

    Attributes:
        epoch: the expected epoch of the next request.
        changed: the partitions with a change since the last read began.
        unsettled: of the partitions read before, those that the next Fetch must read again.
        committed: whether the last read was of committed records only.
        waiting: the Fetch that waits for records.
        has_enough: whether the waiting Fetch has enough, after an append to a partition.
    """

    __slots__ = (
        "_max_bytes", "_rank", "_read_all_ms", "changed", "committed", "epoch", "has_enough",
        "partitions", "session_id", "unsettled", "used_ms", "uses_topic_ids", "waiting",
    )  # fmt: skip

    def __init__(self, session_id: int, *, uses_topic_ids: bool, now_ms: int) -> None:
        self.session_id = session_id
        self.uses_topic_ids = uses_topic_ids
        self.partitions: dict[PartitionKey, Cached] = {}
        self.epoch = 1
        self.used_ms = now_ms
        self.changed: dict[PartitionKey, None] = {}
        self.unsettled: dict[PartitionKey, None] = {}
        self.waiting: asyncio.Future[bool] | None = None
        self.has_enough: HasEnough | None = None
        self._read_all_ms = now_ms
        self._rank = 0
        self._max_bytes = 0  # of the last partition: most have the same, in one object
        self.committed = False

    def note(self, key: object, topic_partition: TopicPartition) -> asyncio.Future[bool] | None:
        """Note an append; return the waiting Fetch if it has enough now."""
        assert isinstance(key, tuple)
        self.changed[key] = None
        waiting, has_enough = self.waiting, self.has_enough
        if waiting is None or waiting.done() or has_enough is None:
            return None
        return waiting if has_enough(key, topic_partition) else None

    def wake(self, key: object) -> asyncio.Future[bool] | None:
        """Note another change; return the waiting Fetch."""
        assert isinstance(key, tuple)
        self.changed[key] = None
        return self.waiting

    def keys_to_read(self, now_ms: int, *, committed: bool) -> list[PartitionKey]:
        """The partitions that may have news, in the order of the session, for a read now.

        Args:
            committed: whether only committed records are read; if that changes, all may have news.
        """
        changed, self.changed = self.changed, {}
        if committed is not self.committed or now_ms - self._read_all_ms >= READ_ALL_AFTER_MS:
            self.committed, self._read_all_ms = committed, now_ms
            self.unsettled = dict.fromkeys(self.partitions)
        else:  # a new dict, because a dict never shrinks
            self.unsettled = {**self.unsettled, **changed}
        if len(self.unsettled) < 2:
            return list(self.unsettled)
        return sorted(self.unsettled, key=self._rank_of)

    def _rank_of(self, key: PartitionKey) -> int:
        cached = self.partitions.get(key)
        return 0 if cached is None else cached.rank

    def settle(self, key: PartitionKey) -> None:
        """Read a partition again only after a change: its last answer had all that it has."""
        self.unsettled.pop(key, None)

    def update(self, wanted: list[Item], forgotten: list[PartitionKey], now_ms: int) -> None:
        """Apply an incremental request."""
        self.change(wanted, forgotten)
        self.advance(now_ms)

    def change(self, wanted: Sequence[Item], forgotten: Sequence[PartitionKey]) -> None:
        """Apply a part of a request."""
        for key, name, asked in wanted:
            cached = self.partitions.get(key)
            if cached is None:
                self._rank += 1
                cached = self.partitions[key] = Cached(name, self._rank)
            if asked.max_bytes != self._max_bytes:
                self._max_bytes = asked.max_bytes
            cached.fetch_offset = asked.fetch_offset
            cached.max_bytes = self._max_bytes
            cached.current_leader_epoch = asked.current_leader_epoch
            cached.last_fetched_epoch = asked.last_fetched_epoch
            self.changed[key] = None
        for key in forgotten:
            self.partitions.pop(key, None)
            self.unsettled.pop(key, None)

    def advance(self, now_ms: int) -> None:
        """Expect the next epoch in the next request."""
        self.used_ms = now_ms
        self.epoch = 1 if self.epoch == _MAX_EPOCH else self.epoch + 1

    def rotate(self, answered: list[PartitionKey]) -> None:
        """Move the partitions that just had data to the end, so that they do not starve others."""
        for key in answered:
            cached = self.partitions.pop(key, None)
            if cached is not None:
                self._rank += 1
                cached.rank = self._rank
                self.partitions[key] = cached
                self.unsettled.pop(key, None)
                self.unsettled[key] = None


def _draw(low: int, high: int) -> int:
    import random  # with the first session: a start needs none

    return random.randrange(low, high)


class FetchSessions:
    """All sessions of a node.

    Args:
        limit: max.incremental.fetch.session.cache.slots.
        most_partitions: the maximum of all sessions together.
        draw: a number from its first argument on and below its second, for an id; None: a random
            one.
        waits: notes the changes of partitions in their sessions.

    Attributes:
        partitions: the number of partitions of all sessions together.
    """

    def __init__(
        self,
        *,
        limit: int,
        most_partitions: int = MOST_PARTITIONS,
        draw: Callable[[int, int], int] | None = None,
        waits: FetchWaits | None = None,
    ) -> None:
        self._waits = FetchWaits() if waits is None else waits
        self._limit = limit
        self._draw = draw or _draw
        self._most_partitions = most_partitions
        self.partitions = 0
        self._sessions: dict[int, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def partitions_of(self, session_id: int) -> list[tuple[str, int]]:
        """Topic and index of each partition of a session; empty if there is no such session."""
        session = self._sessions.get(session_id)
        if session is None:
            return []
        return [(cached.name, key[1]) for key, cached in session.partitions.items()]

    def begin(self, wanted: list[Item], *, uses_topic_ids: bool, now_ms: int) -> Session | None:
        """A new session; None if there is no room, so that the consumer does without."""
        session = self.begin_empty(len(wanted), uses_topic_ids=uses_topic_ids, now_ms=now_ms)
        if session is not None:
            self.change(session, wanted)
        return session

    def begin_empty(self, size: int, *, uses_topic_ids: bool, now_ms: int) -> Session | None:
        """A new session whose partitions, `size` of them, follow by `change`; None like `begin`."""
        if not self._room(size, now_ms):
            return None
        session = Session(self._new_id(), uses_topic_ids=uses_topic_ids, now_ms=now_ms)
        self._sessions[session.session_id] = session
        return session

    def change(
        self, session: Session, wanted: Sequence[Item], forgotten: Sequence[PartitionKey] = ()
    ) -> None:
        """Apply a part of a request to a session.

        Raises:
            Refused: FETCH_SESSION_ID_NOT_FOUND: the session became too large and has ended; the
                consumer names all partitions again, and continues without a session.
        """
        if self._sessions.get(session.session_id) is not session:
            session.change(wanted, forgotten)
            return  # ended meanwhile
        before = len(session.partitions)
        dropped = [(key, session.partitions.get(key)) for key in forgotten]
        session.change(wanted, forgotten)
        if dropped:
            self._unwatch(session, dropped)
        for key, _, _ in wanted:
            self.watch(session, key)
        self.partitions += len(session.partitions) - before
        if self.partitions > self._most_partitions:
            self.end(session.session_id)
            raise Refused(Code.FETCH_SESSION_ID_NOT_FOUND)

    def resume(self, session_id: int, epoch: int, *, uses_topic_ids: bool) -> Session:
        """The session that an incremental request continues.

        Raises:
            Refused: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, or
                FETCH_SESSION_TOPIC_ID_ERROR if names and ids are mixed.
        """
        session = self._sessions.get(session_id)
        if session is None:
            raise Refused(Code.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            raise Refused(Code.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            raise Refused(Code.FETCH_SESSION_TOPIC_ID_ERROR)
        # The most recently used session is the last; eviction begins at the front.
        self._sessions[session_id] = self._sessions.pop(session_id)
        return session

    def watch(self, session: Session, key: PartitionKey) -> None:
        """Note changes of a partition in a session, once the topic's name is known."""
        cached = session.partitions.get(key)
        if cached is None or not cached.name or cached.is_watched:
            return
        if self._sessions.get(session.session_id) is session:
            cached.is_watched = True
            by_name = (cached.name, key[1])
            if by_name == key:  # one object for both is enough
                by_name = key
            self._waits.watch(by_name, session, key)

    def _unwatch(
        self, session: Session, dropped: Iterable[tuple[PartitionKey, Cached | None]]
    ) -> None:
        watched: list[tuple[TopicPartition, object]] = []
        for key, cached in dropped:
            if cached is not None and cached.is_watched:
                cached.is_watched = False
                watched.append(((cached.name, key[1]), key))
        if watched:
            self._waits.unwatch(watched, session)

    def end(self, session_id: int) -> None:
        """Forget a session, if there is one."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self.partitions -= len(session.partitions)
            self._unwatch(session, session.partitions.items())
            if session.waiting is not None and not session.waiting.done():
                session.waiting.set_result(True)  # no change would end its wait

    def end_all(self) -> None:
        """Forget all sessions."""
        for session_id in list(self._sessions):
            self.end(session_id)

    def _room(self, size: int, now_ms: int) -> bool:
        """Whether there is room for a session of so many partitions; evicts old sessions."""
        if self._limit <= 0 or size > self._most_partitions:
            return False
        while len(self._sessions) >= self._limit or self.partitions + size > self._most_partitions:
            oldest = next(iter(self._sessions.values()))
            if now_ms - oldest.used_ms < _EVICT_AFTER_MS:
                return False
            self.end(oldest.session_id)
        return True

    def _new_id(self) -> int:
        while True:
            session_id = self._draw(1, _MAX_EPOCH)
            if session_id not in self._sessions:
                return session_id
