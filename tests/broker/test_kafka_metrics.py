"""Metrics under Kafka's names: requests, connections, partitions, groups and their lag."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ottla.broker.kafka_metrics import collect_kafka
from ottla.broker.metrics import Metrics, collect
from ottla.broker.requests.dispatch import Dispatch
from ottla.broker.requests.measured_dispatch import measure_requests
from ottla.broker.scheduling import turns
from ottla.broker.scheduling.holds import Holds
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Malformed
from tests.broker.one_node import OneNode, one_node
from tests.broker.several_nodes import several_nodes
from tests.project_files import ROOT
from tests.storage.logs import batch


class Counts(NamedTuple):
    """The counts of a node's sockets."""

    connection_count: int
    accepted_count: int


TOPICS = "kafka_server_brokertopicmetrics_"
SOCKETS = {1: Counts(2, 5)}
Samples = dict[tuple[str, tuple[str, ...]], float]


async def samples(*nodes: Any) -> Samples:
    """The values by name and labels."""
    found = {}
    for family in await collect_kafka(nodes, SOCKETS):
        for sample in family.samples:
            found[sample.name, tuple(sample.labels.values())] = sample.value
    return found


def measured(it: OneNode) -> OneNode:
    Metrics([it.node])
    it._dispatch = Dispatch(it.node, [partial(measure_requests, Holds(it.clock.monotonic_s))])
    return it


async def test_requests_are_counted_with_their_bytes_and_durations(it: OneNode) -> None:
    measured(it).topic("orders")
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100}
    topics = [{"topic": "orders", "partitions": [part]}]
    fetch: dict[str, Any] = {"max_wait_ms": 300, "min_bytes": 1, "topics": topics}
    for _ in range(2):
        await it.ask(ApiKey.FETCH, 11, **fetch)
    await it.ask(ApiKey.LIST_GROUPS, 4)
    size_bytes = len(it.frame(ApiKey.FETCH, 11, **fetch))
    found = await samples(it.node)
    name = "kafka_network_requestmetrics"
    assert found[f"{name}_requests_total", ("1", "Fetch", "11")] == 2
    assert found[f"{name}_requests_total", ("1", "ListGroups", "4")] == 1
    assert found["ottla_request_bytes_total", ("1", "Fetch")] == 2 * size_bytes
    assert found["ottla_response_bytes_total", ("1", "Fetch")] > 40
    assert found[f"{name}_totaltimems_count", ("1", "Fetch")] == 2
    assert found[f"{name}_totaltimems_sum", ("1", "Fetch")] == pytest.approx(600, abs=10)
    buckets = {labels[2]: value for (each, labels), value in found.items() if "bucket" in each
               and labels[:2] == ("1", "Fetch")}  # fmt: skip
    assert (buckets["250"], buckets["500"], buckets["+Inf"]) == (0, 2, 2)


async def test_topics_are_counted_under_kafkas_names(it: OneNode) -> None:
    measured(it).topic("orders")
    records = batch(b"a", b"b")
    data = {"index": 0, "records": records}
    for topic in ("orders", "orders", "missing"):
        topics: list[dict[str, Any]] = [{"name": topic, "partition_data": [data]}]
        await it.ask(ApiKey.PRODUCE, 9, acks=1, timeout_ms=1000, topic_data=topics)
    parts = [{"partition": at, "fetch_offset": 0, "partition_max_bytes": 999} for at in (0, 7)]
    topics = [{"topic": "orders", "partitions": parts}]
    await it.ask(ApiKey.FETCH, 11, max_wait_ms=0, min_bytes=0, max_bytes=1000, topics=topics)
    found = await samples(it.node)
    it.node.controller.delete_topic("orders")
    later = await samples(it.node)
    counted = {
        (labels[1], name.removeprefix(TOPICS).removesuffix("_total")): value
        for (name, labels), value in found.items()
        if name.startswith(TOPICS)
    }
    size_bytes = len(records)
    both = {
        "messagesin": 4, "bytesin": 2 * size_bytes, "bytesout": 2 * size_bytes,
        "bytesrejected": 0, "totalproducerequests": 2, "failedproducerequests": 0,
        "totalfetchrequests": 2, "failedfetchrequests": 1,
    }  # fmt: skip
    assert {name: counted["orders", name] for name in both} == both
    every = {**both, "totalproducerequests": 3, "failedproducerequests": 1}
    assert {name: counted["", name] for name in every} == every
    assert {topic for topic, _ in counted} == {"", "orders"}
    assert (f"{TOPICS}messagesin_total", ("1", "orders")) not in later
    assert later[f"{TOPICS}messagesin_total", ("1", "")] == 4


async def test_a_request_that_is_not_served_is_not_counted(it: OneNode) -> None:
    measured(it)
    for _ in range(100):
        with pytest.raises(Malformed):
            await it.answer_to(b"\x7f\xff" + bytes(12))
    assert it.node.request_metrics is not None
    assert not it.node.request_metrics.requests
    assert not it.node.request_metrics.received_bytes


async def test_without_the_page_no_request_is_counted(it: OneNode) -> None:
    it._dispatch = Dispatch(it.node, [partial(measure_requests, Holds(it.clock.monotonic_s))])
    await it.ask(ApiKey.LIST_GROUPS, 4)
    assert it.node.request_metrics is None


async def test_logs_groups_and_their_lag_are_read_at_the_scrape(tmp_path: Path) -> None:
    async with one_node(tmp_path, offsets_topic_num_partitions="2") as it:
        it.topic("orders", 2)
        it.append("orders", b"a", b"b", b"c")
        it.log("orders").roll(0)
        it.append("orders", b"d")
        it.node.controller.create_internal_topic("__consumer_offsets")
        part = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
        await it.ask(
            ApiKey.OFFSET_COMMIT, 7, group_id="readers", generation_id_or_member_epoch=-1,
            member_id="", topics=[{"name": "orders", "partitions": [part]}],
        )  # fmt: skip
        joined = await it.ask(
            ApiKey.SHARE_GROUP_HEARTBEAT, 1, group_id="queue", member_id="m", member_epoch=0,
            rack_id=None, subscribed_topic_names=["orders"],
        )  # fmt: skip
        assert joined["error_code"] == 0
        found = await samples(it.node)
        orders = ("orders", "0")
        assert found["kafka_log_log_logendoffset", orders] == 4
        assert found["kafka_log_log_logstartoffset", orders] == 0
        assert found["kafka_log_log_numlogsegments", orders] == 2
        assert found["kafka_log_log_size", orders] == it.log("orders").size_bytes
        assert found["kafka_consumergroup_current_offset", ("readers", *orders)] == 1
        assert found["kafka_consumergroup_lag", ("readers", *orders)] == 3
        name = "kafka_server_group_coordinator_metrics"
        assert found[f"{name}_group_count", ("1", "classic")] == 1
        assert found[f"{name}_group_count", ("1", "consumer")] == 0
        assert found[f"{name}_consumer_group_count", ("1", "stable")] == 0
        assert found[f"{name}_group_count", ("1", "share")] == 1
        assert found[f"{name}_share_group_count", ("1", "stable")] == 1
        name = "kafka_server_socket_server_metrics_connection"
        assert found[f"{name}_count", ("1",)] == 2
        assert found[f"{name}_creation_total", ("1",)] == 5


@pytest.mark.real_time(debug=True)
async def test_partitions_are_counted_by_leader_and_by_state(tmp_path: Path) -> None:
    async with several_nodes(tmp_path, 2) as it:
        it.topic("orders", 1, 2, 1, replicas=2)
        it.topic("alone", 2)
        await it.stop(2)
        found = await samples(*it.nodes.values())
    name = "kafka_server_replicamanager"
    assert found[f"{name}_leadercount", ("1",)] == 3
    assert found[f"{name}_leadercount", ("2",)] == 0
    assert found[f"{name}_partitioncount", ("2",)] == 4
    assert found[f"{name}_underreplicatedpartitions", ("1",)] == 3
    name = "kafka_controller_kafkacontroller"
    assert found[f"{name}_activebrokercount", ()] == 1
    assert found[f"{name}_fencedbrokercount", ()] == 1
    assert found[f"{name}_globaltopiccount", ()] == 2
    assert found[f"{name}_globalpartitioncount", ()] == 4
    assert found[f"{name}_offlinepartitionscount", ()] == 1


@pytest.mark.real_time
async def test_other_work_runs_while_many_logs_are_read(it: OneNode) -> None:
    it.topic("many", 40)
    for partition in range(40):
        it.log("many", partition)
    passed = 0

    async def other_work() -> None:
        nonlocal passed
        while True:
            await asyncio.sleep(0)
            passed += 1

    other = asyncio.ensure_future(other_work())
    line = turns._line_of(asyncio.get_running_loop())
    line.slice_s, line.now_s = 0.0, it.clock.monotonic_s
    await asyncio.sleep(0)
    found = await samples(it.node)
    other.cancel()
    assert sum(name == "kafka_log_log_size" for name, _ in found) >= 40
    assert passed >= 40


async def test_the_document_names_every_metric_and_no_other(it: OneNode) -> None:
    it.node.cluster.holds = Holds(it.clock.monotonic_s)
    measured(it).topic("orders")
    it.append("orders", b"a")
    await it.ask(ApiKey.LIST_GROUPS, 4)
    families = [*collect([it.node]), *await collect_kafka([it.node], SOCKETS)]
    found = {
        (family.name + ("_total" if family.type == "counter" else ""), family.type)
        for family in families
    }
    text = (ROOT / "docs/reference/metrics.md").read_text()
    assert found == set(re.findall(r"^\| `(\w+)` \| (\w+) \|", text, re.MULTILINE))
