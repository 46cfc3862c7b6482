"""A whole node on a virtual clock: hours pass in milliseconds, on an ordinary event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.events import ClockJumped
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.observing import hear
from tests.broker.one_node import OneNode
from tests.clocks import VirtualClock, at_rest

pytestmark = pytest.mark.real_time

SECOND_MS, MINUTE_MS, HOUR_MS = 1000, 60_000, 3_600_000
SESSION_MS = 30 * MINUTE_MS


@asynccontextmanager
async def virtual_node(directory: Path, clock: VirtualClock) -> AsyncIterator[OneNode]:
    it = OneNode(directory, {"group.initial.rebalance.delay.ms": "0"}, clock)
    try:
        yield it
    finally:
        it.node.close()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def it(tmp_path: Path, clock: VirtualClock) -> AsyncIterator[OneNode]:
    async with virtual_node(tmp_path, clock) as it:
        yield it


async def asked(it: OneNode, key: ApiKey, version: int, **fields: Any) -> Any:
    """The answer to a request; a little time passes, since coordinators linger."""
    answering = asyncio.ensure_future(it.ask(key, version, **fields))
    assert isinstance(it.node.clock, VirtualClock)
    await it.node.clock.advance_ms(10)
    assert answering.done()
    return answering.result()


async def joined(it: OneNode) -> str:
    """The id of a member of the classic group `readers`, which has a generation."""
    it.node.controller.create_internal_topic("__consumer_offsets")
    fields = {
        "group_id": "readers", "protocol_type": "consumer", "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": SESSION_MS, "protocols": [{"name": "range", "metadata": b""}],
    }  # fmt: skip
    told = await asked(it, ApiKey.JOIN_GROUP, 3, member_id="", **fields)
    member_id = str(told["member_id"])
    given = [{"member_id": member_id, "assignment": b"all"}]
    synced = await asked(it,
        ApiKey.SYNC_GROUP, 2,
        group_id="readers", generation_id=1, member_id=member_id, assignments=given,
    )  # fmt: skip
    assert synced["error_code"] == Code.NONE
    return member_id


async def group_state(it: OneNode) -> str:
    told = await asked(it, ApiKey.DESCRIBE_GROUPS, 3, groups=["readers"])
    return str(told["groups"][0]["group_state"])


async def begun(it: OneNode, timeout_ms: int) -> None:
    """A transaction of `shop` is open on `orders`."""
    await asked(it, ApiKey.FIND_COORDINATOR, 6, key_type=1, coordinator_keys=["shop"])
    owner = await asked(it,
        ApiKey.INIT_PRODUCER_ID, 5, transactional_id="shop", transaction_timeout_ms=timeout_ms,
    )  # fmt: skip
    added = await asked(it,
        ApiKey.ADD_PARTITIONS_TO_TXN, 3,
        v3_and_below_transactional_id="shop",
        v3_and_below_producer_id=owner["producer_id"],
        v3_and_below_producer_epoch=owner["producer_epoch"],
        v3_and_below_topics=[{"name": "orders", "partitions": [0]}],
    )  # fmt: skip
    (topic,) = added["results_by_topic_v3_and_below"]
    assert topic["results_by_partition"][0]["partition_error_code"] == Code.NONE


async def transaction_state(it: OneNode) -> str:
    told: Any = await asked(it, ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=["shop"])
    return str(told["transaction_states"][0]["transaction_state"])


async def test_a_member_without_heartbeats_leaves_when_its_session_ends(
    clock: VirtualClock, it: OneNode
) -> None:
    await joined(it)
    await clock.advance_ms(SESSION_MS - SECOND_MS)
    assert await group_state(it) == "Stable"
    await clock.advance_ms(2 * SECOND_MS)
    assert await group_state(it) == "Empty"


async def test_a_transaction_is_aborted_at_its_timeout(clock: VirtualClock, it: OneNode) -> None:
    it.topic("orders")
    await begun(it, 10 * MINUTE_MS)
    await clock.advance_ms(9 * MINUTE_MS)
    assert await transaction_state(it) == "Ongoing"
    await clock.advance_ms(MINUTE_MS + 10 * SECOND_MS)
    assert await transaction_state(it) == "CompleteAbort"


async def test_records_are_deleted_when_their_retention_ends(
    clock: VirtualClock, it: OneNode
) -> None:
    it.topic("orders", retention_ms=str(5 * HOUR_MS))
    it.append("orders", b"a", b"b")
    await clock.advance_ms(4 * HOUR_MS)
    assert it.log("orders").log_start_offset == 0
    await clock.advance_ms(HOUR_MS + 10 * MINUTE_MS)
    assert it.log("orders").log_start_offset == 2


async def test_a_fetch_waits_as_long_as_it_may(clock: VirtualClock, it: OneNode) -> None:
    it.topic("orders")
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    _, answered = it.begin(
        ApiKey.FETCH, 4, max_wait_ms=HOUR_MS, min_bytes=1, max_bytes=1000,
        topics=[{"topic": "orders", "partitions": [part]}],
    )  # fmt: skip
    waiting: Any = answered
    await clock.advance_ms(HOUR_MS - 1)
    assert not waiting.done()
    await clock.advance_ms(1)
    assert waiting.done()


async def test_a_transaction_outlasts_a_wall_clock_that_is_wrong_for_a_moment(
    clock: VirtualClock, it: OneNode
) -> None:
    """Timeouts of transactions are looked for at an interval, as in Kafka, not at each jump."""
    heard = hear(it)
    it.topic("orders")
    await begun(it, 10 * MINUTE_MS)
    clock.jump_ms(HOUR_MS)
    assert heard.of(ClockJumped) == [ClockJumped(HOUR_MS)]
    await clock.advance_ms(2 * SECOND_MS)
    clock.jump_ms(-HOUR_MS)
    await clock.advance_ms(MINUTE_MS)
    assert await transaction_state(it) == "Ongoing"


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
async def test_timeouts_go_by_the_wall_clock_that_records_carry(
    by_ms: int, clock: VirtualClock, it: OneNode
) -> None:
    it.topic("orders")
    await begun(it, 10 * MINUTE_MS)
    clock.jump_ms(by_ms)
    await clock.advance_ms(11 * SECOND_MS)
    assert await transaction_state(it) == ("CompleteAbort" if by_ms > 0 else "Ongoing")


async def test_a_closed_node_leaves_no_timer(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with virtual_node(tmp_path, clock) as it:
        hear(it)
        it.topic("orders")
        await joined(it)
        await begun(it, 10 * MINUTE_MS)
        assert len(clock.pending()) > 3
    await at_rest()  # cancelled tasks cancel the timers of their sleep
    assert clock.pending() == []
