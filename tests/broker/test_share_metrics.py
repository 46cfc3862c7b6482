"""Metrics of share groups: sessions, records in flight, acknowledgements."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ottla.broker.kafka_metrics import collect_kafka
from ottla.broker.metrics import Metrics
from tests.broker.fakes import in_virtual_time
from tests.broker.handlers.share_delivery import ACCEPT, RELEASE, Member, a_node, with_records
from tests.broker.one_node import OneNode

NAME = "kafka_server_"


async def samples(it: OneNode) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name.removeprefix(NAME), tuple(sample.labels.values())): sample.value
        for family in await collect_kafka([it.node], {})
        for sample in family.samples
    }


@in_virtual_time
async def test_the_requests_of_members_are_counted(tmp_path: Path) -> None:
    async with a_node(tmp_path) as it:
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
