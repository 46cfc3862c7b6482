"""The conversion of classic groups to consumer groups and back, while their members stay.

The first member of the new protocol turns a classic group into a consumer group; when the last one
leaves, it is a classic group again (KIP-848, on-line upgrade and downgrade).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...protocol.errors import Code, Malformed, Refused
from ..classic.group import ClassicGroup, Member, State
from ..classic.requests import JoinReply, SyncReply
from ..outcome import Answer, Effect
from .classic_protocol import read_assignment, read_subscription, version_of, write_assignment
from .group import ConsumerGroup
from .member import ClassicMember, ConsumerMember, epochs_of
from .records import ConsumerRecord, GroupEpoch, TargetEpoch, TargetMember, current, subscription
from .requests import ConsumerGroupSettings
from .topics import Topics, metadata_hash


def upgraded(
    classic: ClassicGroup, settings: ConsumerGroupSettings, topics: Topics
) -> tuple[list[ConsumerRecord], list[Effect]]:
    """The records of the consumer group that a classic one becomes, with its members as they are.

    Members that wait in a rebalance get REBALANCE_IN_PROGRESS and join again.

    Raises:
        Refused: GROUP_ID_NOT_FOUND: the policy forbids it, its members are no consumers, they are
            too many, or their subscription or assignment cannot be read.
    """
    why = None
    if not settings.may_upgrade:
        why = "online upgrade is disabled"
    elif not classic.uses_consumer_protocol:
        why = "the group does not use the consumer embedded protocol"
    elif len(classic.members) > settings.max_size:
        why = "the group size exceeds the consumer group maximum size"
    if why is None:
        try:
            return _converted(classic, topics), _rebalance_answers(classic)
        except Malformed:
            why = "the embedded consumer protocol is malformed"
        except _CustomAssignor:
            why = (
                "an unsupported custom assignor is in use. Please refer to the documentation or "
                "switch to a default assignor before re-attempting the upgrade"
            )
    raise Refused(
        Code.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {classic.group_id} to consumer group because {why}.",
    )


class _CustomAssignor(Exception):
    """An assignment has user data."""


def _converted(classic: ClassicGroup, topics: Topics) -> list[ConsumerRecord]:
    group_id, epoch = classic.group_id, classic.generation_id
    protocol = classic.protocol if classic.protocol is not None else classic.voted_protocol()
    members = [_consumer_member(each, protocol, epoch, topics) for each in classic.members.values()]
    names = {name for member in members for name in member.subscribed_topic_names}
    return [
        *(subscription(group_id, member) for member in members),
        GroupEpoch(group_id, epoch, metadata_hash(names, topics)),
        *(TargetMember(group_id, member.member_id, member.assigned) for member in members),
        TargetEpoch(group_id, epoch),
        *(current(group_id, member) for member in members),
    ]


def _consumer_member(member: Member, protocol: str, epoch: int, topics: Topics) -> ConsumerMember:
    assigned, has_more = read_assignment(member.assignment, topics)
    if has_more:
        raise _CustomAssignor
    subscribed = read_subscription(member.metadata(protocol))
    return ConsumerMember(
        member.member_id,
        member_epoch=epoch,
        previous_member_epoch=epoch,
        instance_id=member.group_instance_id,
        rack_id=subscribed.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=subscribed.topics,
        assigned=assigned,
        epochs=epochs_of(epoch, assigned),
        classic=ClassicMember(member.session_timeout_ms, member.protocols),
    )


def _rebalance_answers(classic: ClassicGroup) -> list[Effect]:
    answers: list[Effect] = []
    for member in classic.members.values():
        if member.join_ticket is not None:
            reply = JoinReply(member.member_id, Code.REBALANCE_IN_PROGRESS)
            answers.append(Answer(member.join_ticket, reply))
        if member.sync_ticket is not None:
            answers.append(Answer(member.sync_ticket, SyncReply(Code.REBALANCE_IN_PROGRESS)))
    return answers


def make_classic_group(
    group: ConsumerGroup,
    gone: Collection[ConsumerMember],
    joining: ConsumerMember | None,
    topics: Topics,
    *,
    now_ms: int,
) -> ClassicGroup:
    """The classic group that a consumer group becomes: stable, with the target as assignment.

    Args:
        gone: members that leave now.
        joining: a classic member that replaces a static one; None if none does.
        topics: the topics of the cluster.
        now_ms: the wall time, in ms.

    Raises:
        Refused: GROUP_ID_NOT_FOUND: the version of a member's subscription is unreadable.
    """
    classic = ClassicGroup(group.group_id)
    classic.state = State.STABLE
    classic.state_timestamp_ms = now_ms
    classic.protocol_type = "consumer"
    classic.generation_id = group.epoch
    gone_ids = {member.member_id for member in gone}
    replaced = None if joining is None else group.static_member(joining.instance_id)
    sources: dict[str, str] = {}
    for member in group.members.values():
        if member.member_id not in gone_ids and member != replaced:
            classic.put(_classic_member(member))
            sources[member.member_id] = member.member_id
    if joining is not None and replaced is not None:
        classic.put(_classic_member(joining))
        sources[joining.member_id] = replaced.member_id
    classic.protocol = protocol = classic.voted_protocol()
    try:
        for member_id, source in sources.items():
            known = classic.members[member_id]
            target, version = group.targets.get(source, {}), version_of(known.metadata(protocol))
            assignment = write_assignment(target, topics, version=version)
            classic.put(replace(known, assignment=assignment))
    except Malformed as wrong:
        raise Refused(
            Code.GROUP_ID_NOT_FOUND,
            f"Consumer group {group.group_id} cannot become a classic group: {wrong}.",
        ) from None
    classic.learn_subscriptions()
    return classic


def _classic_member(member: ConsumerMember) -> Member:
    assert member.classic is not None, member
    return Member(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.classic.session_timeout_ms,
        member.classic.protocols,
    )
