"""The steps that a crash can fall between: their names, and the events that end them.

    events.add(AfterPoint("marker appended", 3, crash))

calls `crash` when the third marker is in its log. Nothing here costs anything until it is added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ..coordinator.transactions.states import PREPARED, State, Transaction
from ..storage.file_events import SegmentRolled, SegmentsSwapped, SnapshotWritten
from .events import DecisionAppended, MarkerAppended, OffsetsMaterialized, RequestAnswered


def _is_transaction_in(event: object, states: frozenset[State]) -> bool:
    return isinstance(event, DecisionAppended) and any(
        isinstance(record, Transaction) and record.state in states
        for record in event.outcome.records
    )


_COMPLETE: Final = frozenset({State.COMPLETE_COMMIT, State.COMPLETE_ABORT})

CRASH_POINTS: Final[Mapping[str, Callable[[object], bool]]] = {
    "prepare appended": lambda event: _is_transaction_in(event, frozenset(PREPARED)),
    "answered": lambda event: isinstance(event, RequestAnswered),
    "marker appended": lambda event: isinstance(event, MarkerAppended),
    "offsets materialized": lambda event: isinstance(event, OffsetsMaterialized),
    "complete appended": lambda event: _is_transaction_in(event, _COMPLETE),
    "segment rolled": lambda event: isinstance(event, SegmentRolled),
    "segments swapped": lambda event: isinstance(event, SegmentsSwapped),
    "snapshot written": lambda event: isinstance(event, SnapshotWritten),
}
"""Each name, and whether an event ends that step."""


class AfterPoint:
    """An observer that acts when a point is reached for the n-th time.

    Args:
        point: a name of `CRASH_POINTS`. Raises KeyError for any other.
        count: how often it is reached, from 1 on.
        act: called then, once.
    """

    def __init__(self, point: str, count: int, act: Callable[[], None]) -> None:
        self._is_reached = CRASH_POINTS[point]
        self._left = count
        self._act = act

    def __call__(self, event: object) -> None:
        if self._is_reached(event):
            self._left -= 1
            if self._left == 0:
                self._act()
