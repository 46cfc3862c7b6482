"""Share sessions (KIP-932): the partitions that a member of a share group fetches, and its epoch.

Epoch 0 begins a session, each later request of the member has the next epoch, and -1 ends it. A
session belongs to the connection that began it and ends with it; its requests may come by another
one. There are at most `group.share.max.share.sessions`; none is evicted for another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from uuid import UUID

from ....protocol.errors import Code, Refused

FINAL_EPOCH: Final = -1
INITIAL_EPOCH: Final = 0
_MAX_EPOCH: Final = 0x7FFFFFFF


class TopicIdPartition(NamedTuple):
    """A partition, by the id of its topic."""

    topic_id: UUID
    partition: int


class SessionKey(NamedTuple):
    """The owner of a session."""

    group_id: str
    member_id: str


class ShareSession:
    """The partitions of one member.

    Attributes:
        epoch: the expected epoch of the next request.
        connection_id: of the connection that began it.
        partitions: in the order of the requests; whether the next answer has the partition even if
            nothing is acquired.
        known: those of them whose topics existed when a request named them.
    """

    __slots__ = ("connection_id", "epoch", "key", "known", "partitions")

    def __init__(self, key: SessionKey, connection_id: str) -> None:
        self.key = key
        self.connection_id = connection_id
        self.epoch = 1
        self.partitions: dict[TopicIdPartition, bool] = {}
        self.known = set[TopicIdPartition]()

    def add(self, partition: TopicIdPartition, *, is_known: bool) -> None:
        """Fetch a partition from now on; if it is new, the next answer has it.

        Args:
            is_known: its topic exists.
        """
        self.partitions.setdefault(partition, True)
        if is_known:
            self.known.add(partition)

    def forget(self, partition: TopicIdPartition) -> None:
        """Fetch a partition no more. What the member has of it stays acquired."""
        self.partitions.pop(partition, None)
        self.known.discard(partition)

    def must_answer(self, partition: TopicIdPartition, *, has_error: bool) -> bool:
        """Whether the answer has a partition of which nothing is acquired."""
        is_awaited = self.partitions.get(partition, False)
        if partition in self.partitions:
            self.partitions[partition] = has_error
        return is_awaited or has_error

    def advance(self) -> None:
        """Expect the next epoch in the next request."""
        self.epoch = 1 if self.epoch == _MAX_EPOCH else self.epoch + 1


class ShareSessions:
    """All share sessions of a node.

    Args:
        limit: `group.share.max.share.sessions`.
        on_lost: called with the sessions that end with their connection, and with the groups
            whose sessions the connection had begun.
    """

    def __init__(
        self,
        limit: int,
        *,
        on_lost: Callable[[list[ShareSession], list[str]], None],
    ) -> None:
        self._limit = limit
        self._on_lost = on_lost
        self._sessions: dict[SessionKey, ShareSession] = {}
        self._of_group: dict[str, int] = {}
        self._of_connection: dict[str, dict[SessionKey, None]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[ShareSession]:
        return iter(self._sessions.values())

    @property
    def partitions(self) -> int:
        """The number of partitions of all sessions together."""
        return sum(len(session.partitions) for session in self._sessions.values())

    def begin(self, key: SessionKey, connection_id: str) -> ShareSession:
        """A new session, in place of one that the member had.

        Raises:
            Refused: SHARE_SESSION_LIMIT_REACHED.
        """
        self.end(key)
        if len(self._sessions) >= self._limit:
            raise Refused(Code.SHARE_SESSION_LIMIT_REACHED)
        session = self._sessions[key] = ShareSession(key, connection_id)
        self._of_group[key.group_id] = self._of_group.get(key.group_id, 0) + 1
        self._of_connection.setdefault(connection_id, {})[key] = None
        return session

    def resume(self, key: SessionKey, epoch: int) -> ShareSession:
        """The session that a request continues or ends; the next epoch is expected from now.

        Raises:
            Refused: SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH.
        """
        session = self._sessions.get(key)
        if session is None:
            raise Refused(Code.SHARE_SESSION_NOT_FOUND)
        if epoch == FINAL_EPOCH:
            return session
        if session.epoch != epoch:
            raise Refused(Code.INVALID_SHARE_SESSION_EPOCH)
        session.advance()
        return session

    def end(self, key: SessionKey) -> None:
        """Forget a session, if there is one; what the member has stays acquired."""
        if self._sessions.pop(key, None) is not None:
            self._of_group[key.group_id] -= 1
            if not self._of_group[key.group_id]:
                del self._of_group[key.group_id]

    def has_group(self, group_id: str) -> bool:
        """Whether a member of the group has a session."""
        return group_id in self._of_group

    def connection_lost(self, connection_id: str) -> None:
        """End the sessions that a connection has begun."""
        keys = self._of_connection.pop(connection_id, {})
        lost = [
            session
            for key in keys
            if (session := self._sessions.get(key)) is not None
            and session.connection_id == connection_id
        ]
        for session in lost:
            self.end(session.key)
        self._on_lost(lost, list(dict.fromkeys(key.group_id for key in keys)))
