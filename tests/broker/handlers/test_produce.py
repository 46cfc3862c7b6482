"""Produce: accepted batches, refused batches and the answers to both."""

from __future__ import annotations

import asyncio
import struct
import uuid
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.requests.context import Disconnect
from ottla.broker.runtime.work_limits import WORK_LIMITS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import HEADER_SIZE, LOG_OVERHEAD, build
from ottla.protocol.checksum import crc32c
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog
from tests.broker.fakes import START_MS, settle
from tests.broker.one_node import OneNode, one_node, read
from tests.broker.slow_files import SlowFiles
from tests.broker.transacting import producer
from tests.protocol.golden_bytes import BATCHES
from tests.storage.logs import sent_by

PRODUCE = ApiKey.PRODUCE
VERSIONS = range(3, 14)
STRANGER = uuid.UUID(int=99)


def batch(*values: bytes, **header: Any) -> bytes:
    header.setdefault("timestamp_ms", START_MS)
    return bytes(build([(None, value) for value in values], **header))


async def produce(
    it: OneNode, *parts: tuple[Any, int, bytes | None], version: int = 11, **fields: Any
) -> list[dict[str, Any]]:
    """Produce to one topic for each part; the answers of the partitions."""
    key = "topic_id" if version >= 13 else "name"
    topics = [
        {key: topic, "partition_data": [{"index": index, "records": records}]}
        for topic, index, records in parts
    ]
    answered = await it.ask(
        PRODUCE, version, **{"acks": -1, "timeout_ms": 1000, "topic_data": topics, **fields}
    )
    if answered is None:
        return []
    return [each for topic in answered["responses"] for each in topic["partition_responses"]]


def error(told: dict[str, Any]) -> str:
    return Code(told["error_code"]).name


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_batch_is_appended_and_its_offset_returned(it: OneNode, version: int) -> None:
    made = it.topic("orders")
    it.append("orders", b"before")
    topic = made.topic_id if version >= 13 else "orders"
    (told,) = await produce(it, (topic, 0, batch(b"a", b"b")), version=version)
    assert (error(told), told["index"], told["base_offset"]) == ("NONE", 0, 1)
    assert told["log_append_time_ms"] == -1
    if version >= 5:
        assert told["log_start_offset"] == 0
    if version >= 8:
        assert (told["record_errors"], told["error_message"]) == ([], None)
    assert it.log("orders").log_end_offset == 3


async def test_log_append_time_is_returned_where_the_topic_uses_it(it: OneNode) -> None:
    it.topic("orders", message_timestamp_type="LogAppendTime")
    await asyncio.sleep(3)
    (told,) = await produce(it, ("orders", 0, batch(b"a")))
    assert told["log_append_time_ms"] == START_MS + 3000


async def test_one_bad_partition_leaves_the_others_alone(it: OneNode) -> None:
    it.topic("orders", 2)
    good = batch(b"a")
    told = await produce(
        it, ("orders", 0, good), ("missing", 0, good), ("orders", 2, good), ("orders", 1, good)
    )
    unknown = "UNKNOWN_TOPIC_OR_PARTITION"
    assert [error(each) for each in told] == ["NONE", unknown, unknown, "NONE"]
    for each in told[1:3]:
        assert (each["base_offset"], each["log_start_offset"]) == (-1, -1)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (batch(b"a", base_sequence=0, producer_id=7, producer_epoch=0), ("NONE", 2)),
        (batch(b"a", base_offset=5), ("INVALID_RECORD", 2)),
        (batch(b"a", timestamp_ms=START_MS + 10**9), ("INVALID_TIMESTAMP", 2)),
        (batch(b"a", base_sequence=5, producer_id=7, producer_epoch=-1), ("NONE", 2)),
        (batch(b"a") + batch(b"b"), ("INVALID_RECORD", -1)),
        (batch(b"a")[:-1] + b"\xff", ("CORRUPT_MESSAGE", -1)),
        (batch(b"a" * 2000), ("MESSAGE_TOO_LARGE", -1)),
    ],
    ids=["good", "offset", "time", "sequence", "two", "harmed", "large"],
)
async def test_a_refused_batch_is_answered_with_the_log_start_offset(
    it: OneNode, data: bytes, expected: tuple[str, int]
) -> None:
    """Not with what Kafka refuses before, or takes for a fault of the way."""
    it.topic("orders", max_message_bytes="1000")
    for _ in range(3):
        it.append("orders", b"before")
    it.log("orders").delete_records(2)
    (told,) = await produce(it, ("orders", 0, data))
    assert (error(told), told["log_start_offset"]) == expected


@pytest.mark.parametrize("topic_id", [STRANGER, None])
async def test_an_id_that_no_topic_has_is_unknown(it: OneNode, topic_id: uuid.UUID | None) -> None:
    (told,) = await produce(it, (topic_id, 0, batch(b"a")), version=13)
    assert error(told) == "UNKNOWN_TOPIC_ID"


@pytest.mark.parametrize("acks", [2, -2, 5])
async def test_acks_are_0_1_or_all(it: OneNode, acks: int) -> None:
    it.topic("orders")
    (told,) = await produce(it, ("orders", 0, batch(b"a")), acks=acks)
    assert error(told) == "INVALID_REQUIRED_ACKS"
    assert it.log("orders").log_end_offset == 0


async def test_acks_0_appends_and_says_nothing(it: OneNode) -> None:
    it.topic("orders")
    assert await produce(it, ("orders", 0, batch(b"a")), acks=0) == []
    assert it.log("orders").log_end_offset == 1


async def test_acks_0_that_fails_closes_the_connection(it: OneNode) -> None:
    with pytest.raises(Disconnect, match="missing-0: UNKNOWN_TOPIC_OR_PARTITION"):
        await produce(it, ("missing", 0, batch(b"a")), acks=0)


async def test_the_last_of_two_batches_for_one_partition_is_answered(it: OneNode) -> None:
    it.topic("orders")
    data = [{"index": 0, "records": batch(*b)} for b in ((b"a",), (b"b", b"c"))]
    answered = await it.ask(
        PRODUCE, 9, acks=1, topic_data=[{"name": "orders", "partition_data": data}]
    )
    (told,) = answered["responses"][0]["partition_responses"]
    assert (error(told), it.log("orders").log_end_offset) == ("NONE", 2)


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
async def test_clients_do_not_write_to_internal_topics(it: OneNode, topic: str) -> None:
    it.node.controller.create_internal_topic(topic)
    (told,) = await produce(it, (topic, 0, batch(b"a")))
    assert error(told) == "INVALID_TOPIC_EXCEPTION"


@pytest.mark.parametrize("records", [None, b"", b"abc", bytes(60)])
async def test_bytes_that_are_not_a_batch_are_an_invalid_record(
    it: OneNode, records: bytes | None
) -> None:
    it.topic("orders")
    (told,) = await produce(it, ("orders", 0, records))
    assert error(told) in ("INVALID_RECORD", "CORRUPT_MESSAGE")
    assert it.log("orders").log_end_offset == 0


async def test_no_flipped_byte_of_a_batch_is_taken_for_the_batch(it: OneNode) -> None:
    """Whatever is appended has the content that was sent; what has not is refused."""
    good = batch(b"hello", b"world")
    it.topic("orders")
    for at in range(len(good)):
        broken = bytearray(good)
        broken[at] ^= 0x21
        (told,) = await produce(it, ("orders", 0, bytes(broken)))
        if error(told) == "NONE":
            assert at in range(12, 16), "only the leader epoch is the broker's to set"
        assert error(told) != "UNKNOWN_SERVER_ERROR", at


# Whatever the clients' clocks said when they were recorded.
ANY_TIME: dict[str, Any] = {
    "message_timestamp_before_max_ms": str(2**63 - 1),
    "message_timestamp_after_max_ms": str(2**63 - 1),
}
PLAIN = [name for name, each in BATCHES.items() if not (each.data[22] & 0x38)]


@pytest.mark.parametrize("name", PLAIN)
async def test_batches_of_real_clients_are_accepted(it: OneNode, name: str) -> None:
    it.topic("orders", **ANY_TIME)
    sent = bytes(8) + BATCHES[name].data[8:]
    (told,) = await produce(it, ("orders", 0, sent))
    assert error(told) == "NONE"


async def test_zstd_needs_a_producer_that_knows_it(it: OneNode) -> None:
    it.topic("orders", **ANY_TIME)
    sent = bytes(8) + BATCHES["kafka-python zstd"].data[8:]
    for version, expected in ((6, "UNSUPPORTED_COMPRESSION_TYPE"), (7, "NONE")):
        (told,) = await produce(it, ("orders", 0, sent), version=version)
        assert error(told) == expected


async def test_a_transactional_batch_needs_a_transactional_id(it: OneNode) -> None:
    it.topic("orders")
    sent = batch(b"a", producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    (told,) = await produce(it, ("orders", 0, sent))
    assert error(told) == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"


@pytest.mark.parametrize("transactional_id", [None, "shop"])
@pytest.mark.parametrize("version", [11, 12])
async def test_an_older_format_has_no_transactional_batches(
    it: OneNode, version: int, transactional_id: str | None
) -> None:
    """Its bytes where format 2 has the attributes mean something else."""
    it.topic("orders")
    older = bytearray(batch(b"v", producer_id=7, producer_epoch=0, transactional=True))
    older[16] = 1
    (told,) = await produce(
        it, ("orders", 0, bytes(older)), version=version, transactional_id=transactional_id
    )
    assert error(told) == "INVALID_RECORD"


async def test_a_duplicate_batch_gets_its_old_offset_and_wakes_no_fetch(it: OneNode) -> None:
    it.topic("orders")
    sent = batch(b"a", producer_id=5, producer_epoch=0, base_sequence=0)
    await produce(it, ("orders", 0, sent))
    waiting = it.node.fetch_waits.wait([("orders", 0)])
    (told,) = await produce(it, ("orders", 0, sent))
    assert (error(told), told["base_offset"], waiting.done()) == ("NONE", 0, False)
    assert it.log("orders").log_end_offset == 1


async def test_a_produce_wakes_the_fetches_of_its_partition(it: OneNode) -> None:
    it.topic("orders", 2)
    waits = [it.node.fetch_waits.wait([("orders", index)]) for index in (0, 1)]
    await produce(it, ("orders", 1, batch(b"a")))
    await settle()
    assert [waiting.done() for waiting in waits] == [False, True]


async def test_invalid_records_are_reported_one_by_one(it: OneNode) -> None:
    it.topic("orders", cleanup_policy="compact")
    (told,) = await produce(it, ("orders", 0, batch(b"a", b"b")))
    assert error(told) == "INVALID_RECORD"
    assert [each["batch_index"] for each in told["record_errors"]] == [0, 1]
    assert told["record_errors"][0]["batch_index_error_message"]
    assert it.log("orders").log_end_offset == 0


async def test_a_request_joins_its_transaction_with_all_its_partitions_at_once(
    tmp_path: Path,
) -> None:
    async with one_node(tmp_path, transaction_state_log_num_partitions="1") as it:
        it.topic("orders", 10)
        shop = await producer(it, "shop")
        sent = batch(b"a", base_sequence=0, transactional=True, **shop.header)
        decisions = it.log("__transaction_state")
        before = decisions.log_end_offset
        parts = [("orders", index, sent) for index in range(10)]
        for _ in range(2):
            told = await produce(it, *parts, version=12, transactional_id="shop")
            assert {error(each) for each in told} == {"NONE"}
            assert decisions.log_end_offset == before + 1
        (joined,) = (await shop.described())["topics"]
        assert sorted(joined["partitions"]) == list(range(10))


@pytest.mark.real_time
async def test_a_duplicate_is_acknowledged_when_the_first_is_on_disk(
    it: OneNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.topic("orders", flush_messages="1")
    it.log("orders").on_flush_due = lambda log, up_to: None  # the disk takes its time
    waiting: list[asyncio.Future[Refused | None]] = []

    def flushed(log: PartitionLog) -> asyncio.Future[Refused | None]:
        waiting.append(asyncio.get_running_loop().create_future())
        return waiting[-1]

    monkeypatch.setattr(it.node.flushes, "flushed", flushed)
    sent = batch(b"v", producer_id=7, producer_epoch=0, base_sequence=0)
    tries = [asyncio.ensure_future(produce(it, ("orders", 0, sent))) for _ in range(2)]
    await settle()
    assert [one.done() for one in tries] == [False, False]
    assert len(waiting) == 2
    for each in waiting:
        each.set_result(None)
    for (told,) in await asyncio.gather(*tries):
        assert (told["error_code"], told["base_offset"]) == (0, 0)


@pytest.mark.real_time
async def test_a_duplicate_is_answered_after_the_sync_of_the_first(tmp_path: Path) -> None:
    """Or a producer that has lost its connection hears of a record that is lost yet."""
    files = SlowFiles()
    async with one_node(tmp_path, WORK_LIMITS, files) as one:
        one.topic("orders", flush_messages="1")
        await one.node.decided()
        files.hold()
        data = {"index": 0, "records": bytes(sent_by(7, 0))}
        topics = [{"name": "orders", "partition_data": [data]}]
        answers = [
            one.begin(ApiKey.PRODUCE, 9, acks=-1, timeout_ms=1000, topic_data=topics)[1]
            for _ in range(2)
        ]
        assert one.log("orders").log_end_offset == 1, "the second is a duplicate"
        assert [isinstance(answer, asyncio.Future) for answer in answers] == [True, True]
        files.may_sync.set()
        for answer in answers:
            assert isinstance(answer, asyncio.Future)
            told = read(ApiKey.PRODUCE, 9, await answer)
            (part,) = told["responses"][0]["partition_responses"]
            assert (part["error_code"], part["base_offset"]) == (0, 0)
        assert one.log("orders").recovery_point == 1


@pytest.mark.parametrize("compression", [1, 2, 3, 4])
@pytest.mark.real_time
async def test_a_batch_that_cannot_be_opened_costs_its_own_partition_alone(
    it: OneNode, compression: int
) -> None:
    it.topic("orders", 3, cleanup_policy="compact")
    good = bytes(build([(b"k", b"v")], timestamp_ms=START_MS))
    broken = bytearray(good[:HEADER_SIZE] + b"\xff" * 40)
    struct.pack_into(">i", broken, 8, len(broken) - LOG_OVERHEAD)
    struct.pack_into(">h", broken, 21, compression)
    struct.pack_into(">I", broken, 17, crc32c(broken[21:]))
    data = [
        {"index": index, "records": bytes(records)}
        for index, records in enumerate((good, broken, good))
    ]
    answer = await it.ask(
        ApiKey.PRODUCE, 9, acks=-1, timeout_ms=1000,
        topic_data=[{"name": "orders", "partition_data": data}],
    )  # fmt: skip
    (topic,) = answer["responses"]
    codes = [part["error_code"] for part in topic["partition_responses"]]
    assert (codes[0], codes[2]) == (Code.NONE, Code.NONE)
    assert codes[1] != Code.NONE
    assert [it.log("orders", index).log_end_offset for index in range(3)] == [1, 0, 1]
