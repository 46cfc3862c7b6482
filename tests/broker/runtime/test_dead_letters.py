"""Letters for records that a share group gives up, as Apache Kafka 4.4.0 writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ottla.metadata.catalog import ResourceType
from ottla.protocol.batch import headers_in
from ottla.protocol.records import Record, records_in
from tests.broker.fakes import in_virtual_time
from tests.broker.one_node import OneNode, one_node

DLQ = "dlq.orders"
REJECTED = "Offset rejected by client."
TAKES = {"errors_deadletterqueue_group_enable": "true"}


def with_group(it: OneNode, *, topic: str = DLQ, copies: bool = False) -> None:
    """Set the settings of the group `shop`, and make the topic `orders`."""
    settings = {
        "errors.deadletterqueue.topic.name": topic,
        "errors.deadletterqueue.copy.record.enable": str(copies).lower(),
    }
    it.node.controller.set_configs(ResourceType.GROUP, "shop", settings)
    it.topic("orders")


async def bury(it: OneNode, first: int, last: int, **fields: Any) -> int:
    given = {"delivery_count": 2, "reason": REJECTED} | fields
    return await it.node.cluster.dead_letters.write(
        "shop", "orders", 0, first_offset=first, last_offset=last, **given
    )


def letters(it: OneNode, topic: str = DLQ, partition: int = 0) -> list[Record]:
    log = it.log(topic, partition)
    data = log.read(0, max_bytes=1 << 30, up_to=log.log_end_offset, min_one=True).records
    return [
        record
        for position, header in headers_in(data)
        for record in records_in(data, position, header)
    ]


def pairs(it: OneNode) -> list[tuple[bytes | None, bytes | None]]:
    return [(each.key, each.value) for each in letters(it)]


@in_virtual_time
async def test_a_letter_says_where_the_record_was_and_why_it_is_given_up(tmp_path: Path) -> None:
    async with one_node(tmp_path) as it:
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
        assert second.headers[2] == ("__dlq.errors.offset", b"4")
