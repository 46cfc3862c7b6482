"""The group coordinator of one partition of `__consumer_offsets`: its groups and their offsets.

A shard drives this machine. Each group is of one kind (`group_kinds.py`): a request goes to the
group's kind through the interface `GroupKind`. Offsets are the same for all kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Set
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeVar, cast
from uuid import UUID

from ..protocol.errors import Code, Refused
from .classic.group import DescribedGroup
from .classic.groups import ClassicGroups
from .classic.requests import (
    GroupSettings,
    JoinReply,
    JoinRequest,
    LeavingMember,
    SyncReply,
    SyncRequest,
)
from .group_kind import ClaimedMember, GroupKind, ListedGroup, PartitionCheck
from .group_kinds import GROUP_KINDS
from .group_records import GroupRecord, GroupRemoved, GroupStored, OffsetCommitted, OffsetRemoved
from .moment import Moment
from .offset_cleaning import OffsetCleaning
from .offsets import DecidedOffsets, FetchedOffset, Offsets, OffsetToCommit, Partition
from .outcome import Outcome, Parked, Producer

__all__ = ["ClaimedMember", "DescribedGroup", "FetchedOffset", "Groups", "ListedGroup"]

K = TypeVar("K", bound=GroupKind)
Setups = Mapping[str, Callable[[], object]]
"""By the kind's name: returns the argument `setup` of `make_kind`, at the first group."""
_group_of: Final = itemgetter(0)


class LoadedKinds:
    """The kinds that one partition of `__consumer_offsets` uses, and the kind of each group.

    Classic groups are always in use: a group that has only offsets is an empty classic group. The
    other kinds are imported with their first group.

    Attributes:
        classic: the classic groups.
        all: every kind in use, in the order of `GROUP_KINDS`.
    """

    def __init__(self, settings: GroupSettings, setups: Setups) -> None:
        self._setups = setups
        self._settings = settings
        self.classic = ClassicGroups(settings)
        self.all: tuple[GroupKind, ...] = (self.classic,)
        self._others: tuple[GroupKind, ...] = ()
        self._by_name: dict[str, GroupKind] = {self.classic.name: self.classic}

    def of(self, group_id: str) -> GroupKind:
        """The kind of a group; the classic one for an unknown group."""
        for kind in self._others:
            if group_id in kind.groups:
                return kind
        return self.classic

    def named(self, group_id: str) -> GroupKind:
        """`of`, for a request that has to name a group.

        Raises:
            Refused: INVALID_GROUP_ID: the id is empty.
        """
        if not group_id:
            raise Refused(Code.INVALID_GROUP_ID)
        return self.of(group_id)

    def find(self, group_id: str) -> GroupKind | None:
        """The kind of a group; None for an unknown group."""
        kind = self.of(group_id)
        return kind if group_id in kind.groups else None

    def get(self, kind_class: type[K]) -> K:
        """The kind with this class; imported and made if it is not in use yet."""
        kind = self._by_name.get(kind_class.name) or self.load(kind_class.name)
        assert isinstance(kind, kind_class)
        return kind

    def load(self, name: str) -> GroupKind:
        """The kind with this name in `GROUP_KINDS`; imported and made if it is not in use yet."""
        known = self._by_name.get(name)
        if known is not None:
            return known
        module = import_module(f".{GROUP_KINDS[name].module}", __package__)
        setup = self._setups.get(name)
        loaded: GroupKind = module.make_kind(
            self._settings, self.classic, None if setup is None else setup()
        )
        self._by_name[name] = loaded
        self._others = tuple(
            self._by_name[each]
            for each in GROUP_KINDS
            if each in self._by_name and each != self.classic.name
        )
        self.all = (self.classic, *self._others)
        return loaded


class Groups:
    """Groups with their offsets. Requests and `tick` decide; the `replay` methods apply records."""

    def __init__(
        self,
        settings: GroupSettings,
        setups: Setups | None = None,
        *,
        topic_id_of: Callable[[str], UUID | None] | None = None,
    ) -> None:
        """Args:
        settings: the broker's limits for groups.
        setups: for each kind's name a function that returns what the kind needs of its broker
            (for "consumer" a `ConsumerSetup`); called with the first group of the kind.
        topic_id_of: the id of a topic, None if there is no such topic. Without this function all
            topics that offsets are committed for exist.
        """
        self._settings = settings
        self.kinds = LoadedKinds(settings, setups or {})
        self._offsets = Offsets(
            metadata_max_size=settings.offset_metadata_max_size, topic_id_of=topic_id_of
        )
        self._cleaning = OffsetCleaning(self._offsets, settings, self.kinds)

    def kind(self, kind_class: type[K]) -> K:
        """One kind of group, for requests that only this kind has; imported at its first use."""
        return self.kinds.get(kind_class)

    def kind_for(self, kind_class: type[K], group_id: str) -> K:
        """One kind of group, for a request that only this kind has, to a group.

        A classic group is left to the kind, which may take it over.

        Raises:
            Refused: GROUP_ID_NOT_FOUND: the group is of another kind.
        """
        for kind in self.kinds.all:
            if group_id in kind.groups and isinstance(kind, kind_class):
                return kind
        if self.kinds.of(group_id) is not self.kinds.classic:
            why = f"Group {group_id} is not a {kind_class.name} group."
            raise Refused(Code.GROUP_ID_NOT_FOUND, why)
        return self.kinds.get(kind_class)

    # ---- requests of the classic protocol

    def join(
        self, request: JoinRequest, *, ticket: int, now: Moment
    ) -> Outcome[JoinReply | Parked]:
        """JoinGroup (11); see `ClassicGroups.join` and `ClassicMembers.join`."""
        return self.kinds.named(request.group_id).join(request, ticket=ticket, now=now)

    def sync(
        self, request: SyncRequest, *, ticket: int, now: Moment
    ) -> Outcome[SyncReply | Parked]:
        """SyncGroup (14); see `ClassicGroups.sync` and `ClassicMembers.sync`."""
        return self.kinds.named(request.group_id).sync(request, ticket=ticket, now=now)

    def heartbeat(self, group_id: str, member: ClaimedMember, *, now: Moment) -> Outcome[Code]:
        """Heartbeat (12); see `ClassicGroups.heartbeat` and `ClassicMembers.heartbeat`."""
        return self.kinds.named(group_id).heartbeat(group_id, member, now=now)

    def leave(
        self, group_id: str, leaving: Iterable[LeavingMember], *, now: Moment
    ) -> Outcome[tuple[Code, ...]]:
        """LeaveGroup (13); see `ClassicGroups.leave` and `ClassicMembers.leave`."""
        return self.kinds.named(group_id).leave(group_id, leaving, now=now)

    # ---- offsets

    def commit(
        self,
        group_id: str,
        committer: ClaimedMember,
        offsets: Sequence[OffsetToCommit] | DecidedOffsets,
        *,
        retention_ms: int | None = None,
        now: Moment,
    ) -> Outcome[tuple[Code, ...]]:
        """OffsetCommit (8): a code for each offset.

        Args:
            group_id: may be empty, for a consumer without a group.
            committer: the member that the request names as its sender.
            offsets: of partitions that exist; or what `commit_in_steps` decided on them.
            retention_ms: how long they are kept, if the request has that field (versions 2-4).
            now: the time on both clocks.

        Returns:
            For each offset NONE or OFFSET_METADATA_TOO_LARGE, in order.

        Raises:
            Refused: GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
                REBALANCE_IN_PROGRESS; STALE_MEMBER_EPOCH and UNSUPPORTED_VERSION for members of
                consumer groups.
        """
        kind = self.kinds.of(group_id)
        check = kind.check_commit(group_id, committer, transactional=False)
        if check is not None:
            _check_each(check, offsets)
        kind.committed(group_id, committer.member_id, now=now)
        decided = self._offsets.commit(
            group_id, offsets, retention_ms=retention_ms, now_ms=now.wall_ms
        )
        return Outcome(decided.codes, decided.records, framed=decided.framed)

    def commit_in_steps(
        self,
        group_id: str,
        offsets: Iterable[OffsetToCommit],
        *,
        retention_ms: int | None = None,
        now_ms: int,
    ) -> Iterator[tuple[Code, OffsetCommitted | None]]:
        """Decide the offsets of a large commit one by one, before it is made as a whole.

        The results do not depend on the state, except for the limit of metadata.
        """
        return self._offsets.commit_in_steps(
            group_id, offsets, retention_ms=retention_ms, now_ms=now_ms
        )

    def commit_in_transaction(
        self,
        group_id: str,
        committer: ClaimedMember,
        producer: Producer,
        offsets: Sequence[OffsetToCommit] | DecidedOffsets,
        *,
        now: Moment,
    ) -> Outcome[tuple[Code, ...]]:
        """TxnOffsetCommit (28): pending until the producer's transaction ends.

        The caller has checked that the transaction is open.

        Raises:
            Refused: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION;
                GROUP_ID_NOT_FOUND for a generation of an unknown group, STALE_MEMBER_EPOCH.
        """
        check = self.kinds.named(group_id).check_commit(group_id, committer, transactional=True)
        if check is not None:
            _check_each(check, offsets)
        decided = self._offsets.commit(group_id, offsets, retention_ms=None, now_ms=now.wall_ms)
        return Outcome(decided.codes, decided.records, producer=producer, framed=decided.framed)

    def fetch_offset(
        self, group_id: str, topic: str, partition: int, *, require_stable: bool
    ) -> FetchedOffset:
        """The committed offset, for OffsetFetch (9).

        Args:
            require_stable: answer UNSTABLE_OFFSET_COMMIT while an open transaction has a pending
                offset of the partition (KIP-447).
        """
        if require_stable and self._offsets.is_pending(group_id, topic, partition):
            return FetchedOffset(error=Code.UNSTABLE_OFFSET_COMMIT)
        held = self._offsets.committed(group_id, topic, partition)
        if held is None:
            return FetchedOffset()
        return FetchedOffset(held.offset, held.leader_epoch, held.metadata)

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        """Check that OffsetFetch (9) may read the group's offsets; see `GroupKind.check_fetch`.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, ILLEGAL_GENERATION.
        """
        self.kinds.of(group_id).check_fetch(group_id, member_id, member_epoch)

    def committed_partitions(self, group_id: str) -> Mapping[str, Sequence[int]]:
        """The partitions, by topic, for which the group has committed offsets."""
        return self._offsets.partitions_of(group_id)

    def delete_offsets(
        self, group_id: str, partitions: Sequence[Partition]
    ) -> Outcome[tuple[Code, ...]]:
        """OffsetDelete (47): a code for each partition; GROUP_SUBSCRIBED_TO_TOPIC is one.

        Raises:
            Refused: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP (its members are no
                consumers, so the coordinator does not know their topics).
        """
        is_subscribed_to = self.kinds.named(group_id).subscriptions(group_id)
        codes, free = [], []
        for partition in partitions:
            if is_subscribed_to(partition[0]):
                codes.append(Code.GROUP_SUBSCRIBED_TO_TOPIC)
            else:
                codes.append(Code.NONE)
                free.append(partition)
        return Outcome(tuple(codes), self._offsets.removal(group_id, free))

    def forget_topic(self, topic: str) -> Outcome[None]:
        """Note a deleted topic: its offsets are invalid from now on, and `tick` removes them.

        They are not valid for a new topic of the same name either, however long the removal takes.
        """
        if self._offsets.forget_topic(topic):
            self._cleaning.begin()
        records = (record for kind in self.kinds.all for record in kind.removal_of_topic(topic))
        return Outcome(None, tuple(records), is_atomic=False)

    # ---- groups

    def list_groups(
        self, *, states: Set[str] = frozenset(), types: Set[str] = frozenset()
    ) -> list[ListedGroup]:
        """ListGroups (16): all, or those in one of the states and of one of the types.

        Args:
            states, types: in lower case; a name that does not exist matches nothing. The caller
                makes the sets, once for all coordinators: a request may have 200,000 names.
        """
        wanted_types = types or GROUP_KINDS.keys()
        return [
            group
            for kind in self.kinds.all
            if kind.name in wanted_types
            for group in kind.listed()
            if not states or group.filter_name in states
        ]

    def kind_name_of(self, group_id: str) -> str | None:
        """The name of a group's kind in `GROUP_KINDS`; None for an unknown group."""
        kind = self.kinds.find(group_id)
        return None if kind is None else kind.name

    def of_kind(self, name: str, group_ids: Iterable[str]) -> list[str]:
        """Those of some groups that are of the kind with this name in `GROUP_KINDS`."""
        return [group_id for group_id in group_ids if self.kind_name_of(group_id) == name]

    def describe(self, group_id: str) -> DescribedGroup | None:
        """DescribeGroups (15); None when there is no such classic group."""
        group = self.kinds.classic.get(group_id)
        return None if group is None else group.described()

    def delete(self, group_ids: Iterable[str]) -> Outcome[dict[str, Code]]:
        """DeleteGroups (42): empty groups and their offsets, as far as they can be deleted.

        The reply has a code for each: NONE, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """
        codes: dict[str, Code] = {}
        records: list[GroupRecord] = []
        for group_id in group_ids:
            codes[group_id] = Code.NONE
            try:
                removal = self.kinds.of(group_id).removal(group_id)
                records += (*self._offsets.removal_of_group(group_id), *removal)
            except Refused as refused:
                codes[group_id] = refused.code
        return Outcome(codes, tuple(records))

    # ---- replay

    def replay(self, record: GroupRecord) -> None:
        """Apply a record. Nothing else changes durable state."""
        match record:
            case OffsetCommitted():
                self._has_offsets(record.group_id)
                self._offsets.replay(record)
            case OffsetRemoved():
                self._offsets.replay(record)
            case GroupStored() | GroupRemoved():
                self.kinds.classic.replay(record)
            case _:
                kind = self.kinds.load(record.kind_name)
                if not record.is_tombstone:
                    for other in self.kinds.all:
                        if other is not kind:
                            other.forget(record.group_id)
                kind.replay(record)

    def replay_many(self, records: Sequence[GroupRecord], producer: Producer | None) -> None:
        """Apply the records of one decision; with a producer they are pending."""
        for kind, run in groupby(records, type):
            if kind is OffsetCommitted:
                committed = cast("list[OffsetCommitted]", list(run))  # `type` decides
                for group_id in dict.fromkeys(map(_group_of, committed)):
                    self._has_offsets(group_id)
                self._offsets.replay_commits(committed, producer)
            elif kind is OffsetRemoved:
                removed = cast("list[OffsetRemoved]", list(run))
                self._offsets.replay_removals(removed)
            else:
                for record in run:
                    self.replay(record)

    def _has_offsets(self, group_id: str) -> None:
        if not any(group_id in kind.groups for kind in self.kinds.all):
            self.kinds.classic.replay_offset(group_id)

    def replay_pending(self, record: GroupRecord, producer: Producer) -> None:
        """A record of a transactional batch: nothing but offsets is committed in transactions."""
        assert isinstance(record, OffsetCommitted), record
        self._has_offsets(record.group_id)
        self._offsets.replay_pending(record, producer)

    def replay_marker(self, producer: Producer, *, commit: bool) -> None:
        """A control record: the producer's transaction has ended."""
        self._offsets.replay_marker(producer, commit=commit)

    # ---- time

    def next_deadline(self, now: Moment) -> int | None:
        """When `tick` is next due, by the monotonic time in ms; 0 for now, None without groups.

        It does not depend on `now`: deadlines in wall time are checked at intervals.
        """
        due_ms = None
        for kind in self.kinds.all:
            if not kind.groups:
                continue  # nor has it deadlines
            if due_ms is None:
                due_ms = self._cleaning.due_ms
            deadline_ms = 0 if kind.loaded else kind.deadlines.next()
            if deadline_ms is not None and deadline_ms < due_ms:
                due_ms = deadline_ms
        return due_ms

    def look_for_expired(self) -> Outcome[None]:
        """Remove expired offsets now, and not when the interval has passed."""
        self._cleaning.hasten()
        return Outcome(None)

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        """Expire timers, and at intervals remove expired offsets and groups.

        One decision for each that is due, see `Machine.tick`.
        """
        for kind in self.kinds.all:
            yield from kind.tick(now)
        yield from self._cleaning.tick(now)


def _check_each(check: PartitionCheck, offsets: Sequence[OffsetToCommit] | DecidedOffsets) -> None:
    """Check the partitions of a commit whose sender may commit some of them only."""
    each = offsets.records if isinstance(offsets, DecidedOffsets) else offsets
    for offset in each:
        check(offset.topic, offset.topic_id, offset.partition)
