"""Log lines about coordinators: rebalances, removed members, transactions past their timeout.

Each line is an event with its fields. A group or a transactional id that causes many lines has a
limited number in a minute, and then a line with the number of the others (complaints.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....coordinator.classic.group import State
from ....coordinator.outcome import Notice
from ....coordinator.transactions.states import PREPARED, Transaction
from ...complaints import Complaints
from ...log_names import LEVELS
from ...log_output import Log

if TYPE_CHECKING:
    from ....coordinator.classic.groups import ClassicGroups
    from ....coordinator.outcome import Outcome
    from ...clock import Clock

LINES: Final = 20
"""The lines of one kind about one group or transactional id in a minute."""
_ENTERED: Final = {
    State.PREPARING_REBALANCE.value: "the group rebalances",
    State.STABLE.value: "the group is stable",
    State.EMPTY.value: "the group has no members",
}
_INFO: Final = LEVELS["INFO"]

_groups = Log("groups")
_transactions = Log("transactions")


class StateLog:
    """Writes the lines of the coordinators of all nodes of a process."""

    def __init__(self, clock: Clock) -> None:
        self._groups = Complaints(clock, name="group", lines=LINES)
        self._transactions = Complaints(clock, name="transactional_id", lines=LINES)

    def entered(self, groups: ClassicGroups, group_id: str, before: str, after: str) -> None:
        """A classic group has entered another state."""
        event, group = _ENTERED.get(after), groups.groups.get(group_id)
        if event is None or group is None or _groups.lowest > _INFO:
            return
        if self._groups.may_log(group_id, event):
            _groups.info(
                event, group=group_id, group_type="classic", generation=group.generation_id,
                members=len(group.members), state_before=before,
            )  # fmt: skip

    def notice(self, effect: Notice) -> None:
        """Log a notice of a group's coordinator."""
        if _groups.lowest <= _INFO and self._groups.may_log(effect.group_id, effect.what):
            _groups.info(effect.what, group=effect.group_id, **effect.fields)

    def timer_decided(self, outcome: Outcome[object], now_ms: int) -> None:
        """Log what a timer has decided about transactions.

        Args:
            now_ms: the wall time.
        """
        if _transactions.lowest > _INFO:
            return
        record = outcome.records[0] if outcome.records else None  # there is one for each timeout
        if not isinstance(record, Transaction) or record.state not in PREPARED:
            return
        event = "a transaction is aborted after its timeout, and its producer is fenced"
        if self._transactions.may_log(record.transactional_id, event):
            _transactions.info(
                event, transactional_id=record.transactional_id, producer_id=record.producer_id,
                timeout_ms=record.timeout_ms, open_ms=now_ms - record.started_ms,
                partitions=len(record.partitions),
            )  # fmt: skip

    def close(self) -> None:
        """Log the numbers of lines that were not written."""
        self._groups.log_rest()
        self._transactions.log_rest()
