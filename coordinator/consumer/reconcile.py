"""The next step of a member towards its target (KIP-848, CurrentAssignmentBuilder of Kafka).

First the member gives up partitions that are not in its target, or whose topic it is not subscribed
to, and stays in its epoch until it confirms that. Then it moves to the epoch of the target and gets
the free partitions; it gets the others once their owners have given them up.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace

from ...protocol.errors import Code, Refused
from ..modern_groups import MemberState
from .member import (
    NO_EPOCH_OF,
    NOTHING,
    Assignment,
    AssignmentEpochs,
    ConsumerMember,
)

PartitionEpochs = Callable[[uuid.UUID], Mapping[int, int]]
"""The epochs in which partitions of a topic are owned, by index; -1 and none is for a free one."""

IsSubscribed = Callable[[uuid.UUID], bool]
"""Whether the member is subscribed to a topic."""


def reconciled(
    member: ConsumerMember,
    target: Assignment,
    target_epoch: int,
    *,
    owned: Assignment | None,
    partition_epochs: PartitionEpochs,
    is_subscribed: IsSubscribed,
    has_changed: bool = False,
) -> ConsumerMember:
    """The member after this step; the same one when it has to wait.

    Args:
        owned: the partitions that the member reports; None if it reports none.
        has_changed: whether its subscription has changed with this request.

    Raises:
        Refused: FENCED_MEMBER_EPOCH for a member in a state that is not known here, unless it
            owns nothing.
    """

    def step(epoch: int) -> ConsumerMember:
        return _next(
            member, target, (epoch, target_epoch), owned=owned,
            partition_epochs=partition_epochs, is_subscribed=is_subscribed,
        )  # fmt: skip

    match member.state:
        case MemberState.STABLE:
            if member.member_epoch != target_epoch:
                return step(member.member_epoch)
        case MemberState.UNREVOKED:
            if not _has_any(owned, member.pending_revocation):
                return step(member.member_epoch)
        case MemberState.UNRELEASED:
            return step(member.member_epoch)
        case _:
            if owned is None or owned:
                raise Refused(
                    Code.FENCED_MEMBER_EPOCH, "The member has to give up everything and rejoin."
                )
            return step(target_epoch)
    return _without_unsubscribed(member, owned, is_subscribed) if has_changed else member


def _next(
    member: ConsumerMember,
    target: Assignment,
    epochs: tuple[int, int],
    *,
    owned: Assignment | None,
    partition_epochs: PartitionEpochs,
    is_subscribed: IsSubscribed,
) -> ConsumerMember:
    epoch, target_epoch = epochs
    target = {topic_id: each for topic_id, each in target.items() if is_subscribed(topic_id)}
    assigned, revoked = _kept_and_revoked(member.assigned, target)
    if revoked and _has_any(owned, revoked):
        return replace(
            member,
            state=MemberState.UNREVOKED,
            member_epoch=epoch,
            previous_member_epoch=member.member_epoch,
            assigned=assigned,
            pending_revocation=revoked,
            epochs=kept_epochs(member, assigned, revoked),
        )
    must_wait = False
    for topic_id, wanted in target.items():
        missing = wanted - member.assigned.get(topic_id, frozenset())
        own = member.pending_revocation.get(topic_id, frozenset())
        epochs_of_owners = partition_epochs(topic_id)
        free = frozenset(i for i in missing if i in own or epochs_of_owners.get(i, -1) == -1)
        must_wait = must_wait or len(free) < len(missing)
        if free:
            assigned[topic_id] = assigned.get(topic_id, frozenset()) | free
    return replace(
        member,
        state=MemberState.UNRELEASED if must_wait else MemberState.STABLE,
        member_epoch=target_epoch,
        previous_member_epoch=member.member_epoch,
        assigned=assigned,
        pending_revocation=NOTHING,
        epochs=kept_epochs(member, assigned, epoch=target_epoch),
    )


def _without_unsubscribed(
    member: ConsumerMember, owned: Assignment | None, is_subscribed: IsSubscribed
) -> ConsumerMember:
    """The member without partitions of topics that it is no longer subscribed to."""
    assigned = {
        topic_id: each for topic_id, each in member.assigned.items() if is_subscribed(topic_id)
    }
    if len(assigned) == len(member.assigned):
        return member
    revoked = dict(member.pending_revocation)
    for topic_id, each in member.assigned.items():
        if topic_id not in assigned:
            revoked[topic_id] = revoked.get(topic_id, frozenset()) | each
    if not _has_any(owned, revoked):
        return replace(
            member,
            previous_member_epoch=member.member_epoch,
            assigned=assigned,
            epochs=kept_epochs(member, assigned, member.pending_revocation),
        )
    return replace(
        member,
        state=MemberState.UNREVOKED,
        previous_member_epoch=member.member_epoch,
        assigned=assigned,
        pending_revocation=revoked,
        epochs=kept_epochs(member, assigned, revoked),
    )


def kept_epochs(
    member: ConsumerMember, *assignments: Assignment, epoch: int = 0
) -> AssignmentEpochs:
    """The epochs of partitions that a member keeps; new ones have the given epoch.

    A partition that the member is about to give up, and gets again, is a new one.
    """
    found: dict[uuid.UUID, dict[int, int]] = {}
    for assignment in assignments:
        for topic_id, indexes in assignment.items():
            known = member.epochs.get(topic_id, NO_EPOCH_OF)
            had = member.assigned.get(topic_id, frozenset())
            by_index = found.setdefault(topic_id, {})
            for index in indexes:
                is_new = epoch and index not in had
                by_index[index] = epoch if is_new else known.get(index, epoch)
    return found


def _kept_and_revoked(
    assigned: Assignment, target: Assignment
) -> tuple[dict[uuid.UUID, frozenset[int]], dict[uuid.UUID, frozenset[int]]]:
    """The assigned partitions that are in the target, and those that are not."""
    kept, revoked = {}, {}
    for topic_id, present in assigned.items():
        wanted = target.get(topic_id, frozenset())
        if present & wanted:
            kept[topic_id] = present & wanted
        if present - wanted:
            revoked[topic_id] = present - wanted
    return kept, revoked


def _has_any(owned: Assignment | None, partitions: Assignment) -> bool:
    """Whether some of the partitions are still owned; all are if the member reports none."""
    if owned is None:
        return True
    return any(
        not indexes.isdisjoint(partitions[topic_id])
        for topic_id, indexes in owned.items()
        if topic_id in partitions
    )
