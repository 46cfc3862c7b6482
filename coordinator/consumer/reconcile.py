"""The next step of a member towards its target (KIP-848, CurrentAssignmentBuilder of Kafka).

First the member gives up partitions that are not in its target, and stays in its epoch until it
confirms that. Then it moves to the epoch of the target and gets the free partitions; it gets the
others once their owners have given them up.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace

from ...protocol.errors import Code, Refused
from .member import NOTHING, Assignment, ConsumerMember, MemberState

PartitionEpoch = Callable[[uuid.UUID, int], int]
"""The epoch in which a partition is owned; -1 when it is free."""


def reconciled(
    member: ConsumerMember,
    target: Assignment,
    target_epoch: int,
    *,
    owned: Assignment | None,
    partition_epoch: PartitionEpoch,
) -> ConsumerMember:
    """The member after this step; the same one when it has to wait.

    Args:
        owned: the partitions that the member reports; None if it reports none.

    Raises:
        Refused: FENCED_MEMBER_EPOCH for a member in a state that is not known here, unless it
            owns nothing.
    """

    def step(epoch: int) -> ConsumerMember:
        return _next(
            member, target, (epoch, target_epoch), owned=owned, partition_epoch=partition_epoch
        )

    match member.state:
        case MemberState.STABLE:
            return member if member.member_epoch == target_epoch else step(member.member_epoch)
        case MemberState.UNREVOKED_PARTITIONS:
            if _has_any(owned, member.pending_revocation):
                return member
            return step(member.member_epoch + 1)
        case MemberState.UNRELEASED_PARTITIONS:
            return step(member.member_epoch)
        case _:
            if owned is None or owned:
                raise Refused(
                    Code.FENCED_MEMBER_EPOCH, "The member has to give up everything and rejoin."
                )
            return step(target_epoch)


def _next(
    member: ConsumerMember,
    target: Assignment,
    epochs: tuple[int, int],
    *,
    owned: Assignment | None,
    partition_epoch: PartitionEpoch,
) -> ConsumerMember:
    epoch, target_epoch = epochs
    assigned: dict[uuid.UUID, frozenset[int]] = {}
    revoked: dict[uuid.UUID, frozenset[int]] = {}
    must_wait = False
    free: dict[uuid.UUID, frozenset[int]] = {}
    for topic_id in target.keys() | member.assigned.keys():
        wanted = target.get(topic_id, frozenset())
        present = member.assigned.get(topic_id, frozenset())
        if present & wanted:
            assigned[topic_id] = present & wanted
        if present - wanted:
            revoked[topic_id] = present - wanted
        missing = wanted - present
        available = frozenset(i for i in missing if partition_epoch(topic_id, i) == -1)
        must_wait = must_wait or len(available) < len(missing)
        if available:
            free[topic_id] = available
    if revoked and _has_any(owned, revoked):
        return replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            member_epoch=epoch,
            previous_member_epoch=member.member_epoch,
            assigned=assigned,
            pending_revocation=revoked,
        )
    for topic_id, indexes in free.items():
        assigned[topic_id] = assigned.get(topic_id, frozenset()) | indexes
    return replace(
        member,
        state=MemberState.UNRELEASED_PARTITIONS if must_wait else MemberState.STABLE,
        member_epoch=target_epoch,
        previous_member_epoch=member.member_epoch,
        assigned=assigned,
        pending_revocation=NOTHING,
    )


def _has_any(owned: Assignment | None, partitions: Assignment) -> bool:
    """Whether some of the partitions are still owned: until the member says otherwise, all are."""
    if owned is None:
        return True
    return any(
        not indexes.isdisjoint(partitions[topic_id])
        for topic_id, indexes in owned.items()
        if topic_id in partitions
    )
