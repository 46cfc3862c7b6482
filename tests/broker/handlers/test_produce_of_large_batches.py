"""Batches that take long to check: others are served meanwhile, and what was true before is not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest

from ottla.broker.scheduling.long_work import AT_A_TIME
from ottla.protocol import opening as opening_module
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import Compression
from ottla.protocol.errors import Code
from ottla.storage.records import payloads
from ottla.storage.steps import Steps
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode, one_node, read
from tests.broker.transacting import producer
from tests.protocol.bombs import one_record, packed
from tests.wire import batches

pytestmark = pytest.mark.real_time

SMALL = {"transaction_state_log_num_partitions": "1", "offsets_topic_num_partitions": "1"}


def bomb(codec: Compression = Compression.ZSTD, **header: Any) -> bytes:
    """A batch of one record, which opens to more than is opened in one go."""
    return batches.batch(
        [b""],
        records=packed(codec, one_record(2 << 20)),
        attributes=codec | header.pop("attributes", 0),
        timestamp=START_MS,
        **header,
    )


def request(*parts: tuple[str, bytes], **fields: Any) -> dict[str, Any]:
    topics = [
        {"name": topic, "partition_data": [{"index": 0, "records": records}]}
        for topic, records in parts
    ]
    return {"acks": -1, "timeout_ms": 1000, "topic_data": topics, **fields}


def begin(it: OneNode, *parts: tuple[str, bytes], **fields: Any) -> asyncio.Future[Any]:
    """Send a Produce that is not answered in the turn in which it comes."""
    _, answered = it.begin(ApiKey.PRODUCE, 12, **request(*parts, **fields))
    assert isinstance(answered, asyncio.Future)
    return answered


async def errors(answered: asyncio.Future[Any]) -> list[str]:
    told = read(ApiKey.PRODUCE, 12, await answered)["responses"]
    return [Code(topic["partition_responses"][0]["error_code"]).name for topic in told]


@pytest.mark.parametrize("codec", [c for c in Compression if c is not Compression.NONE])
async def test_a_bomb_is_appended_and_others_come_before_it(
    it: OneNode, codec: Compression
) -> None:
    it.topic("orders")
    answered = begin(it, ("orders", bomb(codec)))
    _, other = it.begin(
        ApiKey.PRODUCE, 12, **request(("orders", batches.batch(timestamp=START_MS)))
    )
    assert not isinstance(other, asyncio.Future), "it does not wait for the other"
    assert await errors(answered) == ["NONE"]
    sizes = [header.record_count for header in headers(it, "orders")]
    assert sizes == [1, 1]
    assert [header.compression for header in headers(it, "orders")] == [0, codec]


def headers(it: OneNode, topic: str) -> list[Any]:
    return [header for segment in it.log(topic).segments for _, header in segment.headers()]


async def test_the_partitions_of_a_request_are_appended_to_in_their_order(it: OneNode) -> None:
    for topic in ("a", "b", "c"):
        it.topic(topic)
    answered = begin(
        it,
        ("a", batches.batch(timestamp=START_MS)),
        ("b", bomb()),
        ("c", batches.batch(timestamp=START_MS)),
    )
    assert [it.log(topic).log_end_offset for topic in ("a", "b", "c")] == [1, 0, 0]
    assert await errors(answered) == ["NONE"] * 3


async def test_one_of_two_retries_of_an_idempotent_bomb_is_appended(it: OneNode) -> None:
    it.topic("orders")
    sent = bomb(producer_id=7, epoch=0, sequence=0)
    both = begin(it, ("orders", sent)), begin(it, ("orders", sent))
    assert [await errors(one) for one in both] == [["NONE"], ["NONE"]]
    assert it.log("orders").log_end_offset == 1


async def test_an_error_in_a_bomb_is_reported_as_in_any_batch(it: OneNode) -> None:
    it.topic("orders", cleanup_policy="compact")
    answered = begin(it, ("orders", bomb()))
    told = read(ApiKey.PRODUCE, 12, await answered)["responses"][0]["partition_responses"][0]
    assert Code(told["error_code"]) is Code.INVALID_RECORD
    assert [error["batch_index"] for error in told["record_errors"]] == [0]
    assert told["log_start_offset"] == 0


async def test_a_topic_that_is_deleted_meanwhile_is_unknown(it: OneNode) -> None:
    it.topic("orders")
    answered = begin(it, ("orders", bomb()))
    it.node.controller.delete_topic("orders")
    assert await errors(answered) == ["UNKNOWN_TOPIC_OR_PARTITION"]


async def test_a_bomb_is_not_appended_to_a_transaction_that_was_ended_meanwhile(
    tmp_path: Path,
) -> None:
    """It would belong to the next one, or to none, for ever."""
    async with one_node(tmp_path, **SMALL) as it:
        it.topic("orders")
        shop = await producer(it)
        sent = bomb(attributes=0x10, producer_id=shop.producer_id, epoch=shop.epoch, sequence=0)
        version = {"transactional_id": shop.transactional_id}
        await shop.add({"orders": [0]})
        _, answered = it.begin(ApiKey.PRODUCE, 11, **request(("orders", sent), **version))
        assert isinstance(answered, asyncio.Future)
        assert await shop.end(commit=True) == "NONE"
        told = read(ApiKey.PRODUCE, 11, await answered)["responses"][0]["partition_responses"][0]
        assert Code(told["error_code"]) is Code.TRANSACTION_ABORTABLE
        assert [header.is_control for header in headers(it, "orders")] == [True]


async def test_a_client_that_goes_leaves_nothing_behind(
    it: OneNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.topic("orders")
    taken: list[Steps[Any]] = []
    run = it.node.long_work.run

    async def seen(steps: Steps[Any]) -> Any:
        taken.append(steps)
        return await run(steps)

    monkeypatch.setattr(it.node.long_work, "run", seen)
    answered = begin(it, ("orders", bomb()))
    answered.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answered
    assert it.log("orders").log_end_offset == 0
    assert await errors(begin(it, ("orders", bomb()))) == ["NONE"]
    assert len(taken) == 2


async def test_only_a_few_of_many_bombs_are_open_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others wait, and keep nothing open."""
    alive: WeakSet[Any] = WeakSet()
    most = 0

    def opening(*given: Any) -> Any:
        nonlocal most
        opened = real(*given)
        alive.add(opened)
        most = max(most, len(alive))
        return opened

    real = opening_module.opening
    monkeypatch.setattr(payloads, "opening", opening)
    async with one_node(tmp_path) as it:
        it.topic("orders")
        bombs = [begin(it, ("orders", bomb())) for _ in range(3 * AT_A_TIME)]
        for answered in bombs:
            assert await errors(answered) == ["NONE"]
        # One more is tried in the turn that brings it.
        assert AT_A_TIME <= most <= AT_A_TIME + 1


@pytest.mark.parametrize("timestamp", [START_MS, -3])
async def test_a_time_is_looked_for_in_a_bomb_while_others_are_served(
    it: OneNode, timestamp: int
) -> None:
    it.topic("orders")
    assert await errors(begin(it, ("orders", bomb()))) == ["NONE"]
    asked = [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}]
    fields = {"replica_id": -1, "isolation_level": 0}
    topics = [{"name": "orders", "partitions": asked}]
    _, answered = it.begin(ApiKey.LIST_OFFSETS, 8, **fields, topics=topics)
    assert isinstance(answered, asyncio.Future)
    _, other = it.begin(ApiKey.PRODUCE, 12, **request(("orders", batches.batch())))
    assert not isinstance(other, asyncio.Future)
    told = read(ApiKey.LIST_OFFSETS, 8, await answered)["topics"][0]["partitions"][0]
    assert (told["error_code"], told["offset"], told["timestamp"]) == (0, 0, START_MS)
