"""WriteTxnMarkers by anyone: each partition's answer, as Apache Kafka 4.1.1 gave it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ottla.metadata.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.one_node import OneNode
from tests.broker.transacting import producer

SETTINGS = {"transaction_state_log_num_partitions": "2", "offsets_topic_num_partitions": "1"}
Told = dict[int, dict[str, dict[int, str]]]


def marker(
    producer_id: int,
    topics: Mapping[str, Sequence[int]],
    *,
    epoch: int = 0,
    commit: bool = True,
    coordinator_epoch: int = 0,
) -> dict[str, Any]:
    return {
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "transaction_result": commit,
        "coordinator_epoch": coordinator_epoch,
        "topics": [
            {"name": name, "partition_indexes": list(indexes)} for name, indexes in topics.items()
        ],
    }


async def write(it: OneNode, *markers: dict[str, Any]) -> Told:
    answer = await it.ask(ApiKey.WRITE_TXN_MARKERS, 1, markers=list(markers))
    found: Told = {}
    for told in answer["markers"]:
        assert told["producer_id"] not in found
        found[told["producer_id"]] = {
            topic["name"]: {
                part["partition_index"]: Code(part["error_code"]).name
                for part in topic["partitions"]
            }
            for topic in told["topics"]
        }
    return found


async def test_a_marker_without_partitions_is_not_answered(it: OneNode) -> None:
    it.topic("t")
    assert await write(it) == {}
    assert await write(it, marker(5, {})) == await write(it, marker(5, {"t": []})) == {}


async def test_the_markers_of_one_producer_are_answered_together(it: OneNode) -> None:
    it.topic("t", partitions=2)
    told = await write(it, marker(5, {"t": [0]}), marker(5, {"t": [1], "no": [0]}, epoch=1))
    assert told == {5: {"t": {0: "NONE", 1: "NONE"}, "no": {0: "UNKNOWN_TOPIC_OR_PARTITION"}}}


async def test_each_partition_has_an_answer(it: OneNode) -> None:
    it.topic("t")
    await producer(it)
    asked = {
        "t": [0, 9],
        "no": [0],
        CONSUMER_OFFSETS: [0, 99],
        TRANSACTION_STATE: [0],
        "__cluster_metadata": [0],
    }
    unknown = "UNKNOWN_TOPIC_OR_PARTITION"
    assert await write(it, marker(5, asked)) == {
        5: {
            "t": {0: "NONE", 9: unknown},
            "no": {0: unknown},
            CONSUMER_OFFSETS: {0: "NONE", 99: unknown},
            TRANSACTION_STATE: {0: "NONE"},
            "__cluster_metadata": {0: unknown},
        }
    }


async def test_no_producer_has_a_negative_id_or_epoch(it: OneNode) -> None:
    it.topic("t")
    for bad in (marker(-1, {"t": [0]}), marker(5, {"t": [0]}, epoch=-1)):
        (told,) = (await write(it, bad)).values()
        assert told == {"t": {0: "UNKNOWN_SERVER_ERROR"}}
    assert await write(it, marker(5, {"t": [0]}, coordinator_epoch=-1)) == {5: {"t": {0: "NONE"}}}


async def test_older_epochs_are_fenced(it: OneNode) -> None:
    it.topic("t")
    shop = await producer(it)
    shop = await producer(it)  # epoch 1
    assert await shop.produce("t") == "NONE"

    async def by_hand(epoch: int, coordinator_epoch: int) -> str:
        wanted = marker(
            shop.producer_id, {"t": [0]}, epoch=epoch, coordinator_epoch=coordinator_epoch
        )
        return (await write(it, wanted))[shop.producer_id]["t"][0]

    assert await by_hand(0, 0) == "INVALID_PRODUCER_EPOCH"
    assert await by_hand(1, 5) == "NONE"
    assert await by_hand(1, 4) == "TRANSACTION_COORDINATOR_FENCED"
    assert await by_hand(1, 5) == "NONE"
    assert await by_hand(2, 5) == "NONE"
    assert await shop.state() == "Ongoing", "behind the back of the coordinator"
