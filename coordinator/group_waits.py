"""What a group waits for, and until when: its timers as values, for people who ask why.

No protocol of Kafka shows them. Imported with the first question.
"""

from __future__ import annotations

from typing import NamedTuple


class MemberWaits(NamedTuple):
    """The timers of a member; times by the monotonic clock, in ms, None if the timer is not set.

    Attributes:
        assignment: of a classic member, as its leader sent it.
        session_ms: its session timeout.
        session_due_ms: when its session ends; None while a parked request keeps it.
        has_joined: whether its JoinGroup waits for the end of the rebalance; None outside of one.
        has_synced: whether it has its part of the new assignment; None outside of a rebalance.
        revocation_due_ms: when it is removed, unless it gives partitions up before.
    """

    member_id: str
    assignment: bytes = b""
    session_ms: int = 0
    session_due_ms: int | None = None
    has_joined: bool | None = None
    has_synced: bool | None = None
    revocation_due_ms: int | None = None


class GroupWaits(NamedTuple):
    """The timers of a group and its members.

    Attributes:
        rebalance_due_ms: when a rebalance ends without those that are missing.
        rebalance_ms: how long it may take in all.
        is_initial_delay: it waits for more members, as it was empty.
        pending_members: member ids that were given out and have not joined.
        topics: that its members subscribe to, as far as their metadata can be read.
    """

    members: tuple[MemberWaits, ...]
    rebalance_due_ms: int | None = None
    rebalance_ms: int | None = None
    is_initial_delay: bool = False
    pending_members: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
