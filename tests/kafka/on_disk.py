"""The content of a data directory of Ottla or Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..wire.batches import Batch, batches_in
from .story import START_MS

OFTEN = {
    "metadata.log.max.record.bytes.between.snapshots": "1000",
    "metadata.max.retention.bytes": "1",
}
"""Settings that cause snapshots, and replace segments by them, at once."""


def newest_snapshot(log: Path) -> int:
    """The end offset of the newest snapshot; -1 if there is none."""
    return max((int(file.name.partition("-")[0]) for file in log.glob("*.checkpoint")), default=-1)


def batches_of(partition: Path) -> list[Batch]:
    """All batches of a partition on disk."""
    logs = sorted(partition.glob("*.log"))
    return [found for log in logs for found in batches_in(log.read_bytes())]


def plain(found: Batch) -> dict[str, Any]:
    """The fields of a batch, without the times of its append."""
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
    """A time from a client; None for the time of an append."""
    return timestamp_ms if START_MS <= timestamp_ms < START_MS + 1_000_000 else None
