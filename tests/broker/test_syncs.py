"""No sync of a file or directory runs on the event loop, whatever the node does."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.storage.disk.files import RealFiles
from tests.broker.one_node import OneNode, until
from tests.storage.logs import NOW_MS, batch, end_of, in_transaction

pytestmark = pytest.mark.real_time

# A stop is the end of all requests, and a start the beginning.
ALLOWED = {"Cluster.__init__", "Node.__init__", "Node.close"}


class WatchedFiles(RealFiles):
    """Real files that remember who syncs on a thread with an event loop.

    Attributes:
        callers: chains of functions, the innermost first.
        count: all syncs, of any thread.
        refused: what the paths contain that cannot be listed now; None: all can.
    """

    def __init__(self) -> None:
        self.callers: list[str] = []
        self.count = 0
        self.refused: str | None = None

    def names_in(self, directory: str, /) -> list[str]:  # type: ignore[override]  # os takes more
        if self.refused is not None and self.refused in directory:
            raise OSError(5, "Input/output error")
        return os.listdir(directory)

    def _watch(self) -> None:
        self.count += 1
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        chain = list(_callers())
        if not ALLOWED.intersection(chain):
            self.callers.append(" < ".join(chain[:8]))

    def sync(self, descriptor: int, /) -> None:  # type: ignore[override]  # os takes more
        self._watch()
        os.fdatasync(descriptor)

    def sync_directory(self, directory: str, /) -> None:
        self._watch()
        super().sync_directory(directory)


def _callers() -> Iterator[str]:
    """The functions of Ottla on the stack, the innermost first."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        if "asyncio" not in frame.f_code.co_filename:
            yield frame.f_code.co_qualname
        frame = frame.f_back


SETTINGS = {
    "log.retention.check.interval.ms": "1", "log.initial.task.delay.ms": "0",
    "log.flush.offset.checkpoint.interval.ms": "5", "log.cleaner.backoff.ms": "1",
    "log.flush.interval.messages": "1", "log.segment.delete.delay.ms": "0",
    "metadata.log.max.record.bytes.between.snapshots": "1000",
}  # fmt: skip


async def test_nothing_that_a_node_does_waits_for_the_disk_in_the_event_loop(
    tmp_path: Path,
) -> None:
    files = WatchedFiles()
    it = OneNode(tmp_path, SETTINGS, files=files)
    it.topic("orders", 3, retention_bytes="700")
    it.topic("table", 1, cleanup_policy="compact", min_cleanable_dirty_ratio="0")
    log = it.log("orders")
    for number in range(30):  # rolls, retention and aborted transactions
        it.append("orders", b"x" * 100)
        if number % 5 == 0:
            log.append(in_transaction(7, number // 5), now_ms=NOW_MS)
            log.append_marker(end_of(7, commit=False), now_ms=NOW_MS)
            await it.node.flushes.flushed(log)  # then the roll finds all data on disk
            log.roll(NOW_MS)
            it.log("table").roll(NOW_MS)
        it.log("table").append(batch(b"v" * 100, key=b"k"), now_ms=NOW_MS)
        await asyncio.sleep(0)
    await until(lambda: log.log_start_offset > 0)
    for partition in (1, 2):
        it.append("orders", b"a", b"b", partition=partition)
    parts = [{"partition_index": each, "offset": 1} for each in (0, 1, 2)]
    topics = [{"name": "orders", "partitions": parts}]
    await it.ask(ApiKey.DELETE_RECORDS, 2, topics=topics, timeout_ms=1000)
    configs = [{"name": "retention.ms", "config_operation": 0, "value": "1"}]
    resources = [{"resource_type": 2, "resource_name": "orders", "configs": configs}]
    await it.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources, validate_only=False)
    await it.ask(ApiKey.DELETE_TOPICS, 1, topic_names=["orders"], timeout_ms=1000)
    made_again = {"name": "orders", "num_partitions": 2, "replication_factor": 1}
    await it.ask(ApiKey.CREATE_TOPICS, 7, topics=[made_again], timeout_ms=1000)
    it.append("orders", b"x")
    await it.ask(ApiKey.DELETE_TOPICS, 1, topic_names=["orders", "table"], timeout_ms=1000)
    names = [{"name": "orders"}, {"name": "table"}]
    await it.ask(ApiKey.METADATA, 4, topics=names, allow_auto_topic_creation=True)
    assert {"orders", "table"} <= set(it.node.catalog.topics)
    await until(lambda: not it.node.cluster.is_busy)
    assert list((tmp_path / "__cluster_metadata-0").glob("*.checkpoint")), "snapshots are written"
    assert files.count > 20, "the test sees them"
    assert files.callers == []
    it.node.close()


async def test_a_log_that_is_opened_again_later_is_repaired_without_a_sync_in_the_event_loop(
    tmp_path: Path,
) -> None:
    it = OneNode(tmp_path, {})
    it.topic("orders")
    log = it.log("orders")
    for number in range(3):
        log.append(in_transaction(7, number), now_ms=NOW_MS)
        log.append_marker(end_of(7, commit=False), now_ms=NOW_MS)
        log.roll(NOW_MS)
    await until(lambda: not it.node.flushes.is_busy)
    it.append("orders", b"whole")
    it.append("orders", b"torn")
    it.node.close(clean=False)
    newest = Path(log.segments[-1].path(".log"))
    lose_power(tmp_path, newest)
    files = WatchedFiles()
    files.refused = "orders-0"
    again = OneNode(tmp_path, {"log.flush.interval.messages": "1"}, files=files)
    assert ("orders", 0) in again.node.log_directory.failed
    files.refused = None
    opened = again.log("orders")
    assert opened.log_end_offset == 7
    assert files.callers == []
    index = f"{opened.directory}/{0:020d}.txnindex"
    repaired = {path for _, path in opened._unsynced._other_files}
    assert {index, str(newest)} <= repaired, "the next flush syncs them"
    again.append("orders", b"x")
    assert await again.node.flushes.flushed(opened) is None
    assert not opened._unsynced.has_unsynced_files
    assert files.callers == []
    again.node.close()


def lose_power(directory: Path, newest: Path) -> None:
    """Take away what was not synced: the end of a segment, indexes, checkpoints."""
    newest.write_bytes(newest.read_bytes()[:-3])
    for index in newest.parent.glob("*.txnindex"):
        index.unlink()
    (directory / "recovery-point-offset-checkpoint").unlink(missing_ok=True)
    (directory / ".boot-id").unlink(missing_ok=True)
