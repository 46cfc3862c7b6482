"""Counts the decisions of one node's transaction coordinators, for the metrics page.

The shards report each decision; the state machines are read only when the metrics page is. Without
`ottla serve --metrics` nothing is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from ....coordinator.outcome import Outcome
from ....coordinator.transactions.states import PREPARED, State, Transaction
from ....metadata.catalog import TRANSACTION_STATE
from ....protocol.errors import Code
from ...events import DecisionAppended, DecisionRefused
from ...scheduling.holds import Histogram

BUCKETS_S: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
    600.0,
)  # fmt: skip
OPEN, ENDING = "open", "ending"
TIMEOUT, NEW_PRODUCER, CLIENT = "timeout", "new_producer", "client"
# Refusals of producers that are not, or no longer, the owner of their transactional id.
_FENCINGS: Final = {
    Code.PRODUCER_FENCED: "producer_fenced",
    Code.INVALID_PRODUCER_EPOCH: "invalid_producer_epoch",
    Code.INVALID_PRODUCER_ID_MAPPING: "invalid_producer_id_mapping",
}


class TransactionMetrics:
    """The counts of one node; `observe` is an observer of the events.

    Args:
        node_id: the node that counts.
        now_s: a clock's `monotonic_s`.

    Attributes:
        commits: the number of decided commits.
        aborts: the number of decided aborts by cause: client, timeout, new_producer.
        fencings: by cause: timeout and new_producer end an open transaction; the others are
            requests refused with the error of that name.
        phases: `open`, from the first partition to the decision; `ending`, from there to the last
            marker.
    """

    def __init__(self, node_id: int, now_s: Callable[[], float]) -> None:
        self._node_id = node_id
        self._now_s = now_s
        self.commits = 0
        self.aborts: Counter[str] = Counter()
        self.fencings: Counter[str] = Counter()
        self.phases = {OPEN: Histogram(BUCKETS_S), ENDING: Histogram(BUCKETS_S)}
        self._prepared_at_s: dict[str, float] = {}

    @property
    def success_ratio(self) -> float | None:
        """The share of commits in all decisions; None before the first."""
        decided = self.commits + self.aborts.total()
        return self.commits / decided if decided else None

    def observe(self, event: object) -> None:
        """Count an event, if it is of a coordinator of transactions of this node."""
        if (
            isinstance(event, DecisionAppended | DecisionRefused)
            and event.node_id == self._node_id
            and event.topic == TRANSACTION_STATE
        ):
            if isinstance(event, DecisionAppended):
                self._decided(event)
            else:
                self._refused(event.code)

    def _decided(self, decision: DecisionAppended) -> None:
        outcome = decision.outcome
        for record in outcome.records:
            if not isinstance(record, Transaction):
                continue
            if record.state in PREPARED:
                cause = _cause(outcome, by_timer=decision.by_timer)
                self._note_prepared(record, decision.now_ms, cause)
            elif record.state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT):
                prepared_at_s = self._prepared_at_s.pop(record.transactional_id, None)
                if prepared_at_s is not None:
                    self.phases[ENDING].observe(self._now_s() - prepared_at_s)

    def _refused(self, code: Code) -> None:
        cause = _FENCINGS.get(code)
        if cause is not None:
            self.fencings[cause] += 1

    def _note_prepared(self, record: Transaction, now_ms: int, cause: str) -> None:
        self._prepared_at_s[record.transactional_id] = self._now_s()
        if record.started_ms >= 0:
            self.phases[OPEN].observe(max(0, now_ms - record.started_ms) / 1000)
        if record.state is State.PREPARE_COMMIT:
            self.commits += 1
            return
        self.aborts[cause] += 1
        if cause != CLIENT:
            self.fencings[cause] += 1


def _cause(outcome: Outcome[object], *, by_timer: bool) -> str:
    if by_timer:
        return TIMEOUT
    # InitProducerId on an open transaction is the only request that aborts and must be retried.
    return NEW_PRODUCER if isinstance(outcome.reply, Code) else CLIENT
