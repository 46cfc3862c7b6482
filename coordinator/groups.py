"""The group coordinator of one partition of `__consumer_offsets`: its groups and their offsets.

The machine that a shard drives. It brings together what its parts may not know of each other: a
group is a classic or a consumer group and may become the other one, commits are checked against it,
and offsets expire by what it is doing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from ..protocol.errors import Code, Refused
from .classic.group import ClassicGroup, Member, State
from .classic.groups import ClassicGroups
from .classic.requests import (
    GroupSettings,
    JoinReply,
    JoinRequest,
    LeavingMember,
    SyncReply,
    SyncRequest,
)
from .group_records import (
    GroupRecord,
    GroupRemoved,
    GroupStored,
    OffsetCommitted,
    OffsetRemoved,
)
from .moment import Moment
from .offset_cleaning import OffsetCleaning
from .offsets import Offsets, OffsetToCommit, Partition
from .outcome import Outcome, Parked, Producer

# Only who has consumer groups pays for them.
if TYPE_CHECKING:
    from .consumer.classic_members import ClassicMembers
    from .consumer.group import ConsumerGroup
    from .consumer.groups import ConsumerGroups, ConsumerSetup
    from .consumer.member import ConsumerMember
    from .consumer.requests import DescribedConsumerGroup, HeartbeatReply, HeartbeatRequest

CLASSIC = "classic"
CONSUMER = "consumer"
"""The types of groups, as ListGroups calls them; `consumer` is also a protocol type."""


@dataclass(frozen=True, slots=True)
class Committer:
    """Who commits: a member of a generation, or nobody (-1 and an empty id).

    Attributes:
        generation_id: or the member's epoch in a consumer group.
        knows_epochs: whether the request is of a version that members of consumer groups use.
    """

    member_id: str = ""
    generation_id: int = -1
    group_instance_id: str | None = None
    knows_epochs: bool = True


class FetchedOffset(NamedTuple):
    """An offset as OffsetFetch tells it; -1 when there is none."""

    offset: int = -1
    leader_epoch: int = -1
    metadata: str = ""
    error: Code = Code.NONE


class ListedGroup(NamedTuple):
    group_id: str
    protocol_type: str
    state: str
    group_type: str


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """A group as DescribeGroups shows it.

    Attributes:
        protocol: empty unless the group is stable: only then is there metadata to show.
        members: each with its metadata.
    """

    state: str
    protocol_type: str
    protocol: str
    members: tuple[tuple[Member, bytes], ...]


class Groups:
    """Groups with their offsets. Methods decide; `replay` and its kin carry out what is logged."""

    def __init__(
        self,
        settings: GroupSettings,
        consumer_setup: Callable[[], ConsumerSetup] | None = None,
        *,
        topic_id_of: Callable[[str], UUID | None] | None = None,
    ) -> None:
        """Args:
        consumer_setup: what consumer groups need, asked for when there is one.
        topic_id_of: the id of a topic, None when there is no such topic. Without this function
            all topics that offsets are committed for exist.
        """
        self._settings = settings
        self._classic = ClassicGroups(settings)
        self._consumer_setup = consumer_setup
        self._consumer: ConsumerGroups | None = None
        self._offsets = Offsets(
            metadata_max_size=settings.offset_metadata_max_size, topic_id_of=topic_id_of
        )
        self._cleaning = OffsetCleaning(
            self._offsets, settings, self._classic, lambda: self._consumer
        )

    @property
    def _consumers(self) -> ConsumerGroups:
        """The consumer groups; from now on there may be some."""
        if self._consumer is None:
            from .consumer.groups import ConsumerGroups, ConsumerSetup

            make = self._consumer_setup or ConsumerSetup
            self._consumer = ConsumerGroups(
                make(), adopt=self._classic.adopt, max_classic_size=self._settings.max_size
            )
        return self._consumer

    @property
    def _classic_members(self) -> ClassicMembers:
        from .consumer.classic_members import ClassicMembers

        return ClassicMembers(self._consumers)

    def _consumer_group(self, group_id: str) -> ConsumerGroup | None:
        return None if self._consumer is None else self._consumer.get(group_id)

    # ---- members

    def join(
        self, request: JoinRequest, *, ticket: int, now: Moment
    ) -> Outcome[JoinReply | Parked]:
        """JoinGroup (11); see `ClassicGroups.join` and `ClassicMembers.join`."""
        _check_name(request.group_id)
        group = self._consumer_group(request.group_id)
        if group is None:
            return self._classic.join(request, ticket=ticket, now=now)
        if group.members:
            self._classic.check_session_timeout(request)
            try:
                return self._classic_members.join(group, request, now=now)
            except Refused as refused:  # without the id of who asked, unlike in a classic group
                return Outcome(JoinReply("", refused.code))
        # Nobody is left in it: who joins begins a classic group in its place.
        outcome = self._classic.join(request, ticket=ticket, now=now)
        return replace(outcome, records=(*group.removal(), *outcome.records))

    def sync(
        self, request: SyncRequest, *, ticket: int, now: Moment
    ) -> Outcome[SyncReply | Parked]:
        """SyncGroup (14); see `ClassicGroups.sync` and `ClassicMembers.sync`."""
        _check_name(request.group_id)
        group = self._consumer_group(request.group_id)
        if group is not None and group.members:
            return self._classic_members.sync(group, request, now=now)
        return self._classic.sync(request, ticket=ticket, now=now)

    def heartbeat(self, group_id: str, member: Committer, *, now: Moment) -> Outcome[Code]:
        """Heartbeat (12); see `ClassicGroups.heartbeat` and `ClassicMembers.heartbeat`."""
        _check_name(group_id)
        group = self._consumer_group(group_id)
        if group is not None:
            return self._classic_members.heartbeat(
                group,
                member.member_id,
                generation_id=member.generation_id,
                group_instance_id=member.group_instance_id,
                now=now,
            )
        return self._classic.heartbeat(
            group_id,
            member.member_id,
            generation_id=member.generation_id,
            group_instance_id=member.group_instance_id,
            now=now,
        )

    def leave(
        self, group_id: str, leaving: Iterable[LeavingMember], *, now: Moment
    ) -> Outcome[tuple[Code, ...]]:
        """LeaveGroup (13); see `ClassicGroups.leave` and `ClassicMembers.leave`."""
        _check_name(group_id)
        group = self._consumer_group(group_id)
        if group is not None:
            return self._classic_members.leave(group, leaving, now=now)
        return self._classic.leave(group_id, leaving, now=now)

    def consumer_heartbeat(
        self, request: HeartbeatRequest, *, now: Moment
    ) -> Outcome[HeartbeatReply]:
        """ConsumerGroupHeartbeat (68); see `ConsumerGroups.heartbeat`."""
        classic = self._classic.get(request.group_id)
        return self._consumers.heartbeat(request, classic=classic, now=now)

    # ---- offsets

    def commit(
        self,
        group_id: str,
        committer: Committer,
        offsets: Sequence[OffsetToCommit],
        *,
        retention_ms: int | None = None,
        now: Moment,
    ) -> Outcome[tuple[Code, ...]]:
        """OffsetCommit (8): a code for each offset.

        Args:
            retention_ms: how long they are kept, if the client says so (versions 2-4).

        Raises:
            Refused: GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
                REBALANCE_IN_PROGRESS; STALE_MEMBER_EPOCH and UNSUPPORTED_VERSION for members of
                consumer groups.
        """
        self._check_commit(group_id, committer, transactional=False)
        self._classic.saw_commit(group_id, committer.member_id, now=now)
        codes, records = self._offsets.commit(
            group_id, offsets, retention_ms=retention_ms, now_ms=now.wall_ms
        )
        return Outcome(codes, records)

    def commit_in_transaction(
        self,
        group_id: str,
        committer: Committer,
        producer: Producer,
        offsets: Sequence[OffsetToCommit],
        *,
        now: Moment,
    ) -> Outcome[tuple[Code, ...]]:
        """TxnOffsetCommit (28): pending until the producer's transaction ends.

        That the transaction is open is checked before, by who knows it.

        Raises:
            Refused: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION
                (also for a generation of a group that is not there).
        """
        _check_name(group_id)
        try:
            self._check_commit(group_id, committer, transactional=True)
        except Refused as refused:
            if refused.code in (Code.GROUP_ID_NOT_FOUND, Code.STALE_MEMBER_EPOCH):
                raise Refused(Code.ILLEGAL_GENERATION) from None
            raise
        codes, records = self._offsets.commit(
            group_id, offsets, retention_ms=None, now_ms=now.wall_ms
        )
        return Outcome(codes, records, producer=producer)

    def _check_commit(self, group_id: str, committer: Committer, *, transactional: bool) -> None:
        group = self._consumer_group(group_id)
        if group is not None:
            _check_member_commit(group, committer, transactional=transactional)
            return
        self._classic.check_commit(
            group_id,
            committer.member_id,
            generation_id=committer.generation_id,
            group_instance_id=committer.group_instance_id,
            transactional=transactional,
        )

    def fetch_offset(
        self, group_id: str, topic: str, partition: int, *, require_stable: bool
    ) -> FetchedOffset:
        """The committed offset; UNSTABLE_OFFSET_COMMIT while a transaction holds another one."""
        if require_stable and self._offsets.is_pending(group_id, topic, partition):
            return FetchedOffset(error=Code.UNSTABLE_OFFSET_COMMIT)
        held = self._offsets.committed(group_id, topic, partition)
        if held is None:
            return FetchedOffset()
        return FetchedOffset(held.offset, held.leader_epoch, held.metadata)

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        """Whether a member of a consumer group may ask for offsets; anybody else may.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, ILLEGAL_GENERATION.
        """
        group = self._consumer_group(group_id)
        if group is not None and not (member_id is None and member_epoch < 0):
            _check_member_epoch(group.member(member_id or ""), member_epoch)

    def committed_partitions(self, group_id: str) -> Mapping[str, Sequence[int]]:
        """The partitions, by topic, for which the group has committed offsets."""
        return self._offsets.partitions_of(group_id)

    def delete_offsets(
        self, group_id: str, partitions: Sequence[Partition]
    ) -> Outcome[tuple[Code, ...]]:
        """OffsetDelete (47): a code for each partition; GROUP_SUBSCRIBED_TO_TOPIC is one.

        Raises:
            Refused: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP (its members are no
                consumers, so that nobody knows what they read).
        """
        _check_name(group_id)
        is_subscribed_to = self._subscriptions_of(group_id)
        codes, free = [], []
        for partition in partitions:
            if is_subscribed_to(partition[0]):
                codes.append(Code.GROUP_SUBSCRIBED_TO_TOPIC)
            else:
                codes.append(Code.NONE)
                free.append(partition)
        return Outcome(tuple(codes), self._offsets.removal(group_id, free))

    def _subscriptions_of(self, group_id: str) -> Callable[[str], bool]:
        consumer = self._consumer_group(group_id)
        if consumer is not None:
            return consumer.subscribers.__contains__
        group = self._group(group_id)
        if group.state is not State.EMPTY and not group.uses_consumer_protocol:
            raise Refused(Code.NON_EMPTY_GROUP)
        return group.is_subscribed_to

    def forget_topic(self, topic: str) -> Outcome[None]:
        """A topic is gone: its offsets count no more from now on, and `tick` removes them.

        They do not count either for a topic that is made anew under the same name, however long
        the removal takes.
        """
        if self._offsets.forget_topic(topic):
            self._cleaning.begin()
        return Outcome(None)

    # ---- groups

    def list_groups(
        self, *, states: Collection[str] = (), types: Collection[str] = ()
    ) -> list[ListedGroup]:
        """ListGroups (16): all, or those in one of the states and of one of the types.

        Names are compared without regard to case; one that does not exist matches nothing.
        """
        wanted_states = {state.strip().lower() for state in states}
        wanted_types = {group_type.lower() for group_type in types} or {CLASSIC, CONSUMER}
        listed: list[ListedGroup] = []
        if CLASSIC in wanted_types:
            listed += [
                ListedGroup(group.group_id, group.protocol_type or "", group.state.value, CLASSIC)
                for group in self._classic.groups()
            ]
        if CONSUMER in wanted_types and self._consumer is not None:
            listed += [
                ListedGroup(group.group_id, CONSUMER, group.state.value, CONSUMER)
                for group in self._consumer.groups()
            ]
        return [each for each in listed if not wanted_states or each.state.lower() in wanted_states]

    def describe_consumer_group(self, group_id: str) -> DescribedConsumerGroup:
        """ConsumerGroupDescribe (69). Raises Refused: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND."""
        _check_name(group_id)
        is_classic = self._classic.get(group_id) is not None
        return self._consumers.describe(group_id, is_classic=is_classic)

    def is_consumer_group(self, group_id: str) -> bool:
        """Whether it is one of KIP-848, which DescribeGroups does not show."""
        return self._consumer_group(group_id) is not None

    def describe(self, group_id: str) -> DescribedGroup | None:
        """DescribeGroups (15); None when there is no such classic group."""
        group = self._classic.get(group_id)
        if group is None:
            return None
        protocol = group.protocol if group.state is State.STABLE else None
        return DescribedGroup(
            group.state.value,
            group.protocol_type or "",
            protocol or "",
            tuple(
                (member, b"" if protocol is None else member.metadata(protocol))
                for member in group.members.values()
            ),
        )

    def delete(self, group_ids: Iterable[str]) -> Outcome[dict[str, Code]]:
        """DeleteGroups (42): empty groups and their offsets, as far as they can be deleted.

        The reply has a code for each: NONE, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """
        codes: dict[str, Code] = {}
        records: list[GroupRecord] = []
        for group_id in group_ids:
            codes[group_id] = Code.NONE
            try:
                records += self._removal_of(group_id)
            except Refused as refused:
                codes[group_id] = refused.code
        return Outcome(codes, tuple(records))

    def _removal_of(self, group_id: str) -> tuple[GroupRecord, ...]:
        consumer = self._consumer_group(group_id)
        removed: Sequence[GroupRecord]
        if consumer is not None:
            is_empty, removed = not consumer.members, consumer.removal()
        else:
            is_empty = self._group(group_id).state is State.EMPTY
            removed = [GroupRemoved(group_id)]
        if not is_empty:
            raise Refused(Code.NON_EMPTY_GROUP)
        return (*self._offsets.removal_of_group(group_id), *removed)

    def _group(self, group_id: str) -> ClassicGroup:
        group = self._classic.get(group_id)
        if group is None:
            raise Refused(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    # ---- replay

    def replay(self, record: GroupRecord) -> None:
        """Make true what the log says. Nothing else changes what is stored."""
        match record:
            case OffsetCommitted():
                self._has_offsets(record.group_id)
                self._offsets.replay(record)
            case OffsetRemoved():
                self._offsets.replay(record)
            case GroupStored() | GroupRemoved():
                self._classic.replay(record)
            case _:
                from .consumer.records import ConsumerRemoved

                if not isinstance(record, ConsumerRemoved):
                    self._classic.forget(record.group_id)  # offsets alone were known of it so far
                self._consumers.replay(record)

    def _has_offsets(self, group_id: str) -> None:
        if self._consumer_group(group_id) is None:
            self._classic.replay_offset(group_id)

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
        """When `tick` has something to do; 0 for at once, None while there are no groups.

        It does not depend on `now`: what is stored by the wall time is looked at in intervals.
        """
        consumer = self._consumer
        if not self._classic.groups() and (consumer is None or not consumer.groups()):
            return None
        due_ms = self._cleaning.next_deadline()
        deadline_ms = self._classic.next_deadline()
        if deadline_ms is not None and deadline_ms < due_ms:
            due_ms = deadline_ms
        deadline_ms = None if consumer is None else consumer.next_deadline()
        return due_ms if deadline_ms is None else min(deadline_ms, due_ms)

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        """End what was waited for in vain, and now and then remove what has expired.

        One decision for each that is due, see `Machine.tick`.
        """
        yield from self._classic.tick(now)
        if self._consumer is not None:
            yield from self._consumer.tick(now)
        yield from self._cleaning.tick(now)


def _check_name(group_id: str) -> None:
    if not group_id:
        raise Refused(Code.INVALID_GROUP_ID)


def _check_member_commit(
    group: ConsumerGroup, committer: Committer, *, transactional: bool
) -> None:
    """Whether a commit is of a member of a consumer group in its epoch, or of no member at all."""
    is_nobody = committer.generation_id == -1 and not committer.member_id
    if committer.generation_id < 0 and not group.members:
        return  # an admin client, or a consumer that manages its partitions itself
    if transactional and is_nobody and committer.group_instance_id is None:
        return
    member = group.member(committer.member_id)
    if not transactional and member.classic is None and not committer.knows_epochs:
        raise Refused(Code.UNSUPPORTED_VERSION)
    _check_member_epoch(member, committer.generation_id)


def _check_member_epoch(member: ConsumerMember, epoch: int) -> None:
    if epoch != member.member_epoch:
        raise Refused(
            Code.STALE_MEMBER_EPOCH if member.classic is None else Code.ILLEGAL_GENERATION
        )
