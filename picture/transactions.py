"""The transactions of a trace: where each begins and ends, and its states.

A transaction lasts from the first request that adds a partition to its last marker. The log of the
coordinator decides; a capture of the network has none, and there EndTxn ends a transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ..trace.events import Answer, Decision, Event, MarkerAppended, Request
from ..trace.owners import ids_of_producers, transactional_id_of
from .lanes import TRANSACTION, Lane, log_of
from .rows import Row

BEGINS: Final = frozenset({"AddPartitionsToTxn", "AddOffsetsToTxn", "Produce", "TxnOffsetCommit"})
_OUTCOMES: Final = {
    "PrepareCommit": "commit", "CompleteCommit": "commit",
    "PrepareAbort": "abort", "CompleteAbort": "abort", "PrepareEpochFence": "abort",
}  # fmt: skip
OPEN: Final = "open"


class Band(NamedTuple):
    """A stretch of a lane.

    Attributes:
        first, last: numbers of rows.
        kind: `state` of a transaction or a group, `open` for an open transaction in a partition.
        label: the state.
        transaction: its number; 0 for none.
    """

    lane: Lane
    first: int
    last: int
    kind: str
    label: str
    transaction: int


@dataclass(slots=True)
class PicturedTransaction:
    """A transaction.

    Attributes:
        number: from 1 on, in the order in which they begin.
        first, last: its rows.
        outcome: `commit`, `abort`, or `open` at the end of the trace.
        began_before: whether the trace begins in it.
    """

    number: int
    transactional_id: str
    first: int
    last: int
    outcome: str = OPEN
    began_before: bool = False
    is_complete: bool = False
    open_in: dict[Lane, int] = field(default_factory=dict)


class _Id:
    """What is known of a transactional id while the rows go by."""

    def __init__(self) -> None:
        self.current: PicturedTransaction | None = None
        self.asked_at: int | None = None  # the first request that may begin a transaction
        self.state = ""
        self.state_at = 0


class Transactions:
    """Finds the transactions in rows.

    Args:
        events: all of the trace.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._owners = ids_of_producers(events)
        self._has_decisions = any(
            isinstance(each, Decision) and any(each.transactions) for each in events
        )
        self._ids: dict[str, _Id] = {}
        self.all: list[PicturedTransaction] = []
        self.bands: list[Band] = []
        self.of_rows: dict[int, int] = {}
        """The number of the transaction of each row that belongs to one."""

    def add_all(self, rows: Sequence[Row]) -> None:
        """Go through the rows."""
        for number, row in enumerate(rows):
            self._add(number, row)
        self._end(len(rows) - 1)

    def _add(self, number: int, row: Row) -> None:
        event = row.event
        match event:
            case Request():
                owner = transactional_id_of(event)
                if owner is not None:
                    self._of_request(number, row, owner)
            case Answer():
                request = row.request
                owner = None if request is None else transactional_id_of(request)
                if owner is not None:
                    self._belongs(number, owner)
                    self._of_answer(number, row, owner)
                if row.request_row in self.of_rows:
                    self.of_rows.setdefault(number, self.of_rows[row.request_row])
            case Decision():
                for record in event.transactions:
                    self._of_decision(number, record)
            case MarkerAppended():
                owner = self._owners.get(event.producer.get("producer_id", -1))
                if owner is not None:
                    self._of_marker(number, owner, event)
            case _:
                if row.request_row >= 0 and row.request_row in self.of_rows:
                    self.of_rows[number] = self.of_rows[row.request_row]

    def _of_request(self, number: int, row: Row, owner: str) -> None:
        found = self._ids.setdefault(owner, _Id())
        assert row.exchange is not None
        begins = row.exchange.api in BEGINS and not _only_verifies(row.exchange.fields)
        if found.current is None and begins and found.asked_at is None and not row.is_error:
            found.asked_at = number
            if not self._has_decisions:
                self._begin(found, owner, number)
        self._belongs(number, owner)
        if row.last_seq > row.event.seq:
            self._of_answer(number, row, owner)

    def _of_answer(self, number: int, row: Row, owner: str) -> None:
        """What an answer says: a refused request begins nothing; in a capture EndTxn ends."""
        found = self._ids[owner]
        exchange = row.exchange
        if found.current is None and row.is_error:
            found.asked_at = None
        if self._has_decisions or exchange is None or exchange.api != "EndTxn" or row.is_error:
            return
        if found.current is not None:
            found.current.outcome = "commit" if exchange.fields.get("committed") else "abort"
            self._complete(found, number)

    def _of_decision(self, number: int, record: Mapping[str, Any]) -> None:
        owner, state = str(record.get("transactional_id")), str(record.get("after"))
        found = self._ids.setdefault(owner, _Id())
        if found.current is None and (state == "Ongoing" or state.startswith("Prepare")):
            begin = number if found.asked_at is None else found.asked_at
            self._begin(found, owner, begin if state == "Ongoing" else 0, state != "Ongoing")
        self._belongs(number, owner)
        self._change_state(found, owner, number, state)
        current = found.current
        if current is None:
            return
        if state == "Ongoing":
            for topic, partition in _partitions(record):
                current.open_in.setdefault(log_of(topic, partition), number)
        current.outcome = _OUTCOMES.get(state, current.outcome)
        if state.startswith("Complete"):
            self._complete(found, number)

    def _of_marker(self, number: int, owner: str, event: MarkerAppended) -> None:
        found = self._ids.setdefault(owner, _Id())
        self._belongs(number, owner)
        current = found.current
        if current is not None:
            current.outcome = "commit" if event.commit else "abort"
            self._close(current, log_of(event.topic, event.partition), number)

    def _begin(self, found: _Id, owner: str, number: int, began_before: bool = False) -> None:
        found.current = PicturedTransaction(
            len(self.all) + 1, owner, number, number, began_before=began_before
        )
        found.asked_at = None
        self.all.append(found.current)
        self.of_rows[number] = found.current.number

    def _belongs(self, number: int, owner: str) -> None:
        current = self._ids[owner].current if owner in self._ids else None
        if current is not None:
            current.last = number
            self.of_rows[number] = current.number

    def _complete(self, found: _Id, number: int) -> None:
        current = found.current
        assert current is not None
        current.last, current.is_complete = number, True
        for lane in list(current.open_in):
            self._close(current, lane, number)
        found.current = None

    def _close(self, current: PicturedTransaction, lane: Lane, number: int) -> None:
        """A partition has its marker."""
        first = current.open_in.pop(lane, None)
        if first is not None:
            label = f"T{current.number} {current.outcome}"
            self.bands.append(Band(lane, first, number, OPEN, label, current.number))

    def _change_state(self, found: _Id, owner: str, number: int, state: str) -> None:
        if found.state != state:
            self._end_state(found, owner, number)
            found.state, found.state_at = state, number

    def _end_state(self, found: _Id, owner: str, number: int) -> None:
        if found.state:
            belongs = found.current is not None and found.state.startswith(("Ongoing", "Prepare"))
            transaction = found.current.number if found.current is not None and belongs else 0
            self.bands.append(
                Band(
                    Lane(TRANSACTION, owner), found.state_at, number, "state", found.state,
                    transaction,
                )
            )  # fmt: skip

    def _end(self, last: int) -> None:
        """The trace ends: what is open stays open."""
        for owner, found in self._ids.items():
            self._end_state(found, owner, last)
            current = found.current
            if current is not None:
                current.last = last
                for lane in list(current.open_in):
                    self._close(current, lane, last)


def _only_verifies(fields: Mapping[str, Any]) -> bool:
    many = [each for each in fields.get("transactions") or () if isinstance(each, dict)]
    return bool(many) and all(each.get("verify_only") for each in many)


def _partitions(record: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [
        (str(each[0]), each[1])
        for each in record.get("partitions") or ()
        if isinstance(each, list) and len(each) == 2 and isinstance(each[1], int)
    ]
