"""A step of the wall clock does not change what is measured in memory alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.runtime.logs.storage_trouble import StorageTrouble
from ottla.metadata.catalog import CONSUMER_OFFSETS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code, Refused
from tests.broker.fakes import START_MS
from tests.broker.members import beat
from tests.broker.one_node import OneNode, one_node
from tests.broker.transacting import producer
from tests.clocks import LoopClock
from tests.log_lines import LogLines

HOUR_MS = 60 * 60 * 1000
FORWARD_AND_BACK = pytest.mark.parametrize("step_ms", [HOUR_MS, -HOUR_MS], ids=["on", "back"])


@asynccontextmanager
async def a_node(directory: Path, **settings: str) -> AsyncIterator[OneNode]:
    async with one_node(directory, **settings) as one:
        one.topic("orders")
        yield one


@pytest.fixture
async def it(tmp_path: Path) -> AsyncIterator[OneNode]:
    async with a_node(tmp_path) as one:
        yield one


async def fetch(one: OneNode, *, session_epoch: int = 0) -> Any:
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    return await one.ask(
        ApiKey.FETCH,
        11,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        session_epoch=session_epoch,
        topics=[{"topic": "orders", "partitions": [partition]}],
    )


async def test_a_fetch_session_is_not_evicted_for_a_step(tmp_path: Path) -> None:
    async with a_node(tmp_path, max_incremental_fetch_session_cache_slots="1") as one:
        assert (await fetch(one))["session_id"] != 0
        one.clock.step_ms = HOUR_MS
        assert (await fetch(one))["session_id"] == 0, "there is no room beside a session in use"
        one.clock.step_ms = -HOUR_MS
        await asyncio.sleep(121)
        assert (await fetch(one))["session_id"] != 0, "two minutes unused"


async def throttle_ms(one: OneNode, size_bytes: int) -> int:
    """The throttle time of a producer after a batch."""
    records = bytes(build([(None, b"x" * size_bytes)], timestamp_ms=START_MS))
    context, _ = one.begin(
        ApiKey.PRODUCE,
        9,
        acks=1,
        timeout_ms=5000,
        topic_data=[{"name": "orders", "partition_data": [{"index": 0, "records": records}]}],
    )
    return context.throttle_time_ms


@FORWARD_AND_BACK
async def test_a_quota_is_the_same_after_a_step(it: OneNode, step_ms: int) -> None:
    entity = [{"entity_type": "client-id", "entity_name": "test"}]
    quota = {"key": "producer_byte_rate", "value": 1000.0, "remove": False}
    entry = {"entity": entity, "ops": [quota]}
    await it.ask(ApiKey.ALTER_CLIENT_QUOTAS, 1, entries=[entry], validate_only=False)
    assert await throttle_ms(it, 9000) == 0
    it.clock.step_ms = step_ms
    assert 8000 < await throttle_ms(it, 9000) < 9000


async def test_a_failing_disk_is_logged_again_after_a_step_back(
    it: OneNode, log_lines: LogLines
) -> None:
    log, clock = log_lines.of("storage"), LoopClock()
    trouble = StorageTrouble(clock)
    refused = Refused(Code.KAFKA_STORAGE_ERROR, "no space")
    for step_ms in (0, -HOUR_MS, HOUR_MS):
        clock.step_ms = step_ms
        trouble.report(it.log("orders"), refused)
    assert len(log.lines) == 1, "of late"
    clock.step_ms = -HOUR_MS
    await asyncio.sleep(61)
    trouble.report(it.log("orders"), refused)
    assert len(log.lines) == 2


async def test_the_files_of_deleted_segments_go_after_their_delay_whatever_the_wall_says(
    tmp_path: Path,
) -> None:
    settings = {"log_initial_task_delay_ms": "1000", "log_segment_delete_delay_ms": "60000"}
    async with a_node(tmp_path, **settings) as one:
        log = one.log("orders")
        one.append("orders", b"an order")
        log.roll(START_MS)
        log.drop_segments_before(1)
        log.flush()  # renames the files now; a thread would come at any time of this clock
        folder = tmp_path / "orders-0"
        await asyncio.sleep(2)
        one.clock.step_ms = HOUR_MS
        await asyncio.sleep(31)
        one.node.cluster.removals.finish()
        assert list(folder.glob("*.log.deleted")), "a minute is not over"
        one.clock.step_ms = -HOUR_MS
        await asyncio.sleep(61)
        one.node.cluster.removals.finish()
        assert not list(folder.glob("*.log.deleted"))


@FORWARD_AND_BACK
async def test_a_clock_step_does_not_change_flush_ms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_ms: int
) -> None:
    settings = {
        "log_initial_task_delay_ms": "1000",
        "log_flush_scheduler_interval_ms": "1000",
        "log_flush_interval_ms": "10000",
    }
    async with a_node(tmp_path, **settings) as one:
        asked: list[str] = []
        monkeypatch.setattr(one.node.flushes, "ask", lambda log, up_to: asked.append(log.topic))
        one.append("orders", b"an order")
        await asyncio.sleep(2)
        one.clock.step_ms = step_ms
        await asyncio.sleep(7)
        assert "orders" not in asked
        await asyncio.sleep(4)
        assert "orders" in asked


@FORWARD_AND_BACK
async def test_members_of_groups_live_and_die_by_their_own_silence(
    tmp_path: Path, step_ms: int
) -> None:
    """Set forward, the clock would fence all of them; set back, it would keep the dead."""
    async with a_node(tmp_path, group_consumer_session_timeout_ms="45000") as one:
        one.node.controller.create_internal_topic(CONSUMER_OFFSETS)
        epochs = {}
        for member_id in ("alive", "dead"):
            answer = await beat(one, "books", member_id)
            assert answer["error_code"] == 0, answer
            epochs[member_id] = answer["member_epoch"]
        one.clock.step_ms = step_ms
        for _ in range(5):
            await asyncio.sleep(10)
            answer = await beat(one, "books", "alive", epochs["alive"])
            assert answer["error_code"] == 0
            epochs["alive"] = answer["member_epoch"]
        told = await beat(one, "books", "dead", epochs["dead"])
        assert Code(told["error_code"]) is Code.UNKNOWN_MEMBER_ID


async def test_a_transaction_is_aborted_soon_after_a_step_past_its_timeout(tmp_path: Path) -> None:
    """By the wall, as in Kafka: its start is a record's."""
    interval = "transaction_abort_timed_out_transaction_cleanup_interval_ms"
    async with a_node(tmp_path, **{interval: "10000"}) as one:
        shop = await producer(one, timeout_ms=600_000)
        assert await shop.add({"orders": [0]}) == {"NONE"}
        await asyncio.sleep(30)
        assert await shop.state() == "Ongoing"
        one.clock.step_ms = HOUR_MS
        await asyncio.sleep(10)
        assert await shop.state() == "CompleteAbort"


async def test_a_clock_that_was_back_in_time_and_is_right_again_keeps_no_transaction_open(
    it: OneNode,
) -> None:
    shop = await producer(it, timeout_ms=60_000)
    assert await shop.add({"orders": [0]}) == {"NONE"}
    it.clock.step_ms = -HOUR_MS
    await asyncio.sleep(70)
    assert await shop.state() == "Ongoing"
    it.clock.step_ms = 0
    await asyncio.sleep(20)
    assert await shop.state() == "CompleteAbort"


async def test_a_transactional_id_is_forgotten_at_the_interval_for_that(tmp_path: Path) -> None:
    settings = {
        "transactional_id_expiration_ms": "60000",
        "transaction_remove_expired_transaction_cleanup_interval_ms": "600000",
    }
    async with a_node(tmp_path, **settings) as one:
        shop = await producer(one)
        await asyncio.sleep(90)
        assert await shop.state() == "Empty"
        await asyncio.sleep(600)
        assert (await shop.described())["error_code"] == Code.TRANSACTIONAL_ID_NOT_FOUND
