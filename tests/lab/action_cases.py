"""What each action does to a request of a transaction, for tests with several clients.

`test_all_actions.py` checks that each action, and each of its parameters, has a case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

OTHER_NODE: Final = "other"
"""Stands for a node that is not the leader, or the coordinator."""


@dataclass(frozen=True)
class Case:
    """An action on the first request.

    Attributes:
        is_applied: whether the broker applies it.
        is_sent_again: whether the client sends it again; None if that depends on the time.
    """

    kind: str
    is_applied: bool
    is_sent_again: bool | None
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.kind, *(f"{value}" for value in self.parameters.values())])


_OF_ALL: Final = (
    Case("drop_answer", True, True, {"close": True}),
    Case("drop_answer", True, True, {"close": False}),
    Case("drop_request", False, True, {"close": True}),
    Case("drop_request", False, True, {"close": False}),
    Case("close_before", False, True),
    Case("close_after", True, True),
    Case("cut_answer", True, True, {"bytes": 10}),
    Case("delay", True, False, {"ms": 50, "point": "before"}),
    Case("delay", True, False, {"ms": 50, "point": "after"}),
    Case("throttle", True, False, {"ms": 50}),
    Case("apply_twice", True, False, {"answer": "first"}),
)
OF_PRODUCE: Final = (
    *_OF_ALL,
    Case("delay", True, False, {"ms": 10, "up_to_ms": 60, "seed": 3}),
    Case("throttle", True, False, {"ms": 50, "mutes": False}),
    Case("apply_twice", True, False, {"answer": "second"}),
    Case("error", False, True, {"code": "NOT_ENOUGH_REPLICAS"}),
    Case("error", False, True, {"code": 6, "message": "moved"}),
    Case("move_leader", False, True),
    Case("move_leader", False, True, {"node_id": OTHER_NODE}),
)
OF_END: Final = (
    *_OF_ALL,
    # The second one is refused with CONCURRENT_TRANSACTIONS until the markers are written.
    Case("apply_twice", True, None, {"answer": "second"}),
    Case("error", False, True, {"code": "COORDINATOR_NOT_AVAILABLE"}),
    Case("move_coordinator", False, True),
    Case("move_coordinator", False, True, {"node_id": OTHER_NODE}),
)
HELD: Final = (
    Case("hold", True, True, {"point": "before"}),
    Case("hold", True, True, {"point": "after"}),
)
LATE: Final = (
    Case("apply_late", True, True, {"close": True}),
    Case("apply_late", True, True, {"close": False}),
    Case("apply_late", True, True, {"ms": 100}),
)
FORGETTING: Final = Case("forget_session", True, None)
CORRUPT_ENDS: Final = (
    Case("corrupt", True, None, {"what": "wrong_correlation_id"}),
    Case("corrupt", True, None, {"what": "trailing_bytes"}),
)
DISKS: Final = (
    Case("disk", False, True, {"error": "ENOSPC"}),
    Case("disk", False, True, {"error": "EIO"}),
    Case("disk", True, False, {"error": "slow_fsync", "ms": 300}),
)
