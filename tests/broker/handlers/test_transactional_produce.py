"""Transactional batches and offsets: what they must belong to, and when that is looked at."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ottla.broker.requests.reads.fetch_reads import MANY
from ottla.broker.runtime.work_limits import WorkLimits
from ottla.broker.scheduling.turns import set_slice_s
from ottla.coordinator.transactions.states import State
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import headers_in
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog
from tests.broker.fakes import broken_markers
from tests.broker.one_node import OneNode, one_node, read, until
from tests.broker.transacting import error, producer
from tests.storage.logs import in_transaction

SETTINGS = {"transaction_state_log_num_partitions": "2", "offsets_topic_num_partitions": "1"}
VERIFICATION = "transaction.partition.verification.enable"


def batches(it: OneNode, topic: str) -> list[str]:
    """What lies in a partition: `data` or `marker`."""
    log = it.log(topic)
    data = log.read(0, max_bytes=1 << 20, up_to=log.log_end_offset, min_one=True).records
    return ["marker" if header.is_control else "data" for _, header in headers_in(data)]


@pytest.mark.parametrize("version", [3, 10, 11])
async def test_a_batch_that_was_not_added_is_refused(it: OneNode, version: int) -> None:
    it.topic("orders")
    shop = await producer(it)
    refusal = "TRANSACTION_ABORTABLE" if version >= 11 else "INVALID_TXN_STATE"
    assert await shop.produce("orders", version=version) == refusal
    assert batches(it, "orders") == []


async def test_a_producer_that_the_partition_has_not_seen_begins_at_0_where_it_adds_by_itself(
    it: OneNode,
) -> None:
    """Its lost first batch would go unnoticed; older versions may come after a deletion."""
    it.topic("orders", 2)
    shop = await producer(it)
    assert await shop.produce("orders", sequence=1) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert batches(it, "orders") == []
    assert await shop.produce("orders", sequence=0) == "NONE"
    assert await shop.produce("orders", sequence=1) == "NONE"
    assert await shop.add({"orders": [1]}) == {"NONE"}
    assert await shop.produce("orders", sequence=7, partition=1, version=11) == "NONE"


@pytest.mark.parametrize(("version", "taken"), [(3, True), (11, True), (12, False), (13, False)])
async def test_an_unverified_transaction_is_accepted_if_verification_is_disabled(
    it: OneNode, version: int, taken: bool
) -> None:
    """The setting is dynamic, and nothing to versions that add by themselves."""
    made = it.topic("orders")
    shop = await producer(it)
    it.node.controller.set_configs(4, "", {VERIFICATION: "false"})
    stranger = shop.but(producer_id=shop.producer_id + 77)
    key, _, fields = stranger.produce_request("orders", version=version)
    if version >= 13:
        (topic,) = fields["topic_data"]
        fields["topic_data"] = [
            {"topic_id": made.topic_id, "partition_data": topic["partition_data"]}
        ]
    answer = await it.ask(key, version, **fields)
    (told,) = answer["responses"][0]["partition_responses"]
    assert error(told) == ("NONE" if taken else "INVALID_PRODUCER_ID_MAPPING")
    it.node.controller.set_configs(4, "", {VERIFICATION: None})
    if version < 12:
        later = await stranger.but(producer_id=99).produce("orders", version=version)
        assert later == "INVALID_PRODUCER_ID_MAPPING"


async def test_offsets_are_not_verified_where_the_setting_says_so(it: OneNode) -> None:
    it.topic("orders")
    shop = await producer(it)
    assert await shop.commit_offset("g", "orders", version=3) == "INVALID_TXN_STATE"
    assert await shop.commit_offset("g", "orders", version=4) == "TRANSACTION_ABORTABLE"
    it.node.controller.set_configs(4, "", {VERIFICATION: "false"})
    for version in (3, 4):
        assert await shop.commit_offset("g", "orders", version=version) == "NONE"
    stranger = shop.but(transactional_id="nobody")
    assert await stranger.commit_offset("g", "orders") == "INVALID_PRODUCER_ID_MAPPING"


@pytest.mark.parametrize("commit", [True, False])
async def test_a_batch_right_behind_an_end_is_not_in_the_transaction_that_ended(
    it: OneNode, commit: bool
) -> None:
    """KIP-890's hole: the epoch stays with EndTxn 4, and Produce 12 adds by itself.

    Kafka 4.1 finds the transaction still open in the log, checks no state, and appends to what was
    committed or aborted already.
    """
    it.topic("orders")
    shop = await producer(it)
    assert await shop.produce("orders") == "NONE"
    _, ended = it.begin(ApiKey.END_TXN, 4, **shop.identity, committed=commit)
    key, version, fields = shop.produce_request("orders", sequence=1)
    _, produced = it.begin(key, version, **fields)
    assert not isinstance(ended, asyncio.Future), "both in one turn"
    assert not isinstance(produced, asyncio.Future), "both in one turn"
    answer = read(key, version, produced)
    assert error(answer["responses"][0]["partition_responses"][0]) == "NONE"
    assert batches(it, "orders") == ["data", "marker", "data"]
    assert await shop.state() == "Ongoing"
    assert await shop.end(commit=not commit) == "NONE"
    assert batches(it, "orders") == ["data", "marker", "data", "marker"]


@pytest.mark.parametrize(
    ("version", "refusal"), [(12, "CONCURRENT_TRANSACTIONS"), (11, "NOT_ENOUGH_REPLICAS")]
)
async def test_nothing_is_added_while_a_marker_is_missing(
    it: OneNode, version: int, refusal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same, where a marker cannot be written for now."""
    it.topic("orders")
    it.topic("stock")
    shop = await producer(it)
    assert await shop.produce("orders") == await shop.produce("stock") == "NONE"
    with broken_markers(monkeypatch, ("stock", 0)):
        assert await shop.end() == "NONE"
    assert await shop.state() == "PrepareCommit"
    assert await shop.produce("orders", sequence=1, version=version) == refusal
    assert await shop.commit_offset("g", "orders") == "CONCURRENT_TRANSACTIONS"
    assert await shop.add({"orders": [0]}) == {"CONCURRENT_TRANSACTIONS"}
    assert await shop.end() == "CONCURRENT_TRANSACTIONS"
    assert await shop.end(commit=False) == "CONCURRENT_TRANSACTIONS"
    await asyncio.sleep(2)
    assert await shop.state() == "CompleteCommit"
    assert await shop.produce("orders", sequence=1) == "NONE"
    assert batches(it, "orders") == ["data", "marker", "data"]


async def test_a_known_topic_without_partitions_is_not_answered(it: OneNode) -> None:
    it.topic("orders")
    it.topic("stock")
    shop = await producer(it)
    part = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    answer = await it.ask(
        ApiKey.TXN_OFFSET_COMMIT,
        5,
        **shop.identity,
        group_id="g",
        topics=[
            {"name": "stock", "partitions": []},
            {"name": "orders", "partitions": [part]},
            {"name": "nowhere", "partitions": []},
        ],
    )
    assert [topic["name"] for topic in answer["topics"]] == ["orders", "nowhere"]


@pytest.mark.parametrize("verify_only", [True, False])
async def test_each_verified_or_wrong_partition_is_answered_once(
    it: OneNode, verify_only: bool
) -> None:
    it.topic("orders")
    shop = await producer(it)
    assert await shop.add({"orders": [0]}) == {"NONE"}

    async def asked(**partitions: list[int]) -> dict[str, list[tuple[int, str]]]:
        topics = [{"name": name, "partitions": each} for name, each in partitions.items()]
        asking = {**shop.identity, "verify_only": verify_only, "topics": topics}
        answer = await it.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 5, transactions=[asking])
        (told,) = answer["results_by_transaction"]
        return {
            topic["name"]: [
                (part["partition_index"], Code(part["partition_error_code"]).name)
                for part in topic["results_by_partition"]
            ]
            for topic in told["topic_results"]
        }

    twice = [(0, "NONE")] if verify_only else [(0, "NONE"), (0, "NONE")]
    assert await asked(orders=[0, 0]) == {"orders": twice}
    assert await asked(orders=[]) == ({} if verify_only else {"orders": []})
    assert await asked(orders=[0, 0], stock=[], cash=[1, 1]) == {
        "orders": [(0, "OPERATION_NOT_ATTEMPTED")],
        "cash": [(1, "UNKNOWN_TOPIC_OR_PARTITION")],
    }


@pytest.mark.real_time
async def test_a_partition_added_by_a_second_verification_is_on_disk_before_the_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a batch waited for the disk, its transaction ended: it belongs to the next one."""
    async with one_node(tmp_path, **SETTINGS, log_flush_interval_messages="1") as it:
        it.topic("orders")
        shop = await producer(it)
        flushed, looks = it.node.flushes.flushed, []
        held: asyncio.Future[Refused | None] = asyncio.get_running_loop().create_future()

        def watched(log: PartitionLog) -> asyncio.Future[Refused | None]:
            looks.append((log.topic, "data" in batches(it, "orders")))
            return held if len(looks) == 1 else flushed(log)

        monkeypatch.setattr(it.node.flushes, "flushed", watched)
        producing = asyncio.ensure_future(shop.produce("orders", version=12))
        await until(lambda: bool(looks))
        assert await shop.end(version=4) == "NONE"
        transaction = it.node.transactions.shard_of("x").machine
        complete = State.COMPLETE_COMMIT
        await until(lambda: transaction.describe("x").state is complete)
        before = len(looks)
        held.set_result(None)
        assert await producing == "NONE"
        assert await shop.state() == "Ongoing"
        assert looks[before:] == [("__transaction_state", False), ("orders", True)]


@pytest.mark.parametrize("version", [11, 12])
@pytest.mark.real_time
async def test_no_batch_is_written_before_it_is_on_disk_that_it_belongs_to_a_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Or a loss of power could leave it without the transaction, and so without a marker."""
    async with one_node(tmp_path, **SETTINGS, log_flush_interval_messages="1") as it:
        it.topic("orders")
        shop = await producer(it)
        flushed, ends = it.node.flushes.flushed, []

        def watched(log: PartitionLog) -> asyncio.Future[Refused | None]:
            ends.append((log.topic, batches(it, "orders")))
            return flushed(log)

        monkeypatch.setattr(it.node.flushes, "flushed", watched)
        if version < 12:
            adding = asyncio.ensure_future(shop.add({"orders": [0]}))
            await asyncio.sleep(0)  # it is decided, and waits for the disk
        assert await shop.produce("orders", version=version) == "NONE"
        assert ("__transaction_state", []) in ends
        assert ends[-1] == ("orders", ["data"])
        assert ("__transaction_state", ["data"]) not in ends
        if version < 12:
            assert await adding == {"NONE"}


@pytest.mark.real_time
async def test_a_transaction_that_began_anew_while_a_batch_waited_is_to_be_on_disk_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its partition was added twice: that the first time is on disk says nothing of the second."""
    async with one_node(tmp_path, **SETTINGS, log_flush_interval_messages="1") as it:
        it.topic("orders")
        shop = await producer(it)
        coordinator = it.node.transactions.shard_of(shop.transactional_id).log
        waiting: list[asyncio.Future[Refused | None]] = []

        def flushed(log: PartitionLog) -> asyncio.Future[Refused | None]:
            waiting.append(asyncio.get_running_loop().create_future())
            return waiting[-1]

        coordinator.on_flush_due = lambda log, up_to: None  # the disk takes its time
        it.log("orders").on_flush_due = None  # and is quick here
        monkeypatch.setattr(it.node.flushes, "flushed", flushed)
        monkeypatch.setattr(it.node.flushes, "when_flushed", lambda log, done: done(None))
        producing = asyncio.ensure_future(shop.produce("orders"))
        await settled()
        (added,) = waiting
        ending = asyncio.ensure_future(shop.end(commit=False, version=4))
        await settled()
        assert await shop.state() == "CompleteAbort"
        assert batches(it, "orders") == ["marker"]
        added.set_result(None)
        await settled()
        assert batches(it, "orders") == ["marker"], "the transaction of now is not on disk"
        for _ in range(4):
            for each in waiting:
                if not each.done():
                    each.set_result(None)
            await settled()
        assert await producing == await ending == "NONE"
        assert batches(it, "orders") == ["marker", "data"]


async def settled() -> None:
    """Until all that can be done is done."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.real_time
async def test_a_paused_produce_verifies_its_transaction_again(tmp_path: Path) -> None:
    """Its transaction may have ended meanwhile: else no marker would ever come to the rest."""
    set_slice_s(0.0)
    limits = WorkLimits(markers_at_once=5 * (MANY + 6))
    async with one_node(tmp_path, limits, **SETTINGS) as it:
        it.topic("wide", MANY + 6)
        shop = await producer(it)
        partitions = [
            {"index": index, "records": bytes(in_transaction(shop.producer_id, 0))}
            for index in range(MANY + 6)
        ]
        _, answered = it.begin(
            ApiKey.PRODUCE, 12, transactional_id="x", acks=-1, timeout_ms=1000,
            topic_data=[{"name": "wide", "partition_data": partitions}],
        )  # fmt: skip
        assert isinstance(answered, asyncio.Future)
        await until(lambda: it.log("wide", 5).log_end_offset > 0)
        assert await shop.end(version=4) == "NONE"
        assert it.log("wide", MANY + 5).log_end_offset == 1, "a marker, and no data yet"
        told = read(ApiKey.PRODUCE, 12, await answered)
        (topic,) = told["responses"]
        assert {part["error_code"] for part in topic["partition_responses"]} == {Code.NONE}
        assert await shop.end(version=4) == "NONE"
        transaction = it.node.transactions.shard_of("x").machine
        await until(lambda: transaction.describe("x").state is State.COMPLETE_COMMIT)
        for index in range(MANY + 6):
            log = it.log("wide", index)
            assert log.last_stable_offset == log.log_end_offset, index
