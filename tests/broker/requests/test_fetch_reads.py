"""Divergence of a reader's log from the leader's (KIP-595), and checks before a read."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.broker.requests.reads.fetch_reads import Limits, PartitionRead, Reading, name_of
from ottla.broker.runtime.fetching.fetch_sessions import Item, Wanted
from ottla.protocol.errors import Code
from tests.broker.one_node import OneNode

CONSUMER = Limits(1 << 20, committed=False, replica_id=-1)


def read_all(
    it: OneNode, wanted: list[Item], limits: Limits
) -> tuple[list[PartitionRead], int, bool]:
    reading = Reading(it.node, limits)
    reading.read(wanted)
    return reading.parts, reading.bytes_read, reading.ends_wait


def read(it: OneNode, offset: int, *, last_fetched_epoch: int = -1) -> PartitionRead:
    wanted = Wanted(offset, 1 << 20, -1, last_fetched_epoch)
    (part,), size_bytes, at_once = read_all(it, [(("orders", 0), "orders", wanted)], CONSUMER)
    assert size_bytes == len(part.records)
    assert at_once == (part.error != Code.NONE or part.diverging is not None)
    return part


def three_epochs(it: OneNode) -> None:
    """Epoch 0 has offsets 0 to 1, epoch 2 has 2 to 4, epoch 5 has 5."""
    it.topic("orders")
    for epoch, count in ((0, 2), (2, 3), (5, 1)):
        it.log("orders").leader_epoch = epoch
        for _ in range(count):
            it.append("orders", b"x")


@pytest.mark.parametrize(
    ("offset", "epoch", "diverging"),
    [
        (2, 0, None),
        (1, 0, None),
        (3, 0, (0, 2)),
        (5, 2, None),
        (6, 2, (2, 5)),
        (6, 5, None),
        (3, 1, (0, 2)),
        (2, 1, (0, 2)),
        (5, 4, (2, 5)),
    ],
)
async def test_a_diverging_reader_gets_the_offset_of_the_divergence(
    it: OneNode, offset: int, epoch: int, diverging: tuple[int, int] | None
) -> None:
    three_epochs(it)
    part = read(it, offset, last_fetched_epoch=epoch)
    assert (part.error, part.diverging) == (Code.NONE, diverging)
    if diverging is not None:
        assert (part.records, part.high_watermark) == (b"", 6)


async def test_an_epoch_that_the_log_never_had_is_out_of_range(it: OneNode) -> None:
    three_epochs(it)
    assert read(it, 6, last_fetched_epoch=9).error == Code.OFFSET_OUT_OF_RANGE


async def test_partitions_that_do_not_exist_come_behind_the_others(it: OneNode) -> None:
    it.topic("orders")
    wanted = Wanted(0, 1 << 20, -1, -1)
    items: list[Any] = [
        (("missing", 0), "missing", wanted), (("orders", 0), "orders", wanted),
    ]  # fmt: skip
    parts, size_bytes, at_once = read_all(it, items, CONSUMER)
    assert [part.key for part in parts] == [("orders", 0), ("missing", 0)]
    assert (size_bytes, at_once) == (0, False)


async def test_the_limit_of_the_request_is_shared_by_its_partitions(it: OneNode) -> None:
    it.topic("orders", 3)
    for index in range(3):
        it.append("orders", bytes(900), partition=index)
    items: list[Any] = [
        (("orders", index), "orders", Wanted(0, 1 << 20, -1, -1)) for index in range(3)
    ]
    for max_bytes, expected in ((-5, 1), (0, 1), (1000, 1), (2000, 2), (1 << 20, 3)):
        limits = CONSUMER._replace(max_bytes=max_bytes)
        parts, _, _ = read_all(it, items, limits)
        assert sum(1 for part in parts if part.records) == expected, max_bytes


async def test_a_topic_is_found_by_its_id_and_an_unknown_id_has_no_name(it: OneNode) -> None:
    made = it.topic("orders")
    assert name_of(it.node, made.topic_id) == name_of(it.node, "orders") == "orders"
    it.node.controller.delete_topic("orders")
    assert name_of(it.node, made.topic_id) == ""


async def test_a_topic_made_again_under_its_name_is_another_one(it: OneNode) -> None:
    """A session may have kept the name of an id that is gone."""
    old = it.topic("orders").topic_id
    it.node.controller.delete_topic("orders")
    it.topic("orders")
    wanted = Wanted(0, 1 << 20, -1, -1)
    (part,), _, _ = read_all(it, [((old, 0), "orders", wanted)], CONSUMER)
    assert part.error == Code.INCONSISTENT_TOPIC_ID
