"""One classic group: its members, its state, its rebalance and its subscriptions.

The log holds a group without a rebalance: empty, or members with their assignment. Joining
members, parked requests and the generation of an unfinished rebalance are in memory only, as in
Kafka's ClassicGroup; `groups.py` changes them as it decides.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import Final

from ...protocol.errors import Code, Refused
from ...protocol.lazy_dataclass import dataclass
from ..group_records import GroupStored, OffsetCommitted, StoredMember
from ..volatile import Volatile

CONSUMER: Final = "consumer"
"""The protocol type of consumers: the only one whose subscriptions the coordinator can read."""

Protocols = tuple[tuple[str, bytes], ...]
"""Assignment strategies in the member's order of preference, each with the member's metadata."""


class State(Enum):
    """The state of a classic group (ClassicGroupState); the values are Kafka's names."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


OnTransition = Callable[[str, str, str], None]
"""Called with the group id, and with the states before and after, when a group enters a state."""

MAY_FOLLOW: Final[Mapping[State, frozenset[State]]] = {
    State.EMPTY: frozenset({State.PREPARING_REBALANCE}),
    State.PREPARING_REBALANCE: frozenset({State.EMPTY, State.COMPLETING_REBALANCE, State.STABLE}),
    State.COMPLETING_REBALANCE: frozenset({State.PREPARING_REBALANCE}),
    State.STABLE: frozenset({State.COMPLETING_REBALANCE}),
    State.DEAD: frozenset(State),
}
"""Each state with those it may follow (ClassicGroupState). Dead groups are not kept: a group that
is not there is described as Dead."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member as it last joined.

    Attributes:
        join_ticket: of the parked JoinGroup, which waits for the rebalance; None if none is parked.
        sync_ticket: of the parked SyncGroup, which waits for the leader's assignment.
        is_new: its first JoinGroup has no answer yet: its session expires although it waits.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols = field(repr=False)
    assignment: bytes = field(default=b"", repr=False)
    join_ticket: int | None = None
    sync_ticket: int | None = None
    is_new: bool = False

    @classmethod
    def from_stored(cls, stored: StoredMember, protocol: str) -> Member:
        """The member of a record, which has only one of its protocols: the chosen one."""
        return cls(
            stored.member_id,
            stored.group_instance_id,
            stored.client_id,
            stored.client_host,
            stored.rebalance_timeout_ms,
            stored.session_timeout_ms,
            ((protocol, stored.subscription),),
            stored.assignment,
        )

    def stored(self, protocol: str, assignment: bytes) -> StoredMember:
        """The member as the group's record stores it."""
        return StoredMember(
            self.member_id,
            self.group_instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.metadata(protocol),
            assignment,
        )

    @property
    def keeps_its_session(self) -> bool:
        """Whether its session cannot expire: a parked request keeps it from sending heartbeats."""
        return not self.is_new and (self.join_ticket is not None or self.sync_ticket is not None)

    def metadata(self, protocol: str) -> bytes:
        """The metadata that it sent for a protocol that it supports."""
        return next(metadata for name, metadata in self.protocols if name == protocol)

    def supports(self, protocol: str) -> bool:
        return any(name == protocol for name, _ in self.protocols)


@dataclass(frozen=True, slots=True)
class InitialDelay:
    """The wait of an empty group for more members (group.initial.rebalance.delay.ms).

    Each new member makes it wait once more, up to the rebalance timeout in all.
    """

    delay_ms: int
    remaining_ms: int
    member_added: bool = False


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """A group as DescribeGroups shows it.

    Attributes:
        protocol: empty unless the group is stable, as is the metadata.
        members: each with its metadata.
    """

    state: str
    protocol_type: str
    protocol: str
    members: tuple[tuple[Member, bytes], ...]


class ClassicGroup(Volatile):
    """The state of one group. Its methods are queries and single changes.

    It is a working copy: a rebalance changes it as members join, and writes a record once the
    leader has sent the assignment. In `EMPTY` and `STABLE`, without an unwritten record, it equals
    the record in the log.
    """

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.state = State.EMPTY
        self.on_transition: OnTransition | None = None
        self.state_timestamp_ms = -1
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.generation_id = 0
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.pending_members: set[str] = set()  # have an id, and have not joined with it
        self.pending_syncs: set[str] = set()  # have the new generation, and have not synced
        self.initial_delay: InitialDelay | None = None  # while an empty group awaits its members
        self.subscribed_topics: frozenset[str] | None = None
        self.unwritten: GroupStored | None = None  # the record of a decision, until it is replayed
        self._static_members: dict[str, str] = {}

    @classmethod
    def from_stored(cls, record: GroupStored) -> ClassicGroup:
        """The group of a record, after a restart."""
        group = cls(record.group_id)
        group.state = State.STABLE if record.members else State.EMPTY
        group.state_timestamp_ms = record.current_state_timestamp_ms
        group.protocol_type = record.protocol_type or None
        group.protocol = record.protocol
        group.generation_id = record.generation_id
        group.leader = record.leader
        for stored in record.members:
            group.put(Member.from_stored(stored, record.protocol or ""))
        group.subscribed_topics = group._subscriptions()
        return group

    def stored(self, assignments: Mapping[str, bytes]) -> GroupStored:
        """The record of this group (GroupMetadataValue).

        Args:
            assignments: by member id; a member without one has an empty assignment.
        """
        members = tuple(
            member.stored(self.protocol or "", assignments.get(member.member_id, b""))
            for member in self.members.values()
        )
        return GroupStored(
            self.group_id,
            self.protocol_type or "",
            self.generation_id,
            self.protocol,
            self.leader,
            self.state_timestamp_ms,
            members,
        )

    def apply_written(self, record: GroupStored) -> None:
        """Apply the record that is now in the log: an assignment, or a group without members.

        The first record of a new group changes nothing.
        """
        self.unwritten = None
        if record.members:
            for stored in record.members:
                member = self.members[stored.member_id]
                self.members[stored.member_id] = replace(
                    member, assignment=stored.assignment, sync_ticket=None
                )
            if self.state is not State.STABLE:  # it is when a static member has been replaced
                self.enter(State.STABLE, record.current_state_timestamp_ms)
        elif not self.members:
            self.generation_id = record.generation_id
            self.protocol, self.leader = record.protocol, record.leader
            self.subscribed_topics = self._subscriptions()
            if self.state is not State.EMPTY:
                self.enter(State.EMPTY, record.current_state_timestamp_ms)

    def enter(self, state: State, now_ms: int) -> None:
        """Change the state; `MAY_FOLLOW` has the possible changes. `now_ms` is the wall time."""
        assert self.state in MAY_FOLLOW[state], (self.group_id, self.state, state)
        before, self.state = self.state, state
        if self.on_transition is not None:
            self.on_transition(self.group_id, before.value, state.value)
        self.state_timestamp_ms = now_ms

    # ---- members

    def put(self, member: Member) -> None:
        """Add a member, or replace it by its new value."""
        if member.group_instance_id is not None:
            self._static_members[member.group_instance_id] = member.member_id
        self.members[member.member_id] = member
        self.pending_members.discard(member.member_id)
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> None:
        """Remove a member or a pending id; if it led, the first of the others is the leader."""
        removed = self.members.pop(member_id, None)
        if removed is not None and removed.group_instance_id is not None:
            del self._static_members[removed.group_instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_members.discard(member_id)
        self.pending_syncs.discard(member_id)

    def replace(self, old_member_id: str, member: Member) -> None:
        """Replace a static member by the same instance with a new member id."""
        del self.members[old_member_id]
        if self.leader == old_member_id:
            self.leader = member.member_id
        self.put(member)

    def static_member_id(self, group_instance_id: str | None) -> str | None:
        """The member id that now belongs to an instance; None when there is no such instance."""
        return self._static_members.get(group_instance_id) if group_instance_id else None

    def check_member(self, member_id: str, group_instance_id: str | None) -> Member:
        """The member that a request comes from.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID when another member id now belongs to
                the instance (KIP-345).
        """
        if group_instance_id is not None:
            owner = self.static_member_id(group_instance_id)
            if owner is None:
                raise Refused(Code.UNKNOWN_MEMBER_ID)
            if owner != member_id:
                raise Refused(Code.FENCED_INSTANCE_ID)
        member = self.members.get(member_id)
        if member is None:
            raise Refused(Code.UNKNOWN_MEMBER_ID)
        return member

    # ---- a rebalance

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members."""
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    def waiting_to_join(self) -> Iterator[Member]:
        return (m for m in self.members.values() if m.join_ticket is not None)

    @property
    def all_have_joined(self) -> bool:
        """Whether all members have joined, and no member id is pending."""
        return not self.pending_members and all(
            member.join_ticket is not None for member in self.members.values()
        )

    def has_room(self, member_id: str, max_size: int) -> bool:
        """Whether a member may join a group of at most `max_size` (group.max.size)."""
        member = self.members.get(member_id)
        if self.state is State.EMPTY:
            return True
        if self.state is State.PREPARING_REBALANCE:
            if member is not None and member.join_ticket is not None:
                return True
            # Members that have not rejoined make room for those that have.
            return len(self.members) < max_size or sum(1 for _ in self.waiting_to_join()) < max_size
        return member is not None or len(self.members) < max_size

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member fits: it has the group's type, and all support one of its protocols."""
        if self.state is State.EMPTY:
            return bool(protocol_type and protocols)
        return protocol_type == self.protocol_type and any(
            all(member.supports(name) for member in self.members.values()) for name, _ in protocols
        )

    def voted_protocol(self) -> str:
        """The protocol with the most votes among those that all support; the group has members.

        Each member votes for the first of its own that all support. Of protocols with equal votes
        the first in the order of Java's hash map is chosen, as in Kafka.
        """
        candidates = frozenset.intersection(
            *(frozenset(name for name, _ in m.protocols) for m in self.members.values())
        )
        votes = Counter(
            next(name for name, _ in member.protocols if name in candidates)
            for member in self.members.values()
        )
        if len(votes) == 1:
            return next(iter(votes))
        from ..java_order import names_in_order  # unneeded while all prefer the same protocol

        return max(names_in_order(votes), key=votes.__getitem__)

    def elect_a_leader(self) -> bool:
        """Make a member that has joined the leader, if the leader has not; False if none has."""
        leader = self.members.get(self.leader) if self.leader is not None else None
        if leader is not None and leader.join_ticket is None:
            leader = next(self.waiting_to_join(), None)
        if leader is None:
            return False
        self.leader = leader.member_id
        return True

    def begin_generation(self, now_ms: int) -> None:
        """Begin a generation of the members that joined; its leader will send the assignment."""
        self.generation_id += 1
        self.protocol = self.voted_protocol()
        self.subscribed_topics = self._subscriptions()
        self.initial_delay = None
        self.pending_syncs = set(self.members)
        self.enter(State.COMPLETING_REBALANCE, now_ms)

    def described(self) -> DescribedGroup:
        """The group for DescribeGroups (15)."""
        protocol = self.protocol if self.state is State.STABLE else None
        return DescribedGroup(
            self.state.value,
            self.protocol_type or "",
            protocol or "",
            tuple(
                (member, b"" if protocol is None else member.metadata(protocol))
                for member in self.members.values()
            ),
        )

    # ---- subscriptions

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member consumes the topic; if subscriptions are unreadable, all topics are."""
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def expiry(self, *, now_ms: int, retention_ms: int) -> Callable[[OffsetCommitted], bool]:
        """A function: whether an offset has expired (ClassicGroup.offsetExpirationCondition).

        An offset expires by its age; in a group that all members have left, by the time since
        then. It does not expire while its topic is consumed, during a rebalance, and while the
        members' subscriptions are unreadable.
        """
        is_empty = self.protocol_type is not None and self.state is State.EMPTY
        may_expire = (
            self.protocol_type is None
            or is_empty
            or (self.subscribed_topics is not None and self.state is State.STABLE)
        )

        def is_expired(record: OffsetCommitted) -> bool:
            if not may_expire or self.is_subscribed_to(record.topic):
                return False
            if record.expire_timestamp_ms is not None:
                return now_ms >= record.expire_timestamp_ms
            since_ms = record.commit_timestamp_ms
            if is_empty and self.state_timestamp_ms != -1:
                since_ms = self.state_timestamp_ms
            return now_ms - since_ms >= retention_ms

        return is_expired

    def learn_subscriptions(self) -> None:
        """Read them from the members' metadata for the protocol that was chosen."""
        self.subscribed_topics = self._subscriptions()

    def _subscriptions(self) -> frozenset[str] | None:
        """The topics of all consumers; None if they are unknown."""
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol is None:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            subscription = topics_of_subscription(member.metadata(self.protocol))
            if subscription is None:
                return None
            topics.update(subscription)
        return frozenset(topics)


def topics_of_subscription(metadata: bytes) -> Sequence[str] | None:
    """The topics in a consumer's metadata (ConsumerProtocolSubscription, as version 0 reads it).

    None if the metadata is no subscription: its format is up to the members.
    """
    try:
        (version, count) = struct.unpack_from(">hi", metadata)
        if version < 0 or count < 0:
            return None
        position = 6
        topics = []
        for _ in range(count):
            (size,) = struct.unpack_from(">h", metadata, position)
            name, position = metadata[position + 2 : position + 2 + size], position + 2 + size
            if size < 0 or len(name) != size:
                return None
            topics.append(name.decode())
        (size,) = struct.unpack_from(">i", metadata, position)  # user data; -1 for null
        return topics if size < 0 or position + 4 + size <= len(metadata) else None
    except (struct.error, UnicodeDecodeError):
        return None
