"""ListOffsets: the offset of a time or of a landmark, for one kind of reader or the other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.control import marker
from ottla.protocol.errors import Code
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode, one_node

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
VERSIONS = range(1, 11)


async def offset(
    it: OneNode, timestamp: int, *, version: int = 10, committed: bool = False, **fields: Any
) -> tuple[str, int, int]:
    """Error, offset and timestamp of orders-0, or of the partition given."""
    topic = fields.pop("topic", "orders")
    asked = {"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1, **fields}
    answered = await it.ask(
        ApiKey.LIST_OFFSETS,
        version,
        replica_id=-1,
        isolation_level=int(committed),
        topics=[{"name": topic, "partitions": [asked]}],
    )
    (told,) = answered["topics"][0]["partitions"]
    return Code(told["error_code"]).name, told["offset"], told["timestamp"]


def three_batches(it: OneNode) -> None:
    it.topic("orders")
    for time_ms in (100, 300, 200):
        it.append("orders", b"a", b"b", timestamp_ms=START_MS + time_ms)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_ends_of_a_log(it: OneNode, version: int) -> None:
    three_batches(it)
    assert await offset(it, LATEST, version=version) == ("NONE", 6, -1)
    assert await offset(it, EARLIEST, version=version) == ("NONE", 0, -1)
    it.log("orders").delete_records(3)
    assert await offset(it, EARLIEST, version=version) == ("NONE", 3, -1)


@pytest.mark.parametrize(
    ("time_ms", "expected"),
    [(0, (0, 100)), (100, (0, 100)), (101, (2, 300)), (300, (2, 300)), (301, (-1, None))],
)
async def test_a_time_gives_the_first_record_that_is_not_older(
    it: OneNode, time_ms: int, expected: tuple[int, int | None]
) -> None:
    three_batches(it)
    found, at = expected
    timestamp = -1 if at is None else START_MS + at
    assert await offset(it, START_MS + time_ms) == ("NONE", found, timestamp)


async def test_an_empty_log_has_ends_and_no_times(it: OneNode) -> None:
    it.topic("orders")
    assert await offset(it, LATEST) == await offset(it, EARLIEST) == ("NONE", 0, -1)
    assert await offset(it, 5) == await offset(it, MAX_TIMESTAMP) == ("NONE", -1, -1)


@pytest.mark.parametrize(
    ("timestamp", "since", "expected"),
    [
        (MAX_TIMESTAMP, 7, ("NONE", 2, START_MS + 300)),
        (EARLIEST_LOCAL, 8, ("NONE", 0, -1)),
        (LATEST_TIERED, 9, ("NONE", -1, -1)),
    ],
)
async def test_landmarks_are_known_since_their_version(
    it: OneNode, timestamp: int, since: int, expected: tuple[str, int, int]
) -> None:
    three_batches(it)
    for version in VERSIONS:
        told = await offset(it, timestamp, version=version)
        assert told == (expected if version >= since else ("UNSUPPORTED_VERSION", -1, -1))


async def test_read_committed_ends_before_an_open_transaction(it: OneNode) -> None:
    three_batches(it)
    producer = {"producer_id": 9, "producer_epoch": 0}
    it.append(
        "orders", b"x", timestamp_ms=START_MS + 400, base_sequence=0, transactional=True,
        **producer,
    )  # fmt: skip
    assert await offset(it, LATEST) == ("NONE", 7, -1)
    assert await offset(it, LATEST, committed=True) == ("NONE", 6, -1)
    assert await offset(it, MAX_TIMESTAMP) == ("NONE", 6, START_MS + 400)
    assert await offset(it, MAX_TIMESTAMP, committed=True) == ("NONE", -1, -1)
    assert await offset(it, START_MS + 350, committed=True) == ("NONE", -1, -1)
    assert await offset(it, START_MS + 250, committed=True) == ("NONE", 2, START_MS + 300)
    ended = marker(commit=True, coordinator_epoch=0, timestamp_ms=START_MS + 500, **producer)
    it.log("orders").append_marker(ended, now_ms=START_MS)
    assert await offset(it, LATEST, committed=True) == ("NONE", 8, -1)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"topic": "missing"}, "UNKNOWN_TOPIC_OR_PARTITION"),
        ({"partition_index": 1}, "UNKNOWN_TOPIC_OR_PARTITION"),
        ({"partition_index": -1}, "UNKNOWN_TOPIC_OR_PARTITION"),
        ({"current_leader_epoch": 5}, "UNKNOWN_LEADER_EPOCH"),
        ({"current_leader_epoch": 0}, "NONE"),
    ],
)
async def test_an_error_is_reported_for_its_partition(
    it: OneNode, fields: dict[str, Any], error: str
) -> None:
    three_batches(it)
    told = await offset(it, LATEST, **fields)
    assert told == (error, 6 if error == "NONE" else -1, -1)


async def test_a_partition_named_twice_is_an_error(it: OneNode) -> None:
    it.topic("orders", 2)
    asked = [{"partition_index": index, "timestamp": LATEST} for index in (0, 1, 0)]
    answered = await it.ask(
        ApiKey.LIST_OFFSETS, 1, replica_id=-1, topics=[{"name": "orders", "partitions": asked}]
    )
    told = {
        each["partition_index"]: each["error_code"] for each in answered["topics"][0]["partitions"]
    }
    assert told == {0: Code.INVALID_REQUEST, 1: Code.NONE}


@pytest.mark.parametrize("timestamp", [START_MS + 1, MAX_TIMESTAMP])
async def test_others_have_their_turns_while_old_times_are_checked(
    tmp_path: Path, timestamp: int
) -> None:
    """After a restart that takes reading the whole file, where times do not rise."""
    async with one_node(tmp_path) as it:
        it.topic("orders")
        for _ in range(500):
            it.append("orders", b"a", timestamp_ms=START_MS)
        it.log("orders").roll(START_MS)
    async with one_node(tmp_path) as it:
        turns = 0
        asked = asyncio.ensure_future(offset(it, timestamp))
        while not asked.done():
            await asyncio.sleep(0)
            turns += 1
        assert turns > 5
        expected = ("NONE", -1, -1) if timestamp >= 0 else ("NONE", 0, START_MS)
        assert asked.result() == expected
