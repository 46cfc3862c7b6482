"""The rules between the coordinator's log and the partitions: a fold over one producer id.

The rows of a producer id are its standings, then for each partition the coordinator's decisions and
the partition's transactions by epoch. Decisions and markers meet in order: under transaction
version 2 each epoch has one of each; below, one epoch has many, and a decision whose marker has not
come in `skew_ms` has none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from .coordinator import AT_REST, ONGOING
from .rows import COMMIT, Decision, PartitionSummary, PartitionTransaction, Standing
from .rules import Finding, evidence

ProducerRow = Standing | Decision | PartitionTransaction
_SKEW_MS: Final = 5_000
_SHARED_SHOWN: Final = 2
_TIMEOUT_CHECK_MS: Final = 10_000  # transaction.abort.timed.out.transaction.cleanup.interval.ms


@dataclass(frozen=True, slots=True)
class ProducerFacts:
    """The facts that the rules of producers need.

    Attributes:
        partitions: by topic and index.
        has_coordinators: the log of the coordinators is known.
        is_whole: it has no holes, so an unknown transaction never was decided.
        next_producer_id: by the metadata log; -1 if it is not known.
        now_ms: the end of the audited time: a later deadline has not passed.
        bootstrap: for the commands in findings.
        live_from_ms: the cluster runs, and its logs were read one after the other: nothing is
            missing that may have come since then. -1: the logs are of one moment.
    """

    partitions: Mapping[tuple[str, int], PartitionSummary] = field(default_factory=dict)
    has_coordinators: bool = True
    is_whole: bool = True
    next_producer_id: int = -1
    now_ms: int = -1
    bootstrap: str = ""
    live_from_ms: int = -1
    skew_ms: int = _SKEW_MS

    def is_recent(self, time_ms: int) -> bool:
        """Whether what belongs to this time may have come after its log was read."""
        return 0 <= self.live_from_ms <= time_ms


def sort_key(row: ProducerRow) -> tuple[int, str, int, int, int, int, int]:
    """The order of a producer's rows."""
    if isinstance(row, Standing):
        return (0, "", 0, 0, row.updated_ms, 0, row.offset)
    if isinstance(row, Decision):
        return (1, row.topic, row.partition, row.producer_epoch, row.prepared_ms, 0, row.offset)
    is_open = row.marker_offset < 0
    epoch = row.producer_epoch if is_open else row.marker_epoch
    time_ms = row.last_timestamp if is_open else row.marker_timestamp
    offset = row.first_offset if is_open else row.marker_offset
    return (2 if is_open else 1, row.topic, row.partition, epoch, time_ms, 1, offset)


class ProducerFold:
    """The rows of one producer id, in the order of `sort_key`."""

    def __init__(self, producer_id: int, cluster: ProducerFacts) -> None:
        self._producer_id = producer_id
        self._cluster = cluster
        self._standings: dict[str, Standing] = {}
        self._place: tuple[str, int, int] | None = None  # partition and epoch
        self._decisions: deque[Decision] = deque()
        self._markers: deque[PartitionTransaction] = deque()
        self._repeats: list[PartitionTransaction] = []  # without data, and without a decision yet
        self._is_unallocated = False
        self._highest: PartitionTransaction | None = None

    def row(self, row: ProducerRow) -> Iterator[Finding]:
        """Pass the next row."""
        if isinstance(row, Standing):
            yield from self._standing(row)
            return
        epoch = row.producer_epoch
        if isinstance(row, PartitionTransaction):
            yield from self._check_assignment(row)
            if row.marker_offset < 0:
                yield from self._flush()
                yield from self._open(row)
                return
            epoch = row.marker_epoch
        place = (row.topic, row.partition, epoch)
        if place != self._place:
            yield from self._flush()
            self._place = place
        if isinstance(row, Decision):
            yield from self._decision(row)
        else:
            yield from self._marker(row)

    def end(self) -> Iterator[Finding]:
        """No row of the producer follows."""
        yield from self._flush()
        if self._highest is not None:
            row, epoch = self._highest, max(each.producer_epoch for each in self._known())
            text = f"epoch {_epoch_of(row)} was never given out; the coordinator is at {epoch}"
            yield self._finding("epoch-unassigned", text, row, *self._known())

    def _known(self) -> list[Standing]:
        return list(self._standings.values())

    def _standing(self, row: Standing) -> Iterator[Finding]:
        self._standings[row.transactional_id] = row
        if len(self._standings) == _SHARED_SHOWN and row == self._known()[-1]:
            first, second = self._known()
            text = f"{first.transactional_id} and {second.transactional_id} have producer id"
            yield Finding(
                "producer-id-shared",
                f"{text} {self._producer_id}",
                producer_id=self._producer_id,
                transactional_id=second.transactional_id,
                evidence=evidence(first, second),
            )
        if row.state in (ONGOING,) and row.is_current and row.timeout_ms > 0:
            late_ms = self._cluster.now_ms - row.started_ms - row.timeout_ms
            if late_ms > _TIMEOUT_CHECK_MS and row.timeout_ms < (1 << 31) - 1:
                yield Finding(
                    "overdue-transaction",
                    f"{row.transactional_id} is open {late_ms} ms longer than its timeout",
                    producer_id=row.producer_id,
                    producer_epoch=row.producer_epoch,
                    transactional_id=row.transactional_id,
                    evidence=evidence(row),
                    command=self._command(f"ottla txn abort {row.transactional_id}"),
                )

    def _check_assignment(self, row: PartitionTransaction) -> Iterator[Finding]:
        """Check the producer's id and epoch against those that were given out."""
        limit = self._cluster.next_producer_id
        if 0 <= limit <= row.producer_id and not self._is_unallocated:
            self._is_unallocated = True
            text = f"producer id {row.producer_id} was not given out; the next is {limit}"
            yield self._finding("producer-id-unallocated", text, row)
        known = max((each.producer_epoch for each in self._known()), default=-1)
        if 0 <= known < _epoch_of(row) and (
            self._highest is None or _epoch_of(self._highest) < _epoch_of(row)
        ):
            self._highest = row

    # Decisions and markers of one partition and epoch

    def _decision(self, row: Decision) -> Iterator[Finding]:
        if self._markers:
            yield from self._met(row, self._markers.popleft())
            return
        yield from self._expired(row.prepared_ms)
        self._decisions.append(row)

    def _marker(self, row: PartitionTransaction) -> Iterator[Finding]:
        yield from self._expired(row.marker_timestamp)
        if self._decisions:
            yield from self._met(self._decisions.popleft(), row)
            return
        if row.repeats:
            self._repeats.append(row)
            return
        while self._markers and (
            row.marker_timestamp - self._markers[0].marker_timestamp > self._cluster.skew_ms
        ):
            yield from self._undecided(self._markers.popleft())
        self._markers.append(row)

    def _expired(self, time_ms: int) -> Iterator[Finding]:
        """Decisions, each followed by another one, that have waited too long for their marker."""
        while len(self._decisions) > 1 and (
            time_ms - self._decisions[0].prepared_ms > self._cluster.skew_ms
        ):
            yield from self._unmarked(self._decisions.popleft())

    def _met(self, decision: Decision, marker: PartitionTransaction) -> Iterator[Finding]:
        if decision.commit != (marker.result == COMMIT):
            decided = "commit" if decision.commit else "abort"
            text = f"the coordinator decided to {decided}; the marker is {marker.result}"
            yield self._finding("marker-contradicts-decision", text, marker, decision)

    def _flush(self) -> Iterator[Finding]:
        """The partition or the epoch ends."""
        self._place = None
        while self._decisions:
            yield from self._unmarked(self._decisions.popleft())
        while self._markers:
            yield from self._undecided(self._markers.popleft())
        for row in self._repeats:
            yield from self._repeated(row)
        self._repeats.clear()

    def _unmarked(self, decision: Decision) -> Iterator[Finding]:
        """A decision without a marker on this partition."""
        for row in self._repeats:
            if (row.result == COMMIT) == decision.commit:
                self._repeats.remove(row)  # that of a transaction without data
                return
        where = (decision.topic, decision.partition)
        summary = self._cluster.partitions.get(where)
        if (
            summary is None  # deleted, or on another broker
            or self._cluster.is_recent(decision.prepared_ms)
            or not summary.is_whole  # its marker may be deleted
            or not 0 <= summary.first_timestamp <= decision.prepared_ms  # the topic is another one
        ):
            return
        decided = "commit" if decision.commit else "abort"
        name = f"{decision.topic}-{decision.partition}"
        rule = "marker-missing" if decision.is_complete else "unfinished-decision"
        text = f"{decision.transactional_id}: the decision to {decided} has no marker on {name}"
        yield Finding(
            rule,
            text,
            decision.topic,
            decision.partition,
            producer_id=decision.producer_id,
            producer_epoch=decision.producer_epoch,
            transactional_id=decision.transactional_id,
            evidence=evidence(decision, *self._known()),
        )

    def _undecided(self, row: PartitionTransaction) -> Iterator[Finding]:
        """A marker without a decision of the coordinator."""
        if not self._cluster.has_coordinators or not self._cluster.is_whole:
            return  # the decision may be compacted away
        if row.first_offset < 0:
            if not row.begins_unseen:
                text = f"the marker {row.result} ends no transaction"
                yield self._finding("marker-without-transaction", text, row, *self._known())
        elif row.result == COMMIT:
            text = "the transaction is committed here, without a decision of the coordinator"
            yield self._finding("commit-without-decision", text, row, *self._known())
        else:
            text = "the transaction was aborted without its coordinator"
            yield self._finding("abort-without-decision", text, row, *self._known())

    def _repeated(self, row: PartitionTransaction) -> Iterator[Finding]:
        """A marker without data behind another one of its epoch, and without a decision."""
        if not self._cluster.has_coordinators or not self._cluster.is_whole:
            return  # it may end a transaction without data
        text = f"the marker {row.result} follows {row.repeats}, both of epoch {row.marker_epoch}"
        if row.result != row.repeats:
            rule = "markers-contradict"
        elif row.coordinator_epoch > row.repeats_of:
            rule = "marker-resent"
        else:
            rule = "marker-repeated"
        yield self._finding(rule, text, row, *self._known())

    # Open transactions

    def _open(self, row: PartitionTransaction) -> Iterator[Finding]:
        cluster = self._cluster
        times = [row.last_timestamp, *(each.updated_ms for each in self._known())]
        if not cluster.has_coordinators or any(map(cluster.is_recent, times)):
            return
        where = (row.topic, row.partition)
        for standing in self._known():
            if standing.is_current and standing.state not in AT_REST:
                # Prepared: the marker is on its way (see `unfinished-decision`).
                epochs = (standing.producer_epoch, standing.producer_epoch - 1)
                if where in standing.partitions and row.producer_epoch in epochs:
                    return
        if not self._standings and not cluster.is_whole:
            why = "its coordinator has no record of it"
        elif not self._standings:
            why = "no coordinator knows its producer"
        else:
            standing = self._known()[-1]
            why = f"{standing.transactional_id} is {standing.state}"
        name = f"{row.topic}-{row.partition}"
        text = f"the transaction from offset {row.first_offset} holds {name} back for ever: {why}"
        command = self._command(
            f"ottla txn abort --partition {name} --producer-id {row.producer_id}"
        )
        yield self._finding("hanging-transaction", text, row, *self._known())._replace(
            command=f"{command}  # or: {_kafkas(row, cluster.bootstrap)}"
        )

    def _command(self, text: str) -> str:
        bootstrap = self._cluster.bootstrap
        return f"{text} --bootstrap {bootstrap}" if bootstrap else text

    def _finding(
        self, rule: str, text: str, row: PartitionTransaction, *others: Standing | Decision
    ) -> Finding:
        names = {each.transactional_id for each in others}
        return Finding(
            rule,
            text,
            row.topic,
            row.partition,
            row.first_offset if row.marker_offset < 0 else row.marker_offset,
            row.producer_id,
            _epoch_of(row),
            names.pop() if len(names) == 1 else "",
            evidence(*others, row),
        )


def _epoch_of(row: PartitionTransaction) -> int:
    return row.producer_epoch if row.marker_offset < 0 else row.marker_epoch


def _kafkas(row: PartitionTransaction, bootstrap: str) -> str:
    return (
        f"kafka-transactions.sh --bootstrap-server {bootstrap or 'HOST:PORT'} abort"
        f" --topic {row.topic} --partition {row.partition} --start-offset {row.first_offset}"
    )
