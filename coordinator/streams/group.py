"""One streams group (KIP-1071): members, topology, target and current assignment, epochs.

Durable state changes by replay alone, in any order that compaction may leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Final

from ..modern_groups import LEAVING_EPOCH, ModernGroup
from .endpoints import Endpoints
from .holders import Holders
from .member import (
    NO_OFFSETS,
    NO_TASKS,
    NOTHING,
    StreamsMember,
    TaskOffsets,
    TasksTuple,
)
from .records import (
    NO_TOPOLOGY_EPOCH,
    CurrentMember,
    GroupEpoch,
    GroupTopology,
    Kind,
    MemberMetadata,
    StreamsRecord,
    StreamsRemoved,
    TargetEpoch,
    TargetMember,
)
from .topology import Topology

if TYPE_CHECKING:
    from .configured import ConfiguredTopology

FIRST_EPOCH: Final = 1
_NO_EPOCH: Final = -1


class State(Enum):
    """The state of a streams group (StreamsGroupState); the values are Kafka's names."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class StreamsGroup(ModernGroup[StreamsMember]):
    """The state of one group.

    Attributes:
        epoch_record: the group's epoch, and what its last assignment was made from.
        target_record: the epoch of the group that the target was made for.
        targets: the target assignment of each member, by member id.
        topology: None before the first member has joined.
        holders: which processes hold a task.
        configured: the topology with its topics, as last checked; None: not since the start.
        checked: the version of the topics, and the group's epoch, at the last comparison of
            `metadata_hash`.
        offsets: what each member last told about the offsets of its tasks.
        shutdown_member_id: the member that asked for the end of the application.
        endpoints: the partitions of the members' endpoints.
    """

    VOLATILE: ClassVar = frozenset({"checked", "configured", "offsets", "shutdown_member_id"})

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.epoch_record = GroupEpoch(group_id, FIRST_EPOCH)
        self.target_record = TargetEpoch(group_id, FIRST_EPOCH)
        self.targets: dict[str, TasksTuple] = {}
        self.topology: Topology | None = None
        self.holders = Holders()
        self.configured: ConfiguredTopology | None = None
        self.checked: tuple[int, int] | None = None
        self.offsets: dict[str, TaskOffsets] = {}
        self.shutdown_member_id: str | None = None
        self.endpoints = Endpoints()

    # ---- queries

    @property
    def epoch(self) -> int:
        """Raised whenever members, topics or settings change."""
        return self.epoch_record.epoch

    @property
    def metadata_hash(self) -> int:
        return self.epoch_record.metadata_hash

    @property
    def target_epoch(self) -> int:
        """The group's epoch that the target was made for."""
        return self.target_record.epoch

    @property
    def topology_epoch(self) -> int:
        """-1 before the first member has joined."""
        return NO_TOPOLOGY_EPOCH if self.topology is None else self.topology.epoch

    @property
    def state(self) -> State:
        if not self.members:
            return State.EMPTY
        validated = self.epoch_record.validated_topology_epoch
        if self.topology is None or self.topology.epoch != validated:
            return State.NOT_READY
        if self.epoch > self.target_epoch:
            return State.ASSIGNING
        if all(member.is_reconciled_to(self.target_epoch) for member in self.members.values()):
            return State.STABLE
        return State.RECONCILING

    def target_of(self, member: StreamsMember) -> TasksTuple:
        """The target of a member, or of the static member that it replaces."""
        replaced = self.static_member(member.instance_id)
        member_id = member.member_id if replaced is None else replaced.member_id
        return self.targets.get(member_id, NO_TASKS)

    def offsets_of(self, member_id: str) -> TaskOffsets:
        """What a member last told about the offsets of its tasks."""
        return self.offsets.get(member_id, NO_OFFSETS)

    def subscriptions(self) -> Mapping[str, object]:
        """The source topics of the topology by name, while the group has members."""
        if not self.members or self.topology is None:
            return {}
        return self.topology.source_topics

    def has_had(self, member: StreamsMember, topic: str, partition: int, epoch: int) -> bool:
        """Whether the member runs the task of a partition, and did so in an earlier epoch."""
        topology = self.topology
        subtopology_id = None if topology is None else topology.source_topics.get(topic)
        if subtopology_id is None:
            return False
        for tasks in (member.assigned, member.pending_revocation):
            since = tasks.active.get(subtopology_id, {}).get(partition)
            if since is not None:
                return epoch >= since
        return False

    def removal(self) -> list[StreamsRecord]:
        """Tombstones for all records of the group."""
        removed = StreamsRemoved
        return [
            *(removed(Kind.CURRENT_MEMBER, self.group_id, each) for each in self.members),
            *(removed(Kind.TARGET_MEMBER, self.group_id, each) for each in self.members),
            removed(Kind.TARGET, self.group_id),
            *(removed(Kind.MEMBER, self.group_id, each) for each in self.members),
            removed(Kind.GROUP, self.group_id),
            removed(Kind.TOPOLOGY, self.group_id),
        ]

    # ---- replay

    def replay(self, record: StreamsRecord) -> None:
        """Apply a record of this group, except the tombstone of the whole group."""
        match record:
            case GroupEpoch():
                self.epoch_record = record
            case GroupTopology():
                self.topology = record.topology
            case MemberMetadata():
                old = self.members.get(record.member.member_id)
                self._put(old, record.member if old is None else record.member.with_current(old))
            case TargetEpoch():
                self.target_record = record
            case TargetMember():
                self.targets[record.member_id] = record.tasks
            case CurrentMember():
                old = self.members.get(record.member_id)
                self._put(old, (old or StreamsMember(record.member_id)).with_current(record))
            case StreamsRemoved():
                self._remove(record.kind, record.name)

    def _remove(self, kind: Kind, name: str) -> None:
        match kind:
            case Kind.MEMBER:
                old = self.members.pop(name, None)
                self.offsets.pop(name, None)
                self.endpoints.forget(name)
                if old is not None:
                    self._forget(old)
                if not self.members:
                    self.shutdown_member_id = None
            case Kind.CURRENT_MEMBER:
                old = self.members.get(name)
                if old is not None:
                    gone = CurrentMember(
                        self.group_id, name, LEAVING_EPOCH, LEAVING_EPOCH, old.state,
                        NOTHING, NOTHING,
                    )  # fmt: skip
                    self._put(old, old.with_current(gone))
            case Kind.TARGET_MEMBER:
                self.targets.pop(name, None)
            case Kind.TARGET:
                self.target_record = TargetEpoch(self.group_id, _NO_EPOCH)
            case Kind.TOPOLOGY:
                self.topology = None

    def _put(self, old: StreamsMember | None, new: StreamsMember) -> None:
        if old is not None:
            self._forget(old)
        self.members[new.member_id] = new
        self.holders.add(new)
        if new.instance_id is not None:
            self._static_members[new.instance_id] = new.member_id

    def _forget(self, old: StreamsMember) -> None:
        self.holders.remove(old)
        if self._static_members.get(old.instance_id or "") == old.member_id:
            del self._static_members[old.instance_id or ""]
