"""TxnOffsetCommit: what it adds to a transaction, and what of that is on disk when."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.runtime.work_limits import WORK_LIMITS
from ottla.protocol.api_keys import ApiKey
from tests.broker.one_node import OneNode, one_node
from tests.broker.slow_files import SlowFiles

pytestmark = pytest.mark.real_time

PATIENCE_S = 10.0


async def add_offsets(one: OneNode, producer: dict[str, int]) -> Any:
    """AddOffsetsToTxn of the group."""
    return await one.ask(
        ApiKey.ADD_OFFSETS_TO_TXN, 3, transactional_id="shop", group_id="books", **producer
    )


async def commit_offsets(one: OneNode, producer: dict[str, int], version: int) -> Any:
    """TxnOffsetCommit of one offset; version 5 adds the group's partition by itself (KIP-890)."""
    partition = {"partition_index": 0, "committed_offset": 7}
    return await one.ask(
        ApiKey.TXN_OFFSET_COMMIT, version, transactional_id="shop", group_id="books",
        topics=[{"name": "orders", "partitions": [partition]}], **producer,
    )  # fmt: skip


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
        started = await one.ask(
            ApiKey.INIT_PRODUCER_ID, 4, transactional_id="shop", transaction_timeout_ms=60_000,
            producer_id=-1, producer_epoch=-1,
        )  # fmt: skip
        producer = {key: started[key] for key in ("producer_id", "producer_epoch")}
        transactions, offsets = one.log("__transaction_state"), one.log("__consumer_offsets")
        before = transactions.log_end_offset
        files.hold()
        adding = asyncio.ensure_future(add_offsets(one, producer)) if version < 5 else None
        await asyncio.sleep(0)
        committing = asyncio.ensure_future(commit_offsets(one, producer, version))
        assert await asyncio.to_thread(files.is_syncing.wait, PATIENCE_S)
        for _ in range(10):
            await asyncio.sleep(0)
        assert transactions.log_end_offset == before + 1, "the partition is added"
        assert offsets.log_end_offset == 0, "and not on disk"
        files.may_sync.set()
        if adding is not None:
            assert (await adding)["error_code"] == 0
        answer = await committing
        assert answer["topics"][0]["partitions"][0]["error_code"] == 0
        assert offsets.log_end_offset == 1
        assert transactions.recovery_point == transactions.log_end_offset
