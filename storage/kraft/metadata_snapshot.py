"""`OFFSET-EPOCH.checkpoint`: a snapshot of the metadata log's state before an offset, as records.

KRaft's format (KIP-630): a control batch with the header, and the voters if the log has them
(KIP-853), batches of records, a final control batch. A file of that name is complete: it is written
under another name, synced and renamed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Final

from ...metadata.records import MetadataRecord, decode, encode
from ...protocol.batch import BatchHeader, build, crc_is_right, headers_in
from ...protocol.errors import Code, Refused
from ...protocol.named_tuple import NamedTuple
from ...protocol.records import records_in
from ..disk.files import Files, append_whole, read_if_exists
from .quorum import BOOTSTRAP_CHECKPOINT, KRAFT_VERSION_TYPE, VOTERS_TYPE

SUFFIX: Final = ".checkpoint"
PART_SUFFIX: Final = ".checkpoint.part"
_NAME: Final = re.compile(rf"([0-9]{{20}})-([0-9]{{10}}){re.escape(SUFFIX)}")
_RECORDS_IN_A_BATCH: Final = 64

# The key of a control record: version and type.
_KEY: Final = struct.Struct(">hh")
_HEADER_TYPE: Final = 3
_FOOTER_TYPE: Final = 4
_HEADER: Final = struct.Struct(">hqB")  # version, last contained timestamp, no tagged fields
_FOOTER: Final = struct.pack(">hB", 0, 0)

Steps = Generator[Callable[[], None] | None, None, None]
Controls = Mapping[int, tuple[bytes, bytes]]
"""Control records that stay valid for the whole log, by type: key and value of the newest one."""


class SnapshotName(NamedTuple):
    """The name of a snapshot of all records before `end_offset`, with the epoch of the last one."""

    end_offset: int
    epoch: int

    @property
    def file(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}{SUFFIX}"


class Snapshot(NamedTuple):
    """A complete file."""

    end_offset: int
    data: bytes

    def records(self) -> Iterator[MetadataRecord]:
        """The records in it. Raises Malformed if one cannot be read."""
        for position, header in headers_in(self.data):
            if not header.is_control:
                for record in records_in(self.data, position, header):
                    yield decode(record.value or b"")

    @property
    def written_ms(self) -> int:
        """The time when it was written."""
        return next(headers_in(self.data))[1].max_timestamp_ms

    def controls(self) -> dict[int, tuple[bytes, bytes]]:
        """kraft.version and voters, if it contains them."""
        found: dict[int, tuple[bytes, bytes]] = {}
        for position, header in headers_in(self.data):
            if header.is_control:
                found |= controls_in(self.data, position, header)
        return found


class ToWrite(NamedTuple):
    """The content of a snapshot, not on disk yet.

    Attributes:
        records: an iterator, to be consumed once.
        last_contained_ms: timestamp of the last record of the log that it covers.
    """

    name: SnapshotName
    records: Iterator[MetadataRecord]
    controls: Controls
    last_contained_ms: int

    def batches(self, now_ms: int) -> Iterator[bytearray]:
        """The file, piece by piece (org.apache.kafka.snapshot.RecordsSnapshotWriter)."""
        build_next = partial(build, timestamp_ms=now_ms, leader_epoch=self.name.epoch)
        header = (_KEY.pack(0, _HEADER_TYPE), _HEADER.pack(0, self.last_contained_ms, 0))
        first = [header, *(self.controls[kind] for kind in sorted(self.controls))]
        yield build_next(first, control=True)
        offset = len(first)
        while some := list(islice(self.records, _RECORDS_IN_A_BATCH)):
            yield build_next([(None, encode(each)) for each in some], base_offset=offset)
            offset += len(some)
        last = [(_KEY.pack(0, _FOOTER_TYPE), _FOOTER)]
        yield build_next(last, control=True, base_offset=offset)


def controls_in(
    data: bytes | memoryview, position: int, header: BatchHeader
) -> dict[int, tuple[bytes, bytes]]:
    """kraft.version and voters in a control batch."""
    found = {}
    for record in records_in(data, position, header):
        key = bytes(record.key or b"")
        kind = _KEY.unpack(key)[1] if len(key) == _KEY.size else 0
        if kind in (KRAFT_VERSION_TYPE, VOTERS_TYPE):
            found[kind] = (key, bytes(record.value or b""))
    return found


def snapshots_in(files: Files, directory: str) -> list[SnapshotName]:
    """The snapshots in a directory, oldest first."""
    return sorted(
        SnapshotName(int(found[1]), int(found[2]))
        for name in files.names_in(directory)
        if (found := _NAME.fullmatch(name)) is not None
    )


def remove_parts(files: Files, directory: str) -> None:
    """Remove unfinished snapshots, left over from a crash."""
    for name in files.names_in(directory):
        if name.endswith(PART_SUFFIX):
            files.remove(f"{directory}/{name}")


def read_bootstrap(files: Files, directory: str) -> list[MetadataRecord]:
    """The records that `kafka-storage format` left for the first start; none without its file.

    Raises:
        Refused: CORRUPT_MESSAGE, with file and position.
    """
    data = read_if_exists(files, f"{directory}/{BOOTSTRAP_CHECKPOINT}")
    if data is None:
        return []
    return list(_checked(f"{directory}/{BOOTSTRAP_CHECKPOINT}", data, 0).records())


def read_snapshot(files: Files, directory: str, name: SnapshotName) -> Snapshot:
    """Read and check a whole snapshot.

    Raises:
        Refused: CORRUPT_MESSAGE, with file and position.
    """
    path = f"{directory}/{name.file}"
    return _checked(path, files.read(path), name.end_offset)


def _checked(path: str, data: bytes, end_offset: int) -> Snapshot:
    end, is_ended = 0, False
    for position, header in headers_in(data):
        if is_ended or not crc_is_right(data, position, header):
            break
        end = position + header.size_bytes
        is_ended = header.is_control and _ends(data, position, header)
    if not is_ended or end != len(data):
        raise Refused(Code.CORRUPT_MESSAGE, f"{path}: damaged at position {end}")
    return Snapshot(end_offset, data)


def _ends(data: bytes, position: int, header: BatchHeader) -> bool:
    keys = (bytes(record.key or b"") for record in records_in(data, position, header))
    return any(key[2:4] == _FOOTER_TYPE.to_bytes(2, "big") for key in keys)


def last_contained_ms(snapshot: Snapshot) -> int:
    """The timestamp of the last record that it covers, from its header."""
    for position, header in headers_in(snapshot.data):
        for record in records_in(snapshot.data, position, header):
            value = record.value or b""
            return int(_HEADER.unpack_from(value)[1]) if len(value) >= _HEADER.size else 0
    return 0


def write(files: Files, directory: str, content: ToWrite, now_ms: int) -> Steps:
    """Write a snapshot in small steps; blocking work is yielded, for any thread.

    Raises:
        OSError: it was not written; nothing is left over.
    """
    path = f"{directory}/{content.name.file}"
    part = f"{path}.part"
    descriptor = files.open(part)
    try:
        files.truncate(descriptor, 0)
        for batch in content.batches(now_ms):
            append_whole(files, descriptor, batch)
            yield None
        yield partial(files.sync, descriptor)
        files.rename(part, path)
        if files.on_event is not None:
            from ..disk.file_events import SnapshotWritten

            files.on_event(SnapshotWritten(path))
    except (Exception, GeneratorExit):
        files.remove(part)
        raise
    finally:
        files.close(descriptor)
    yield partial(files.sync_directory, directory)
