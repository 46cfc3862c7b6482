"""`.snapshot`: the producers of a partition at an offset, in the format of ProducerStateManager.

A version, the CRC-32C of the rest, and one entry per producer. Kafka's format keeps only the last
batch of each: after a restart from a snapshot, duplicates of older batches are out of order, as in
Kafka.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from ...protocol.batch import MAX_SEQUENCE, NO_SEQUENCE
from ...protocol.checksum import crc32c
from ..disk.files import Files, write_atomically
from .producers import NO_OFFSET, ProducerEntry, SentBatch

_VERSION: Final = 1
_HEAD: Final = struct.Struct(">hI")
_COUNT: Final = struct.Struct(">i")
_ENTRY: Final = struct.Struct(">qhiqiqiq")


def encode(entries: Iterable[ProducerEntry]) -> bytes:
    """The content of a `.snapshot` file."""
    rows = [
        _ENTRY.pack(
            entry.producer_id,
            entry.producer_epoch,
            entry.last_sequence,
            entry.last_offset,
            entry.batches[-1].last_offset - entry.batches[-1].first_offset if entry.batches else 0,
            entry.last_timestamp_ms,
            entry.coordinator_epoch,
            entry.transaction_first_offset,
        )
        for entry in entries
    ]
    body = _COUNT.pack(len(rows)) + b"".join(rows)
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def write(files: Files, path: str, entries: Iterable[ProducerEntry]) -> None:
    """Write a `.snapshot` file, whole or not at all; it is not synced. Raises OSError."""
    write_atomically(files, path, encode(entries))
    if files.on_event is not None:
        from ..disk.file_events import ProducerSnapshotWritten

        files.on_event(ProducerSnapshotWritten(path))


def decode(content: bytes) -> list[ProducerEntry] | None:
    """The producers in a `.snapshot` file, or None if it is damaged."""
    body = content[_HEAD.size :]
    if len(body) < _COUNT.size or _HEAD.unpack_from(content) != (_VERSION, crc32c(body)):
        return None
    (count,) = _COUNT.unpack_from(body)
    if len(body) != _COUNT.size + count * _ENTRY.size:
        return None
    return [_entry(fields) for fields in _ENTRY.iter_unpack(body[_COUNT.size :])]


def _entry(fields: tuple[int, ...]) -> ProducerEntry:
    producer_id, epoch, sequence, last_offset, delta, timestamp_ms, coordinator, first = fields
    entry = ProducerEntry(producer_id, epoch)
    entry.coordinator_epoch = coordinator
    entry.last_timestamp_ms = timestamp_ms
    entry.transaction_first_offset = first if first >= 0 else NO_OFFSET
    if last_offset >= 0:
        first_sequence = sequence
        if sequence != NO_SEQUENCE:
            first_sequence = (sequence - delta) & MAX_SEQUENCE
        entry.batches.append(
            SentBatch(first_sequence, sequence, last_offset - delta, last_offset, timestamp_ms)
        )
    return entry
