"""UpdateFeatures: other levels, at once and after a restart, and what transactions make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ottla.metadata.catalog import TRANSACTION_STATE
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import headers_in
from ottla.protocol.errors import Code
from ottla.protocol.records import records_in
from tests.broker.one_node import OneNode, one_node
from tests.broker.transacting import producer

KEY = ApiKey.UPDATE_FEATURES
NAME = "transaction.version"
CLIENT = {"client_software_name": "test", "client_software_version": "1"}
FAILED = "The update failed for all features since the following feature had an error: "


async def update(it: OneNode, level: int, *, version: int = 2, **fields: Any) -> Any:
    """Ask for a level of transaction.version."""
    how = {"upgrade_type": 3 if level < 2 else 1} if version else {"allow_downgrade": True}
    validate = {"validate_only": fields.pop("validate_only", False)} if version else {}
    updates = [{"feature": NAME, "max_version_level": level, **how, **fields}]
    return await it.ask(KEY, version, timeout_ms=1000, feature_updates=updates, **validate)


async def told(it: OneNode) -> dict[str, int]:
    """The finalized levels in ApiVersions."""
    answer = await it.ask(ApiKey.API_VERSIONS, 4, **CLIENT)
    return {each["name"]: each["max_version_level"] for each in answer["finalized_features"]}


@pytest.mark.parametrize("version", [1, 2])
async def test_a_level_counts_at_once_and_after_a_restart(tmp_path: Path, version: int) -> None:
    async with one_node(tmp_path) as it:
        before = (await it.ask(ApiKey.API_VERSIONS, 4, **CLIENT))["finalized_features_epoch"]
        answer = await update(it, 1, version=version)
        assert (answer["error_code"], answer["error_message"]) == (Code.NONE, None)
        results = [{"feature": NAME, "error_code": 0, "error_message": "NONE"}]
        assert answer.get("results") == (None if version == 2 else results)
        assert (await told(it))[NAME] == it.node.catalog.features[NAME] == 1
        after = (await it.ask(ApiKey.API_VERSIONS, 4, **CLIENT))["finalized_features_epoch"]
        assert after > before
    async with one_node(tmp_path) as it:
        assert (await told(it))[NAME] == 1
        offered = (await it.ask(ApiKey.API_VERSIONS, 4, **CLIENT))["api_keys"]
        await update(it, 0)
        assert NAME not in await told(it), "level 0 is not told"
        assert NAME not in it.node.catalog.features
        answer = await it.ask(ApiKey.API_VERSIONS, 4, **CLIENT)
        assert answer["api_keys"] == offered, "Kafka still offers EndTxn 5 and Produce 12"


async def test_a_validate_only_request_changes_nothing(it: OneNode) -> None:
    answer = await update(it, 1, validate_only=True)
    assert (answer["error_code"], (await told(it))[NAME]) == (Code.NONE, 2)


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_a_refusal_is_reported_at_the_top_level(it: OneNode, version: int) -> None:
    answer = await update(it, 3, version=version)
    assert answer["error_code"] == Code.INVALID_UPDATE_VERSION
    assert answer["error_message"].startswith(f"{FAILED}Invalid update version 3 for feature")
    assert not answer.get("results")


@pytest.mark.parametrize("is_allowed", [False, True])
async def test_version_0_only_raises_whatever_it_allows(it: OneNode, is_allowed: bool) -> None:
    answer = await update(it, 1, version=0, allow_downgrade=is_allowed)
    assert "Can't downgrade the version of this feature without" in answer["error_message"]
    await update(it, 1)
    answer = await update(it, 2, version=0, allow_downgrade=is_allowed)
    assert answer["results"] == [{"feature": NAME, "error_code": 0, "error_message": "NONE"}]
    assert (await told(it))[NAME] == 2


async def value_versions(it: OneNode) -> list[int]:
    """The versions of the values in `__transaction_state`, in their order."""
    found = []
    for shard in it.node.transactions.shards():
        log = shard.log
        data = log.read(0, max_bytes=1 << 20, up_to=log.log_end_offset, min_one=True).records
        for position, header in headers_in(data):
            found += [
                int.from_bytes((record.value or b"")[:2], "big")
                for record in records_in(data, position, header)
            ]
    return found


@pytest.mark.parametrize(("level", "value_version", "epoch"), [(2, 1, 1), (1, 1, 1), (0, 0, 1)])
async def test_an_open_transaction_is_fenced_as_the_level_says(
    tmp_path: Path, level: int, value_version: int, epoch: int
) -> None:
    """Kafka 4.1.1 raises the epoch by one in every level; below 2 the old one is forgotten."""
    async with one_node(tmp_path, transaction_state_log_num_partitions="1") as it:
        await update(it, level)
        it.node.controller.create_internal_topic(TRANSACTION_STATE)
        init = {"transactional_id": "x", "transaction_timeout_ms": 1000}
        first = await it.ask(ApiKey.INIT_PRODUCER_ID, 4, **init)
        added = await it.ask(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            v3_and_below_transactional_id="x",
            v3_and_below_producer_id=first["producer_id"],
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=[],
        )
        assert added["results_by_topic_v3_and_below"] == []
        assert (await it.ask(ApiKey.INIT_PRODUCER_ID, 4, **init))["error_code"] == (
            Code.CONCURRENT_TRANSACTIONS
        )
        known = it.node.transactions.shard_of("x").machine.describe("x")
        assert (known.producer_epoch, known.client_version) == (epoch, 2 if level == 2 else 0)
        assert known.last_producer_epoch == (0 if level == 2 else -1)
        assert await value_versions(it) == [value_version] * 4


@pytest.mark.parametrize("level", [0, 1])
async def test_a_transaction_that_is_open_when_the_level_falls_can_be_ended(
    tmp_path: Path, level: int
) -> None:
    """Kafka refuses to initialise such an id again on level 0, and gets stuck with it."""
    async with one_node(
        tmp_path, transaction_state_log_num_partitions="1", offsets_topic_num_partitions="1"
    ) as it:
        it.topic("orders")
        shop = await producer(it)
        assert await shop.produce("orders") == "NONE"
        await update(it, level)
        if level == 0:
            assert await shop.end(version=5) == "UNSUPPORTED_VERSION"
            assert await shop.produce("orders", sequence=1) == "NONE", "it was added before"
        assert await shop.end(version=4) == "NONE"
        assert await shop.state() == "CompleteCommit"
        again = await producer(it)
        assert again.epoch == shop.epoch + 1
        known = await again.described()
        assert (known["transaction_state"], known["producer_epoch"]) == ("Empty", again.epoch)
    async with one_node(tmp_path) as it:
        assert (await again.but(it=it).described()) == known
