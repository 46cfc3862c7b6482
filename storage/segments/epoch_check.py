"""Compares a `leader-epoch-checkpoint` without a checksum with the batches.

If Kafka wrote the file, neither has a checksum, so each verifies the other: if they disagree over a
single batch, that batch is assumed wrong, else the file. If they agree, only the beginnings of
epochs are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...protocol.batch import BatchHeader
from ..disk.damage import Damage, Report
from .leader_epochs import LeaderEpochs

if TYPE_CHECKING:
    from .segment import Segment


def correct_epochs(
    epochs: LeaderEpochs, segments: Sequence[Segment], log_start_offset: int, report: Report
) -> None:
    """Compare the entries of a file with the synced data, and correct them."""
    if not any(segment.size_bytes for segment in segments):
        return
    if epochs.entries and _agree(epochs, segments, log_start_offset):
        return
    headers = [header for header in _all(segments) if header.last_offset >= log_start_offset]
    others = [header for header in headers if not _agrees(epochs, header)]
    if epochs.entries and len(others) == 1:  # the read of the batch repairs it
        offset = others[0].base_offset
        why = f"only the batch of offset {offset} has another leader epoch; this file is right"
        report(Damage(epochs.path, 0, 0, offset, offset, why))
        return
    if epochs.entries:
        why = "the leader epochs were not those of the batches; they were rebuilt"
        report(Damage(epochs.path, 0, 0, log_start_offset, log_start_offset, why))
    found: list[tuple[int, int]] = []
    for header in headers:
        if not found or header.leader_epoch > found[-1][0]:
            found.append((header.leader_epoch, max(header.base_offset, log_start_offset)))
    epochs.replace(found)


def _agrees(epochs: LeaderEpochs, header: BatchHeader) -> bool:
    return epochs.epoch_of(header.last_offset) == header.leader_epoch


def _agree(epochs: LeaderEpochs, segments: Sequence[Segment], log_start_offset: int) -> bool:
    """Check both sides of each epoch's beginning, and both ends of the log."""
    offsets = {log_start_offset, segments[-1].next_offset - 1}
    for _, start_offset in epochs.entries:
        offsets |= {start_offset - 1, start_offset}
    return all(
        _agrees(epochs, header)
        for offset in offsets
        if offset >= log_start_offset and (header := _batch_at(segments, offset)) is not None
    )


def _batch_at(segments: Sequence[Segment], offset: int) -> BatchHeader | None:
    for segment in segments:
        if offset < segment.next_offset:
            position = segment.position_of(offset)
            if position is not None:
                return next((header for _, header in segment.headers(position)), None)
    return None


def _all(segments: Sequence[Segment]) -> Iterator[BatchHeader]:
    for segment in segments:
        for _, header in segment.headers():
            yield header
