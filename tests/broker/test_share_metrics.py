"""Metrics of share groups: sessions, records in flight, acknowledgements."""

from __future__ import annotations

import asyncio

from ottla.broker.kafka_metrics import collect_kafka
from ottla.broker.metrics import Metrics
from tests.broker.handlers.share_delivery import (
    ACCEPT,
    RELEASE,
    Member,
    set_byte_rate,
    with_records,
)
from tests.broker.handlers.share_delivery import SETTINGS as SETTINGS
from tests.broker.one_node import OneNode

NAME = "kafka_server_"


async def samples(it: OneNode) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name.removeprefix(NAME), tuple(sample.labels.values())): sample.value
        for family in await collect_kafka([it.node], {})
        for sample in family.samples
    }


def of(found: dict[tuple[str, tuple[str, ...]], float], name: str) -> list[float]:
    """The values of a metric, whatever its labels are."""
    return [value for (each, _), value in found.items() if each == name]


async def test_the_requests_of_members_are_counted(it: OneNode) -> None:
    Metrics([it.node])
    assert not any("share" in name and labels[:1] == ("1",) and value
                   for (name, labels), value in (await samples(it)).items())  # fmt: skip
    member = Member(it, await with_records(it, count=6))
    await member.get(max_records=5, batch_size=2)
    await member.acknowledge((0, 1, ACCEPT), (2, 2, RELEASE))
    await member.acknowledge((9, 9, ACCEPT))
    await asyncio.sleep(31)  # of virtual time: the locks of two records end
    found = await samples(it)
    sessions, groups = "sharesessioncache_sharesessions", "sharegroupmetrics_record"
    topics, partition = "brokertopicmetrics", ("shop", "orders", "0")
    assert found[f"{sessions}count", ("1",)] == 1
    assert found["sharesessioncache_sharepartitionscount", ("1",)] == 1
    assert found[f"{groups}acknowledgements_total", ("1", "accept")] == 2
    assert found[f"{groups}acknowledgements_total", ("1", "release")] == 1
    assert found["sharepartitionmetrics_acquisitionlocktimeout_total", ("1",)] == 2
    assert found["sharepartitionmetrics_inflightmessagecount", partition] == 3
    assert found["sharepartitionmetrics_inflightbatchcount", partition] == 2
    assert found[f"{topics}_totalsharefetchrequests_total", ("1", "orders")] == 1
    assert found[f"{topics}_failedsharefetchrequests_total", ("1", "orders")] == 0
    assert found[f"{topics}_totalshareacknowledgementrequests_total", ("1", "orders")] == 2
    assert found[f"{topics}_failedshareacknowledgementrequests_total", ("1", "orders")] == 1
    assert found["share_coordinator_metrics_num_partitions", ("1", "active")] == 1
    assert found["share_coordinator_metrics_write_total", ()] == 3


async def test_a_fetch_that_finds_nothing_in_its_time_is_counted(it: OneNode) -> None:
    member = Member(it, await with_records(it, count=0))
    await member.fetch(max_wait_ms=100)
    found = await samples(it)
    assert found["delayedsharefetchmetrics_expires_total", ("1",)] == 1


async def test_the_use_of_a_quota_and_the_wait_of_its_client_are_shown(it: OneNode) -> None:
    member = Member(it, await with_records(it, count=0))
    it.append("orders", bytes(1000))
    await set_byte_rate(it, 2000.0)
    assert len(await member.get()) == 1
    (rate,) = of(await samples(it), "fetch_byte_rate")
    await set_byte_rate(it, 10.0)
    answer = await member.fetch()
    found = await samples(it)
    assert 100 < rate < 2000
    assert of(found, "ottla_throttled_seconds") == [answer["throttle_time_ms"] / 1000]
