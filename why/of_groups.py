"""Groups of consumers: members, rebalances, and where their committed offsets are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .facts import Facts, GroupFacts, MemberFacts, Place
from .findings import Finding, counted, listed, named, places_named, span
from .of_transactions import OFFSETS

_SILENT_PART: Final = 0.4
"""Of the session timeout; clients send heartbeats every third of it, or more often."""
_LATE_MS: Final = 4_000
"""But heartbeat.interval.ms is 3 s by default, which is half of a session timeout of 6 s."""
_LATE_PART: Final = 0.7
_LEFT_FOR_A_WHILE: Final = -2  # the epoch of a static member that will come back (KIP-848)


def groups_of_interest(facts: Facts, *kinds: str) -> Iterator[GroupFacts]:
    """The groups that the question is about: one, those of a topic, or all.

    Args:
        kinds: only groups of these; without any, of all.
    """
    subject = facts.subject
    for name, group in sorted(facts.groups.items()):
        is_meant = subject.topic is None or group.concerns(subject.topic)
        if is_meant and subject.group in (None, name) and (not kinds or group.kind in kinds):
            yield group


def unread_places(facts: Facts, group: GroupFacts) -> set[Place]:
    """Assigned partitions with records, for which the group has committed nothing."""
    return {
        place
        for each in group.members
        for place in each.assigned
        if place not in group.committed
        and (partition := facts.partitions.get(place)) is not None
        and partition.high_watermark
    }


def refused_groups(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Groups that do not exist, or whose coordinator does not answer for them."""
    for group in groups_of_interest(facts):
        name = group.group_id
        if group.error in ("GROUP_ID_NOT_FOUND", "") and group.state in ("", "Dead"):
            if facts.subject.group != name:
                continue  # it was deleted after the list of groups was made
            yield Finding(
                "group_unknown", name, f"No group {name} exists: no consumer has joined it or"
                " committed an offset for it.",
                "DescribeGroups: GROUP_ID_NOT_FOUND",
                "Check group.id and the broker's address in the consumer. A consumer joins with its"
                " first poll.",
            )  # fmt: skip
        elif group.error == "GROUP_AUTHORIZATION_FAILED":
            yield Finding(
                "may_not_describe", name,
                f"Nothing is known of group {name}: whoever asks may not describe it.",
                group.error, "Ask as a user with an ACL for DESCRIBE of the group.",
                is_stuck=False,
            )  # fmt: skip
        elif group.error:
            yield Finding(
                "coordinator_away", name,
                f"The coordinator of group {name} refuses to answer: {group.error}."
                " Its members cannot join, commit or fetch offsets.",
                group.error,
                "It loads its log after a restart or a new leader, which takes a moment. If it"
                f" stays, the partition of {OFFSETS} has no leader.",
            )  # fmt: skip


def silent_members(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Members that hold partitions and send no heartbeats."""
    for group in groups_of_interest(facts):
        for member in group.members:
            if member.epoch == _LEFT_FOR_A_WHILE:
                yield _left_for_a_while(group, member)
                continue
            silent_ms, session_ms = member.silent_ms, member.session_ms
            if silent_ms is None or session_ms is None or member.session_left_ms is None:
                continue
            usual_ms = max(_SILENT_PART * session_ms, min(_LATE_MS, _LATE_PART * session_ms))
            if silent_ms < usual_ms or not member.assigned:
                continue
            yield Finding(
                "silent_member",
                group.group_id,
                f"Member {_called(member)} of group {group.group_id} has sent no heartbeat for"
                f" {span(silent_ms)}, and holds {places_named(member.assigned)} for"
                f" {span(member.session_left_ms)} more{_of_clock(facts)}.",
                f"session timeout {span(session_ms)}, member id {member.member_id}",
                "Its process hangs or is gone: end it with close(), or lower session.timeout.ms."
                + _advance(facts, member.session_left_ms),
            )


def _left_for_a_while(group: GroupFacts, member: MemberFacts) -> Finding:
    left = member.session_left_ms
    return Finding(
        "static_member_away",
        group.group_id,
        f"The static member {member.instance_id} of group {group.group_id} has left and keeps"
        f" {places_named(member.assigned or member.target or ())} for its return"
        f"{'' if left is None else f', for {span(left)} more'}.",
        f"member epoch {_LEFT_FOR_A_WHILE}, member id {member.member_id}",
        "Start it again with the same group.instance.id, or wait for its session timeout.",
        is_stuck=bool(member.assigned or member.target),
    )


def rebalances(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Classic groups that wait for members."""
    for group in groups_of_interest(facts, "Classic"):
        if group.state == "PreparingRebalance":
            yield _waits_for_joins(facts, group, patience_ms)
        elif group.state == "CompletingRebalance":
            yield _waits_for_syncs(facts, group, patience_ms)


def _waits_for_joins(facts: Facts, group: GroupFacts, patience_ms: int) -> Finding:
    name = group.group_id
    absent = [each for each in group.members if each.has_joined is False]
    left_ms, whole_ms = group.rebalance_left_ms, group.rebalance_ms
    waited_ms = None if left_ms is None or whole_ms is None else max(0, whole_ms - left_ms)
    if group.is_initial_delay:
        return Finding(
            "initial_delay", name,
            f"Group {name} waits for more members before its first rebalance"
            f"{'' if left_ms is None else f', for {span(left_ms)} more{_of_clock(facts)}'}.",
            "PreparingRebalance of an empty group",
            "This is group.initial.rebalance.delay.ms, 3 s by default; tests set it to 0."
            + _advance(facts, left_ms),
            is_stuck=False,
        )  # fmt: skip
    if absent:
        who = listed(f"member {_called(each)}" for each in absent)
        whom = f"{who} to join again"
    elif group.pending_members:
        whom = f"{listed(group.pending_members)} to join with the member id that it got"
    else:
        whom = "members that have not joined again"
    held = [place for each in absent for place in each.assigned]
    until = ""
    if left_ms is not None:
        whole = "" if whole_ms is None else f" (of {span(whole_ms)})"
        until = f", for {span(left_ms)} more{whole}{_of_clock(facts)}"
    return Finding(
        "rebalance_waits_for_joins",
        name,
        f"The rebalance of group {name} waits for {whom}{until}; nobody reads meanwhile"
        f"{f' ({places_named(held)})' if held else ''}.",
        f"state PreparingRebalance, {counted(len(group.members), 'member')},"
        f" {sum(each.has_joined is True for each in group.members)} joined",
        "The member does not poll: it joins again at its next poll, or is removed after its"
        " rebalance timeout (max.poll.interval.ms)." + _advance(facts, left_ms),
        is_stuck=_is_old(group, waited_ms, patience_ms),
    )


def _waits_for_syncs(facts: Facts, group: GroupFacts, patience_ms: int) -> Finding:
    late = [each for each in group.members if each.has_synced is False]
    left_ms, whole_ms = group.rebalance_left_ms, group.rebalance_ms
    waited_ms = None if left_ms is None or whole_ms is None else max(0, whole_ms - left_ms)
    whom = listed(f"member {_called(each)}" for each in late) or "its leader"
    return Finding(
        "rebalance_waits_for_syncs",
        group.group_id,
        f"Group {group.group_id} waits for SyncGroup of {whom}, without which nobody has an"
        f" assignment{'' if left_ms is None else f', for {span(left_ms)} more{_of_clock(facts)}'}.",
        f"state CompletingRebalance, {counted(len(group.members), 'member')}",
        "The leader computes the assignment, or hangs: look at the member that is named."
        + _advance(facts, left_ms),
        is_stuck=_is_old(group, waited_ms, patience_ms),
    )


def _is_old(group: GroupFacts, waited_ms: int | None, patience_ms: int) -> bool:
    """Whether a rebalance is under way for longer than the asker is patient.

    Without a control its age is unknown: then it is old if it was the same at a second look.
    """
    if waited_ms is None:
        return patience_ms == 0 or group.is_old
    return waited_ms >= patience_ms


def unrevoked_partitions(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Groups of the new protocol in which a member has not given up what others are to get."""
    for group in groups_of_interest(facts, "Consumer", "Streams"):
        for waiting in group.members:
            if waiting.target is None or group.state != "Reconciling":
                continue
            missing = sorted(set(waiting.target) - set(waiting.assigned))
            holders = [each for each in _holders(group, missing) if each is not waiting]
            if missing and holders:
                yield _unrevoked(
                    facts, group, waiting, holders, places=missing, patience_ms=patience_ms
                )
        if group.state == "Assigning":
            yield Finding(
                "assignment_pending", group.group_id,
                f"Group {group.group_id} has a new epoch, {group.epoch}, and no assignment for it"
                f" yet (it has one of epoch {group.target_epoch}).",
                "state Assigning",
                "The next heartbeat of a member makes it, after"
                " group.consumer.assignment.interval.ms.",
                is_stuck=False,
            )  # fmt: skip


def _holders(group: GroupFacts, places: list[Place]) -> list[MemberFacts]:
    """The members that may still have partitions which others are to get.

    A partition that a member has to give up is in its assignment no more. The coordinator knows who
    it is; others see that the member is behind the epoch of the target.
    """
    known = [each for each in group.members if each.revocation_left_ms is not None]
    if not known:
        known = [each for each in group.members if set(each.assigned) & set(places)]
    if not known and group.target_epoch is not None:
        known = [
            each
            for each in group.members
            if each.epoch is not None and 0 < each.epoch < group.target_epoch
        ]
    return known


def _unrevoked(
    facts: Facts,
    group: GroupFacts,
    waiting: MemberFacts,
    holders: list[MemberFacts],
    *,
    places: list[Place],
    patience_ms: int,
) -> Finding:
    holder = holders[0]
    left_ms = holder.revocation_left_ms
    until = "" if left_ms is None else f"; it is removed in {span(left_ms)}{_of_clock(facts)}"
    who = " or ".join(_called(each) for each in holders[:3])
    return Finding(
        "unrevoked_partitions",
        group.group_id,
        f"Member {_called(waiting)} of group {group.group_id} waits for {places_named(places)},"
        f" which member {who} has not given up{until}.",
        f"group epoch {group.epoch}; {holder.member_id} has epoch {holder.epoch} and keeps"
        f" {listed(map(named, sorted(holder.assigned))) or 'nothing'}",
        "It gives them up at its next poll (max.poll.interval.ms). If it does not poll, it hangs in"
        " the code between two polls." + _advance(facts, left_ms),
        is_stuck=patience_ms == 0 or (holder.silent_ms or 0) >= patience_ms or group.is_old,
    )


def pending_offsets(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Offsets that wait for the end of a transaction (KIP-447)."""
    for group in groups_of_interest(facts):
        if not group.unstable:
            continue
        own = (OFFSETS, group.offsets_partition)
        holders = [
            each
            for each in facts.transactions.values()
            if own in each.partitions and each.state not in ("Empty", "Dead")
        ]
        name = group.group_id
        whose = listed(each.transactional_id for each in holders) or "an open transaction"
        ages = [facts.now_ms - each.started_ms for each in holders if each.started_ms >= 0]
        age = f", open for {span(max(ages))}" if ages else ""
        yield Finding(
            "pending_offsets",
            name,
            f"The offsets of group {name} for {places_named(group.unstable)} are pending in the"
            f" transaction of {whose}{age}: a consumer that starts now waits with"
            " UNSTABLE_OFFSET_COMMIT until it ends.",
            f"OffsetFetch with require_stable: UNSTABLE_OFFSET_COMMIT"
            f" ({listed(sorted(map(named, group.unstable)))})",
            f"End the transaction: ottla txn abort {holders[0].transactional_id}."
            if holders
            else "End the transaction (`ottla txn list --state Ongoing` names it).",
            is_stuck=not ages or max(ages) >= patience_ms,
        )


def _called(member: MemberFacts) -> str:
    """How people call a member: by its instance, its client or its id."""
    if member.instance_id:
        return member.instance_id
    if member.member_id.startswith(member.client_id) or not member.client_id:
        return member.member_id
    return f"{member.member_id} ({member.client_id})"


def _of_clock(facts: Facts) -> str:
    return " of the broker's time" if facts.is_clock_manual else ""


def _advance(facts: Facts, left_ms: int | None) -> str:
    if not facts.is_clock_manual or left_ms is None:
        return ""
    return f" In a test: broker.clock.advance(ms={left_ms})."
