"""InitProducerId 6 (KIP-939), as an Apache Kafka 4.1.1 answers it with and without its settings.

Kafka 4.1 refuses to keep a prepared transaction; those answers are the KIP's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ottla.coordinator.outcome import Outcome
from ottla.coordinator.transactions.states import LAST_EPOCH, NO_TIMEOUT_MS, State, Transaction
from ottla.metadata.acls import Acl
from ottla.metadata.catalog import TRANSACTION_STATE
from ottla.protocol.acls import AclResource, Operation, PatternType, Permission
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Malformed
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode, one_node
from tests.broker.transacting import Producer
from tests.coordinator.moments import at

KEY = ApiKey.INIT_PRODUCER_ID
CLIENT = {"client_software_name": "test", "client_software_version": "1"}
UNSTABLE = {"unstable_api_versions_enable": "true"}
SETTINGS = {**UNSTABLE, "transaction_two_phase_commit_enable": "true"}
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


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
    [({}, 5), ({"transaction_two_phase_commit_enable": "true"}, 5), (UNSTABLE, 6), (SETTINGS, 6)],
)
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


async def test_two_phase_commit_without_the_right_is_refused(tmp_path: Path) -> None:
    async with one_node(tmp_path, **UNSTABLE) as it:
        answer = await init(it, enable2_pc=True)
        assert answer["error_code"] == Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        assert (await init(it, keep_prepared_txn=True))["error_code"] == Code.UNSUPPORTED_VERSION


async def test_the_transactional_id_is_checked_before_the_flags(it: OneNode) -> None:
    answer = await init(it, transactional_id="", enable2_pc=True, keep_prepared_txn=True)
    assert answer["error_code"] == Code.INVALID_REQUEST
    answer = await init(it, transactional_id=None, enable2_pc=True, keep_prepared_txn=True)
    assert answer["error_code"] == Code.NONE


async def described(it: OneNode) -> tuple[str, int, int, int]:
    """State, producer id, epoch and timeout, as DescribeTransactions answers them."""
    answer = await it.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=["x"])
    (known,) = answer["transaction_states"]
    names = "transaction_state", "producer_id", "producer_epoch", "transaction_timeout_ms"
    state, producer_id, epoch, timeout_ms = (known[name] for name in names)
    return state, producer_id, epoch, timeout_ms


async def ended(it: OneNode, producer_id: int, epoch: int, *, version: int = 5) -> Any:
    return await it.ask(
        ApiKey.END_TXN,
        version,
        transactional_id="x",
        producer_id=producer_id,
        producer_epoch=epoch,
        committed=True,
    )


@pytest.mark.parametrize("enable", [False, True])
@pytest.mark.parametrize("version", [4, 5])
async def test_a_prepared_transaction_is_kept_for_the_new_producer(
    it: OneNode, enable: bool, version: int
) -> None:
    it.node.controller.create_topic("t", partitions=1)
    first = await init(it, enable2_pc=True)
    writer = Producer(it, "x", first["producer_id"], first["producer_epoch"])
    assert await writer.produce("t") == "NONE"
    kept = await init(it, enable2_pc=enable, keep_prepared_txn=True)
    assert kept["error_code"] == Code.NONE
    ongoing = kept["ongoing_txn_producer_id"], kept["ongoing_txn_producer_epoch"]
    assert ongoing == (writer.producer_id, writer.epoch)
    client = kept["producer_id"], kept["producer_epoch"]
    assert client == (writer.producer_id, writer.epoch + 1)
    # The description is that of the transaction, not of the producer that may end it.
    assert await described(it) == ("Ongoing", *ongoing, NO_TIMEOUT_MS)
    assert (await ended(it, *ongoing, version=version))["error_code"] == Code.PRODUCER_FENCED
    assert await writer.produce("t", sequence=1) == "INVALID_PRODUCER_EPOCH"
    following = writer.but(epoch=client[1])
    assert await following.produce("t") == "INVALID_TXN_STATE"
    assert await following.produce("t", version=11) == "INVALID_TXN_STATE"
    answer = await ended(it, *client, version=version)
    assert answer["error_code"] == Code.NONE
    if version == 5:
        client = answer["producer_id"], answer["producer_epoch"]
        assert client == (writer.producer_id, writer.epoch + 2)
    assert (await described(it))[:3] == ("CompleteCommit", *client)
    assert await writer.but(epoch=client[1]).produce("t") == "NONE"


@pytest.mark.parametrize("epoch", range(LAST_EPOCH - 2, LAST_EPOCH + 1))
async def test_a_transaction_is_kept_where_the_epochs_are_used_up(
    tmp_path: Path, epoch: int
) -> None:
    """Over a restart: each producer before is fenced, and the partition takes the next one."""
    async with one_node(tmp_path, **SETTINGS) as it:
        it.node.controller.create_topic("t", partitions=1)
        it.node.controller.create_internal_topic(TRANSACTION_STATE)
        past = Transaction(
            "x",
            999_999,
            epoch,
            NO_TIMEOUT_MS,
            State.COMPLETE_ABORT,
            frozenset(),
            START_MS,
            START_MS,
        )
        await it.node.transactions.shard_of("x").run(lambda _machine, _now: Outcome(None, (past,)))
        writer = Producer(it, "x", 999_999, epoch)
        assert await writer.produce("t") == "NONE"
        earlier = [(writer.producer_id, writer.epoch)]
        for _ in range(3):
            kept = await init(it, keep_prepared_txn=True)
            ongoing = kept["ongoing_txn_producer_id"], kept["ongoing_txn_producer_epoch"]
            assert ongoing == earlier[0]
            client = kept["producer_id"], kept["producer_epoch"]
            assert client not in earlier
            earlier.append(client)
    async with one_node(tmp_path, **SETTINGS) as it:
        for fenced in earlier[:-1]:
            code = (await ended(it, *fenced))["error_code"]
            assert code in (Code.PRODUCER_FENCED, Code.INVALID_PRODUCER_ID_MAPPING)
        answer = await ended(it, *client)
        assert answer["error_code"] == Code.NONE
        assert (await described(it))[0] == "CompleteCommit"
        again = await ended(it, *client)
        following = answer["producer_id"], answer["producer_epoch"]
        assert (again["producer_id"], again["producer_epoch"]) == following
        assert await Producer(it, "x", *following).produce("t") == "NONE"


async def test_an_ordinary_initialization_aborts_a_kept_transaction(it: OneNode) -> None:
    it.node.controller.create_topic("t", partitions=1)
    first = await init(it, enable2_pc=True)
    writer = Producer(it, "x", first["producer_id"], first["producer_epoch"])
    assert await writer.produce("t") == "NONE"
    kept = await init(it, keep_prepared_txn=True)
    assert (await init(it, version=5))["error_code"] == Code.CONCURRENT_TRANSACTIONS
    answer = await init(it, version=5)
    assert answer["producer_epoch"] > kept["producer_epoch"]
    late = await ended(it, kept["producer_id"], kept["producer_epoch"])
    assert late["error_code"] == Code.PRODUCER_FENCED


async def test_without_an_open_transaction_nothing_is_kept(it: OneNode) -> None:
    for epoch in (0, 1):
        answer = await init(it, keep_prepared_txn=True)
        assert (answer["error_code"], answer["producer_epoch"]) == (Code.NONE, epoch)
        assert answer["ongoing_txn_producer_id"] == answer["ongoing_txn_producer_epoch"] == -1


@pytest.mark.parametrize(
    ("operations", "plain", "in_two_phases"),
    [
        ((), False, False),
        ((Operation.TWO_PHASE_COMMIT,), False, False),
        ((Operation.WRITE,), True, False),
        ((Operation.WRITE, Operation.TWO_PHASE_COMMIT), True, True),
        ((Operation.ALL,), True, True),
    ],
)
async def test_two_phase_commit_needs_a_right_of_its_own(
    tmp_path: Path, operations: tuple[Operation, ...], plain: bool, in_two_phases: bool
) -> None:
    """Keeping a prepared transaction needs no more than an ordinary InitProducerId."""
    refused = Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    async with one_node(tmp_path, **SETTINGS, authorizer_class_name=AUTHORIZER) as it:
        acls = [
            Acl(
                AclResource.TRANSACTIONAL_ID, "x", PatternType.LITERAL, "User:ANONYMOUS", "*",
                operation, Permission.ALLOW,
            )
            for operation in operations
        ]  # fmt: skip
        controller = it.node.controller
        controller.change(it.node.catalog.acls.create(acls, controller._new_id)[1])
        for fields, may in (
            ({}, plain),
            ({"keep_prepared_txn": True}, plain),
            ({"enable2_pc": True}, in_two_phases),
            ({"enable2_pc": True, "keep_prepared_txn": True}, in_two_phases),
        ):
            code = (await init(it, **fields))["error_code"]
            assert code == (Code.NONE if may else refused), fields


@pytest.mark.parametrize("timeout_ms", [-1, 0, 5000, NO_TIMEOUT_MS])
async def test_a_transaction_in_two_phases_has_no_timeout(it: OneNode, timeout_ms: int) -> None:
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
