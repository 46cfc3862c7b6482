"""Inspects a data directory for `ottla log`: its own files here, each partition by `inspection`.

It changes nothing. The catalog is compared with the partitions that exist.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field

from ...metadata.catalog import CLUSTER_METADATA, Catalog, ResourceType
from ...protocol.errors import Refused
from ...protocol.lazy_dataclass import dataclass
from ..disk.checkpoint import Offsets, read_checkpoint
from ..disk.damage import Damage
from ..disk.directory_names import PARTITION_METADATA, is_partition
from ..disk.files import read_if_exists
from ..disk.meta_properties import META_PROPERTIES, decode_uuid, encode_uuid, properties_of
from ..kraft.metadata_log import catalog_of
from ..kraft.metadata_snapshot import read_snapshot, snapshots_in
from ..log_directory import CLEAN_SHUTDOWN, CLEANED_OFFSETS, LOG_STARTS, RECOVERY_POINTS
from .partition_inspection import PartitionReport, ReadOnlyFiles, inspect_partition

_CHECKPOINTS = (
    RECOVERY_POINTS,
    LOG_STARTS,
    "replication-offset-checkpoint",
    CLEANED_OFFSETS,
)


@dataclass(slots=True)
class DirectoryReport:
    """The files beside the partitions.

    Attributes:
        is_finished: a broker stopped cleanly, and none has started since.
        partitions: names of their directories, sorted by topic and number.
        compacted: topics that are, or may be, compacted.
    """

    path: str
    properties: Mapping[str, str] = field(default_factory=dict)
    is_finished: bool = False
    partitions: list[str] = field(default_factory=list)
    compacted: set[str] = field(default_factory=set)
    recovery_points: Offsets = field(default_factory=dict)
    log_starts: Offsets = field(default_factory=dict)
    damages: list[Damage] = field(default_factory=list)

    def inspect(self, name: str, *, reads_records: bool = False) -> PartitionReport:
        """Read one partition, each record too on request. Raises OSError."""
        topic, number = _split(name)
        report = inspect_partition(
            f"{self.path}/{name}",
            is_finished=self.is_finished,
            recovery_point=self.recovery_points.get((topic, number), 0),
            may_have_gaps=topic in self.compacted,
            reads_records=reads_records,
        )
        start = self.log_starts.get((topic, number), 0)
        if report.segments and start > report.end_offset:
            path = f"{self.path}/{LOG_STARTS}"
            why = f"{name} ends at {report.end_offset}, and should begin at {start}"
            report.damages.append(Damage(path, 0, 0, start, start, why))
        return report


def inspect_directory(path: str) -> DirectoryReport:
    """Read the files beside the partitions. Raises OSError."""
    files = ReadOnlyFiles()
    names = set(files.names_in(path))
    report = DirectoryReport(path)
    report.partitions = sorted(filter(is_partition, names), key=_split)
    report.is_finished = CLEAN_SHUTDOWN in names
    report.damages += _read_properties(files, report)
    checkpoints: dict[str, Offsets] = {}
    for name in _CHECKPOINTS:
        content = read_if_exists(files, f"{path}/{name}")
        checkpoints[name] = {}
        try:
            if content:  # Kafka creates them empty
                checkpoints[name] = read_checkpoint(content)
        except ValueError as wrong:
            why = f"the file is not a checkpoint: {wrong}"
            report.damages.append(Damage(f"{path}/{name}", 0, 0, 0, 0, why))
    report.recovery_points = checkpoints[RECOVERY_POINTS]
    report.log_starts = checkpoints[LOG_STARTS]
    report.damages += _compare_with_catalog(files, report)
    report.compacted |= {topic for topic, _ in checkpoints[CLEANED_OFFSETS]}  # earlier, too
    return report


def catalog_in(path: str) -> Catalog | None:
    """The metadata of a data directory; None without a metadata log, or if it cannot be read.

    Raises:
        OSError: a file cannot be read.
    """
    metadata = f"{path}/{CLUSTER_METADATA}-0"
    if not os.path.isdir(metadata):
        return None
    inspected = inspect_partition(metadata)
    try:
        return catalog_of(ReadOnlyFiles(), metadata, inspected.batches())
    finally:
        inspected.close()


def may_be_compacted(catalog: Catalog, topic: str) -> bool:
    """Whether a topic's logs may have holes: the broker's default is not in the directory."""
    policy = catalog.overrides(ResourceType.TOPIC, topic).get("cleanup.policy", "")
    return "delete" not in policy or "compact" in policy


def _damaged_snapshots(files: ReadOnlyFiles, metadata: str) -> Iterator[Damage]:
    for name in snapshots_in(files, metadata):
        try:
            read_snapshot(files, metadata, name)
        except Refused:
            path = f"{metadata}/{name.file}"
            yield Damage(path, 0, files.size(path), 0, name.end_offset, "not a whole snapshot")


def _split(name: str) -> tuple[str, int]:
    topic, _, number = name.rpartition("-")
    return topic, int(number)


def _read_properties(files: ReadOnlyFiles, report: DirectoryReport) -> Iterator[Damage]:
    path = f"{report.path}/{META_PROPERTIES}"
    content = read_if_exists(files, path)
    if content is None:
        yield Damage(path, 0, 0, 0, 0, "the file is missing")
        return
    try:
        report.properties = properties_of(content.decode())
        decode_uuid(report.properties["directory.id"])
        missing = {"cluster.id", "node.id", "version"} - report.properties.keys()
    except (ValueError, KeyError) as wrong:
        yield Damage(path, 0, 0, 0, 0, f"the file cannot be read: {wrong}")
        return
    if missing:
        yield Damage(path, 0, 0, 0, 0, f"the file has no {', '.join(sorted(missing))}")


def _compare_with_catalog(files: ReadOnlyFiles, report: DirectoryReport) -> Iterator[Damage]:
    """Compare topic ids and directories with the metadata log; find compacted topics."""
    metadata = f"{report.path}/{CLUSTER_METADATA}-0"
    if os.path.basename(metadata) not in report.partitions:
        report.compacted = {_split(name)[0] for name in report.partitions}
        return
    yield from _damaged_snapshots(files, metadata)
    catalog = catalog_in(report.path)
    if catalog is None:
        report.compacted = {_split(name)[0] for name in report.partitions}
        return
    for topic in catalog.topics.values():
        if may_be_compacted(catalog, topic.name):
            report.compacted.add(topic.name)
        for partition in topic.partitions:
            name = f"{topic.name}-{partition.index}"
            path = f"{report.path}/{name}/{PARTITION_METADATA}"
            if name not in report.partitions:
                yield Damage(f"{report.path}/{name}", 0, 0, 0, 0, "the partition is missing")
                continue
            content = read_if_exists(files, path) or b""
            if encode_uuid(topic.topic_id).encode() not in content:
                why = f"the file does not have the topic's id, {encode_uuid(topic.topic_id)}"
                yield Damage(path, 0, 0, 0, 0, why)
