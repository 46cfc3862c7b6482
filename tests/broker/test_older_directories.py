"""Directories of Kafka 4.1 and of Ottla before metadata.version 33: they open, and go on.

tests/storage/kept has them: topic `orders` with two records and a committed transaction of `payer`,
and the consumer group `shoppers` with one member and a committed offset.
"""

from __future__ import annotations

import asyncio
import zipfile
from pathlib import Path

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code
from tests.broker.fakes import START_MS
from tests.broker.members import beat
from tests.broker.one_node import OneNode, one_node

KEPT = Path(__file__).parents[1] / "storage" / "kept"
MEMBER = "member-of-old"
METADATA = "metadata.version"
SETTINGS = {"offsets_topic_num_partitions": "1", "transaction_state_log_num_partitions": "1"}

every_directory = pytest.mark.parametrize("name", ["kafka-4.1.1", "ottla-0.1-metadata-27"])


def unpacked(name: str, to: Path) -> Path:
    with zipfile.ZipFile(KEPT / f"{name}.zip") as kept:
        kept.extractall(to)
    return to


async def loaded(it: OneNode) -> None:
    """Wait until the coordinator of the group has read its log."""
    for _ in range(10):
        if (await beat(it, "shoppers", MEMBER, 1))["error_code"] == Code.NONE:
            return
        await asyncio.sleep(1)
    raise AssertionError("the coordinator did not load the group")


async def commit(it: OneNode, offset: int) -> int:
    topic_id = it.node.catalog.topics["orders"].topic_id
    part = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    answer = await it.ask(
        ApiKey.OFFSET_COMMIT, 10, group_id="shoppers", generation_id_or_member_epoch=1,
        member_id=MEMBER, topics=[{"topic_id": topic_id, "partitions": [part]}],
    )  # fmt: skip
    code: int = answer["topics"][0]["partitions"][0]["error_code"]
    return code


async def committed(it: OneNode) -> tuple[int, str]:
    topics = [{"name": "orders", "partition_indexes": [0]}]
    group = {"group_id": "shoppers", "member_id": None, "member_epoch": -1, "topics": topics}
    answer = await it.ask(ApiKey.OFFSET_FETCH, 9, groups=[group], require_stable=True)
    (part,) = answer["groups"][0]["topics"][0]["partitions"]
    return part["committed_offset"], part["metadata"]


@every_directory
async def test_an_older_directory_opens_and_goes_on(name: str, tmp_path: Path) -> None:
    unpacked(name, tmp_path)
    async with one_node(tmp_path, **SETTINGS) as it:
        assert it.node.catalog.features[METADATA] == 27
        assert it.log("orders").log_end_offset == 4
        it.log("orders").append(
            bytearray(build([(None, b"new")], timestamp_ms=START_MS)), now_ms=START_MS
        )
        await loaded(it)
        assert await committed(it) == (1, "kept")
        assert await commit(it, 2) == Code.NONE
        assert it.node.catalog.brokers[1].cordoned_log_dirs is None
    async with one_node(tmp_path, **SETTINGS) as it:
        assert it.log("orders").log_end_offset == 5
        await loaded(it)
        assert await committed(it) == (2, "")


@every_directory
async def test_an_older_directory_is_raised_to_the_newest_metadata(
    name: str, tmp_path: Path
) -> None:
    unpacked(name, tmp_path)
    async with one_node(tmp_path, **SETTINGS) as it:
        update = {"feature": METADATA, "max_version_level": 33, "upgrade_type": 1}
        answer = await it.ask(ApiKey.UPDATE_FEATURES, 2, timeout_ms=1000, feature_updates=[update])
        assert answer["error_code"] == Code.NONE
    async with one_node(tmp_path, **SETTINGS) as it:
        assert it.node.catalog.features[METADATA] == 33
        assert it.node.catalog.brokers[1].cordoned_log_dirs == ()
        await loaded(it)
        assert await committed(it) == (1, "kept")
