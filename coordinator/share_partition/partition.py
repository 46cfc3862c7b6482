"""The machine of a share partition: what is out, what comes next, and what the group is done with.

Records lie between `start_offset`, below which the group is done, and `end_offset`. A fetch begins
at `next_fetch_offset` and acquires what it has read (`acquire.py`); an acknowledgement, the end of
a lock or of a session gives each record its next state. Acknowledgements wait for the share
coordinator, as `Change`s; the end of a lock does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ...protocol.errors import Code, Refused
from ..share_state.states import StateBatch
from ..volatile import Volatile
from .changes import Change, Changed
from .in_flight import InFlight, InFlightBatch, Run
from .locks import Locks
from .states import (
    STATE_AFTER,
    Acknowledgement,
    AcknowledgeType,
    DeadLetterReason,
    DeadLetters,
    RecordState,
    ShareLimits,
)

_NOT_FOUND: Final = "Batch record not found. The request batch offsets are not found in the cache."
_PAST: Final = "Batch record not found. The {} offset in request is past acquired records."
_NOT_ACQUIRED: Final = "The batch cannot be acknowledged. The batch is not in the acquired state."
_NOT_OWNER: Final = "Member is not the owner of batch record"
_IN_CHANGE: Final = (
    "The record state is invalid. The acknowledgement of delivery could not be completed."
)
_NO_RENEWAL: Final = "Renewing acquisition locks is not enabled for the group."


class SharePartition(Volatile):
    """The records of a partition in one share group.

    All of it is lost with the leader; what the share coordinator has stored begins the next one.

    Args:
        start_offset: the first record that the group is not done with.
        stored: the states that the share coordinator has, by offset.

    Attributes:
        start_offset: below it the group is done with every record.
        end_offset: the last record that was fetched; without records in flight the next one.
        in_flight: the records from `start_offset` to `end_offset`.
        locks: the ends of their locks.
        delivery_complete_count: how many of them the group is done with (KIP-1226).
    """

    def __init__(self, start_offset: int, stored: Sequence[StateBatch] = ()) -> None:
        self.start_offset = start_offset
        self.in_flight = InFlight()
        self.locks = Locks(self.in_flight)
        self.delivery_complete_count = 0
        self._may_have_available = bool(stored)
        next_offset = start_offset
        for batch in stored:
            first = max(batch.first_offset, next_offset)
            if first > batch.last_offset:
                continue
            if first > next_offset:
                gap = Run(next_offset, first - 1, RecordState.AVAILABLE, 0)
                self.in_flight.add(InFlightBatch(gap, is_gap=True))
            state = RecordState(batch.delivery_state)
            run = Run(first, batch.last_offset, state, batch.delivery_count)
            self.in_flight.add(InFlightBatch(run))
            self.delivery_complete_count += len(run) if state.is_terminal else 0
            next_offset = batch.last_offset + 1
        self.end_offset = next_offset - 1 if self.in_flight else start_offset
        self.advance()

    # Fetching

    @property
    def records_in_flight(self) -> int:
        """The number of offsets from the start to the end."""
        return self.end_offset - self.start_offset + 1 if self.in_flight else 0

    def next_fetch_offset(self) -> int:
        """The offset to read next: of the first record that is available, or of a new one."""
        if not self.in_flight:
            self._may_have_available = False
            return self.end_offset
        if self._may_have_available:
            for batch in self.in_flight.batches:
                for run in batch.runs:
                    if run.is_available:
                        return run.first_offset
            self._may_have_available = False
        return self.end_offset + 1

    def may_acquire(self, limits: ShareLimits) -> bool:
        """Whether a fetch may acquire records: some are available, or there may be more locks."""
        if self.in_flight and self.next_fetch_offset() <= self.end_offset:
            return True
        return self.records_in_flight < limits.max_record_locks

    def look_for_available(self) -> None:
        """Look for available records in the next `next_fetch_offset`."""
        self._may_have_available = True

    def archive(self, first_offset: int, last_offset: int, state: RecordState) -> None:
        """Be done with the records of a range that have a state."""
        for batch in self.in_flight.between(first_offset, last_offset):
            for run in batch.pieces(first_offset, last_offset):
                if run.state is state:
                    run.state, run.change = RecordState.ARCHIVED, None
                    run.member_id, run.due_ms = "", 0
                    self.delivery_complete_count += len(run)
            batch.join(first_offset, last_offset)

    # Acknowledging

    def acknowledge(
        self,
        change: Change,
        member_id: str,
        asked: Acknowledgement,
        limits: ShareLimits,
        *,
        now_ms: int,
    ) -> None:
        """Add an acknowledgement to a change. After an error the caller rolls the change back.

        Args:
            now_ms: the monotonic time.

        Raises:
            Refused: INVALID_REQUEST: the offsets were never fetched, or a type is unknown;
                INVALID_RECORD_STATE: the member does not have the records (any more).
        """
        if asked.last_offset < self.start_offset:
            return
        self._check_range(asked)
        first = max(asked.first_offset, self.start_offset)
        for first_offset, last_offset, kind in _alike(asked, first):
            for batch in self.in_flight.between(first_offset, last_offset):
                for run in batch.overlapping(first_offset, last_offset):
                    _check_owner(run, member_id)
                if kind is AcknowledgeType.RENEW and not limits.may_renew:
                    raise Refused(Code.INVALID_RECORD_STATE, _NO_RENEWAL)
                for run in batch.pieces(first_offset, last_offset):
                    if kind is AcknowledgeType.RENEW:
                        self.lock(run, limits, now_ms)
                    elif kind is AcknowledgeType.REJECT:
                        reason = DeadLetterReason.REJECTED
                        self._begin(change, run, _given_up(limits), limits, reason)
                    else:
                        self._begin(change, run, STATE_AFTER[kind], limits)

    def _check_range(self, asked: Acknowledgement) -> None:
        first_offset, last_offset = asked.first_offset, asked.last_offset
        floor = self.in_flight.floor(max(first_offset, self.start_offset))
        if floor is None:
            raise Refused(Code.INVALID_RECORD_STATE, _NOT_FOUND)
        last = self.in_flight.between(floor.first_offset, last_offset)[-1]
        if last.last_offset < first_offset:
            raise Refused(Code.INVALID_REQUEST, _PAST.format("first"))
        if last.last_offset < last_offset:
            raise Refused(Code.INVALID_REQUEST, _PAST.format("last"))

    def release_member(self, change: Change, member_id: str, limits: ShareLimits) -> None:
        """Add to a change that a member gives back all that it has: its session has ended."""
        for batch in self.in_flight.batches:
            for run in batch.runs:
                if run.state is RecordState.ACQUIRED and run.member_id == member_id:
                    self._begin(change, run, RecordState.AVAILABLE, limits)

    def _begin(
        self,
        change: Change,
        run: Run,
        state: RecordState,
        limits: ShareLimits,
        reason: DeadLetterReason | None = None,
    ) -> None:
        if state is RecordState.AVAILABLE and run.delivery_count >= limits.delivery_count_limit:
            state, reason = _given_up(limits), DeadLetterReason.DELIVERY_COUNT_EXCEEDED
        run.state, run.change = state, change
        run.member_before, run.member_id = run.member_id, ""
        if state.is_terminal:
            self.delivery_complete_count += len(run)
        change.parts.append(
            Changed(run.first_offset, run.last_offset, state, run.delivery_count, reason)
        )

    def commit(self, change: Change) -> None:
        """The share coordinator has stored a change: it is final."""
        self.commit_parts(change, change.parts)
        self.advance()

    def commit_parts(self, change: Change, parts: Sequence[Changed]) -> None:
        """`commit` for some parts of a long change; `advance` must follow the last of them."""
        for run in self._runs_of(change, parts):
            run.change, run.member_before, run.due_ms = None, "", 0
            if run.state is RecordState.AVAILABLE:
                self._may_have_available = True
        self._join(parts)

    def roll_back(self, change: Change, limits: ShareLimits, *, now_ms: int) -> None:
        """A change has failed: the member has the records again, unless their lock has ended."""
        self.roll_back_parts(change, change.parts, limits, now_ms=now_ms)
        self.advance()

    def roll_back_parts(
        self, change: Change, parts: Sequence[Changed], limits: ShareLimits, *, now_ms: int
    ) -> None:
        """`roll_back` for some parts of a long change; `advance` must follow the last of them."""
        for run in self._runs_of(change, parts):
            if run.state.is_terminal:
                self.delivery_complete_count -= len(run)
            run.change = None
            run.state, run.member_id = RecordState.ACQUIRED, run.member_before
            run.member_before = ""
            if run.due_ms <= now_ms:
                self._end_lock(run, limits._replace(has_dead_letters=False))
        self._join(parts)

    def _runs_of(self, change: Change, parts: Iterable[Changed]) -> Iterator[Run]:
        for part in parts:
            for run in self.in_flight.overlapping(part.first_offset, part.last_offset):
                if run.change is change:
                    yield run

    def _join(self, parts: Sequence[Changed]) -> None:
        if parts:
            first_offset = min(part.first_offset for part in parts)
            last_offset = max(part.last_offset for part in parts)
            for batch in self.in_flight.between(first_offset, last_offset):
                batch.join(first_offset, last_offset)

    # Locks

    def lock(self, run: Run, limits: ShareLimits, now_ms: int) -> None:
        """Begin the lock of acquired records, or begin it again."""
        due_ms = now_ms + limits.lock_duration_ms
        if run.due_ms == due_ms:
            return
        run.due_ms = due_ms
        self.locks.add(run.due_ms, run.first_offset, run.last_offset)

    def next_deadline(self) -> int | None:
        """The monotonic time at which `tick` has something to do; None for never."""
        return self.locks.next()

    def tick(self, limits: ShareLimits, *, now_ms: int) -> Change | None:
        """End the earliest lock that is due: its records are available again, or given up.

        Returns:
            What the share coordinator stores, though it is final at once; None if no lock is due.
        """
        due = self.locks.take_due(now_ms)
        if due is None:
            return None
        due_ms, first_offset, last_offset = due
        change = Change(is_final=True)
        for batch in self.in_flight.between(first_offset, last_offset):
            for run in batch.overlapping(first_offset, last_offset):
                if run.due_ms != due_ms or run.change is not None:
                    continue
                if run.state is RecordState.ACQUIRED:
                    reason = self._end_lock(run, limits)
                    change.parts.append(
                        Changed(*_range(run), run.state, run.delivery_count, reason)
                    )
            batch.join(first_offset, last_offset)
        return change

    def _end_lock(self, run: Run, limits: ShareLimits) -> DeadLetterReason | None:
        run.member_id, run.due_ms = "", 0
        if run.delivery_count < limits.delivery_count_limit:
            run.state = RecordState.AVAILABLE
            self._may_have_available = True
            return None
        run.state = _given_up(limits)
        if run.state.is_terminal:
            self.delivery_complete_count += len(run)
        return DeadLetterReason.DELIVERY_COUNT_EXCEEDED

    # Dead letters

    def waiting_dead_letters(self) -> list[DeadLetters]:
        """What the last leader has given up and perhaps not written to the dead letter queue."""
        reason = DeadLetterReason.DELIVERY_COUNT_EXCEEDED
        return [
            DeadLetters(*_range(run), run.delivery_count, reason)
            for batch in self.in_flight.batches
            for run in batch.runs
            if run.state is RecordState.ARCHIVING and run.change is None
        ]

    def bury(self, dead: DeadLetters) -> Change:
        """Records are in the dead letter queue: be done with them. Returns what is stored."""
        first_offset, last_offset, count, _ = dead
        self.archive(first_offset, last_offset, RecordState.ARCHIVING)
        change = Change(is_final=True)
        change.parts.append(Changed(first_offset, last_offset, RecordState.ARCHIVED, count))
        return change

    # The start

    def advance(self) -> bool:
        """Move the start over what the group is done with; return whether it moved."""
        start_offset = self.start_offset
        batches = self.in_flight.batches
        for at, batch in enumerate(batches):
            waiting = next((run for run in batch.runs if not run.is_settled), None)
            if waiting is not None:
                start_offset = max(start_offset, waiting.first_offset)
                break
            after = batch.last_offset + 1
            start_offset = batches[at + 1].first_offset if at + 1 < len(batches) else after
        if start_offset <= self.start_offset:
            return False
        self._begin_at(start_offset)
        return True

    def move_start(self, log_start_offset: int) -> None:
        """The log begins later now: forget the records that are gone."""
        if log_start_offset > self.start_offset:
            self._begin_at(log_start_offset)
            self._may_have_available = True
            self.advance()

    def _begin_at(self, start_offset: int) -> None:
        for run in self.in_flight.drop_before(start_offset):
            if run.state.is_terminal:
                self.delivery_complete_count -= len(run)
        self.start_offset = start_offset
        if not self.in_flight:
            self.end_offset = start_offset


def dead_letters_of(change: Change) -> list[DeadLetters]:
    """The records that a change has given up, for the dead letter queue."""
    return [
        DeadLetters(part.first_offset, part.last_offset, part.delivery_count, part.reason)
        for part in change.parts
        if part.state is RecordState.ARCHIVING and part.reason is not None
    ]


def _given_up(limits: ShareLimits) -> RecordState:
    return RecordState.ARCHIVING if limits.has_dead_letters else RecordState.ARCHIVED


def _range(run: Run) -> tuple[int, int]:
    return run.first_offset, run.last_offset


def _check_owner(run: Run, member_id: str) -> None:
    if run.change is not None:
        raise Refused(Code.INVALID_RECORD_STATE, _IN_CHANGE)
    if run.state is not RecordState.ACQUIRED:
        raise Refused(Code.INVALID_RECORD_STATE, _NOT_ACQUIRED)
    if run.member_id != member_id:
        raise Refused(Code.INVALID_RECORD_STATE, _NOT_OWNER)


def _alike(asked: Acknowledgement, first_offset: int) -> list[tuple[int, int, AcknowledgeType]]:
    """The parts of a range whose offsets have the same type, from an offset on.

    Raises:
        Refused: INVALID_REQUEST: a type is unknown.
    """
    try:
        if len(asked.types) == 1:
            return [(first_offset, asked.last_offset, AcknowledgeType(asked.types[0]))]
        parts: list[tuple[int, int, AcknowledgeType]] = []
        begins, current = first_offset, asked.types[first_offset - asked.first_offset]
        for at in range(first_offset - asked.first_offset + 1, len(asked.types)):
            if asked.types[at] != current:
                offset = asked.first_offset + at
                parts.append((begins, offset - 1, AcknowledgeType(current)))
                begins, current = offset, asked.types[at]
        parts.append((begins, asked.last_offset, AcknowledgeType(current)))
        return parts
    except ValueError:
        why = f"Invalid acknowledge type: {list(asked.types[:10])}"
        raise Refused(Code.INVALID_REQUEST, why) from None
