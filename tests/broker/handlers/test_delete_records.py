"""DeleteRecords: the new log start offsets, in slices beside other requests."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.one_node import OneNode

pytestmark = pytest.mark.real_time

MANY = 20


async def delete(it: OneNode, offsets: dict[int, int]) -> list[tuple[str, int]]:
    """Error and low watermark of partitions of orders."""
    parts = [{"partition_index": index, "offset": offset} for index, offset in offsets.items()]
    answered: Any = await it.ask(
        ApiKey.DELETE_RECORDS, 2, topics=[{"name": "orders", "partitions": parts}], timeout_ms=1000
    )
    (topic,) = answered["topics"]
    return [(Code(told["error_code"]).name, told["low_watermark"]) for told in topic["partitions"]]


async def test_deleted_records_stay_deleted_after_a_kill(tmp_path: Path, it: OneNode) -> None:
    it.topic("orders", 3)
    for partition in range(3):
        it.append("orders", b"a", b"b", b"c", partition=partition)
    told = await delete(it, {0: 2, 1: -1, 2: 4, 3: 0})
    assert told == [
        ("NONE", 2),
        ("NONE", 3),
        ("OFFSET_OUT_OF_RANGE", -1),
        ("UNKNOWN_TOPIC_OR_PARTITION", -1),
    ]
    checkpoint = (tmp_path / "log-start-offset-checkpoint").read_text().split("\n")
    assert [line.strip() for line in checkpoint[:4]] == ["0", "2", "orders 0 2", "orders 1 3"]


async def test_others_have_their_turns_between_partitions_that_wait_for_the_disk(
    it: OneNode,
) -> None:
    it.topic("orders", MANY)
    for partition in range(MANY):
        it.append("orders", b"a", b"b", partition=partition)
    turns = 0
    deleting = asyncio.ensure_future(delete(it, dict.fromkeys(range(MANY), 1)))
    while not deleting.done() and turns < 2 * MANY:
        await asyncio.sleep(0)
        turns += 1
    assert turns == 2 * MANY
    assert await deleting == [("NONE", 1)] * MANY
