"""What the control of an Ottla tells, and no protocol: timers of groups, throttles, faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .facts import (
    FaultRule,
    GroupFacts,
    MemberFacts,
    Place,
    Refusal,
    SharedRecords,
    Subject,
    Throttle,
)


@dataclass(frozen=True, slots=True)
class Waits:
    """The answers of a control; the defaults if there is none.

    Attributes:
        groups: timers of groups, by id, as the control has them.
        more_groups: the number of groups whose timers the control leaves out.
        named: what each refused request names, in the order of `refusals`.
    """

    is_known: bool = False
    now_ms: int = 0
    is_clock_manual: bool = False
    groups: Mapping[str, Any] = field(default_factory=dict)
    more_groups: int = 0
    faults: tuple[FaultRule, ...] = ()
    throttles: tuple[Throttle, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    named: tuple[frozenset[str], ...] = ()
    shared_records: tuple[SharedRecords, ...] = ()

    def added_to(self, groups: Mapping[str, GroupFacts]) -> dict[str, GroupFacts]:
        """The groups with the timers of their coordinators."""
        return {name: _timed(each, self.groups.get(name)) for name, each in groups.items()}

    def refusals_about(self, subject: Subject) -> tuple[Refusal, ...]:
        """The refusals that a question is about."""
        wanted = subject.topic or subject.group or subject.transactional_id
        if wanted is None:
            return self.refusals
        return tuple(
            each for each, names in zip(self.refusals, self.named, strict=True) if wanted in names
        )


def waits_of(control: Callable[[str], Any]) -> Waits:
    """Ask a control.

    Args:
        control: sends GET to a path, and returns the decoded answer.

    Raises:
        OSError, LookupError: there is no such control.
    """
    waits = control("/waits")
    return Waits(
        is_known=True,
        now_ms=waits["now_ms"],
        is_clock_manual=waits["is_clock_manual"],
        groups={each["group"]: each for each in waits["groups"]},
        more_groups=waits.get("more_groups", 0),  # an older Ottla does not say it
        faults=tuple(map(_fault, control("/faults"))),
        throttles=tuple(
            Throttle(each["client_id"], each["user"], each["left_ms"])
            for each in waits["throttled"]
        ),
        refusals=tuple(map(_refusal, waits["refusals"])),
        named=tuple(frozenset(each["names"]) for each in waits["refusals"]),
        shared_records=tuple(
            SharedRecords(
                found["group"],
                (found["topic"], found["partition"]),
                each["first_offset"],
                each["last_offset"],
                each["state"],
                each["delivery_count"],
                each["member_id"],
                each["lock_ends_in_ms"],
            )
            for found in control("/share-partitions")["partitions"]
            for each in found["records"]
        ),
    )


def _fault(rule: Mapping[str, Any]) -> FaultRule:
    match = ", ".join(f"{name}={value}" for name, value in rule["match"].items())
    return FaultRule(
        rule["id"], rule["action"]["kind"], rule["name"], match, rule["fired"], rule["held"]
    )


def _refusal(each: Mapping[str, Any]) -> Refusal:
    return Refusal(
        each["api"],
        each["code"],
        each["client_id"] or "",
        each["ago_ms"],
        each["subject"],
        each["details"],
        each["times"],
    )


def _timed(group: GroupFacts, timers: Mapping[str, Any] | None) -> GroupFacts:
    if timers is None:
        return group
    by_id = {each["member_id"]: each for each in timers["members"]}
    return replace(
        group,
        members=tuple(_timed_member(each, by_id.get(each.member_id)) for each in group.members),
        rebalance_left_ms=timers["rebalance_left_ms"],
        rebalance_ms=timers["rebalance_ms"],
        is_initial_delay=timers["is_initial_delay"],
        pending_members=tuple(timers["pending_members"]),
        subscribed=tuple(timers["topics"]),
    )


def _timed_member(member: MemberFacts, timers: Mapping[str, Any] | None) -> MemberFacts:
    if timers is None:
        return member
    return replace(
        member,
        assigned=member.assigned or _places(timers["assigned"]),
        session_ms=timers["session_ms"],
        session_left_ms=timers["session_left_ms"],
        has_joined=timers["has_joined"],
        has_synced=timers["has_synced"],
        revocation_left_ms=timers["revocation_left_ms"],
    )


def _places(found: list[list[Any]]) -> tuple[Place, ...]:
    return tuple((topic, index) for topic, index in found)
