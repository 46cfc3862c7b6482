"""Letters for records that a share group gives up, as Apache Kafka 4.4.0 writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ottla.broker.runtime.share.original_records import read_originals
from ottla.broker.scheduling.turns import Turns
from ottla.broker.scheduling.workers import Workers
from ottla.broker.share_metrics import collect_shares
from ottla.metadata.catalog import ResourceType
from ottla.metadata.records import FeatureLevelRecord
from ottla.protocol.batch import (
    COMPRESSION_MASK,
    HEADER_SIZE,
    LOG_OVERHEAD,
    Compression,
    build,
    headers_in,
    seal,
)
from ottla.protocol.compression import compressed
from ottla.protocol.records import Record, records_in
from ottla.storage.log import PartitionLog
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode, one_node

DLQ = "dlq.orders"
REJECTED = "Offset rejected by client."
TAKES: dict[str, Any] = {"errors_deadletterqueue_group_enable": "true"}
CREATES = {"errors_deadletterqueue_auto_create_topics_enable": "true"}


def with_group(it: OneNode, *, topic: str = DLQ, copies: bool = False) -> None:
    """Set the settings of the group `shop`, and make the topic `orders`."""
    settings: dict[str, str | None] = {
        "errors.deadletterqueue.topic.name": topic,
        "errors.deadletterqueue.copy.record.enable": str(copies).lower(),
    }
    it.node.controller.set_configs(ResourceType.GROUP, "shop", settings)
    it.topic("orders", partitions=4)


async def bury(it: OneNode, first: int, last: int, partition: int = 0, **fields: Any) -> int:
    given: dict[str, Any] = {"delivery_count": 2, "reason": REJECTED, **fields}
    return await it.node.cluster.dead_letters.write(
        "shop", "orders", partition, first_offset=first, last_offset=last, **given
    )


def batches(log: PartitionLog) -> list[list[Record]]:
    data = log.read(0, max_bytes=1 << 30, up_to=log.log_end_offset, min_one=True).records
    return [
        list(records_in(data, position, header)) for position, header in headers_in(data)
    ]  # fmt: skip


def letters(it: OneNode, topic: str = DLQ, partition: int = 0) -> list[Record]:
    return [record for batch in batches(it.log(topic, partition)) for record in batch]


def pairs(it: OneNode) -> list[tuple[bytes | None, bytes | None]]:
    return [(each.key, each.value) for each in letters(it)]


def header(record: Record, name: str) -> bytes | None:
    return dict(record.headers)[f"__dlq.errors.{name}"]


def offsets(records: list[Record]) -> list[int]:
    return [int(header(each, "offset") or b"") for each in records]


def packed(*values: bytes) -> bytearray:
    """A batch whose records are compressed."""
    batch = build([(None, value) for value in values], timestamp_ms=START_MS)
    payload = compressed(Compression.GZIP, bytes(batch[HEADER_SIZE:]))
    batch[HEADER_SIZE:] = payload
    batch[8:12] = (len(batch) - LOG_OVERHEAD).to_bytes(4, "big")
    batch[22] = batch[22] & ~COMPRESSION_MASK | Compression.GZIP
    seal(batch)
    return batch


async def test_a_letter_says_where_the_record_was_and_why_it_is_given_up(it: OneNode) -> None:
    with_group(it)
    it.topic(DLQ, **TAKES)
    assert await bury(it, 3, 4) == 2
    first, second = letters(it)
    assert (first.key, first.value) == (None, None)
    assert first.headers == (
        ("__dlq.errors.topic", b"orders"),
        ("__dlq.errors.partition", b"0"),
        ("__dlq.errors.offset", b"3"),
        ("__dlq.errors.group", b"shop"),
        ("__dlq.errors.delivery.count", b"2"),
        ("__dlq.errors.message", REJECTED.encode()),
    )
    assert header(second, "offset") == b"4"


async def test_a_letter_without_a_count_or_reason_has_no_header_for_it(it: OneNode) -> None:
    with_group(it)
    it.topic(DLQ, **TAKES)
    await bury(it, 0, 0, delivery_count=None, reason=None)
    assert [name for name, _ in letters(it)[0].headers] == [
        f"__dlq.errors.{name}" for name in ("topic", "partition", "offset", "group")
    ]


async def test_the_partition_of_a_letter_follows_that_of_the_record(it: OneNode) -> None:
    with_group(it)
    it.topic(DLQ, partitions=2, **TAKES)
    for partition in range(4):
        await bury(it, 0, 0, partition)
    for partition in range(2):
        from_partitions = [header(each, "partition") for each in letters(it, DLQ, partition)]
        assert from_partitions == [b"%d" % partition, b"%d" % (partition + 2)]


async def test_copies_have_the_key_and_value_of_the_record(it: OneNode) -> None:
    with_group(it, copies=True)
    it.topic(DLQ, **TAKES)
    it.append("orders", b"one", b"two")
    it.log("orders").append(packed(b"three", b"four"), now_ms=START_MS)
    it.append("orders", b"five")
    assert await bury(it, 1, 4) == 4
    assert pairs(it) == [(None, each) for each in (b"two", b"three", b"four", b"five")]
    assert offsets(letters(it)) == [1, 2, 3, 4]


async def test_a_record_that_is_gone_has_a_letter_without_a_copy(it: OneNode) -> None:
    with_group(it, copies=True)
    it.topic(DLQ, **TAKES)
    it.append("orders", b"one", b"two")
    it.log("orders").delete_records(1)
    assert await bury(it, 0, 1) == 2
    assert await bury(it, 1, 5) == 5
    assert pairs(it) == [(None, None)] * 2 + [(None, b"two")] + [(None, None)] * 4


async def test_letters_fill_as_many_batches_as_the_topic_needs(it: OneNode) -> None:
    with_group(it, copies=True)
    it.topic(DLQ, max_message_bytes="1000", **TAKES)
    for number in range(8):
        it.append("orders", b"%d" % number * 250)
    assert await bury(it, 0, 7) == 8
    log = it.log(DLQ)
    assert [len(batch) for batch in batches(log)] == [2, 2, 2, 2]
    assert [value for _, value in pairs(it)] == [b"%d" % each * 250 for each in range(8)]


async def test_a_record_that_is_too_large_for_the_topic_has_no_copy(it: OneNode) -> None:
    with_group(it, copies=True)
    it.topic(DLQ, max_message_bytes="1000", **TAKES)
    it.append("orders", b"a" * 2000)
    it.log("orders").append(packed(b"b" * 2000), now_ms=START_MS)
    it.append("orders", b"c")
    assert await bury(it, 0, 2) == 3
    assert [value for _, value in pairs(it)] == [None, None, b"c"]


async def test_a_topic_is_made_only_if_the_broker_allows_it(tmp_path: Path) -> None:
    async with one_node(tmp_path / "not") as it:
        with_group(it)
        assert await bury(it, 0, 0) == 0
        assert DLQ not in it.node.catalog.topics
    async with one_node(tmp_path / "made", num_partitions="3", **CREATES) as it:
        with_group(it)
        assert await bury(it, 0, 1, partition=2) == 2
        assert offsets(letters(it, DLQ, 2)) == [0, 1]
        overrides = it.node.catalog.overrides(ResourceType.TOPIC, DLQ)
        assert overrides == {
            "errors.deadletterqueue.group.enable": "true",
            "message.timestamp.type": "CreateTime",
        }


@pytest.mark.parametrize(
    ("topic", "configs", "settings"),
    [
        (DLQ, {}, {}),  # the topic does not take letters
        ("letters", TAKES, {}),  # without the prefix
        ("dlq.letters", TAKES, {"errors_deadletterqueue_topic_name_prefix": "dead."}),
        (DLQ, {**TAKES, "max_message_bytes": "100"}, {}),  # a letter is larger
    ],
)
async def test_a_topic_that_cannot_take_letters_loses_them(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    topic: str,
    configs: dict[str, Any],
    settings: dict[str, str],
) -> None:
    async with one_node(tmp_path, **settings) as it:
        with_group(it, topic=topic)
        it.topic(topic, **configs)
        assert await bury(it, 0, 3) == 0
        assert it.log(topic).log_end_offset == 0
        assert "dead letters cannot be written" in capsys.readouterr().err


async def test_any_name_is_allowed_without_a_prefix(tmp_path: Path) -> None:
    async with one_node(tmp_path, errors_deadletterqueue_topic_name_prefix="") as it:
        with_group(it, topic="letters")
        it.topic("letters", **TAKES)
        assert await bury(it, 0, 0) == 1


async def test_a_group_has_a_queue_by_its_settings_and_the_feature(it: OneNode) -> None:
    queues = it.node.cluster.dead_letters
    assert not queues.is_enabled("shop")
    assert await bury(it, 0, 0) == 0
    with_group(it)
    assert queues.is_enabled("shop")
    it.node.controller._commit([FeatureLevelRecord("share.version", 1)])
    assert not queues.is_enabled("shop")


async def test_a_letter_waits_for_a_leader(it: OneNode) -> None:
    with_group(it)
    it.topic(DLQ, **TAKES)
    it.node.runs = False
    it.clock.call_after_ms(2_000, setattr, it.node, "runs", True)
    assert await bury(it, 0, 0) == 1
    it.node.runs = False
    assert await bury(it, 1, 1) == 0


async def test_records_are_read_until_their_limit(it: OneNode) -> None:
    it.topic("orders")
    for _ in range(5):
        it.append("orders", b"a" * 100)
    log, workers = it.log("orders"), Workers()
    found = await read_originals(workers, log, 1, 4, 250)
    assert (sorted(found.records), found.last_offset) == ([1, 2], 2)
    found = await read_originals(workers, log, 3, 9, 1000)
    assert (sorted(found.records), found.last_offset) == ([3, 4], 9)
    workers.close()


async def test_letters_are_counted_by_group(it: OneNode) -> None:
    assert it.node.cluster.loaded_dead_letters is None
    with_group(it)
    it.topic(DLQ, **TAKES, max_message_bytes="400")
    assert await bury(it, 0, 3) == 4
    assert await bury(it, 4, 5, reason="a" * 400) == 0
    metrics = await collect_shares([it.node], Turns())
    found = {
        metric.name.rpartition("deadletterqueue")[2]: [
            (sample.labels, sample.value) for sample in metric.samples
        ]
        for metric in metrics
        if "deadletterqueue" in metric.name
    }
    shop = {"group": "shop"}
    assert found == {
        "recordcount": [(shop, 4)],
        "totalproducerequests": [(shop, 5)],
        "failedproducerequests": [(shop, 1)],
    }
