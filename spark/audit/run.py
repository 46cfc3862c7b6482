"""The audit on Spark: reads logs, runs the folds of `ottla.audit` on sorted partitions.

A task reads parts of logs. Pieces of batches' headers are shuffled by topic and partition and
sorted; transactions are shuffled by producer id to meet the coordinator's decisions. The driver
holds one summary for each partition, and the findings that it shows.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ...audit.coordinator import STATE_TOPIC
from ...audit.offsets import OFFSETS_TOPIC
from ...audit.producers import ProducerFacts
from ...audit.rows import OffsetRecord, PartitionSummary, PartitionTransaction
from ...audit.rules import RULES, Finding, Severity
from ...audit.whole import cluster_of, state_logs_of
from . import folds as folds
from . import keys as keys
from .rows import LogPart, Metadata, NoLogs, Read, file_blocks

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

DEFAULT_KEY: Final = "cast(key as string)"
_FINDINGS_KEPT: Final = 10_000
_TRANSACTIONS_KEPT: Final = 5_000
_TASKS_PER_CORE: Final = 2
_BATCH_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"


@dataclass(frozen=True, slots=True)
class Logs:
    """Where the rows come from.

    Attributes:
        name: for reports.
        read: reads a part, on an executor.
        bootstrap: the address for the commands in findings.
        now_ms: the time of the audit; -1: the newest time in the logs.
        live_from_ms: see `ProducerFacts`.
    """

    name: str
    parts: Sequence[LogPart]
    metadata: Metadata = field(default_factory=Metadata)
    read: Read = file_blocks
    bootstrap: str = ""
    now_ms: int = -1
    live_from_ms: int = -1


@dataclass(frozen=True, slots=True)
class Copy:
    """The input and the output of a pipeline, for the rules of keys.

    Attributes:
        key: expression of Spark SQL over key, value, topic, partition, offset, timestamp; records
            with the same result are copies.
        output_key: the expression for the output.
        group: its committed offsets are the end of the input; empty: everything is consumed.
        consumed: the end of the input by partition, in place of a group's.
    """

    input: str
    output: str
    key: str = DEFAULT_KEY
    output_key: str = ""
    group: str = ""
    consumed: Mapping[int, int] | None = None


@dataclass(slots=True)
class Report:
    """What the audit found.

    Attributes:
        findings: at most 10,000; `counts` has the number of all by rule.
        transactions: some of them, the latest of each partition, for the plots.
        frames: all rows, for Parquet: findings, transactions.
    """

    name: str
    findings: list[Finding] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    partitions: list[PartitionSummary] = field(default_factory=list)
    transactions: list[PartitionTransaction] = field(default_factory=list)
    seconds: float = 0.0
    has_coordinators: bool = False
    is_whole: bool = False

    @property
    def is_clean(self) -> bool:
        """No finding but notices."""
        return all(RULES[rule].severity is Severity.NOTICE for rule in self.counts)


def run(
    spark: SparkSession, logs: Logs, *, copy: Copy | None = None, parquet: str = "",
    check_crc: bool = True,
) -> Report:  # fmt: skip
    """Run every rule.

    Args:
        copy: also compare an input with an output.
        parquet: a directory for all findings and transactions.

    Raises:
        NoLogs: a topic of `copy` is not there.
    """
    # A packed row may be a piece of some 20 KB: 10,000 of them at once would be 200 MB.
    before = spark.conf.get(_BATCH_ROWS)
    spark.conf.set(_BATCH_ROWS, "512")
    try:
        return _Run(spark, logs, check_crc=check_crc).report(copy, parquet)
    finally:
        spark.conf.set(_BATCH_ROWS, before or "10000")


class _Run:
    """One audit; its frames are kept until it ends."""

    def __init__(self, spark: SparkSession, logs: Logs, *, check_crc: bool) -> None:
        self._spark = spark
        self._logs = logs
        self._check_crc = check_crc
        self._kept: list[DataFrame] = []

    def report(self, copy: Copy | None, parquet: str) -> Report:
        began = time.monotonic()
        report = Report(self._logs.name)
        try:
            found = self._partitions()
            report.partitions = _collected(found, folds.SUMMARY)
            cluster = replace(
                cluster_of(report.partitions),
                next_producer_id=self._logs.metadata.next_producer_id,
                bootstrap=self._logs.bootstrap,
                live_from_ms=self._logs.live_from_ms,
            )
            if self._logs.now_ms >= 0:
                cluster = replace(cluster, now_ms=self._logs.now_ms)
            report.has_coordinators, report.is_whole = cluster.has_coordinators, cluster.is_whole
            states = self._states(report.partitions)
            producers = self._folded(
                found.where(f"family = '{folds.TRANSACTION}'").union(
                    states.where(f"family = '{folds.PRODUCER}'")
                ),
                ["number"],
                ["number", "name", "at", "sub"],
                folds.FoldProducers(cluster),
            )
            group = copy.group if copy is not None else ""
            offsets = self._offsets(cluster, group)
            frames = [found, states, producers, offsets]
            if copy is not None:
                frames.append(self._keys(copy, _collected(offsets, folds.COMMITTED)))
            findings = frames[0]
            for frame in frames[1:]:
                findings = findings.union(frame)
            self._conclude(report, findings.where(f"family = '{folds.FINDING}'"), found, parquet)
        finally:
            for frame in self._kept:
                frame.unpersist()
        report.seconds = time.monotonic() - began
        return report

    def _conclude(
        self, report: Report, findings: DataFrame, found: DataFrame, parquet: str
    ) -> None:
        findings = self._keep(findings)
        report.counts = _counts(findings)
        rows = findings.select("row").limit(_FINDINGS_KEPT).collect() if report.counts else []
        order = list(RULES)
        report.findings = sorted(
            (folds.unpacked(bytes(row.row)) for row in rows),
            key=lambda each: (order.index(each.rule), each.topic, each.partition, each.offset),
        )
        latest = found.where(f"family = '{folds.TRANSACTION}'").orderBy("at", ascending=False)
        rows = latest.select("row").limit(_TRANSACTIONS_KEPT).collect()
        report.transactions = [folds.unpacked(bytes(row.row)) for row in rows]
        if parquet:
            self._write(findings, Finding, f"{parquet}/findings")
            every = found.where(f"family = '{folds.TRANSACTION}'")
            self._write(every, PartitionTransaction, f"{parquet}/transactions")
            self._write(
                found.where(f"family = '{folds.SUMMARY}'"),
                PartitionSummary,
                f"{parquet}/partitions",
            )

    # Stages

    def _partitions(self) -> DataFrame:
        rows = self._read(self._logs.parts, folds.ReadLogs(self._logs.read, self._check_crc))
        return self._keep(
            self._folded(
                rows,
                ["name", "number"],
                ["name", "number", "at", "sub"],
                folds.FoldPartitions(self._logs.metadata),
            )
        )

    def _states(self, partitions: Iterable[PartitionSummary]) -> DataFrame:
        read = self._read(self._of(STATE_TOPIC), folds.ReadStates(self._logs.read))
        fold = folds.FoldStates(state_logs_of(partitions))
        return self._keep(self._folded(read, ["name"], ["name", "number", "at"], fold))

    def _offsets(self, cluster: ProducerFacts, group: str) -> DataFrame:
        logs = {each.partition for each in self._of(OFFSETS_TOPIC)}
        count = len(logs) if len(logs) == max(logs, default=-1) + 1 else 0
        rows = self._read(self._of(OFFSETS_TOPIC), folds.ReadOffsets(self._logs.read))
        fold = folds.FoldOffsets(count, cluster, group)
        return self._keep(self._folded(rows, ["number"], ["number", "at"], fold))

    def _keys(self, copy: Copy, committed: list[OffsetRecord]) -> DataFrame:
        consumed = None if copy.consumed is None else dict(copy.consumed)
        if copy.group:
            consumed = {
                each.partition: each.committed for each in committed if each.topic == copy.input
            }
        given = self._keyed(copy.input, copy.key, consumed)
        copies = given.withColumn("is_output", _expr("false")).union(
            self._keyed(copy.output, copy.output_key or copy.key, None).withColumn(
                "is_output", _expr("true")
            )
        )
        counted = copies.groupBy("name").agg(*map(_expr, keys.AGGREGATES))
        return counted.where(keys.SUSPICIOUS).mapInArrow(keys.fold_counts, folds.PACKED)

    def _keyed(self, topic: str, key: str, consumed: dict[int, int] | None) -> DataFrame:
        """The records of a topic with the text of their keys, and their fates."""
        parts = self._of(topic)
        if not parts:
            raise NoLogs(f"{self._logs.name} has no topic {topic}")
        read = keys.ReadRecords(
            self._logs.read,
            wants_key=_names(key, "key"),
            wants_value=_names(key, "value"),
        )
        records = self._in_tasks(parts).mapInArrow(read, keys.RECORDS)
        named = records.selectExpr(
            f"if(kind in ('commit', 'abort'), '', coalesce(cast({key} as string), 'null')) as name",
            "topic", "partition", "offset", "number", "kind",
        )  # fmt: skip
        order = ["topic", "partition", "offset"]
        together = named.repartition("topic", "partition").sortWithinPartitions(
            order, ascending=[True, True, False]
        )
        known = together.mapInArrow(keys.fates, keys.KEYED)
        if consumed is None:
            return known.withColumn("is_consumed", _expr("true"))
        offsets = ", ".join(f"{index}, {offset}L" for index, offset in consumed.items())
        until = f"coalesce(map({offsets})[partition], 0L)" if consumed else "0L"
        return known.withColumn("is_consumed", _expr(f"offset < {until}"))

    # Frames

    def _of(self, topic: str) -> list[LogPart]:
        return [each for each in self._logs.parts if each.topic == topic]

    def _in_tasks(self, parts: Sequence[LogPart]) -> DataFrame:
        rows = [folds.packed("", part, part.topic, part.partition) for part in parts]
        frame = self._spark.createDataFrame(rows, folds.PACKED)
        return frame.repartition(max(1, min(len(rows), self._tasks())))

    def _tasks(self) -> int:
        cores = self._spark.conf.get("spark.sql.shuffle.partitions") or "2"
        return _TASKS_PER_CORE * int(cores)

    def _read(self, parts: Sequence[LogPart], read: folds.FoldStep) -> DataFrame:
        return self._in_tasks(parts).mapInArrow(read, folds.PACKED)

    def _folded(
        self, rows: DataFrame, by: list[str], order: list[str], fold: folds.FoldStep
    ) -> DataFrame:
        together = rows.repartition(*by).sortWithinPartitions(order)
        return together.mapInArrow(fold, folds.PACKED)

    def _keep(self, frame: DataFrame) -> DataFrame:
        kept = frame.persist()
        self._kept.append(kept)
        return kept

    def _write(self, frame: DataFrame, kind: type, path: str) -> None:
        step = folds.Unpack(kind)
        frame.mapInArrow(step, step.schema).write.mode("overwrite").parquet(path)


def _names(expression: str, column: str) -> bool:
    """Whether an expression may need a column: it has its name, perhaps as another word."""
    return re.search(rf"\b{column}\b", expression, re.IGNORECASE) is not None


def _expr(text: str) -> Column:
    from pyspark.sql.functions import expr

    return expr(text)


def _collected(frame: DataFrame, family: str) -> list[Any]:
    """The unpacked rows of a family. Any: as of `unpacked`."""
    rows = frame.where(f"family = '{family}'").select("row").collect()
    return [folds.unpacked(bytes(row.row)) for row in rows]


def _counts(findings: DataFrame) -> dict[str, int]:
    rows = findings.groupBy("name").count().collect()
    return {
        row["name"]: row["count"]
        for row in sorted(rows, key=lambda row: list(RULES).index(row["name"]))
    }
