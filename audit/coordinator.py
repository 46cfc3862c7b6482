"""The rules of the coordinator's log: a fold over the records of one transactional id.

The states and their order are Kafka's TransactionState and TransactionMetadata. The log is
compacted, so a record may follow any other if there is a hole between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ..protocol.java_hash import java_hash_code
from .rows import CoordinatorRecord, Decision, Standing
from .rules import Finding, evidence

STATE_TOPIC: Final = "__transaction_state"
DEAD: Final = "Dead"
EMPTY: Final = "Empty"
ONGOING: Final = "Ongoing"
PREPARE_COMMIT: Final = "PrepareCommit"
PREPARE_ABORT: Final = "PrepareAbort"
COMPLETE_COMMIT: Final = "CompleteCommit"
COMPLETE_ABORT: Final = "CompleteAbort"
STATES: Final = (EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)
"""By the number in the log."""

AT_REST: Final = frozenset({EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT})
_PREPARED: Final = frozenset({PREPARE_COMMIT, PREPARE_ABORT})
MAY_FOLLOW: Final[Mapping[str, frozenset[str]]] = {
    EMPTY: AT_REST | {DEAD},
    ONGOING: AT_REST | {ONGOING},
    PREPARE_COMMIT: frozenset({ONGOING}),
    # At rest: EndTxn 5 ends a transaction without partitions (KIP-890).
    PREPARE_ABORT: AT_REST | {ONGOING},
    COMPLETE_COMMIT: frozenset({PREPARE_COMMIT}),
    COMPLETE_ABORT: frozenset({PREPARE_ABORT}),
    DEAD: AT_REST | {DEAD},
}
_NO_HASH: Final = -(1 << 31)


class StateLog(NamedTuple):
    """One partition of an internal topic, for the rules that need its extent.

    Attributes:
        partitions: number of partitions of the topic; 0 if it is not known.
        last_hole: see `PartitionSummary`.
    """

    partitions: int = 0
    last_hole: int = -1


def partition_for(key: str, partitions: int) -> int:
    """The partition of an internal topic for a group or a transactional id."""
    code = java_hash_code(key)
    return 0 if code == _NO_HASH else abs(code) % partitions


class CoordinatorFold:
    """Records of one transactional id, in the order of the log."""

    def __init__(self, log: StateLog) -> None:
        self._log = log
        self._last: CoordinatorRecord | None = None
        self._prepared: CoordinatorRecord | None = None

    def row(self, record: CoordinatorRecord) -> Iterator[Finding | Decision | Standing]:
        """Pass the next record."""
        last = self._last
        count = self._log.partitions
        if (
            last is None
            and count
            and partition_for(record.transactional_id, count) != (record.partition)
        ):
            right = partition_for(record.transactional_id, count)
            text = f"the id belongs into {STATE_TOPIC}-{right}"
            yield _finding("wrong-coordinator", text, record)
        follows = last is not None and self._log.last_hole <= last.offset
        begins = last is None and self._log.last_hole < 0
        if follows or begins:
            yield from self._transition(record, last)
        if self._prepared is not None:
            prepared, self._prepared = self._prepared, None
            yield from _decisions(prepared, is_complete=record.state != prepared.state)
        if record.state in _PREPARED:
            self._prepared = record
        if last is not None and last.producer_id not in (-1, record.producer_id):
            yield _standing(last, is_current=False)
        self._last = record

    def end(self) -> Iterator[Finding | Decision | Standing]:
        """The log ends."""
        if self._prepared is not None:
            yield from _decisions(self._prepared, is_complete=False)
        if self._last is not None and self._last.producer_id >= 0:
            yield _standing(self._last, is_current=True)

    def _transition(
        self, record: CoordinatorRecord, last: CoordinatorRecord | None
    ) -> Iterator[Finding]:
        before = DEAD if last is None else last.state
        if record.state == DEAD:
            if before == ONGOING or before in _PREPARED:
                yield _finding("expired-while-open", f"it expires as {before}", record, last)
            return
        if before not in MAY_FOLLOW[record.state]:
            text = f"{record.state} follows {'no state' if last is None else before}"
            yield _finding("illegal-transition", text, record, last)
        if last is None or last.state == DEAD:
            return
        if record.producer_id != last.producer_id:
            if record.state not in AT_REST or before == ONGOING:
                text = f"producer {record.producer_id} follows {last.producer_id}"
                yield _finding("state-producer-changed", text, record, last)
        elif record.producer_epoch < last.producer_epoch:
            text = f"epoch {record.producer_epoch} follows {last.producer_epoch}"
            yield _finding("state-epoch-back", text, record, last)
        if before == ONGOING and (record.state == ONGOING or record.state in _PREPARED):
            lost = sorted(set(last.partitions) - set(record.partitions))
            if lost:
                names = ", ".join(f"{topic}-{index}" for topic, index in lost)
                yield _finding("partitions-lost", f"{names} is no longer in it", record, last)


def _decisions(record: CoordinatorRecord, *, is_complete: bool) -> Iterator[Decision]:
    for topic, index in record.partitions:
        yield Decision(
            record.producer_id,
            topic,
            index,
            record.producer_epoch,
            record.state == PREPARE_COMMIT,
            is_complete,
            record.updated_ms,
            record.started_ms,
            record.transactional_id,
            record.partition,
            record.offset,
        )


def _standing(record: CoordinatorRecord, *, is_current: bool) -> Standing:
    return Standing(
        record.producer_id,
        record.transactional_id,
        record.state,
        record.producer_epoch,
        record.timeout_ms,
        record.started_ms,
        record.updated_ms,
        record.partitions,
        is_current,
        record.partition,
        record.offset,
    )


def _finding(
    rule: str, text: str, record: CoordinatorRecord, last: CoordinatorRecord | None = None
) -> Finding:
    return Finding(
        rule,
        f"transactional id {record.transactional_id}: {text}",
        STATE_TOPIC,
        record.partition,
        record.offset,
        record.producer_id,
        record.producer_epoch,
        record.transactional_id,
        evidence(last, record),
    )
