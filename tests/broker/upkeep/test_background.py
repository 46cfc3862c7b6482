"""The timed jobs of a broker, on a virtual clock where no thread takes part."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.storage.log import PartitionLog
from ottla.storage.recovery.saved_state import RECORDS
from tests.broker.one_node import OneNode, until
from tests.clocks import VirtualClock
from tests.storage.logs import NOW_MS

pytestmark = pytest.mark.real_time

HOUR_MS = 3_600_000


def snapshots(log: PartitionLog) -> list[str]:
    return sorted(path.name for path in Path(log.directory).glob("*.snapshot"))


async def test_a_producer_is_forgotten_by_the_job_that_expires_producers(tmp_path: Path) -> None:
    clock = VirtualClock()
    it = OneNode(tmp_path, {"producer.id.expiration.ms": str(HOUR_MS)}, clock)
    try:
        it.topic("orders")
        idempotent = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
        it.append("orders", b"v", timestamp_ms=clock.now_ms(), **idempotent)
        log = it.log("orders")
        await clock.advance_ms(HOUR_MS - 1000)
        assert [entry.producer_id for entry in log.producers.producers()] == [7]
        jobs = [task.get_name() for task in asyncio.all_tasks()]
        assert "expiry of producers" in jobs
        interval_ms = it.node.config["producer.id.expiration.check.interval.ms"]
        await clock.advance_ms(interval_ms + 2000)
        assert not list(log.producers.producers())
    finally:
        it.node.close()


async def test_the_state_of_a_busy_log_is_saved_and_that_of_an_idle_one_is_not(
    tmp_path: Path,
) -> None:
    clock = VirtualClock()
    it = OneNode(tmp_path, {}, clock)
    try:
        it.topic("busy")
        it.topic("idle")
        it.append("idle", b"v")
        it.append("busy", *[b"v"] * RECORDS)
        await clock.advance_ms(2_100)
        assert snapshots(it.log("busy")) == [], "producers may send its last batches again"
        await clock.advance_ms(2_000)
        assert snapshots(it.log("busy")) == [f"{RECORDS:020d}.snapshot"]
        await clock.advance_ms(HOUR_MS)
        assert snapshots(it.log("busy")) == [f"{RECORDS:020d}.snapshot"]
        assert snapshots(it.log("idle")) == []
    finally:
        it.node.close()


async def test_retention_does_not_wait_for_the_checkpoints_to_rename_dropped_segments(
    tmp_path: Path,
) -> None:
    it = OneNode(
        tmp_path,
        {
            "log.retention.check.interval.ms": "1", "log.initial.task.delay.ms": "0",
            "log.flush.offset.checkpoint.interval.ms": "1000000",
        },
    )  # fmt: skip
    it.topic("orders")
    log = it.log("orders")
    for _ in range(3):
        it.append("orders", b"x" * 100)
        log.roll(NOW_MS)
    await until(lambda: not it.node.flushes.is_busy)
    configs = [{"name": "retention.bytes", "config_operation": 0, "value": "1"}]
    resources = [{"resource_type": 2, "resource_name": "orders", "configs": configs}]
    await it.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources, validate_only=False)
    await until(lambda: log.log_start_offset > 0)
    await until(lambda: not log.layout.has_dropped)
    it.node.close()
