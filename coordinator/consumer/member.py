"""A member of a consumer group (KIP-848) as a value: subscription, epochs, state, partitions.

The log holds the subscription and the rest in two records: ConsumerGroupMemberMetadata and
ConsumerGroupCurrentMemberAssignment.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Final, Protocol

from ...protocol.lazy_dataclass import dataclass
from ..modern_groups import JOINING_EPOCH, MemberState, Reconciled, ReconciledState

Assignment = Mapping[uuid.UUID, frozenset[int]]
"""Partition indexes by topic id; each topic has at least one."""

NOTHING: Final[Assignment] = MappingProxyType({})

AssignmentEpochs = Mapping[uuid.UUID, Mapping[int, int]]
"""The member's epoch at the assignment of each partition, by topic id and index (KIP-1251)."""

NO_EPOCHS: Final[AssignmentEpochs] = MappingProxyType({})

NO_EPOCH_OF: Final[Mapping[int, int]] = MappingProxyType({})


def epochs_of(epoch: int, *assignments: Assignment) -> AssignmentEpochs:
    """The epochs of partitions that were all assigned in one epoch."""
    found: dict[uuid.UUID, dict[int, int]] = {}
    for assignment in assignments:
        for topic_id, indexes in assignment.items():
            found.setdefault(topic_id, {}).update(dict.fromkeys(indexes, epoch))
    return found


@dataclass(frozen=True, slots=True)
class ClassicMember:
    """The data of the classic protocol of a classic member in a consumer group.

    Attributes:
        protocols: names in the member's order of preference, each with the subscription in it.
    """

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...] = field(repr=False)


class CurrentState(ReconciledState[Assignment], Protocol):
    """The fields of ConsumerGroupCurrentMemberAssignment: of a member, or of its record."""

    @property
    def epochs(self) -> AssignmentEpochs: ...


@dataclass(frozen=True, slots=True)
class ConsumerMember(Reconciled):
    """A member.

    Attributes:
        previous_member_epoch: the one before; valid while the member may not know the new one.
        rebalance_timeout_ms: how long it may take to give partitions up.
        subscribed_topic_regex: empty for none.
        assigned: the partitions that it may use now.
        pending_revocation: the partitions that it has to give up first.
        epochs: of both, in which it got them: a commit may name any epoch since.
        classic: the data of a classic member; None for a member of the new protocol.
    """

    member_id: str
    member_epoch: int = JOINING_EPOCH
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str = ""
    server_assignor: str | None = None
    assigned: Assignment = field(default_factory=lambda: NOTHING)
    pending_revocation: Assignment = field(default_factory=lambda: NOTHING)
    epochs: AssignmentEpochs = field(default_factory=lambda: NO_EPOCHS, repr=False)
    classic: ClassicMember | None = None

    def with_current(self, current: CurrentState) -> ConsumerMember:
        """This subscription with the epochs, state and partitions of another value or record."""
        return replace(
            self,
            member_epoch=current.member_epoch,
            previous_member_epoch=current.previous_member_epoch,
            state=current.state,
            assigned=current.assigned,
            pending_revocation=current.pending_revocation,
            epochs=current.epochs,
        )

    @property
    def held(self) -> Assignment:
        """The partitions that it may use, and those that it still has to give up."""
        if not self.pending_revocation:
            return self.assigned
        held = dict(self.assigned)
        for topic_id, partitions in self.pending_revocation.items():
            held[topic_id] = held.get(topic_id, frozenset()) | partitions
        return held

    def has_had(self, topic_id: uuid.UUID | None, partition: int, since_epoch: int) -> bool:
        """Whether it has a partition now that it had in an epoch."""
        if topic_id is None:
            return False
        epoch = self.epochs.get(topic_id, NO_EPOCH_OF).get(partition)
        return epoch is not None and epoch <= since_epoch
