"""Findings: members that a group lost, because they were silent or held on to their partitions.

A classic group leaves Stable by a timer then. Of groups of the newer kinds (KIP-848, KIP-932,
KIP-1071) a timer of the coordinator removes the member. A finding leads there, and names the last
request of the member.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ...trace.events import NO_FIELDS, Decision, Event, Fields, GroupTransition, Request
from ...trace.exchanges import Exchange
from ...trace.messages import structs
from ...trace.owners import client_of, group_of
from ...trace.removed_members import RemovedMember, removed_by_timer
from ..rows import Row
from .seen import Finding, Seen, joined, times

LOST: Final = 1
_SHOWN: Final = 3
_ROUNDING_MS: Final = 100
_PATIENCE: Final = 2
"""A member that lets so many of its heartbeats pass is silent."""
_LEAVING_FOR_A_WHILE: Final = -2


@dataclass(slots=True)
class _Member:
    """What is known of a member.

    Attributes:
        exchange: its last request.
        heard_at_ms: when that came, or was answered.
        session_ms: of a classic member.
        heartbeat_ms: between its heartbeats, as the coordinator said.
    """

    exchange: Exchange
    heard_at_ms: int
    session_ms: int = 0
    heartbeat_ms: int = 0

    @property
    def told(self) -> str:
        """The client and its last request."""
        return f"{client_of(self.exchange.request)} after #{self.exchange.seq}"


_Members = dict[tuple[str, str], _Member]


def lost_members(seen: Seen) -> Iterator[Finding]:
    """Groups that a member left without a word, and members that did not give up partitions."""
    members: _Members = {}
    classic: dict[str, list[tuple[int, list[_Member]]]] = {}
    for row in seen.rows:
        event = row.event
        if row.exchange is not None:
            _hear(members, row, row.exchange, event)
        elif isinstance(event, GroupTransition) and not event.cause:
            if (event.before, event.after) == ("Stable", "PreparingRebalance"):
                silent = _take_silent(members, event)
                classic.setdefault(event.group_id, []).append((event.seq, silent))
        elif isinstance(event, Decision):
            for removed in removed_by_timer(event):
                yield _removed(members, removed, event)
    for group_id, found in classic.items():
        yield _of_classic(group_id, found)


def _hear(members: _Members, row: Row, exchange: Exchange, event: Event) -> None:
    """A request or an answer of a member, if it is one."""
    fields = exchange.fields
    group_id = group_of(fields)
    if not group_id:
        return
    is_answered = 0 < exchange.answer_seq <= row.last_seq
    answer: Fields = (exchange.response or NO_FIELDS) if is_answered else NO_FIELDS
    member_id = str(fields.get("member_id") or answer.get("member_id") or "")
    if exchange.api == "LeaveGroup" or fields.get("member_epoch") == -1:
        leaving = [str(each.get("member_id")) for each in structs(fields, "members")]
        for each in (member_id, *leaving):
            members.pop((group_id, each), None)
        return
    if not member_id:
        return
    known = members.get((group_id, member_id))
    now = _Member(exchange, exchange.answered_at_ms if answer else event.at_ms)
    now.session_ms = _number(fields, "session_timeout_ms") or (known.session_ms if known else 0)
    now.heartbeat_ms = _number(answer, "heartbeat_interval_ms") or (
        known.heartbeat_ms if known else 0
    )
    if known is not None and not isinstance(event, Request):
        now.exchange = known.exchange  # a later request may be on its way
    members[group_id, member_id] = now


def _number(fields: Fields, name: str) -> int:
    found = fields.get(name)
    return found if isinstance(found, int) else 0


def _take_silent(members: _Members, event: GroupTransition) -> list[_Member]:
    """The members of a classic group whose session is over."""
    found = [
        key
        for key, each in members.items()
        if key[0] == event.group_id
        and each.session_ms
        and event.at_ms + _ROUNDING_MS >= each.heard_at_ms + each.session_ms
    ]
    return [members.pop(key) for key in found]


def _of_classic(group_id: str, found: list[tuple[int, list[_Member]]]) -> Finding:
    silent = [each for _, members in found for each in members]
    spans = joined(sorted({str(each.session_ms) for each in silent}))
    more = f" and {len(silent) - _SHOWN} more" if len(silent) > _SHOWN else ""
    of_whom = f" of {joined(each.told for each in silent[:_SHOWN])}{more}" if silent else ""
    return Finding(
        LOST, found[0][0],
        f"Group {group_id} lost a member{times(len(found))}: no heartbeat{of_whom} came within"
        f" session.timeout.ms{f'={spans}' if spans else ''}, so its partitions were taken away"
        f" ({', '.join(f'#{seq}' for seq, _ in found[:_SHOWN])})",
    )  # fmt: skip


def _removed(members: _Members, removed: RemovedMember, event: Decision) -> Finding:
    """The finding for a member that a timer removed."""
    member = members.pop((removed.group_id, removed.member_id), None)
    head = f"Group {removed.group_id} lost a member: "
    tail = f", so its partitions were taken away (#{event.seq})"
    if member is None:
        return Finding(LOST, event.seq, f"{head}a timer removed {removed.member_id}{tail}")
    silent_ms = event.at_ms - member.heard_at_ms
    if member.exchange.fields.get("member_epoch") == _LEAVING_FOR_A_WHILE:
        why = f"{member.told} left for a while, and did not come back within {removed.setting}"
    elif silent_ms > _PATIENCE * member.heartbeat_ms:
        why = (
            f"no heartbeat of {member.told} came within {removed.setting}:"
            f" it was silent for {silent_ms / 1000:.1f} s"
        )
    else:
        why = f"{member.told} did not give up partitions within its rebalance timeout"
    return Finding(LOST, event.seq, f"{head}{why}{tail}")
