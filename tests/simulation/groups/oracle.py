"""A second record of offsets and assignments beside the coordinator, compared at each step.

It gets the records of the log, the partitions of members and the acknowledged commits. It does not
depend on the rules of rebalances.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ottla.coordinator.consumer.group import ConsumerGroup
from ottla.coordinator.consumer.records import (
    ConsumerRemoved,
    CurrentMember,
    GroupEpoch,
    Kind,
    MemberSubscription,
)
from ottla.coordinator.group_records import (
    GroupRemoved,
    GroupStored,
    OffsetCommitted,
    OffsetRemoved,
)
from ottla.coordinator.groups import Groups
from ottla.coordinator.outcome import Producer
from tests.coordinator.consumer.conversation import FakeTopics

from .log import Ended
from .states import consumer_groups

if TYPE_CHECKING:
    from .coordinator import Coordinator

Position = tuple[str, str, int]
"""A group, a topic and a partition."""


class Held(NamedTuple):
    """A partition that a member uses."""

    topic: str
    topic_id: uuid.UUID
    partition: int


class Holder(Protocol):
    """The members' attributes that this module uses."""

    group_id: str
    member_id: str
    instance: str | None
    generation: int
    owned: frozenset[Held]
    is_classic: bool
    is_stable: bool

    @property
    def topics_now(self) -> frozenset[str]: ...


class Promise(NamedTuple):
    """An offset to commit, and the number of removals of its key before."""

    position: Position
    offset: int
    removals: int


class _Placed(NamedTuple):
    place: int
    record: OffsetCommitted


class Oracle:
    """Compares the coordinator with the answers that its clients got.

    Attributes:
        holders: the live processes of all members.
        ticks: the present decision is one of a timer.
    """

    def __init__(self, topics: FakeTopics, retention_ms: int) -> None:
        self._topics = topics
        self.holders: list[Holder] = []
        self._acknowledged: dict[Position, int] = {}
        self._removals: Counter[Position] = Counter()
        self.ticks = False
        self._retention_ms = retention_ms
        self._place = 0
        self._committed: dict[Position, _Placed] = {}
        self._pending: dict[Producer, dict[Position, _Placed]] = {}
        self._generations: dict[str, int] = {}
        self._births: dict[str, int] = {}
        self._members: dict[str, set[str]] = {}
        self._epochs: dict[tuple[str, str], int] = {}
        self._claims: dict[tuple[str, int, int], dict[Held, str]] = {}

    # Records of the log

    def logged(
        self, coordinator: Coordinator, records: Sequence[Any], producer: Producer | None
    ) -> None:
        """Check records after append and replay. Raises AssertionError."""
        machine = coordinator.machine
        assert machine is not None
        touched: dict[str, int] = {}
        empty = {group_id for group_id, ids in self._members.items() if not ids}
        # Also a group whose last member has left, which the log does not contain yet.
        current = Counter(each.group_id for each in records if isinstance(each, CurrentMember))
        removed = {each.group_id for each in records if isinstance(each, GroupRemoved)}
        empty |= {group_id for group_id in removed if current[group_id] == 1}
        for record in records:
            match record:
                case Ended():
                    assert producer is not None
                    self._end(producer, commit=record.commit)
                case OffsetCommitted():
                    self._commit(record, producer)
                case OffsetRemoved():
                    self._remove(record, machine, coordinator.now.wall_ms)
                case _:
                    touched.setdefault(record.group_id, -1)
                    self._group(record, was_empty=record.group_id in empty)
                    if isinstance(record, GroupStored):
                        touched[record.group_id] = record.generation_id
                    elif isinstance(record, GroupEpoch):
                        touched[record.group_id] = record.epoch
        for group_id, generation in touched.items():
            if generation != -1:  # a record removed in the same batch never existed
                self._grow(group_id, generation)
            self.check_owners(machine, group_id)

    def _commit(self, record: OffsetCommitted, producer: Producer | None) -> None:
        self._place += 1
        position = (record.group_id, record.topic, record.partition)
        placed = _Placed(self._place, record)
        if producer is None:
            self._put(position, placed)
        else:
            self._pending.setdefault(producer, {})[position] = placed

    def _end(self, producer: Producer, *, commit: bool) -> None:
        for position, placed in self._pending.pop(producer, {}).items():
            held = self._committed.get(position)
            if commit and (held is None or held.place < placed.place):
                self._put(position, placed)

    def _put(self, position: Position, placed: _Placed) -> None:
        before = self._committed.get(position)
        offset = placed.record.offset
        assert before is None or before.record.offset <= offset, (
            f"{position}: offset {before.record.offset} was overwritten by {offset}, of a member"
            " who has lost the partition"
        )
        self._committed[position] = placed

    def _remove(self, record: OffsetRemoved, machine: Groups, now_ms: int) -> None:
        position = (record.group_id, record.topic, record.partition)
        held = self._committed.pop(position, None)
        if self.ticks and held is not None:
            age_ms = now_ms - self._begin_of_retention(machine, held.record)
            assert age_ms >= self._retention_ms, f"{position} expires after {age_ms} ms"
            assert not any(position in pending for pending in self._pending.values()), (
                f"{position} expires while a transaction has another offset for it"
            )
            readers = self._readers(machine, record.group_id, record.topic)
            assert not readers, f"{position} expires while {readers} read it"
        for pending in self._pending.values():
            pending.pop(position, None)
        assert position[1:] not in machine._offsets.partitions_with_offsets(position[0]), (
            f"{position}: an offset remains after its tombstone"
        )
        self._acknowledged.pop(position, None)
        self._removals[position] += 1

    def _begin_of_retention(self, machine: Groups, record: OffsetCommitted) -> int:
        """A wall clock that steps back may empty a classic group before its last commit.

        The retention of an empty classic group begins when its last member leaves
        (ClassicGroup.offsetExpirationCondition)."""
        group = machine.kinds.classic.get(record.group_id)
        emptied_ms = -1 if group is None or group.members else group.state_timestamp_ms
        stored_ms = record.commit_timestamp_ms
        return stored_ms if emptied_ms == -1 else min(stored_ms, emptied_ms)

    def topic_deleted(self, topic: str) -> None:
        """The offsets of a topic are invalid from now on, even before their removal."""
        positions = [
            *self._committed,
            *(each for pending in self._pending.values() for each in pending),
        ]
        for position in positions:
            if position[1] == topic:
                self._committed.pop(position, None)
                self._acknowledged.pop(position, None)
                self._removals[position] += 1
        for pending in self._pending.values():
            for position in [each for each in pending if each[1] == topic]:
                del pending[position]

    def _readers(self, machine: Groups, group_id: str, topic: str) -> list[str]:
        group: Any = self._group_in(machine, group_id)
        return [
            holder.member_id
            for holder in self.holders
            if holder.group_id == group_id
            and holder.is_stable
            and group is not None
            and holder.member_id in group.members
            and topic in {held.topic for held in holder.owned}
        ]

    def _group_in(self, machine: Groups, group_id: str) -> Any:
        return consumer_groups(machine).get(group_id) or machine.kinds.classic.get(group_id)

    def _group(self, record: Any, *, was_empty: bool) -> None:
        """Generations and epochs only grow while the group or member exists."""
        group_id = record.group_id
        members = self._members.setdefault(group_id, set())
        match record:
            case GroupStored():
                members.clear()
                members.update(each.member_id for each in record.members)
            case MemberSubscription():
                members.add(record.member.member_id)
            case CurrentMember() if record.member_epoch > 0:
                key = (group_id, record.member_id)
                before = self._epochs.get(key, 0)
                assert record.member_epoch >= before, f"{record} after epoch {before}"
                self._epochs[key] = record.member_epoch
            case ConsumerRemoved(kind=Kind.CURRENT_MEMBER):
                self._epochs.pop((group_id, record.name), None)
            case ConsumerRemoved(kind=Kind.MEMBER):
                members.discard(record.name)
            case GroupRemoved() | ConsumerRemoved(kind=Kind.GROUP):
                members.clear()
                if was_empty:  # else the group changes its kind
                    self._generations.pop(group_id, None)
                    self._births[group_id] = self._births.get(group_id, 0) + 1

    def _grow(self, group_id: str, generation: int) -> None:
        before = self._generations.get(group_id, 0)
        assert generation >= before, f"{group_id} goes from generation {before} to {generation}"
        self._generations[group_id] = generation

    # Assignments of members

    def adopted(self, holder: Holder, machine: Groups | None) -> None:
        """Check the partitions that a member begins to use. Raises AssertionError."""
        group: Any = machine and self._group_in(machine, holder.group_id)
        if machine is None or group is None or holder.member_id not in group.members:
            return  # a member that was paused and does not know yet
        birth = self._births.get(holder.group_id, 0)
        claims = self._claims.setdefault((holder.group_id, birth, holder.generation), {})
        name = holder.instance or holder.member_id
        for held in holder.owned:
            other = claims.setdefault(held, name)
            assert other == name, (
                f"{held} belongs to {other} and {name} in generation {holder.generation}"
            )
        self.check_owners(machine, holder.group_id)

    def check_owners(self, machine: Groups, group_id: str) -> None:
        """No partition of a consumer group has two owners, in the coordinator or the members."""
        group = consumer_groups(machine).get(group_id)
        if group is None:
            return
        owners: dict[tuple[uuid.UUID, int], str] = {}
        for member in group.members.values():
            for owned in (member.assigned, member.pending_revocation):
                for topic_id, indexes in owned.items():
                    for index in indexes:
                        other = owners.setdefault((topic_id, index), member.member_id)
                        assert other == member.member_id, (
                            f"{other} and {member.member_id} both have {(topic_id, index)}"
                        )
        for holder in self.holders:
            if holder.group_id == group_id and _is_of(holder, group):
                for held in holder.owned:
                    topic = self._topics.by_id(held.topic_id)
                    if topic is None or held.partition >= topic.partition_count:
                        continue  # deleted, or created again with fewer partitions: it has no owner
                    owner = owners.get((held.topic_id, held.partition))
                    assert owner == holder.member_id, (
                        f"{holder.member_id} uses {held}, which now belongs to {owner}"
                    )

    # Answers of clients

    def promise(self, position: Position, offset: int) -> Promise:
        """A client sends an OffsetCommit."""
        return Promise(position, offset, self._removals[position])

    def keep(self, promise: Promise) -> None:
        """The commit was acknowledged; a later deletion or expiry may have removed it."""
        position, offset, removals = promise
        if removals == self._removals[position]:
            self._acknowledged[position] = max(self._acknowledged.get(position, -1), offset)

    # The end

    def check_offsets(self, machine: Groups) -> None:
        """Every offset is the last valid one, and no acknowledged one is lost."""
        for (group_id, topic, partition), placed in self._committed.items():
            reply = machine.fetch_offset(group_id, topic, partition, require_stable=False)
            assert reply.offset == placed.record.offset, (
                f"{group_id} gets {reply.offset} for {topic} {partition}, not {placed.record}"
            )
        groups = {group_id for group_id, _, _ in self._committed} | set(self._members)
        there = {
            (group_id, topic, partition)
            for group_id in groups
            for topic, partitions in machine.committed_partitions(group_id).items()
            for partition in partitions
        }
        assert there == self._committed.keys(), f"offsets without a group: {there}"
        for position, offset in self._acknowledged.items():
            found = machine.fetch_offset(*position, require_stable=False).offset
            assert found >= offset, f"{position}: {offset} was acknowledged, but {found} is stored"

    def check_nothing_pending(self, machine: Groups, positions: Collection[Position]) -> None:
        """All transactions have ended."""
        for position in positions:
            reply = machine.fetch_offset(*position, require_stable=True)
            assert reply.error == 0, f"{position} is still pending"

    @property
    def positions(self) -> Collection[Position]:
        """All keys with a committed offset."""
        return self._committed.keys()


def _is_of(holder: Holder, group: ConsumerGroup) -> bool:
    """Whether the member still belongs to the group, according to the log."""
    member = group.members.get(holder.member_id)
    if member is None or not holder.is_stable:
        return False
    return not holder.is_classic or member.member_epoch == holder.generation
