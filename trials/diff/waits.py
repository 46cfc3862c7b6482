"""When the answer to each API comes, and how two brokers are compared in that.

Fetch waits for records, for as long as the request allows. JoinGroup and SyncGroup wait for other
members. Kafka answers all others at once, on one broker: what they wait for there are followers,
or its own parts for some milliseconds.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from .messages import Request


class Wait(Enum):
    """What a broker waits for before it answers."""

    NOTHING = "the answer comes at once"
    MEMBERS = "the other members of the group, or a timeout of the group"
    RECORDS = "records, at most for max_wait_ms"


WAITS: Final = {
    "Fetch": Wait.RECORDS,
    "ShareFetch": Wait.RECORDS,
    "JoinGroup": Wait.MEMBERS,
    "SyncGroup": Wait.MEMBERS,
}
"""By API; the others wait for nothing. tests/wire/cases/moments.py asks brokers."""

WAITING: Final = frozenset(WAITS)
"""Requests that a broker holds until others come, so that they keep no order with them."""

MUCH_LATER_S: Final = 3.0
SURE_S: Final = 1.5
"""A pause of one broker may be shorter, so that such a difference counts when it comes again."""

_SHORTEST_S: Final = 0.2
_BEFORE: Final = "before its limit"
_AT_LIMIT: Final = "at its limit"
_FIRST: Final = "the first answer"
_LATER: Final = f"more than {MUCH_LATER_S:g} s later"


def limit_ms(request: Request) -> int:
    """For how long a request lets a broker wait; 0 without a limit of its own."""
    fields = request.fields or {}
    names = ("max_wait_ms", "timeout_ms", "rebalance_timeout_ms")
    return max(0, *(int(fields.get(name, 0)) for name in names))


def different_moments(request: Request, after_s: tuple[float, float]) -> tuple[str, str] | None:
    """What to say of two answers that come at different moments; None if they do not.

    Args:
        after_s: the time that each side took.
    """
    early_s, late_s = sorted(after_s)
    if request.api == "ShareFetch" and after_s[0] < after_s[1]:
        return None  # Kafka learns late of records given back: docs/reference/differences.md
    early, late = _FIRST, _LATER
    if WAITS.get(request.api) is Wait.RECORDS:
        most_s = limit_ms(request) / 1000
        if late_s < 0.95 * most_s or late_s - early_s < max(most_s / 2, _SHORTEST_S):
            return None
        early, late = _BEFORE, _AT_LIMIT
    elif late_s - early_s < MUCH_LATER_S:
        return None
    return (early, late) if after_s[0] < after_s[1] else (late, early)
