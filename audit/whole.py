"""Runs all folds over rows in memory: for small logs, traces and tests.

`ottla.spark` runs the same folds on rows that Spark sorts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter

from .coordinator import STATE_TOPIC, CoordinatorFold, StateLog
from .offsets import OFFSETS_TOPIC, OffsetsFold
from .partition import PartitionFold
from .producers import ProducerFacts, ProducerFold, ProducerRow, sort_key
from .rows import (
    AbortedEntry,
    CoordinatorRecord,
    LogRow,
    OffsetRecord,
    PartitionSummary,
    PartitionTransaction,
    SegmentStart,
)
from .rules import Finding


@dataclass(slots=True)
class Logs:
    """The rows of a cluster, in any order.

    Attributes:
        compacted: topics that may have holes; None: all.
        unreadable: findings of records that could not become rows.
        next_producer_id: by the metadata log; -1: unknown.
        live_from_ms: see `ProducerFacts`.
    """

    rows: list[LogRow] = field(default_factory=list)
    states: list[CoordinatorRecord] = field(default_factory=list)
    offsets: list[OffsetRecord] = field(default_factory=list)
    unreadable: list[Finding] = field(default_factory=list)
    compacted: frozenset[str] | None = None
    next_producer_id: int = -1
    now_ms: int = -1
    bootstrap: str = ""
    live_from_ms: int = -1


@dataclass(slots=True)
class Outcome:
    """The findings, with the rows that reports draw."""

    findings: list[Finding] = field(default_factory=list)
    transactions: list[PartitionTransaction] = field(default_factory=list)
    partitions: list[PartitionSummary] = field(default_factory=list)


def log_order(row: LogRow) -> tuple[int, int]:
    """The order of the rows of one partition."""
    if isinstance(row, SegmentStart):
        return (row.base_offset, 0)
    if isinstance(row, AbortedEntry):
        return (row.last_offset, 1)
    return (row.base_offset, 2)


def audit(logs: Logs) -> Outcome:
    """Run every rule, without those of input and output."""
    outcome = Outcome(findings=list(logs.unreadable))
    place = attrgetter("topic", "partition")
    for (topic, partition), rows in groupby(sorted(logs.rows, key=place), key=place):
        may_have_gaps = logs.compacted is None or topic in logs.compacted
        fold = PartitionFold(topic, partition, may_have_gaps=may_have_gaps)
        for row in _in_order(rows):
            _sort_out(fold.row(row), outcome)
        _sort_out(fold.end(), outcome)
    cluster = cluster_of(outcome.partitions)
    cluster = replace(
        cluster,
        next_producer_id=logs.next_producer_id,
        now_ms=logs.now_ms if logs.now_ms >= 0 else cluster.now_ms,
        bootstrap=logs.bootstrap,
        live_from_ms=logs.live_from_ms,
    )
    rows_of_producers: list[ProducerRow] = [*outcome.transactions]
    state_logs = state_logs_of(outcome.partitions)
    by_id = attrgetter("transactional_id", "partition", "offset")
    for (_, partition), records in groupby(
        sorted(logs.states, key=by_id), key=attrgetter("transactional_id", "partition")
    ):
        states = CoordinatorFold(state_logs.get(partition, StateLog()))
        for record in records:
            _sort_states(states.row(record), outcome, rows_of_producers)
        _sort_states(states.end(), outcome, rows_of_producers)
    producer = attrgetter("producer_id")
    for producer_id, each in groupby(sorted(rows_of_producers, key=producer), key=producer):
        of_producer = ProducerFold(producer_id, cluster)
        for one in sorted(each, key=sort_key):
            outcome.findings += of_producer.row(one)
        outcome.findings += of_producer.end()
    _offsets(logs.offsets, outcome, cluster.partitions)
    return outcome


def cluster_of(partitions: Iterable[PartitionSummary]) -> ProducerFacts:
    """The facts for the rules of producers, from the summaries of all partitions."""
    every = {(each.topic, each.partition): each for each in partitions}
    states = [each for each in every.values() if each.topic == STATE_TOPIC]
    return ProducerFacts(
        every,
        has_coordinators=bool(states),
        is_whole=all(each.is_whole for each in states),
        now_ms=max((each.last_timestamp for each in every.values()), default=-1),
    )


def state_logs_of(partitions: Iterable[PartitionSummary]) -> dict[int, StateLog]:
    """The extent of each partition of `__transaction_state`."""
    states = [each for each in partitions if each.topic == STATE_TOPIC]
    count = max((each.partition for each in states), default=-1) + 1
    if len(states) != count:
        count = 0  # some are elsewhere
    return {each.partition: StateLog(count, each.last_hole) for each in states}


def _in_order(rows: Iterable[LogRow]) -> list[LogRow]:
    return sorted(rows, key=log_order)


def _sort_out(
    found: Iterable[Finding | PartitionTransaction | PartitionSummary], outcome: Outcome
) -> None:
    for each in found:
        if isinstance(each, Finding):
            outcome.findings.append(each)
        elif isinstance(each, PartitionTransaction):
            outcome.transactions.append(each)
        else:
            outcome.partitions.append(each)


def _sort_states(
    found: Iterable[Finding | ProducerRow], outcome: Outcome, rows: list[ProducerRow]
) -> None:
    for each in found:
        if isinstance(each, Finding):
            outcome.findings.append(each)
        else:
            rows.append(each)


def _offsets(
    records: Iterable[OffsetRecord],
    outcome: Outcome,
    partitions: Mapping[tuple[str, int], PartitionSummary],
) -> None:
    logs = [each.partition for each in outcome.partitions if each.topic == OFFSETS_TOPIC]
    count = len(logs) if len(logs) == max(logs, default=-1) + 1 else 0
    place = attrgetter("log_partition")
    for _, each in groupby(sorted(records, key=attrgetter("log_partition", "log_offset")), place):
        fold = OffsetsFold(count, partitions)
        for record in each:
            outcome.findings += fold.row(record)
        outcome.findings += fold.end()
