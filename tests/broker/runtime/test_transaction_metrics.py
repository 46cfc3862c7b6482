"""Metrics of transactions, and the page that shows them."""

from __future__ import annotations

import asyncio
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.metrics import Metrics, collect
from ottla.broker.runtime.metrics.transaction_metrics import BUCKETS_S
from ottla.broker.scheduling.holds import Histogram
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog
from tests.broker.one_node import OneNode, one_node
from tests.broker.transacting import Producer, error, producer

PARTITIONS = {"orders": [0, 1]}
DOCS = Path(__file__).resolve().parents[3] / "docs/reference/metrics.md"


async def counting(it: OneNode) -> None:
    """The node counts from now on, and has the topics that it needs."""
    Metrics([it.node])
    it.topic("orders", 2)
    await it.ask(ApiKey.FIND_COORDINATOR, 6, key_type=1, coordinator_keys=["shop"])


def value(it: OneNode, name: str, **labels: str) -> float | None:
    """One sample; None when there is none."""
    for family in collect([it.node]):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    return None


async def begun(it: OneNode, timeout_ms: int = 60_000) -> Producer:
    """A new producer of `shop` with an open transaction on `orders`."""
    shop = await producer(it, "shop", timeout_ms)
    assert await shop.add(PARTITIONS) == {"NONE"}
    return shop


async def test_ends_are_counted_by_their_cause(it: OneNode) -> None:
    await counting(it)
    shop = await producer(it, "shop")
    for commit in (True, True, True, False):
        await shop.add(PARTITIONS)
        assert await shop.end(commit=commit) == "NONE"
    assert value(it, "ottla_transaction_commits_total") == 3
    assert value(it, "ottla_transaction_aborts_total", cause="client") == 1
    assert value(it, "ottla_transaction_success_ratio") == 0.75
    assert value(it, "ottla_transaction_phase_seconds_count", phase="open") == 4
    assert value(it, "ottla_transaction_phase_seconds_count", phase="ending") == 4


async def test_a_new_producer_and_a_timeout_fence(it: OneNode) -> None:
    await counting(it)
    old = await begun(it)
    fields = {"transactional_id": "shop", "transaction_timeout_ms": 60_000}
    told = await it.ask(ApiKey.INIT_PRODUCER_ID, 4, **fields)
    assert error(told) == "CONCURRENT_TRANSACTIONS"
    assert value(it, "ottla_transaction_fencings_total", cause="new_producer") == 1
    assert value(it, "ottla_transaction_aborts_total", cause="new_producer") == 1
    assert await old.end() != "NONE"
    assert value(it, "ottla_transaction_fencings_total", cause="producer_fenced") == 1
    await begun(it, timeout_ms=1000)
    await asyncio.sleep(60)
    assert value(it, "ottla_transaction_aborts_total", cause="timeout") == 1
    assert value(it, "ottla_transaction_fencings_total", cause="timeout") == 1


async def test_open_transactions_and_the_offsets_they_hold_back_are_shown(it: OneNode) -> None:
    await counting(it)
    assert value(it, "ottla_transactions_ongoing") == 0
    shop = await begun(it)
    it.append("orders", b"a", b"b", base_sequence=0, transactional=True, **shop.header)
    await asyncio.sleep(3)
    assert value(it, "ottla_transactions_ongoing") == 1
    assert value(it, "ottla_transaction_oldest_open_seconds") == 3
    assert value(it, "ottla_partition_last_stable_offset_lag", topic="orders") == 2
    await shop.end()
    assert value(it, "ottla_transactions_ongoing") == 0
    assert value(it, "ottla_transactions_pending") == 0
    assert value(it, "ottla_partition_last_stable_offset_lag", topic="orders") is None


async def test_a_scrape_looks_at_no_transactional_id_that_is_at_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def walked(*_: Any, **__: Any) -> Any:
        raise AssertionError("all transactional ids are walked")

    async with one_node(tmp_path) as it:
        await counting(it)
        await begun(it)
        monkeypatch.setattr(Transactions, "listed", walked)
        monkeypatch.setattr(Transactions, "unfinished", walked)
        assert value(it, "ottla_transactions_ongoing") == 1
        assert value(it, "ottla_transactions_pending") == 0


async def test_a_coordinator_whose_timers_fail_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, topic = "ottla_coordinator_timers_failing", "__transaction_state"
    async with one_node(tmp_path, transaction_state_log_num_partitions="1") as it:
        await counting(it)
        await begun(it)
        assert value(it, name, topic=topic) == 0
        right = PartitionLog.append_checked

        def append(self: PartitionLog, *arguments: Any, **named: Any) -> Any:
            if self.topic == topic:
                raise Refused(Code.NOT_ENOUGH_REPLICAS)
            return right(self, *arguments, **named)

        with monkeypatch.context() as patch:
            patch.setattr(PartitionLog, "append_checked", append)
            await asyncio.sleep(120)
            assert value(it, name, topic=topic) == 1
        await asyncio.sleep(120)
        assert value(it, name, topic=topic) == 0
        assert value(it, "ottla_transaction_aborts_total", cause="timeout") == 1


def test_a_duration_is_in_the_first_bucket_that_holds_it() -> None:
    histogram = Histogram(BUCKETS_S)
    for took_s in (0.0, BUCKETS_S[0], BUCKETS_S[0] * 1.01, BUCKETS_S[-1] * 2):
        histogram.observe(took_s)
    assert (histogram.counts[0], histogram.counts[1], histogram.counts[-1]) == (2, 1, 1)


async def test_the_docs_name_every_metric(it: OneNode) -> None:
    await counting(it)
    named = DOCS.read_text()
    for family in collect([it.node]):
        name = family.name + ("_total" if family.type == "counter" else "")
        assert f"`{name}` | {family.type} |" in named, name


@pytest.mark.real_time
async def test_the_page_is_served_while_the_broker_runs(it: OneNode) -> None:
    page = Metrics([it.node])
    port = page.open("127.0.0.1", 0)
    try:
        with pytest.raises(OSError, match="for metrics"):
            Metrics([it.node]).open("127.0.0.1", port)
        shown = await asyncio.to_thread(_read, f"http://127.0.0.1:{port}/metrics")
    finally:
        await asyncio.to_thread(page.close)
    assert 'ottla_transactions_ongoing{node="1"} 0.0' in shown


def _read(address: str) -> str:
    with urllib.request.urlopen(address, timeout=10) as answer:
        return str(answer.read().decode())
