"""`ottla log [verify] DIR`: prints or checks a data directory, Ottla's or Kafka's; changes nothing.

Prints tables on a terminal, otherwise plain lines. `verify` reads all files, compares them with
each other, prints each damage with file, position and offset, and exits with 1 if there is any.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...console.tables import Table, format_time, plural, print_json, print_line, print_table
from ...protocol.batch import BatchHeader
from ...protocol.errors import Refused
from ...protocol.records import records_in
from ...storage.inspection.directory_inspection import DirectoryReport, inspect_directory
from ...storage.inspection.partition_inspection import (
    PartitionReport,
    SegmentReport,
    inspect_partition,
)
from ...storage.segments.segment import Segment
from .batches import codec_of, kind_of

_BATCHES_SHOWN = 1000


class NotADirectory(Exception):
    """The path is neither a data directory nor a partition's directory."""


class Shown(NamedTuple):
    """The parts of a directory to print.

    Attributes:
        topic: print the batches of its partitions; None: print a line for each partition.
        decode: also print the records.
        empty: also print partitions without batches.
        as_json: print one line of JSON for each partition, or with `decode` for each batch.
    """

    topic: str | None = None
    decode: bool = False
    empty: bool = False
    as_json: bool = False


def show(path: str, shown: Shown) -> int:
    """Print the content of a directory; return the exit status.

    Raises:
        NotADirectory: `path` is not a directory of Kafka's.
    """
    if _is_one_partition(path):
        _show_one(_inspected(path), shown)
        return 0
    directory = _directory(path)
    if shown.topic is None and not shown.decode and not shown.as_json:
        _show_directory(directory, empty=shown.empty)
        return 0
    chosen = [n for n in directory.partitions if shown.topic in (None, n.rpartition("-")[0])]
    if not chosen:
        raise NotADirectory(f"{path} has no partition of {shown.topic}")
    empty = 0
    for name in chosen:
        report = directory.inspect(name)
        if report.size_bytes or report.damages or shown.empty:
            _show_one(report, shown)
        else:
            empty += 1
        report.close()
    if empty and not shown.as_json:
        print_line(_about_empty(empty))
    return 0


def _show_one(report: PartitionReport, shown: Shown) -> None:
    if shown.as_json:
        from .json_lines import print_partition

        print_partition(report, decode=shown.decode)
    else:
        _show_partition(report, decode=shown.decode)


def _about_empty(empty: int) -> str:
    return f"{plural(empty, 'partition is', 'partitions are')} empty; --empty shows them"


def verify(path: str, *, as_json: bool = False) -> int:
    """Check everything; return 1 if something is damaged, else 0. Raises NotADirectory."""
    if _is_one_partition(path):
        reports: Iterable[PartitionReport] = [_inspected(path, reads_records=True)]
        damages = []
    else:
        directory = _directory(path)
        damages = list(directory.damages)
        reports = (directory.inspect(name, reads_records=True) for name in directory.partitions)
    partitions = batches = size_bytes = torn_bytes = 0
    for report in reports:
        partitions += 1
        batches += sum(segment.batches for segment in report.segments)
        size_bytes += report.size_bytes
        damages += report.damages
        torn_bytes += report.torn_bytes
        if report.torn_bytes and not as_json:
            where = f"{report.directory}: {report.torn_bytes} bytes behind the last whole batch"
            print_line(f"{where} are incomplete; the next start cuts them off")
        report.close()
    if as_json:
        counts = {"partitions": partitions, "batches": batches, "bytes": size_bytes}
        print_json(counts | {"torn_bytes": torn_bytes, "damages": list(map(str, damages))})
        return 1 if damages else 0
    for damage in damages:
        print_line(f"damaged: {damage}")
    verdict = plural(len(damages), "damage", "damages") if damages else "nothing is damaged"
    seen = plural(partitions, "partition", "partitions"), plural(batches, "batch", "batches")
    print_line(f"{', '.join(seen)}, {_size(size_bytes)}: {verdict}")
    return 1 if damages else 0


def _is_one_partition(path: str) -> bool:
    try:
        return any(name.endswith(".log") for name in os.listdir(path))
    except OSError as error:
        raise NotADirectory(f"cannot read {path}: {error.strerror}") from None


def _inspected(path: str, *, reads_records: bool = False) -> PartitionReport:
    return inspect_partition(os.path.normpath(path), reads_records=reads_records)


def _directory(path: str) -> DirectoryReport:
    directory = inspect_directory(os.path.normpath(path))
    if not directory.partitions and not directory.properties:
        raise NotADirectory(f"{path} is no data directory: no meta.properties, no partitions")
    return directory


# Content


def _show_directory(directory: DirectoryReport, *, empty: bool) -> None:
    properties = directory.properties
    state = "stopped cleanly" if directory.is_finished else "running, or was not stopped cleanly"
    print_line(
        f"{directory.path}: cluster {properties.get('cluster.id', '?')},"
        f" node {properties.get('node.id', '?')}, {state}"
    )
    rows, hidden = [], 0
    for name in directory.partitions:
        report = directory.inspect(name)
        if not report.size_bytes and not report.damages and not empty:
            hidden += 1
        else:
            rows.append(_partition_row(report))
        report.close()
    columns = (
        "partition", "first", "end", "segments", "batches", "records", "size", "open txns",
        "aborted", "health",
    )  # fmt: skip
    print_table(Table(plural(len(directory.partitions), "partition", "partitions"), columns, rows))
    if hidden:
        print_line(_about_empty(hidden))
    for damage in directory.damages:
        print_line(f"damaged: {damage}")


def _partition_row(report: PartitionReport) -> Sequence[str]:
    segments = report.segments
    return (
        report.name,
        str(segments[0].base_offset if segments else 0),
        str(report.end_offset),
        str(len(segments)),
        str(sum(segment.batches for segment in segments)),
        str(sum(segment.records for segment in segments)),
        _size(report.size_bytes),
        str(len(report.open_transactions)),
        str(sum(len(segment.aborted) for segment in segments)),
        _health(report.damages, report.torn_bytes),
    )


def _health(damages: Sequence[object], torn_bytes: int = 0) -> str:
    if damages:
        return f"{len(damages)} DAMAGED" if len(damages) > 1 else "DAMAGED"
    return f"torn: {torn_bytes} bytes" if torn_bytes else "good"


def _show_partition(report: PartitionReport, *, decode: bool) -> None:
    columns = (
        "segment", "end", "batches", "records", "size", "from", "to", "index", "timeindex",
        "aborted", "health",
    )  # fmt: skip
    print_table(Table(report.name, columns, [_segment_row(segment) for segment in report.segments]))
    epochs = ", ".join(f"{epoch} from {offset}" for epoch, offset in report.epochs)
    print_line(f"leader epochs: {epochs or 'none'}")
    print_line(f"producer snapshots: {', '.join(map(str, report.snapshots)) or 'none'}")
    rows = [
        (str(producer_id), "open", str(first_offset), "")
        for producer_id, first_offset in report.open_transactions.items()
    ] + [
        (str(entry.producer_id), "aborted", str(entry.first_offset), str(entry.last_offset))
        for segment in report.segments
        for entry in segment.aborted
    ]
    if rows:
        print_table(Table("transactions", ("producer", "state", "first", "marker"), rows))
    topic = report.name.rpartition("-")[0]
    if decode:
        _show_records(topic, report)
    else:
        _show_batches(report)
    for damage in report.damages:
        print_line(f"damaged: {damage}")
    if report.torn_bytes:
        print_line(f"torn: the last {report.torn_bytes} bytes; the next start cuts them off")
    print_line("")


def _segment_row(found: SegmentReport) -> Sequence[str]:
    return (
        str(found.base_offset),
        str(found.next_offset),
        str(found.batches),
        str(found.records),
        _size(found.size_bytes),
        format_time(found.first_timestamp_ms),
        format_time(found.last_timestamp_ms),
        _entries(found.index_entries),
        _entries(found.time_entries),
        str(len(found.aborted)),
        _health(found.damages),
    )


def _entries(count: int) -> str:
    return "none yet" if count < 0 else str(count)


def _show_batches(report: PartitionReport) -> None:
    columns = ("offsets", "position", "size", "time", "epoch", "codec", "producer", "sequence", "")
    batches = report.batches()
    rows = [
        _batch_row(segment, position, header)
        for (segment, position, header), _ in zip(batches, range(_BATCHES_SHOWN), strict=False)
    ]
    if rows:
        print_table(Table("batches", columns, rows))
    left = sum(1 for _ in batches)
    if left:
        print_line(f"and {left} more batches")


def _batch_row(segment: Segment, position: int, header: BatchHeader) -> Sequence[str]:
    producer = ""
    if header.producer_id >= 0:
        producer = f"{header.producer_id}/{header.producer_epoch}"
    return (
        f"{header.base_offset}-{header.last_offset}",
        str(position),
        str(header.size_bytes),
        format_time(header.max_timestamp_ms),
        str(header.leader_epoch),
        codec_of(header),
        producer,
        "" if header.base_sequence < 0 else f"{header.base_sequence}-{header.last_sequence}",
        kind_of(segment, position, header),
    )


def _about_batch(header: BatchHeader) -> str:
    """One line about a batch, printed above its records."""
    parts = [f"batch {header.base_offset}-{header.last_offset}:"]
    parts.append(plural(header.record_count, "record", "records") + f", codec {codec_of(header)}")
    if header.producer_id >= 0:
        parts.append(f", producer {header.producer_id}, epoch {header.producer_epoch}")
    if header.base_sequence >= 0:
        parts.append(f", sequence {header.base_sequence}-{header.last_sequence}")
    if header.is_transactional:
        parts.append(", transactional")
    return parts[0] + " " + "".join(parts[1:])


def _show_records(topic: str, report: PartitionReport) -> None:
    from .records import described

    for segment, position, header in report.batches():
        kind = kind_of(segment, position, header)
        if not header.is_control:
            print_line(_about_batch(header))
        else:
            of_whom = f" of producer {header.producer_id}" if header.producer_id >= 0 else ""
            print_line(
                f"{header.base_offset} {format_time(header.max_timestamp_ms)} {kind}{of_whom}"
            )
            continue
        try:
            for record in records_in(segment.batch_at(position, header), 0, header):
                when = format_time(record.timestamp_ms)
                print_line(f"{record.offset} {when} {described(topic, record)}")
        except Refused as wrong:
            print_line(f"{header.base_offset}-{header.last_offset} cannot be read: {wrong}")


# Format


def _size(size_bytes: int) -> str:
    if size_bytes < 10_000:
        return f"{size_bytes} B"
    size, units = size_bytes / 1024, iter(("KiB", "MiB", "GiB", "TiB"))
    unit = next(units)
    while size >= 1024 and unit != "TiB":
        size, unit = size / 1024, next(units)
    return f"{size:.1f} {unit}"
