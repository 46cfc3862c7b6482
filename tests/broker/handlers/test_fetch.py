"""Fetch: the records returned, the wait, and incremental sessions."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import headers_in
from ottla.protocol.control import marker
from ottla.protocol.errors import Code
from ottla.protocol.records import records_in
from tests.broker.fakes import START_MS, settle
from tests.broker.one_node import OneNode, one_node, read
from tests.clocks import VirtualClock

FETCH = ApiKey.FETCH
VERSIONS = range(4, 19)
SESSIONLESS = {"session_id": 0, "session_epoch": -1}


def asked(
    *parts: tuple[Any, int, int], version: int = 12, partition_bytes: int = 1 << 20, **fields: Any
) -> dict[str, Any]:
    """A request for (topic or its id, partition, offset), one topic each."""
    key = "topic_id" if version >= 13 else "topic"
    epoch = fields.pop("leader_epoch", -1)
    last = fields.pop("last_fetched_epoch", -1)
    topics = [
        {
            key: topic,
            "partitions": [
                {
                    "partition": index,
                    "fetch_offset": offset,
                    "partition_max_bytes": partition_bytes,
                    "current_leader_epoch": epoch,
                    "last_fetched_epoch": last,
                }
            ],
        }
        for topic, index, offset in parts
    ]
    given = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 24, "topics": topics}
    if version < 15:
        given["replica_id"] = -1
    return {**given, **SESSIONLESS, **fields}


def partitions(answered: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for topic in answered["responses"] for each in topic["partitions"]]


async def fetch(
    it: OneNode, *parts: tuple[Any, int, int], version: int = 12, **fields: Any
) -> list[dict[str, Any]]:
    return partitions(await it.ask(FETCH, version, **asked(*parts, version=version, **fields)))


def values(told: dict[str, Any]) -> list[bytes | None]:
    data = told["records"]
    return [
        record.value
        for position, header in headers_in(data)
        if not header.is_control
        for record in records_in(data, position, header)
    ]


def told_of(told: dict[str, Any]) -> tuple[str, int, int, int]:
    offsets = (told["high_watermark"], told["last_stable_offset"], told["log_start_offset"])
    return (Code(told["error_code"]).name, *offsets)


# Reading


@pytest.mark.parametrize("version", VERSIONS)
async def test_records_are_read_from_the_offset_asked(it: OneNode, version: int) -> None:
    made = it.topic("orders")
    for value in (b"a", b"b", b"c"):
        it.append("orders", value)
    topic = made.topic_id if version >= 13 else "orders"
    (told,) = await fetch(it, (topic, 0, 1), version=version)
    assert values(told) == [b"b", b"c"]
    assert (told["error_code"], told["high_watermark"], told["last_stable_offset"]) == (0, 3, 3)
    assert told["aborted_transactions"] is None


async def test_an_offset_inside_a_batch_gives_the_whole_batch(it: OneNode) -> None:
    it.topic("orders")
    it.append("orders", b"a", b"b", b"c")
    (told,) = await fetch(it, ("orders", 0, 2))
    assert values(told) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("limit", ["max_bytes", "partition_bytes"])
async def test_a_first_batch_over_the_limits_is_given_alone(it: OneNode, limit: str) -> None:
    it.topic("orders", 2)
    for index in (0, 0, 1):
        it.append("orders", bytes(1000), partition=index)
    told = await fetch(it, ("orders", 0, 0), ("orders", 1, 0), **{limit: 10})
    assert [len(values(each)) for each in told] == [1, 0]
    assert told[1]["error_code"] == 0


async def test_the_request_takes_from_one_limit_in_the_order_asked(it: OneNode) -> None:
    it.topic("orders", 3)
    for index in (0, 1, 2):
        for _ in range(3):
            it.append("orders", bytes(1000), partition=index)
    parts = [("orders", index, 0) for index in (2, 0, 1)]
    told = await fetch(it, *parts, max_bytes=4500)
    assert [(each["partition_index"], len(values(each))) for each in told] == [
        (2, 3), (0, 1), (1, 0),
    ]  # fmt: skip


async def test_read_committed_stops_at_the_last_stable_offset_and_lists_aborted_transactions(
    it: OneNode,
) -> None:
    it.topic("orders")
    producer = {"producer_id": 5, "producer_epoch": 0}
    open_transaction = {**producer, "transactional": True}
    it.append("orders", b"plain")
    it.append("orders", b"dropped", base_sequence=0, **open_transaction)
    aborted = marker(commit=False, coordinator_epoch=0, timestamp_ms=START_MS, **producer)
    it.log("orders").append_marker(aborted, now_ms=START_MS)
    it.append("orders", b"open", base_sequence=1, **open_transaction)
    (committed,) = await fetch(it, ("orders", 0, 0), isolation_level=1)
    assert values(committed) == [b"plain", b"dropped"]
    assert told_of(committed) == ("NONE", 4, 3, 0)
    assert committed["aborted_transactions"] == [{"producer_id": 5, "first_offset": 1}]
    (everything,) = await fetch(it, ("orders", 0, 0))
    assert values(everything) == [b"plain", b"dropped", b"open"]
    assert everything["aborted_transactions"] is None
    (behind,) = await fetch(it, ("orders", 0, 3), isolation_level=1)
    assert (values(behind), behind["aborted_transactions"]) == ([], [])


@pytest.mark.parametrize(
    ("part", "fields", "error"),
    [
        (("orders", 0, 4), {}, "OFFSET_OUT_OF_RANGE"),
        (("orders", 0, 0), {}, "OFFSET_OUT_OF_RANGE"),
        (("orders", 0, -1), {}, "OFFSET_OUT_OF_RANGE"),
        (("orders", 1, 0), {}, "UNKNOWN_TOPIC_OR_PARTITION"),
        (("missing", 0, 0), {}, "UNKNOWN_TOPIC_OR_PARTITION"),
        (("orders", 0, 2), {"leader_epoch": 9}, "UNKNOWN_LEADER_EPOCH"),
        (("orders", 0, 2), {"replica_id": 1}, "NOT_LEADER_OR_FOLLOWER"),
    ],
)
async def test_a_partition_error_is_answered_at_once(
    it: OneNode, part: tuple[str, int, int], fields: dict[str, Any], error: str
) -> None:
    it.topic("orders")
    it.append("orders", b"a", b"b", b"c")
    it.log("orders").delete_records(1)
    (told,) = await fetch(it, part, max_wait_ms=5000, **fields)
    assert told_of(told) == (error, -1, -1, -1)
    assert told["records"] == b""
    assert asyncio.get_running_loop().time() == 0


async def test_one_bad_partition_leaves_the_others_alone(it: OneNode) -> None:
    it.topic("orders", 2)
    it.append("orders", b"a", partition=1)
    parts = ("orders", 0, 9), ("missing", 0, 0), ("orders", 1, 0)
    told = await fetch(it, *parts, max_wait_ms=5000, min_bytes=1000)
    by_error = {Code(each["error_code"]).name: values(each) for each in told}
    assert by_error == {
        "OFFSET_OUT_OF_RANGE": [], "NONE": [b"a"], "UNKNOWN_TOPIC_OR_PARTITION": [],
    }  # fmt: skip


async def test_an_id_that_no_topic_has_is_unknown(it: OneNode) -> None:
    (told,) = await fetch(it, (uuid.UUID(int=99), 0, 0), version=13, max_wait_ms=5000)
    assert told_of(told) == ("UNKNOWN_TOPIC_ID", -1, -1, -1)


async def test_the_end_of_the_log_is_no_error(it: OneNode) -> None:
    it.topic("orders")
    it.append("orders", b"a")
    (told,) = await fetch(it, ("orders", 0, 1))
    assert (told_of(told), told["records"]) == (("NONE", 1, 1, 0), b"")


# Waiting


def begin(it: OneNode, *parts: tuple[Any, int, int], **fields: Any) -> tuple[Any, Any]:
    return it.begin(FETCH, 12, **asked(*parts, **{"max_wait_ms": 500, **fields}))


async def test_a_fetch_waits_for_max_wait_ms_and_answers_without_records(it: OneNode) -> None:
    it.topic("orders")
    (told,) = await fetch(it, ("orders", 0, 0), max_wait_ms=500)
    assert (told["records"], asyncio.get_running_loop().time()) == (b"", 0.5)
    assert it.node.fetch_waits._by_partition == {}


async def test_an_append_ends_the_wait(tmp_path: Path) -> None:
    clock = VirtualClock()
    it = OneNode(tmp_path, {}, clock)
    it.topic("orders", 2)
    await clock.advance_ms(1000)
    before = Counter(clock.pending())
    _, answered = begin(it, ("orders", 0, 0), ("orders", 1, 0), max_wait_ms=437)
    await clock.advance_ms(200)
    assert (Counter(clock.pending()) - before).total() == 1, "the end of the wait"
    it.append("orders", b"a", partition=1)
    told = partitions(read(FETCH, 12, await answered))
    assert [values(each) for each in told] == [[], [b"a"]]
    assert clock.monotonic_ms() == 1200
    assert Counter(clock.pending()) == before
    assert it.node.fetch_waits._by_partition == {}
    it.node.close()


async def test_a_fetch_waits_for_min_bytes_and_checks_at_each_append(it: OneNode) -> None:
    it.topic("orders")
    _, answered = begin(it, ("orders", 0, 0), min_bytes=200)
    for number in range(3):
        await settle()
        assert not answered.done(), number
        it.append("orders", b"x")
    told = partitions(read(FETCH, 12, await answered))
    assert len(values(told[0])) == 3
    assert asyncio.get_running_loop().time() == 0


@pytest.mark.parametrize("fields", [{"max_wait_ms": 0}, {"min_bytes": 0}])
async def test_a_fetch_without_max_wait_is_answered_at_once(
    it: OneNode, fields: dict[str, int]
) -> None:
    it.topic("orders")
    _, answered = begin(it, ("orders", 0, 0), **fields)
    assert isinstance(answered, list)


async def test_one_that_waits_may_be_hastened(it: OneNode) -> None:
    it.topic("orders")
    context, answered = begin(it, ("orders", 0, 0))
    context.hasten()
    context.hasten()
    (told,) = partitions(read(FETCH, 12, await answered))
    assert (told["error_code"], told["records"]) == (0, b"")
    assert (context.hasten, asyncio.get_running_loop().time()) == (None, 0)


async def test_one_that_is_cancelled_leaves_nothing_behind(it: OneNode) -> None:
    it.topic("orders")
    for turns in (0, 1):
        _, answered = begin(it, ("orders", 0, 0))
        for _ in range(turns):
            await settle()
        answered.cancel()
        await settle()
        assert it.node.fetch_waits._by_partition == {}


async def test_a_topic_that_is_deleted_ends_the_wait(it: OneNode) -> None:
    it.topic("orders")
    _, answered = begin(it, ("orders", 0, 0))
    await settle()
    it.node.controller.delete_topic("orders")
    (told,) = partitions(read(FETCH, 12, await answered))
    assert told["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert asyncio.get_running_loop().time() == 0


# Sessions


class Consumer:
    """A consumer in a session."""

    def __init__(self, it: OneNode) -> None:
        self._it = it
        self.session_id = 0
        self.epoch = 0

    async def fetch(self, *parts: tuple[str, int, int], **fields: Any) -> dict[str, Any]:
        session = {"session_id": self.session_id, "session_epoch": self.epoch}
        answered: dict[str, Any] = await self._it.ask(
            FETCH, 12, **asked(*parts, min_bytes=0, **session, **fields)
        )
        if answered["error_code"] == 0:
            self.session_id = answered["session_id"]
            self.epoch += 1
        return answered


def named(answered: dict[str, Any]) -> list[int]:
    return [each["partition_index"] for each in partitions(answered)]


async def test_a_session_omits_partitions_without_news(it: OneNode) -> None:
    it.topic("orders", 3)
    consumer = Consumer(it)
    first = await consumer.fetch(*(("orders", index, 0) for index in range(3)))
    assert named(first) == [0, 1, 2]
    assert first["session_id"] > 0
    assert named(await consumer.fetch()) == []
    it.append("orders", b"a", partition=1)
    assert named(await consumer.fetch()) == [1]
    assert named(await consumer.fetch()) == [1], "it was not moved on, so there is still data"
    assert named(await consumer.fetch(("orders", 1, 1))) == []


async def test_a_partition_of_which_records_were_deleted_has_news(it: OneNode) -> None:
    it.topic("orders")
    it.append("orders", b"a")
    it.append("orders", b"b")
    consumer = Consumer(it)
    await consumer.fetch(("orders", 0, 2))
    assert named(await consumer.fetch()) == []
    it.log("orders").delete_records(1)
    (told,) = partitions(await consumer.fetch())
    assert told_of(told) == ("NONE", 2, 2, 1)
    assert named(await consumer.fetch()) == []


async def test_a_partition_in_error_is_named_each_time_and_once_more_when_it_is_well(
    it: OneNode,
) -> None:
    it.topic("orders", 1)
    consumer = Consumer(it)
    assert named(await consumer.fetch(("orders", 0, 5))) == [0]
    assert named(await consumer.fetch()) == [0]
    assert named(await consumer.fetch(("orders", 0, 0))) == [0]
    assert named(await consumer.fetch()) == []


async def test_a_forgotten_partition_is_not_answered(it: OneNode) -> None:
    it.topic("orders", 2)
    consumer = Consumer(it)
    await consumer.fetch(("orders", 0, 0), ("orders", 1, 0))
    forgotten = [{"topic": "orders", "partitions": [0]}]
    await consumer.fetch(forgotten_topics_data=forgotten)
    it.append("orders", b"a", partition=0)
    it.append("orders", b"a", partition=1)
    assert named(await consumer.fetch()) == [1]


async def test_a_partition_that_returned_data_is_read_last_next_time(it: OneNode) -> None:
    it.topic("orders", 3)
    for index in range(3):
        it.append("orders", bytes(1000), partition=index)
    consumer = Consumer(it)
    served = []
    for number in range(6):
        parts = [("orders", index, 0) for index in range(3)] if number == 0 else []
        answered = await consumer.fetch(*parts, max_bytes=100)
        served += [each["partition_index"] for each in partitions(answered) if each["records"]]
    # As in Kafka, the request that begins the session moves nothing.
    assert served == [0, 0, 1, 2, 0, 1]


@pytest.mark.parametrize(
    ("session_id", "epoch", "error"),
    [(None, 7, "INVALID_FETCH_SESSION_EPOCH"), (12345, 1, "FETCH_SESSION_ID_NOT_FOUND")],
)
async def test_a_wrong_session_is_an_error_of_the_whole_answer(
    it: OneNode, session_id: int | None, epoch: int, error: str
) -> None:
    it.topic("orders")
    consumer = Consumer(it)
    await consumer.fetch(("orders", 0, 0))
    consumer.session_id, consumer.epoch = session_id or consumer.session_id, epoch
    answered = await consumer.fetch()
    assert (Code(answered["error_code"]).name, answered["session_id"]) == (error, 0)
    assert answered["responses"] == []


async def test_the_final_epoch_ends_the_session(it: OneNode) -> None:
    it.topic("orders")
    consumer = Consumer(it)
    await consumer.fetch(("orders", 0, 0))
    assert len(it.node.fetch_sessions) == 1
    consumer.epoch = -1
    answered = await consumer.fetch(("orders", 0, 0))
    assert (answered["session_id"], named(answered)) == (0, [0])
    assert len(it.node.fetch_sessions) == 0


async def test_a_new_full_fetch_replaces_the_session_it_had(it: OneNode) -> None:
    it.topic("orders")
    consumer = Consumer(it)
    first = (await consumer.fetch(("orders", 0, 0)))["session_id"]
    consumer.epoch = 0
    second = (await consumer.fetch(("orders", 0, 0)))["session_id"]
    assert second not in (0, first)
    assert len(it.node.fetch_sessions) == 1


async def test_without_room_a_consumer_goes_on_without_a_session(tmp_path: Path) -> None:
    slots = {"max_incremental_fetch_session_cache_slots": "0"}
    async with one_node(tmp_path, **slots) as it:
        it.topic("orders")
        answered = await Consumer(it).fetch(("orders", 0, 0))
        assert (answered["session_id"], named(answered)) == (0, [0])


@pytest.mark.parametrize("isolation_level", [0, 1])
async def test_other_requests_run_while_old_batches_are_verified(
    tmp_path: Path, isolation_level: int
) -> None:
    async with one_node(tmp_path) as it:
        it.topic("orders")
        for _ in range(1000):
            it.append("orders", b"a")
    async with one_node(tmp_path) as it:
        turns = 0
        fetching = asyncio.ensure_future(
            fetch(it, ("orders", 0, 0), isolation_level=isolation_level)
        )
        while not fetching.done():
            await asyncio.sleep(0)
            turns += 1
        (told,) = fetching.result()
        assert len(list(headers_in(told["records"]))) == 1000
        assert turns > 10
