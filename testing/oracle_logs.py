"""Reads the logs of partitions for `ottla oracle`: a directory, or a running cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..audit.decode import batch_row
from ..audit.exactly_once import FateFold
from ..audit.partition import PartitionFold
from ..audit.rows import LogBatch
from ..audit.rules import Finding
from ..client.admin.offsets import EARLIEST, LATEST, partition_offsets
from ..client.cluster_client import Client
from ..client.record_reader import RecordReader
from ..protocol.batch import BatchHeader
from ..protocol.errors import Refused
from ..protocol.records import records_in
from ..storage.inspection.directory_inspection import DirectoryReport, inspect_directory
from ..storage.inspection.partition_inspection import PartitionReport, inspect_partition
from ..storage.segments.segment import Segment
from ..verdict.oracle.history import Value
from ..verdict.oracle.oracle import PLAIN, LogRecord


class NoLog(Exception):
    """A partition of the history has no log that can be read."""


class PartitionLog(NamedTuple):
    """What the oracle wants to know of a log.

    Attributes:
        start, end: first offset, and the offset behind the last record.
        findings: of the audit's rules for one partition; none over the wire.
    """

    place: str
    start: int
    records: Iterable[LogRecord]
    end: int
    findings: list[Finding]


def value_of(data: bytes | None) -> Value:
    """The value of a record: decimal digits are a whole number."""
    if data is None:
        return ""
    try:
        text = bytes(data).decode()
    except UnicodeDecodeError:
        return bytes(data).hex()
    is_number = text.isascii() and text.isdigit() and (text == "0" or text[0] != "0")
    return int(text) if is_number and len(text) < 19 else text


def logs_of_directory(path: str, places: Iterable[str]) -> Iterator[PartitionLog]:
    """The logs of partitions in a data directory, Ottla's or Kafka's, which is only read.

    Raises:
        NoLog: there is no such log, or a part of it cannot be read.
    """
    try:
        directory = inspect_directory(os.path.normpath(path))
        for place in places:
            if place not in directory.partitions:
                raise NoLog(f"{path} has no log of {place}")
            yield _inspected(directory, place)
    except OSError as wrong:
        raise NoLog(f"cannot read {path}: {wrong.strerror or wrong}") from None


def _inspected(directory: DirectoryReport, place: str) -> PartitionLog:
    topic, _, index = place.rpartition("-")
    key = (topic, int(index))
    report = inspect_partition(
        os.path.join(directory.path, place),
        is_finished=directory.is_finished,
        recovery_point=directory.recovery_points.get(key, 0),
        may_have_gaps=topic in directory.compacted,
    )
    batches: list[tuple[Segment, int, BatchHeader]] = list(report.batches())
    rows: list[LogBatch] = []
    fold = PartitionFold(topic, int(index), may_have_gaps=topic in directory.compacted)
    findings: list[Finding] = []
    for segment, position, header in batches:
        data = segment.batch_at(position, header) if header.is_control else b""
        row = batch_row(topic, int(index), header, data)
        rows.append(row)
        findings += [each for each in fold.row(row) if isinstance(each, Finding)]
    findings += [each for each in fold.end() if isinstance(each, Finding)]
    fates = FateFold()
    known = [fates.fate(row) for row in reversed(rows)][::-1]
    start = max(directory.log_starts.get(key, 0), rows[0].base_offset if rows else 0)
    records = _records(report, batches, rows, known)
    return PartitionLog(place, start, records, report.end_offset, findings)


def _records(
    report: PartitionReport,
    batches: list[tuple[Segment, int, BatchHeader]],
    rows: list[LogBatch],
    fates: list[str],
) -> Iterator[LogRecord]:
    try:
        for (segment, position, header), row, fate in zip(batches, rows, fates, strict=True):
            if header.is_control:
                continue
            try:
                for record in records_in(segment.batch_at(position, header), 0, header):
                    kind = fate if row.transactional else PLAIN
                    yield LogRecord(record.offset, value_of(record.value), kind)
            except Refused as wrong:
                raise NoLog(f"{report.name} at {header.base_offset}: {wrong}") from None
    finally:
        report.close()


def logs_of_cluster(client: Client, places: Iterable[str]) -> Iterator[PartitionLog]:
    """The logs of partitions of a running cluster.

    Raises:
        ErrorAnswer, NoAnswer: a leader refuses, or is gone.
    """
    for place in places:
        topic, _, index = place.rpartition("-")
        number = int(index)
        start = partition_offsets(client, topic, {number: EARLIEST})[number]
        end = partition_offsets(client, topic, {number: LATEST})[number]
        reader = RecordReader(client, topic, {number: start})
        records = (
            LogRecord(each.offset, value_of(each.value), str(each.fate))
            for each in reader.read_to({number: end})
        )
        yield PartitionLog(place, start, records, end, [])
