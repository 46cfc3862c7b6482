"""A member of a share group that reads one topic and acknowledges its records (KIP-932).

`ShareReader` joins by ShareGroupHeartbeat, and has one share session with each leader. It is
single-threaded: heartbeats go out between reads, so a caller reads at least every few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import groupby
from typing import Any, Final, NamedTuple, Self
from uuid import UUID, uuid4

from ..protocol.api_keys import ApiKey
from ..protocol.batch import headers_in
from ..protocol.errors import Code
from ..protocol.records import Header, records_in
from .admin.groups import coordinator_of
from .cluster_client import Client, ErrorAnswer, NoAnswer, check
from .retries import COORDINATOR_MOVES, LEADER_MOVES, retried

_JOIN: Final = 0
_LEAVE: Final = -1
_CLOSE: Final = -1
_MOST_EPOCH: Final = 2**31 - 1
_FIRST_PAUSE_S: Final = 0.1
_FETCH_BYTES: Final = 1 << 20
_LOST_MEMBER: Final = frozenset({Code.UNKNOWN_MEMBER_ID, Code.FENCED_MEMBER_EPOCH})
_LOST_SESSION: Final = frozenset({Code.SHARE_SESSION_NOT_FOUND, Code.INVALID_SHARE_SESSION_EPOCH})
_MOVED: Final = LEADER_MOVES | {Code.FENCED_LEADER_EPOCH, Code.UNKNOWN_LEADER_EPOCH}
_GONE: Final = frozenset({Code.UNKNOWN_TOPIC_ID, Code.UNKNOWN_TOPIC_OR_PARTITION})


class Acknowledge(IntEnum):
    """What a member did with a record (AcknowledgeType); GAP: the offset has no record."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3


class SharedRecord(NamedTuple):
    """A record that was acquired; `delivery_count` is 1 at the first delivery."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    delivery_count: int


@dataclass(slots=True)
class _Session:
    """The share session with a leader: its next epoch, and what waits to be acknowledged."""

    epoch: int = 0
    partitions: set[int] = field(default_factory=set)
    acknowledged: dict[tuple[int, int], Acknowledge] = field(default_factory=dict)


class ShareReader:
    """Reads a topic as a member of a share group.

    Args:
        group_id: the group; it is made if it does not exist.
        topic: may be missing at first.
        most_records: of one fetch; a leader rounds it up to whole batches.
    """

    def __init__(
        self, client: Client, group_id: str, topic: str, *, most_records: int = 500
    ) -> None:
        self.member_id = str(uuid4())
        self._client = client
        self._group_id = group_id
        self._topic = topic
        self._topic_id: UUID | None = None
        self._most_records = most_records
        self._member_epoch = _JOIN
        self._beat_at = 0.0
        self._assigned: tuple[int, ...] = ()
        self._sessions: dict[int, _Session] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, *, max_wait_ms: int = 500) -> list[SharedRecord]:
        """The next acquired records; sends the acknowledgements of those before.

        Args:
            max_wait_ms: of the leaders; without partitions the call returns at once.

        Raises:
            ErrorAnswer: the coordinator or a leader refuses. NoAnswer: a broker does not answer.
        """
        self._beat()
        by_leader: dict[int, list[int]] = {}
        for partition in self._assigned:
            leader = self._client.known_leader(self._topic, partition)
            by_leader.setdefault(leader, []).append(partition)
        if not by_leader:
            time.sleep(min(max_wait_ms / 1000, _FIRST_PAUSE_S))
        records: list[SharedRecord] = []
        for leader in sorted(by_leader.keys() | self._sessions.keys()):
            wait_ms = 0 if records else max_wait_ms // max(1, len(by_leader))
            records += self._fetch(leader, by_leader.get(leader, []), wait_ms)
        return records

    def acknowledge(self, record: SharedRecord, how: Acknowledge = Acknowledge.ACCEPT) -> None:
        """Say what was done with a record; it is sent with the next `read` or `close`."""
        leader = self._client.known_leader(self._topic, record.partition)
        session = self._sessions.setdefault(leader, _Session())
        session.acknowledged[record.partition, record.offset] = how

    def close(self) -> None:
        """Send the acknowledgements, release what was not acknowledged, and leave the group."""
        try:
            for leader, session in self._sessions.items():
                if session.epoch > 0:
                    self._end(leader, session)
            if self._member_epoch != _JOIN:
                self._heartbeat(_LEAVE)
        except (ErrorAnswer, NoAnswer):
            pass  # the group forgets the member and its locks by itself
        self._sessions.clear()
        self._member_epoch = _JOIN

    def _beat(self) -> None:
        """Send a heartbeat if it is time for one, and take the assignment."""
        if time.monotonic() < self._beat_at:
            return
        try:
            answer = self._heartbeat(self._member_epoch)
        except ErrorAnswer as refused:
            if refused.code not in _LOST_MEMBER or self._member_epoch == _JOIN:
                raise
            self._assigned = ()
            answer = self._heartbeat(_JOIN)
        self._member_epoch = answer.member_epoch
        pause_s = answer.heartbeat_interval_ms / 1000
        if answer.assignment is not None:
            self._assign(answer.assignment.topic_partitions)
        if not self._assigned:  # it comes soon after joining
            pause_s = min(pause_s, _FIRST_PAUSE_S)
        self._beat_at = time.monotonic() + pause_s

    def _heartbeat(self, epoch: int) -> Any:  # Any: an answer
        @retried(COORDINATOR_MOVES)
        def sent() -> Any:
            node_id = coordinator_of(self._client, self._group_id)
            body = {
                "group_id": self._group_id,
                "member_id": self.member_id,
                "member_epoch": epoch,
                "rack_id": None,
                "subscribed_topic_names": [self._topic] if epoch == _JOIN else None,
            }
            answer = self._client.ask(ApiKey.SHARE_GROUP_HEARTBEAT, body, node_id=node_id)
            check(answer.error_code, self._group_id, answer.error_message)
            return answer

        return sent()

    def _assign(self, topics: Iterable[Any]) -> None:
        (found,) = self._client.metadata([self._topic])
        self._topic_id = found.topic_id
        wanted = [each.partitions for each in topics if each.topic_id == found.topic_id]
        self._assigned = tuple(sorted(index for indexes in wanted for index in indexes))

    def _fetch(self, leader: int, partitions: list[int], wait_ms: int) -> list[SharedRecord]:
        session = self._sessions.setdefault(leader, _Session())
        wanted = set(partitions)
        dropped = session.partitions - wanted
        if session.epoch == 0:
            if not wanted:
                del self._sessions[leader]
                return []
            session.acknowledged.clear()  # a new session has nothing acquired
        sent = _batches(session.acknowledged)
        named = wanted if session.epoch == 0 else (wanted - session.partitions) | sent.keys()
        body = self._request(session.epoch, {index: sent.get(index, []) for index in named})
        body |= {
            "max_wait_ms": wait_ms,
            "min_bytes": 1,
            "max_bytes": _FETCH_BYTES,
            "max_records": self._most_records,
            "batch_size": self._most_records,
            "forgotten_topics_data": [
                {"topic_id": self._topic_id, "partitions": sorted(dropped - sent.keys())}
            ]
            if dropped - sent.keys()
            else [],
        }
        answer = self._client.ask(ApiKey.SHARE_FETCH, body, node_id=leader)
        session.acknowledged.clear()
        if answer.error_code in _LOST_SESSION:
            self._sessions[leader] = _Session()
            return []
        check(answer.error_code, self._group_id, answer.error_message)
        session.epoch = session.epoch % _MOST_EPOCH + 1
        session.partitions = wanted
        return list(self._take(leader, session, answer))

    def _take(self, leader: int, session: _Session, answer: Any) -> Iterator[SharedRecord]:
        """The acquired records of an answer; acquired offsets without a record become gaps."""
        for found in (each for topic in answer.responses for each in topic.partitions):
            index, place = found.partition_index, f"{self._topic}-{found.partition_index}"
            if found.error_code in _MOVED | _GONE:
                self._client.metadata([self._topic])
                session.partitions.discard(index)
                continue
            check(found.error_code, place, found.error_message)
            counts = {
                offset: each.delivery_count
                for each in found.acquired_records
                for offset in range(each.first_offset, each.last_offset + 1)
            }
            data = bytes(found.records or b"")
            for at, header in headers_in(data):
                if header.is_control:
                    continue
                for record in records_in(data, at, header):
                    if record.offset in counts:
                        yield SharedRecord(index, *record, counts.pop(record.offset))
            gaps = dict.fromkeys(((index, offset) for offset in counts), Acknowledge.GAP)
            session.acknowledged |= gaps

    def _end(self, leader: int, session: _Session) -> None:
        """End a session with its last acknowledgements."""
        body = self._request(_CLOSE, _batches(session.acknowledged))
        answer = self._client.ask(ApiKey.SHARE_ACKNOWLEDGE, body, node_id=leader)
        check(answer.error_code, self._group_id, answer.error_message)

    def _request(self, epoch: int, batches: dict[int, list[dict[str, Any]]]) -> dict[str, Any]:
        partitions = [
            {"partition_index": index, "acknowledgement_batches": batches[index]}
            for index in sorted(batches)
        ]
        topics = [{"topic_id": self._topic_id, "partitions": partitions}] if partitions else []
        return {
            "group_id": self._group_id,
            "member_id": self.member_id,
            "share_session_epoch": epoch,
            "topics": topics,
        }


def _batches(acknowledged: dict[tuple[int, int], Acknowledge]) -> dict[int, list[dict[str, Any]]]:
    """The acknowledgements by partition: a batch for each run of offsets of one type."""
    found: dict[int, list[dict[str, Any]]] = {}
    numbered = enumerate(sorted(acknowledged.items()))

    def run(each: tuple[int, tuple[tuple[int, int], Acknowledge]]) -> tuple[int, int, Acknowledge]:
        number, ((partition, offset), how) = each
        return partition, offset - number, how

    for (partition, _, how), members in groupby(numbered, key=run):
        offsets = [offset for _, ((_, offset), _) in members]
        batch = {
            "first_offset": offsets[0],
            "last_offset": offsets[-1],
            "acknowledge_types": [int(how)],
        }
        found.setdefault(partition, []).append(batch)
    return found
