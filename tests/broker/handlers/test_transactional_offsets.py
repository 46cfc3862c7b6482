"""TxnOffsetCommit: what it adds to a transaction, and what of that is on disk when."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ottla.broker.runtime.work_limits import WORK_LIMITS
from tests.broker.one_node import one_node
from tests.broker.slow_files import SlowFiles
from tests.broker.transacting import producer

pytestmark = pytest.mark.real_time

PATIENCE_S = 10.0


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_offsets_are_written_when_it_is_on_disk_that_they_are_in_the_transaction(
    tmp_path: Path, version: int
) -> None:
    """Else a loss of power would leave offsets that no marker ever settles."""
    settings = {"transaction_state_log_num_partitions": "1", "offsets_topic_num_partitions": "1"}
    files = SlowFiles()
    async with one_node(tmp_path, WORK_LIMITS, files, **settings) as one:
        one.topic("orders")
        one.topic("__transaction_state", flush_messages="1")
        one.topic("__consumer_offsets")
        shop = await producer(one, "shop")
        transactions, offsets = one.log("__transaction_state"), one.log("__consumer_offsets")
        before = transactions.log_end_offset
        files.hold()
        adding = asyncio.ensure_future(shop.add_offsets("books")) if version < 5 else None
        await asyncio.sleep(0)
        committing = asyncio.ensure_future(shop.commit_offset("books", "orders", version))
        assert await asyncio.to_thread(files.is_syncing.wait, PATIENCE_S)
        for _ in range(10):
            await asyncio.sleep(0)
        assert transactions.log_end_offset == before + 1, "the partition is added"
        assert offsets.log_end_offset == 0, "and not on disk"
        files.may_sync.set()
        if adding is not None:
            assert await adding == "NONE"
        assert await committing == "NONE"
        assert offsets.log_end_offset == 1
        assert transactions.recovery_point == transactions.log_end_offset
