"""Committed offsets of groups, and pending offsets of transactions that have no marker yet.

Follows Kafka's OffsetMetadataManager. Of two commits for a partition the later one in the log
is valid, not the one whose transaction ended later: the marker of a pending commit does not undo a
plain commit made after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, groupby
from operator import itemgetter
from typing import ClassVar, Final, NamedTuple
from uuid import UUID

from ..protocol.batch import Framed
from ..protocol.errors import Code
from .group_records import OffsetCommitted, OffsetRemoved
from .outcome import Producer

Partition = tuple[str, int]
"""A topic's name and a partition of it."""


class OffsetToCommit(NamedTuple):
    """The offset that a client commits for one partition of an existing topic.

    Attributes:
        leader_epoch: of the last consumed record; -1 for unknown.
        topic_id: of the topic: the offset is not valid for another topic of the same name.
    """

    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = None
    topic_id: UUID | None = None


class FetchedOffset(NamedTuple):
    """An offset in the answer to OffsetFetch; -1 for none."""

    offset: int = -1
    leader_epoch: int = -1
    metadata: str = ""
    error: Code = Code.NONE


class DecidedOffsets(NamedTuple):
    """The decision on the offsets of a commit.

    Attributes:
        codes: for each offset.
        records: of the accepted ones.
        framed: the records, if they are encoded already.
    """

    codes: tuple[Code, ...]
    records: tuple[OffsetCommitted, ...]
    framed: Framed | None = None


class _Logged(NamedTuple):
    """A commit with its position in the order of the log."""

    position: int
    record: OffsetCommitted


_Topics = dict[str, dict[int, _Logged]]

_ACCEPTED: Final = Code.NONE
_TOO_LARGE: Final = Code.OFFSET_METADATA_TOO_LARGE
# Functions without Python code, for decisions of thousands of records.
_group_and_topic: Final = itemgetter(0, 1)
_partition_of: Final = itemgetter(2)
_logged_of: Final[Callable[[tuple[int, OffsetCommitted]], _Logged]] = partial(
    tuple.__new__, _Logged
)


class Offsets:
    """The offsets of one partition of `__consumer_offsets`. The caller checks groups.

    Args:
        metadata_max_size: the longest metadata of a commit, in UTF-16 units.
        topic_id_of: the id of a topic, None if there is no such topic. Without this function all
            topics exist.
    """

    VOLATILE: ClassVar = frozenset(
        {"_deleted_topics", "_has_undeleted"}
    )  # rebuilt from the metadata log

    def __init__(
        self,
        *,
        metadata_max_size: int,
        topic_id_of: Callable[[str], UUID | None] | None = None,
    ) -> None:
        self._metadata_max_size = metadata_max_size
        self._topic_id_of = topic_id_of
        # Deleted topics: their offsets at these positions of the log, and before, are invalid.
        self._deleted_topics: dict[str, int] = {}
        self._has_undeleted = False  # an invalid offset could not be removed yet
        self._committed: dict[str, _Topics] = {}
        self._pending: dict[int, dict[str, _Topics]] = {}  # by producer id
        self._producers: dict[str, set[int]] = {}  # with pending offsets, by group
        self._replayed = 0

    # ---- queries

    def committed(self, group_id: str, topic: str, partition: int) -> OffsetCommitted | None:
        """The valid committed offset of a partition; None if there is none."""
        logged = self._committed.get(group_id, {}).get(topic, {}).get(partition)
        return logged.record if logged is not None and self._is_valid(logged) else None

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction holds an offset for the partition (KIP-447)."""
        return any(map(self._is_valid, self._pending_for(group_id, topic, partition)))

    def _pending_for(self, group_id: str, topic: str, partition: int) -> list[_Logged]:
        return [
            logged
            for producer_id in self._producers.get(group_id, ())
            if (logged := self._pending[producer_id][group_id].get(topic, {}).get(partition))
        ]

    def _is_valid(self, logged: _Logged) -> bool:
        """Whether an offset is of the topic that has its name now, not of a deleted one."""
        record = logged.record
        if logged.position <= self._deleted_topics.get(record.topic, 0):
            return False
        if self._topic_id_of is None:
            return True
        topic_id = self._topic_id_of(record.topic)
        return topic_id is not None and record.topic_id in (None, topic_id)

    def has_any(self, group_id: str) -> bool:
        """Whether a group has committed or pending offsets."""
        return group_id in self._committed or group_id in self._producers

    def partitions_with_offsets(self, group_id: str) -> list[Partition]:
        """The partitions with a committed or pending offset, valid or not."""
        held = dict.fromkeys(_partitions(self._committed.get(group_id, {})))
        for producer_id in self._producers.get(group_id, ()):
            held.update(dict.fromkeys(_partitions(self._pending[producer_id][group_id])))
        return list(held)

    def partitions_of(self, group_id: str) -> dict[str, list[int]]:
        """The partitions with a valid committed offset, by topic."""
        found = {}
        for topic, partitions in self._committed.get(group_id, {}).items():
            valid = [index for index, logged in partitions.items() if self._is_valid(logged)]
            if valid:
                found[topic] = valid
        return found

    # ---- decisions

    def commit(
        self,
        group_id: str,
        offsets: Sequence[OffsetToCommit] | DecidedOffsets,
        *,
        retention_ms: int | None,
        now_ms: int,
    ) -> DecidedOffsets:
        """Decide OffsetCommit (8) or TxnOffsetCommit (28).

        Args:
            retention_ms: how long the offsets are kept; None: as the settings say.
            now_ms: the wall time, in ms.

        Returns:
            A code for each offset (NONE, OFFSET_METADATA_TOO_LARGE), and the records of the
            accepted ones.
        """
        if isinstance(offsets, DecidedOffsets):
            return offsets
        expire_ms = None if retention_ms is None else _as_long(now_ms + retention_ms)
        codes, records = [], []
        for offset in offsets:
            record = self._record(group_id, offset, now_ms, expire_ms)
            codes.append(_TOO_LARGE if record is None else _ACCEPTED)
            if record is not None:
                records.append(record)
        return DecidedOffsets(tuple(codes), tuple(records))

    def commit_in_steps(
        self,
        group_id: str,
        offsets: Iterable[OffsetToCommit],
        *,
        retention_ms: int | None,
        now_ms: int,
    ) -> Iterator[tuple[Code, OffsetCommitted | None]]:
        """`commit`, one offset in each step."""
        expire_ms = None if retention_ms is None else _as_long(now_ms + retention_ms)
        for offset in offsets:
            record = self._record(group_id, offset, now_ms, expire_ms)
            yield _TOO_LARGE if record is None else _ACCEPTED, record

    def _record(
        self, group_id: str, offset: OffsetToCommit, now_ms: int, expire_ms: int | None
    ) -> OffsetCommitted | None:
        """The record of an offset; None if its metadata is too large."""
        metadata = offset.metadata or ""
        if metadata and self._is_too_large(metadata):
            return None
        return OffsetCommitted(
            group_id,
            offset.topic,
            offset.partition,
            offset.offset,
            offset.leader_epoch,
            metadata,
            now_ms,
            expire_ms,
            offset.topic_id if expire_ms is None else None,
        )

    def _is_too_large(self, metadata: str) -> bool:
        if len(metadata) * 2 <= self._metadata_max_size:
            return False
        beyond_16_bits = sum(character > "\uffff" for character in metadata)
        return len(metadata) + beyond_16_bits > self._metadata_max_size

    def removal(self, group_id: str, partitions: Sequence[Partition]) -> tuple[OffsetRemoved, ...]:
        """Tombstones for those of the partitions that have an offset, committed or pending."""
        held = self._committed.get(group_id, {})
        has_pending = group_id in self._producers
        return tuple(
            [
                OffsetRemoved(group_id, topic, partition)
                for topic, partition in partitions
                if partition in held.get(topic, ())
                or (has_pending and self._pending_for(group_id, topic, partition))
            ]
        )

    def removal_of_group(self, group_id: str) -> tuple[OffsetRemoved, ...]:
        """Tombstones for all offsets of a group."""
        return tuple(
            OffsetRemoved(group_id, *partition)
            for partition in self.partitions_with_offsets(group_id)
        )

    def removal_of_expired(
        self,
        group_id: str,
        partitions: Iterable[Partition],
        is_expired: Callable[[OffsetCommitted], bool],
    ) -> tuple[OffsetRemoved, ...]:
        """Tombstones for expired offsets and for offsets of deleted topics.

        A tombstone removes every offset of a partition, pending ones too. A partition that has both
        a valid offset and an invalid one therefore gets none yet.
        """
        removed = []
        for topic, partition in partitions:
            logged = self._committed.get(group_id, {}).get(topic, {}).get(partition)
            pending = self._pending_for(group_id, topic, partition)
            valid = sum(map(self._is_valid, pending))
            live = logged if logged is not None and self._is_valid(logged) else None
            is_dead = logged is not live or valid < len(pending)
            if is_dead and (live is not None or valid):
                self._has_undeleted = True
            elif is_dead or (live is not None and not pending and is_expired(live.record)):
                removed.append(OffsetRemoved(group_id, topic, partition))
        return tuple(removed)

    def forget_topic(self, topic: str) -> bool:
        """Make the offsets of a deleted topic invalid; whether there may be any to remove."""
        if not self._committed and not self._pending:
            return False
        self._deleted_topics[topic] = self._replayed
        return True

    def end_cleaning_round(self) -> None:
        """End a round: all offsets were checked, and all that could be removed were removed."""
        if not self._has_undeleted:
            self._deleted_topics.clear()
        self._has_undeleted = False

    # ---- replay

    def replay(self, record: OffsetCommitted | OffsetRemoved) -> None:
        """Apply a record that is in no transaction."""
        if isinstance(record, OffsetCommitted):
            self._replayed += 1
            _put(self._committed, _Logged(self._replayed, record))
            return
        _remove(self._committed, record)
        for producer_id in tuple(self._producers.get(record.group_id, ())):
            _remove(self._pending[producer_id], record)
            self._forget_if_empty(record.group_id, producer_id)

    def replay_pending(self, record: OffsetCommitted, producer: Producer) -> None:
        """Apply an offset that is committed by the commit marker of its transaction."""
        self._replayed += 1
        pending = self._pending.setdefault(producer.producer_id, {})
        _put(pending, _Logged(self._replayed, record))
        self._producers.setdefault(record.group_id, set()).add(producer.producer_id)

    def replay_commits(self, records: Sequence[OffsetCommitted], producer: Producer | None) -> None:
        """`replay` or, with a producer, `replay_pending` of many: a quarter of the time."""
        if producer is None:
            by_group = self._committed
        else:
            by_group = self._pending.setdefault(producer.producer_id, {})
        for (group_id, topic), run in groupby(records, _group_and_topic):
            same = list(run)
            logged = map(_logged_of, zip(count(self._replayed + 1), same, strict=False))
            self._replayed += len(same)
            topics = by_group.setdefault(group_id, {})
            topics.setdefault(topic, {}).update(zip(map(_partition_of, same), logged, strict=True))
            if producer is not None:
                self._producers.setdefault(group_id, set()).add(producer.producer_id)

    def replay_removals(self, records: Sequence[OffsetRemoved]) -> None:
        """`replay` of many."""
        for (group_id, topic), run in groupby(records, _group_and_topic):
            same = list(run)
            held = self._committed.get(group_id, {}).get(topic)
            if held is not None and group_id not in self._producers:
                for partition in map(_partition_of, same[:-1]):
                    held.pop(partition, None)
                same = same[-1:]  # it removes what is empty
            for record in same:
                self.replay(record)

    def replay_marker(self, producer: Producer, *, commit: bool) -> None:
        """Apply a marker: the pending offsets of the producer are committed or dropped."""
        pending = self._pending.pop(producer.producer_id, {})
        for group_id, topics in pending.items():
            self._forget_producer(group_id, producer.producer_id)
            if commit:
                for topic, partitions in topics.items():
                    held = self._committed.setdefault(group_id, {}).setdefault(topic, {})
                    held.update(
                        [
                            (partition, logged)
                            for partition, logged in partitions.items()
                            if partition not in held or held[partition].position < logged.position
                        ]
                    )

    def _forget_if_empty(self, group_id: str, producer_id: int) -> None:
        pending = self._pending[producer_id]
        if group_id not in pending:
            self._forget_producer(group_id, producer_id)
            if not pending:
                del self._pending[producer_id]

    def _forget_producer(self, group_id: str, producer_id: int) -> None:
        producers = self._producers[group_id]
        producers.discard(producer_id)
        if not producers:
            del self._producers[group_id]


def _partitions(topics: Mapping[str, Mapping[int, _Logged]]) -> Iterator[Partition]:
    return ((topic, partition) for topic, partitions in topics.items() for partition in partitions)


def _put(by_group: dict[str, _Topics], logged: _Logged) -> None:
    record = logged.record
    by_group.setdefault(record.group_id, {}).setdefault(record.topic, {})[record.partition] = logged


def _remove(by_group: dict[str, _Topics], record: OffsetRemoved) -> None:
    topics = by_group.get(record.group_id, {})
    partitions = topics.get(record.topic, {})
    partitions.pop(record.partition, None)
    if record.topic in topics and not partitions:
        del topics[record.topic]
        if not topics:
            del by_group[record.group_id]


def _as_long(number: int) -> int:
    """A number as a signed 64-bit integer, which overflows as in Java."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
