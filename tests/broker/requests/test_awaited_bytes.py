"""A Fetch that waits for min_bytes: the bytes that count, and the work meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.runtime.work_limits import WorkLimits
from ottla.broker.scheduling.large_requests import MOST_ELEMENTS
from ottla.broker.scheduling.turns import set_slice_s
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import HEADER_SIZE
from ottla.protocol.control import marker
from ottla.storage.log import PartitionLog
from ottla.storage.segments.reads import ReadLimits
from tests.broker.fakes import START_MS, settle
from tests.broker.one_node import OneNode, one_node, read, until

VALUE = b"x" * 1000
BATCH_BYTES = HEADER_SIZE + 1000 + 9  # what surrounds a record of this size
NEVER_MS = 1_000_000


def begin(it: OneNode, count: int = 1, **fields: Any) -> asyncio.Future[Any]:
    """A Fetch of the first partitions of `orders`, which waits."""
    of_each = {"fetch_offset": 0, "partition_max_bytes": 1 << 20, **fields.pop("partition", {})}
    partitions = [{"partition": index, **of_each} for index in range(count)]
    wanted = {"max_bytes": 1 << 20, "max_wait_ms": NEVER_MS, **fields}
    _, answered = it.begin(
        ApiKey.FETCH, 12, topics=[{"topic": "orders", "partitions": partitions}], **wanted
    )
    assert isinstance(answered, asyncio.Future)
    return answered


async def told(answered: asyncio.Future[Any]) -> list[dict[str, Any]]:
    answer = read(ApiKey.FETCH, 12, await answered)
    parts: list[dict[str, Any]] = answer["responses"][0]["partitions"]
    return parts


@contextmanager
def counting_reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    reads: list[int] = []
    real = PartitionLog.find

    def counted(self: PartitionLog, offset: int, limits: ReadLimits) -> Any:
        reads.append(self.partition)
        return real(self, offset, limits)

    with monkeypatch.context() as patched:
        patched.setattr(PartitionLog, "find", counted)
        yield reads


async def test_the_log_is_not_read_at_each_append(
    it: OneNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    it.topic("orders", 3)
    for partition in range(3):
        it.append("orders", VALUE, partition=partition)
    with counting_reads(monkeypatch) as reads:
        answered = begin(it, 3, min_bytes=300 * BATCH_BYTES)
        for number in range(297):
            assert not answered.done(), number
            it.append("orders", VALUE, partition=number % 3)
            await settle()
        assert [len(part["records"]) for part in await told(answered)] == [100 * BATCH_BYTES] * 3
    assert reads == [0, 1, 2] * 2
    assert it.node.fetch_waits.count == 0


async def test_records_of_an_open_transaction_count_once_committed(it: OneNode) -> None:
    it.topic("orders")
    answered = begin(it, min_bytes=3 * BATCH_BYTES, isolation_level=1)
    producer = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    for sequence in range(5):
        it.append("orders", VALUE, base_sequence=sequence, **producer)
        await settle()
    assert not answered.done()
    log = it.log("orders")
    ended = marker(
        commit=True, producer_id=7, producer_epoch=0, coordinator_epoch=0, timestamp_ms=START_MS
    )
    log.append_marker(ended, now_ms=START_MS)
    it.node.wake_fetches(log.topic, log.partition)
    (part,) = await told(answered)
    assert part["last_stable_offset"] == 6
    assert len(part["records"]) > 5 * BATCH_BYTES


async def test_a_partition_counts_no_more_than_may_be_read_of_it(it: OneNode) -> None:
    it.topic("orders", 2)
    limited = {"partition_max_bytes": 2 * BATCH_BYTES}
    answered = begin(it, 2, min_bytes=3 * BATCH_BYTES, partition=limited)
    for _ in range(10):
        it.append("orders", VALUE, partition=0)
        await settle()
    assert not answered.done()
    it.append("orders", VALUE, partition=1)
    assert [len(part["records"]) for part in await told(answered)] == [2 * BATCH_BYTES, BATCH_BYTES]


async def test_min_bytes_above_the_limit_of_the_answer_is_that_limit(it: OneNode) -> None:
    """KafkaApis.handleFetchRequest."""
    it.topic("orders")
    answered = begin(it, min_bytes=3 * BATCH_BYTES, max_bytes=2 * BATCH_BYTES)
    it.append("orders", VALUE)
    await settle()
    assert not answered.done()
    it.append("orders", VALUE)
    (part,) = await told(answered)
    assert len(part["records"]) == 2 * BATCH_BYTES


async def test_an_older_segment_is_enough(it: OneNode) -> None:
    """DelayedFetch: a reader that is a segment behind does not wait."""
    it.topic("orders")
    answered = begin(it, min_bytes=1 << 19)
    it.append("orders", VALUE)
    await settle()
    assert not answered.done()
    it.log("orders").roll(START_MS)
    it.append("orders", VALUE)
    (part,) = await told(answered)
    assert len(part["records"]) >= BATCH_BYTES


async def test_a_segment_that_begins_at_the_fetch_offset_meanwhile_is_enough(it: OneNode) -> None:
    """The position of the Fetch was at the end of the segment before."""
    it.topic("orders")
    it.append("orders", VALUE)
    answered = begin(it, min_bytes=1 << 19, partition={"fetch_offset": 1})
    await settle()
    it.log("orders").roll(START_MS)
    it.append("orders", VALUE)
    (part,) = await told(answered)
    assert len(part["records"]) == BATCH_BYTES


async def test_a_segment_that_had_the_fetch_offset_before_is_not_enough(it: OneNode) -> None:
    it.topic("orders")
    it.append("orders", VALUE)
    it.log("orders").roll(START_MS)
    it.append("orders", VALUE)
    answered = begin(it, min_bytes=3 * BATCH_BYTES, partition={"fetch_offset": 1})
    it.append("orders", VALUE)
    await settle()
    assert not answered.done()
    it.append("orders", VALUE)
    (part,) = await told(answered)
    assert len(part["records"]) == 3 * BATCH_BYTES


async def test_deleted_records_count_as_the_bytes_that_they_were(it: OneNode) -> None:
    """DelayedFetch looks at ends alone; the read that follows finds the error."""
    it.topic("orders")
    answered = begin(it, min_bytes=3 * BATCH_BYTES)
    it.append("orders", VALUE)
    it.log("orders").delete_records(1)
    it.append("orders", VALUE)
    await settle()
    assert not answered.done()
    it.append("orders", VALUE)
    (part,) = await told(answered)
    assert part["error_code"] == 1


async def test_appends_count_while_many_partitions_begin_to_wait(tmp_path: Path) -> None:
    set_slice_s(0.0)
    async with one_node(tmp_path) as it:
        count = MOST_ELEMENTS // 2
        it.topic("orders", count)
        answered = begin(it, count, min_bytes=1)
        await until(lambda: it.node.fetch_waits.count > 0)
        assert it.node.fetch_waits.count <= count
        it.append("orders", VALUE, partition=count - 1)
        parts = await told(answered)
        assert len(parts[-1]["records"]) == BATCH_BYTES


async def test_a_fetch_beyond_the_limit_of_waiting_partitions_is_answered_at_once(
    tmp_path: Path,
) -> None:
    async with one_node(tmp_path, WorkLimits(awaited_partitions=3)) as it:
        it.topic("orders", 2)
        waiting = begin(it, 2, min_bytes=1)
        _, answered = it.begin(
            ApiKey.FETCH, 12, max_wait_ms=NEVER_MS, min_bytes=1, max_bytes=1,
            topics=[{"topic": "orders", "partitions": [{"partition": 0}, {"partition": 1}]}],
        )  # fmt: skip
        assert not isinstance(answered, asyncio.Future)
        assert not waiting.done()
        waiting.cancel()
        await settle()
        assert it.node.fetch_waits.count == 0


async def test_a_partition_that_comes_into_being_does_not_end_a_wait(it: OneNode) -> None:
    """Kafka sets what is missing aside before it waits, and answers with what it found then."""
    it.topic("orders")
    wanted = [{"partition": 0, "partition_max_bytes": 1 << 20}]
    topics = [{"topic": name, "partitions": wanted} for name in ("orders", "parcels")]
    _, answered = it.begin(
        ApiKey.FETCH, 12, topics=topics, min_bytes=1, max_bytes=1 << 20, max_wait_ms=NEVER_MS
    )
    assert isinstance(answered, asyncio.Future)
    it.topic("parcels")
    it.append("parcels", VALUE)
    await settle()
    assert not answered.done()
    it.append("orders", VALUE)
    answer = read(ApiKey.FETCH, 12, await answered)
    parts = {topic["topic"]: topic["partitions"][0] for topic in answer["responses"]}
    assert len(parts["orders"]["records"]) == BATCH_BYTES
    assert parts["parcels"]["error_code"] == 3


async def test_the_part_of_a_cut_batch_is_not_left_to_the_next_partition(it: OneNode) -> None:
    """Kafka cuts the batch at the limit of a partition, and counts its part."""
    it.topic("orders", 2)
    for partition in (0, 0, 1, 1):
        it.append("orders", VALUE, partition=partition)
    most = BATCH_BYTES + 500
    _, now = it.begin(
        ApiKey.FETCH, 12, min_bytes=0, max_bytes=2 * BATCH_BYTES,
        topics=[{"topic": "orders", "partitions": [
            {"partition": index, "partition_max_bytes": most} for index in range(2)
        ]}],
    )  # fmt: skip
    assert not isinstance(now, asyncio.Future)
    parts = read(ApiKey.FETCH, 12, now)["responses"][0]["partitions"]
    assert [len(part["records"]) for part in parts] == [BATCH_BYTES, 0]


async def test_a_forbidden_topic_does_not_end_the_wait_of_another_one(tmp_path: Path) -> None:
    settings = {
        "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow_everyone_if_no_acl_found": "true",
    }
    async with one_node(tmp_path, **settings) as it:
        it.topic("orders")
        it.topic("secrets")
        denied = {
            "resource_type": 2, "resource_name": "secrets", "resource_pattern_type": 3,
            "principal": "User:alice", "host": "*", "operation": 3, "permission_type": 3,
        }  # fmt: skip
        await it.ask(ApiKey.CREATE_ACLS, 3, creations=[denied])
        wanted = [{"partition": 0, "partition_max_bytes": 1 << 20}]
        topics = {name: {"topic": name, "partitions": wanted} for name in ("orders", "secrets")}
        limits = {"min_bytes": 1, "max_bytes": 1 << 20, "max_wait_ms": NEVER_MS}
        _, alone = it.begin(ApiKey.FETCH, 12, topics=[topics["secrets"]], **limits)
        assert not isinstance(alone, asyncio.Future)
        assert read(ApiKey.FETCH, 12, alone)["responses"][0]["partitions"][0]["error_code"] == 29
        _, answered = it.begin(ApiKey.FETCH, 12, topics=[*topics.values()], **limits)
        assert isinstance(answered, asyncio.Future)
        await settle()
        assert not answered.done()
        it.append("orders", VALUE)
        answer = read(ApiKey.FETCH, 12, await answered)
        codes = [topic["partitions"][0]["error_code"] for topic in answer["responses"]]
        assert codes == [0, 29]
