"""A member of a share group (KIP-932) as a value: subscription, epochs, partitions.

The log holds the subscription and the rest in two records: ShareGroupMemberMetadata and
ShareGroupCurrentMemberAssignment. Members do not wait for each other to give partitions up, so
that a member takes its whole target in one step (ShareGroupAssignmentBuilder).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import field, replace

from ...protocol.lazy_dataclass import dataclass
from ..consumer.member import NOTHING, Assignment
from ..modern_groups import JOINING_EPOCH, MemberState, Reconciled

NO_EPOCH = -1


@dataclass(frozen=True, slots=True)
class ShareMember(Reconciled):
    """A member.

    Attributes:
        previous_member_epoch: the one before; valid while the member may not know the new one.
        assigned: the partitions that it may fetch from.
    """

    member_id: str
    member_epoch: int = JOINING_EPOCH
    previous_member_epoch: int = NO_EPOCH
    state: MemberState = MemberState.STABLE
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    assigned: Assignment = field(default_factory=lambda: NOTHING)

    def reconciled(
        self,
        target_epoch: int,
        target: Assignment,
        *,
        is_subscribed_to: Callable[[uuid.UUID], bool],
    ) -> ShareMember:
        """The member with its target, as far as it is subscribed to the topics.

        Args:
            is_subscribed_to: whether the member is subscribed to a topic that exists, by its id.
        """
        assigned = {each: target[each] for each in target if is_subscribed_to(each)}
        if target_epoch == self.member_epoch:
            return replace(self, assigned=assigned)
        return replace(
            self,
            member_epoch=target_epoch,
            previous_member_epoch=self.member_epoch,
            state=MemberState.STABLE,
            assigned=assigned,
        )
