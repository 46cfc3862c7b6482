"""Data directories for tests of several files."""

from __future__ import annotations

import uuid
from typing import Any

from ottla.storage.disk.files import RealFiles
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from tests.campaign.crash_disk import CrashDisk
from tests.storage.disk import Disk
from tests.storage.logs import NOW_MS, batch

TOPIC_ID = uuid.UUID("8ff9fb9a-7bdc-4b1d-b4d9-6b3c7a4f1e2d")


def directory(files: Disk | RealFiles, path: str = "data", **given: object) -> LogDirectory:
    settings: dict[str, Any] = {"node_id": 1, "cluster_id": None, "now_ms": NOW_MS} | given
    return LogDirectory.open(files, path, **settings)


def log_in(found: LogDirectory, partition: int = 0, topic_id: uuid.UUID = TOPIC_ID) -> object:
    return found.open_log("orders", partition, topic_id=topic_id, config=LogConfig(), now_ms=NOW_MS)


def fill(found: LogDirectory, partition: int = 0, count: int = 1) -> None:
    log_in(found, partition)
    log = found.log_of("orders", partition)
    assert log is not None
    for _ in range(count):
        log.append(batch(), now_ms=NOW_MS)


def with_rows_in_all_checkpoints(seed: int = 0) -> tuple[CrashDisk, LogDirectory]:
    """Two partitions that begin at 5 and end at 6, all of it on disk."""
    disk = CrashDisk(seed=seed)
    found = directory(disk)
    for partition in (0, 1):
        fill(found, partition, 6)
    for log in found.logs():
        log.delete_records(5)
        log.flush()
    found.checkpoint()
    return disk, found
