"""InitProducerId 6 (KIP-939), as an Apache Kafka 4.1.1 answers it with and without its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ottla.coordinator.transactions.states import NO_TIMEOUT_MS
from ottla.metadata.catalog import TRANSACTION_STATE
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Malformed
from tests.broker.fakes import in_virtual_time
from tests.broker.one_node import OneNode, one_node
from tests.coordinator.moments import at

KEY = ApiKey.INIT_PRODUCER_ID
CLIENT = {"client_software_name": "test", "client_software_version": "1"}
UNSTABLE = {"unstable_api_versions_enable": "true"}
BOTH = {**UNSTABLE, "transaction_two_phase_commit_enable": "true"}


async def init(it: OneNode, version: int = 6, **fields: Any) -> Any:
    it.node.controller.create_internal_topic(TRANSACTION_STATE)
    fields = {"transactional_id": "x", "transaction_timeout_ms": 60_000, **fields}
    return await it.ask(KEY, version, **fields)


async def offered(it: OneNode) -> int:
    answer = await it.ask(ApiKey.API_VERSIONS, 4, **CLIENT)
    (highest,) = (key["max_version"] for key in answer["api_keys"] if key["api_key"] == KEY)
    return int(highest)


@pytest.mark.parametrize(
    ("settings", "highest"),
    [({}, 5), ({"transaction_two_phase_commit_enable": "true"}, 5), (UNSTABLE, 6), (BOTH, 6)],
)
@in_virtual_time
async def test_version_6_is_offered_with_all_that_is_unstable(
    tmp_path: Path, settings: dict[str, str], highest: int
) -> None:
    async with one_node(tmp_path, **settings) as it:
        assert await offered(it) == highest
        if highest == 5:
            with pytest.raises(Malformed, match="INIT_PRODUCER_ID version 6 is not served"):
                await init(it)
        else:
            answer = await init(it)
            assert (answer["error_code"], answer["producer_epoch"]) == (Code.NONE, 0)
            assert answer["ongoing_txn_producer_id"] == answer["ongoing_txn_producer_epoch"] == -1


@in_virtual_time
async def test_two_phase_commit_without_the_right_is_refused(tmp_path: Path) -> None:
    async with one_node(tmp_path, **UNSTABLE) as it:
        answer = await init(it, enable2_pc=True)
        assert answer["error_code"] == Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        assert (await init(it, keep_prepared_txn=True))["error_code"] == Code.UNSUPPORTED_VERSION


@in_virtual_time
async def test_a_prepared_transaction_is_not_kept_yet(tmp_path: Path) -> None:
    async with one_node(tmp_path, **BOTH) as it:
        for enable in (False, True):
            answer = await init(it, enable2_pc=enable, keep_prepared_txn=True)
            assert answer["error_code"] == Code.UNSUPPORTED_VERSION
        answer = await init(it, transactional_id="", enable2_pc=True, keep_prepared_txn=True)
        assert answer["error_code"] == Code.INVALID_REQUEST
        answer = await init(it, transactional_id=None, enable2_pc=True, keep_prepared_txn=True)
        assert answer["error_code"] == Code.NONE


@pytest.mark.parametrize("timeout_ms", [-1, 0, 5000, NO_TIMEOUT_MS])
@in_virtual_time
async def test_a_transaction_in_two_phases_has_no_timeout(tmp_path: Path, timeout_ms: int) -> None:
    async with one_node(tmp_path, **BOTH) as it:
        given = await init(it, enable2_pc=True, transaction_timeout_ms=timeout_ms)
        assert given["error_code"] == Code.NONE
        await it.ask(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            v3_and_below_transactional_id="x",
            v3_and_below_producer_id=given["producer_id"],
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=[],
        )
        (known,) = (await it.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=["x"]))[
            "transaction_states"
        ]
        assert (known["transaction_state"], known["transaction_timeout_ms"]) == (
            "Ongoing",
            NO_TIMEOUT_MS,
        )
        machine = it.node.transactions.shard_of("x").machine
        assert machine.next_deadline(at(0)) is None
        assert list(machine.tick(at(1 << 60))) == []
        given = await init(it, transaction_timeout_ms=NO_TIMEOUT_MS)
        assert given["error_code"] == Code.INVALID_TRANSACTION_TIMEOUT
