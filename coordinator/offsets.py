"""Committed offsets of groups, and pending offsets of transactions that have no marker yet.

Follows Kafka's OffsetMetadataManager. Of two commits for a partition the later one in the log
counts, not the one whose transaction ended later: the marker of a pending commit does not undo a
plain commit made after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple
from uuid import UUID

from ..protocol.errors import Code
from .group_records import OffsetCommitted, OffsetRemoved
from .outcome import Producer

Partition = tuple[str, int]
"""A topic's name and a partition of it."""


class OffsetToCommit(NamedTuple):
    """What a client wants to be committed for one partition of a topic that exists.

    Attributes:
        topic_id: of that topic: the offset counts for no other one of the same name.
    """

    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = None
    topic_id: UUID | None = None


class _Logged(NamedTuple):
    """A commit with its position in the order of the log."""

    position: int
    record: OffsetCommitted


_Topics = dict[str, dict[int, _Logged]]


class Offsets:
    """The offsets of one partition of `__consumer_offsets`. The caller checks groups.

    Args:
        topic_id_of: the id of a topic, None when there is no such topic. Without this function all
            topics exist.
    """

    VOLATILE: ClassVar = frozenset({"_forgotten", "_is_some_in_use"})  # the metadata log has them

    def __init__(
        self,
        *,
        metadata_max_size: int,
        topic_id_of: Callable[[str], UUID | None] | None = None,
    ) -> None:
        self._metadata_max_size = metadata_max_size
        self._topic_id_of = topic_id_of
        # Deleted topics: offsets at these positions of the log and before them no longer count.
        self._forgotten: dict[str, int] = {}
        self._is_some_in_use = False  # an offset that counts no more could not be removed yet
        self._committed: dict[str, _Topics] = {}
        self._pending: dict[int, dict[str, _Topics]] = {}  # by producer id
        self._producers: dict[str, set[int]] = {}  # which have pending offsets of a group
        self._replayed = 0

    # ---- questions

    def committed(self, group_id: str, topic: str, partition: int) -> OffsetCommitted | None:
        """The offset that counts now."""
        placed = self._committed.get(group_id, {}).get(topic, {}).get(partition)
        return placed.record if placed is not None and self._counts(placed) else None

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction holds an offset for the partition (KIP-447)."""
        return any(map(self._counts, self._pending_for(group_id, topic, partition)))

    def _pending_for(self, group_id: str, topic: str, partition: int) -> list[_Logged]:
        return [
            placed
            for producer_id in self._producers.get(group_id, ())
            if (placed := self._pending[producer_id][group_id].get(topic, {}).get(partition))
        ]

    def _counts(self, placed: _Logged) -> bool:
        """Whether an offset is of the topic that has its name now, not of one deleted before."""
        record = placed.record
        if placed.position <= self._forgotten.get(record.topic, 0):
            return False
        if self._topic_id_of is None:
            return True
        topic_id = self._topic_id_of(record.topic)
        return topic_id is not None and record.topic_id in (None, topic_id)

    def has_any(self, group_id: str) -> bool:
        """Whether a group has offsets, or a transaction that may bring some."""
        return group_id in self._committed or group_id in self._producers

    def held_partitions(self, group_id: str) -> list[Partition]:
        """The partitions with a committed or pending offset, whether it counts or not."""
        held = dict.fromkeys(_partitions(self._committed.get(group_id, {})))
        for producer_id in self._producers.get(group_id, ()):
            held.update(dict.fromkeys(_partitions(self._pending[producer_id][group_id])))
        return list(held)

    def partitions_of(self, group_id: str) -> dict[str, list[int]]:
        """The partitions with a committed offset, by topic."""
        found = {}
        for topic, partitions in self._committed.get(group_id, {}).items():
            counting = [index for index, placed in partitions.items() if self._counts(placed)]
            if counting:
                found[topic] = counting
        return found

    # ---- decisions

    def commit(
        self,
        group_id: str,
        offsets: Sequence[OffsetToCommit],
        *,
        retention_ms: int | None,
        now_ms: int,
    ) -> tuple[tuple[Code, ...], tuple[OffsetCommitted, ...]]:
        """A code for each offset, and the records of those that are taken."""
        expire_ms = None if retention_ms is None else _as_long(now_ms + retention_ms)
        codes, records = [], []
        for offset in offsets:
            metadata = offset.metadata or ""
            if self._is_too_large(metadata):
                codes.append(Code.OFFSET_METADATA_TOO_LARGE)
                continue
            codes.append(Code.NONE)
            records.append(
                OffsetCommitted(
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
            )
        return tuple(codes), tuple(records)

    def _is_too_large(self, metadata: str) -> bool:
        if len(metadata) * 2 <= self._metadata_max_size:
            return False
        beyond_16_bits = sum(character > "\uffff" for character in metadata)
        return len(metadata) + beyond_16_bits > self._metadata_max_size

    def removal(self, group_id: str, partitions: Sequence[Partition]) -> tuple[OffsetRemoved, ...]:
        """Tombstones for those of the partitions that have an offset, committed or pending."""
        return tuple(
            OffsetRemoved(group_id, topic, partition)
            for topic, partition in partitions
            if partition in self._committed.get(group_id, {}).get(topic, ())
            or self._pending_for(group_id, topic, partition)
        )

    def removal_of_group(self, group_id: str) -> tuple[OffsetRemoved, ...]:
        """Tombstones for all offsets of a group."""
        return tuple(
            OffsetRemoved(group_id, *partition) for partition in self.held_partitions(group_id)
        )

    def removal_of_gone(
        self,
        group_id: str,
        partitions: Iterable[Partition],
        is_expired: Callable[[OffsetCommitted], bool],
    ) -> tuple[OffsetRemoved, ...]:
        """Tombstones for expired offsets and for offsets of deleted topics.

        A tombstone removes every offset of a partition, pending ones too. A partition that has both
        an offset that counts and one that does not therefore gets none yet.
        """
        removed = []
        for topic, partition in partitions:
            placed = self._committed.get(group_id, {}).get(topic, {}).get(partition)
            pending = self._pending_for(group_id, topic, partition)
            counting = sum(map(self._counts, pending))
            live = placed if placed is not None and self._counts(placed) else None
            is_dead = placed is not live or counting < len(pending)
            if is_dead and (live is not None or counting):
                self._is_some_in_use = True
            elif is_dead or (live is not None and not pending and is_expired(live.record)):
                removed.append(OffsetRemoved(group_id, topic, partition))
        return tuple(removed)

    def forget_topic(self, topic: str) -> bool:
        """A topic was deleted: its offsets count no more; whether there may be any to remove."""
        if not self._committed and not self._pending:
            return False
        self._forgotten[topic] = self._replayed
        return True

    def end_forgetting(self) -> None:
        """End a round: all offsets were checked, and all that could be removed were removed."""
        if not self._is_some_in_use:
            self._forgotten.clear()
        self._is_some_in_use = False

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
        """An offset that counts from the commit marker of its transaction on."""
        self._replayed += 1
        pending = self._pending.setdefault(producer.producer_id, {})
        _put(pending, _Logged(self._replayed, record))
        self._producers.setdefault(record.group_id, set()).add(producer.producer_id)

    def replay_marker(self, producer: Producer, *, commit: bool) -> None:
        """Apply a marker: the pending offsets of the producer count now, or are dropped."""
        pending = self._pending.pop(producer.producer_id, {})
        for group_id, topics in pending.items():
            self._forget_producer(group_id, producer.producer_id)
            if commit:
                for topic, partitions in topics.items():
                    for partition, placed in partitions.items():
                        held = self._committed.get(group_id, {}).get(topic, {}).get(partition)
                        if held is None or held.position < placed.position:
                            _put(self._committed, placed)

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


def _put(by_group: dict[str, _Topics], placed: _Logged) -> None:
    record = placed.record
    by_group.setdefault(record.group_id, {}).setdefault(record.topic, {})[record.partition] = placed


def _remove(by_group: dict[str, _Topics], record: OffsetRemoved) -> None:
    topics = by_group.get(record.group_id, {})
    partitions = topics.get(record.topic, {})
    partitions.pop(record.partition, None)
    if record.topic in topics and not partitions:
        del topics[record.topic]
        if not topics:
            del by_group[record.group_id]


def _as_long(number: int) -> int:
    """What 64 bits make of a number too large for them: there is room for no other in a record."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
