"""A member of a consumer group that reads one topic (KIP-848): heartbeats, assignment, commits.

`GroupMember` is single-threaded: heartbeats go out in `poll`, so a caller calls it every second or
so. It gives partitions up as soon as the coordinator asks for them; a caller first commits what it
has read of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code
from .admin.groups import coordinator_of
from .cluster_client import Client, ErrorAnswer, NoAnswer, check
from .retries import COORDINATOR_MOVES, retried

_JOIN: Final = 0
_LEAVE: Final = -1
_LEAVE_STATIC: Final = -2
_REBALANCE_MS: Final = 300_000
_SOON_S: Final = 0.1
_LOST: Final = frozenset({Code.UNKNOWN_MEMBER_ID, Code.FENCED_MEMBER_EPOCH})


class Change(NamedTuple):
    """What an assignment takes and gives: indexes of partitions, sorted."""

    revoked: tuple[int, ...]
    assigned: tuple[int, ...]


class GroupMember:
    """A member, from its first `poll` to `leave`.

    Args:
        instance_id: of a static member (KIP-345).
        assignor: the server's; None: its default.
    """

    def __init__(
        self,
        client: Client,
        group_id: str,
        topic: str,
        *,
        instance_id: str | None = None,
        assignor: str | None = None,
    ) -> None:
        self.member_id = str(uuid4())
        self.member_epoch = _JOIN
        self.partitions: tuple[int, ...] = ()
        self._client = client
        self._group_id = group_id
        self._topic = topic
        self._instance_id = instance_id
        self._assignor = assignor
        self._topic_id: UUID | None = None
        self._target: tuple[int, ...] | None = None
        self._beat_at_s = 0.0

    def poll(self) -> Change | None:
        """Send a heartbeat if it is time for one; what the assignment changes, if it does.

        The caller calls `accept` when it has given up the revoked partitions.

        Raises:
            ErrorAnswer: the coordinator refuses. NoAnswer: it does not answer.
        """
        if self._target is None and time.monotonic() >= self._beat_at_s:
            self._beat()
        if self._target is None or self._target == self.partitions:
            self._target = None
            return None
        before, target = set(self.partitions), set(self._target)
        return Change(tuple(sorted(before - target)), tuple(sorted(target - before)))

    def accept(self) -> None:
        """Take the assignment over, and tell the coordinator."""
        if self._target is not None:
            self.partitions, self._target = self._target, None
            self._beat_at_s = 0.0
            if self.member_epoch != _JOIN:
                self._beat(owns=True)

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Commit the next offsets of partitions (OffsetCommit). Raises ErrorAnswer."""
        partitions = [
            {"partition_index": index, "committed_offset": offset, "committed_metadata": ""}
            for index, offset in offsets.items()
        ]
        body = {
            "group_id": self._group_id,
            "generation_id_or_member_epoch": self.member_epoch,
            "member_id": self.member_id,
            "group_instance_id": self._instance_id,
            "topics": [{"name": self._topic, "partitions": partitions}],
        }
        for topic in self._asked(ApiKey.OFFSET_COMMIT, body).topics:
            for each in topic.partitions:
                check(each.error_code, f"{topic.name}-{each.partition_index}")

    def leave(self) -> None:
        """Leave the group; a static member's partitions wait for its return."""
        if self.member_epoch == _JOIN:
            return
        self.member_epoch = _LEAVE if self._instance_id is None else _LEAVE_STATIC
        with suppress(ErrorAnswer, NoAnswer):  # the group forgets the member by itself
            self._heartbeat({})
        self.member_epoch, self.partitions, self._target = _JOIN, (), None

    def _beat(self, *, owns: bool = False) -> None:
        more: dict[str, Any] = {}  # Any: parts of a request
        if self.member_epoch == _JOIN:
            more = {
                "rebalance_timeout_ms": _REBALANCE_MS,
                "subscribed_topic_names": [self._topic],
                "server_assignor": self._assignor,
                "topic_partitions": [],
            }
        elif owns:
            owned = {"topic_id": self._topic_id, "partitions": list(self.partitions)}
            more = {"topic_partitions": [owned] if self.partitions else []}
        try:
            answer = self._heartbeat(more)
        except ErrorAnswer as refused:
            if refused.code not in _LOST or self.member_epoch == _JOIN:
                raise
            self.member_epoch = _JOIN  # all partitions are lost, and it joins again
            self._target = ()
            return
        self.member_epoch = answer.member_epoch
        pause_s = answer.heartbeat_interval_ms / 1000
        if answer.assignment is not None:
            self._target = self._indexes(answer.assignment.topic_partitions)
        if not self.partitions and not self._target:  # it comes soon after joining
            pause_s = min(pause_s, _SOON_S)
        self._beat_at_s = time.monotonic() + pause_s

    def _indexes(self, topics: list[Any]) -> tuple[int, ...]:  # Any: parts of an answer
        (found,) = self._client.metadata([self._topic])
        self._topic_id = found.topic_id
        return tuple(
            sorted(
                index
                for topic in topics
                if topic.topic_id == found.topic_id
                for index in topic.partitions
            )
        )

    def _heartbeat(self, more: dict[str, Any]) -> Any:  # Any: an answer
        body = {
            "group_id": self._group_id,
            "member_id": self.member_id,
            "member_epoch": self.member_epoch,
            "instance_id": self._instance_id,
            "rack_id": None,
            "rebalance_timeout_ms": -1,
            "subscribed_topic_names": None,
            "server_assignor": None,
            "topic_partitions": None,
        }
        answer = self._asked(ApiKey.CONSUMER_GROUP_HEARTBEAT, body | more)
        check(answer.error_code, self._group_id, answer.error_message)
        return answer

    def _asked(self, api_key: ApiKey, body: dict[str, Any]) -> Any:
        @retried(COORDINATOR_MOVES)
        def ask() -> Any:
            node_id = coordinator_of(self._client, self._group_id)
            answer = self._client.ask(api_key, body, node_id=node_id)
            code = getattr(answer, "error_code", Code.NONE)
            if code in COORDINATOR_MOVES:
                check(code, self._group_id)
            return answer

        return ask()
