"""The steps that a crash can fall between: their names, and the events that end them.

    events.add(AfterPoint("marker appended", 3, crash))

calls `crash` when the third marker is in its log. Tests use it; a broker does not import it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ..coordinator.group_records import OffsetCommitted, OffsetRemoved
from ..coordinator.transactions.states import PREPARED, State, Transaction
from ..metadata.catalog import CLUSTER_METADATA, CONSUMER_OFFSETS, INTERNAL_TOPICS
from ..protocol.api_keys import ApiKey
from ..storage.disk.file_events import (
    ProducerSnapshotWritten,
    SegmentDeleted,
    SegmentRolled,
    SegmentsSwapped,
    SnapshotWritten,
)
from .events import (
    DecisionAppended,
    MarkerAppended,
    OffsetsMaterialized,
    RecordsAppended,
    RequestAnswered,
)

_COMPLETE: Final = frozenset({State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
_NOT_OF_PRODUCERS: Final = frozenset({*INTERNAL_TOPICS, CLUSTER_METADATA})
_OFFSETS: Final = (OffsetCommitted, OffsetRemoved)


def _is_transaction_in(event: object, states: frozenset[State]) -> bool:
    return isinstance(event, DecisionAppended) and any(
        isinstance(record, Transaction) and record.state in states
        for record in event.outcome.records
    )


def _is_of_groups(event: object, *, offsets: bool) -> bool:
    """Whether a decision on groups has a record of an offset, or one of a group itself."""
    return (
        isinstance(event, DecisionAppended)
        and event.topic == CONSUMER_OFFSETS
        and any(isinstance(record, _OFFSETS) == offsets for record in event.outcome.records)
    )


CRASH_POINTS: Final[Mapping[str, Callable[[object], bool]]] = {
    "produce appended": lambda event: (
        isinstance(event, RecordsAppended) and event.topic not in _NOT_OF_PRODUCERS
    ),
    "answered": lambda event: isinstance(event, RequestAnswered),
    "prepare appended": lambda event: _is_transaction_in(event, frozenset(PREPARED)),
    "prepare answered": lambda event: (
        isinstance(event, RequestAnswered) and event.api_key is ApiKey.END_TXN
    ),
    "marker appended": lambda event: isinstance(event, MarkerAppended),
    "offsets materialized": lambda event: isinstance(event, OffsetsMaterialized),
    "complete appended": lambda event: _is_transaction_in(event, _COMPLETE),
    "offset commit appended": lambda event: _is_of_groups(event, offsets=True),
    "group appended": lambda event: _is_of_groups(event, offsets=False),
    "metadata appended": lambda event: (
        isinstance(event, RecordsAppended) and event.topic == CLUSTER_METADATA
    ),
    "segment rolled": lambda event: isinstance(event, SegmentRolled),
    "segments swapped": lambda event: isinstance(event, SegmentsSwapped),
    "segment deleted": lambda event: isinstance(event, SegmentDeleted),
    "producer snapshot written": lambda event: isinstance(event, ProducerSnapshotWritten),
    "snapshot written": lambda event: isinstance(event, SnapshotWritten),
}
"""Each name, and whether an event ends that step. "prepare" is the first record of EndTxn, and
"prepare answered" the answer to EndTxn; "segments swapped" ends a compaction."""


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
