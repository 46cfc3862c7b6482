"""The content of a data directory, written by Ottla or by Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..wire.batches import Batch, batches_in
from .story import START_MS

OFTEN = {
    "metadata.log.max.record.bytes.between.snapshots": "1000",
    "metadata.max.retention.bytes": "1",
}
"""Settings with which there are snapshots, and segments that they replace, at once."""


def newest_snapshot(log: Path) -> int:
    """The end offset of the newest snapshot, -1 when there is none."""
    return max((int(file.name.partition("-")[0]) for file in log.glob("*.checkpoint")), default=-1)


def batches_of(partition: Path) -> list[Batch]:
    """All batches of a partition that are still on disk."""
    logs = sorted(partition.glob("*.log"))
    return [found for log in logs for found in batches_in(log.read_bytes())]


def plain(found: Batch) -> dict[str, Any]:
    """What a batch says, without the times that were now."""
    return {
        "offsets": (found.base_offset, found.last_offset),
        "leader epoch": found.leader_epoch,
        "attributes": found.attributes,
        "times": (given(found.first_timestamp), given(found.max_timestamp)),
        "producer": (found.producer_id, found.epoch, found.sequence),
        "crc": found.crc_is_right,
        "size": found.size_bytes,
        "records": [
            (one.offset, given(one.timestamp), one.key, one.value, one.headers)
            for one in found.records
        ],
    }


def given(timestamp_ms: int) -> int | None:
    """A time that a client gave; None for one that was now when it happened."""
    return timestamp_ms if START_MS <= timestamp_ms < START_MS + 1_000_000 else None
