"""The log has one line for each thing that an operator asks about."""

from __future__ import annotations

import asyncio
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from ottla.broker import log_output
from ottla.broker.runtime.controller.leader_log import MOST_NAMED
from ottla.broker.runtime.shards.state_log import LINES
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.testing import Ottla
from tests.broker import members
from tests.broker.one_node import OneNode, one_node
from tests.broker.several_nodes import several_nodes
from tests.broker.transacting import producer
from tests.log_lines import Line, LogLines

SETTINGS = {
    "group_initial_rebalance_delay_ms": "0",
    "group_coordinator_append_linger_ms": "0",
    "offsets_topic_num_partitions": "1",
}
SUBSCRIPTION = struct.pack(">hih", 0, 1, 6) + b"orders" + struct.pack(">i", -1)
REMOVED = "a member is removed from its group"
TIMED_OUT = "a transaction is aborted after its timeout, and its producer is fenced"
TAKEN_OVER = "a new producer fences the earlier one of its transactional id"


async def join(it: OneNode, member_id: str = "", instance_id: str | None = None) -> Any:
    return await it.ask(
        ApiKey.JOIN_GROUP, 5,
        group_id="readers", protocol_type="consumer", member_id=member_id,
        group_instance_id=instance_id, session_timeout_ms=10_000, rebalance_timeout_ms=10_000,
        protocols=[{"name": "range", "metadata": SUBSCRIPTION}],
    )  # fmt: skip


async def joined(it: OneNode, instance_id: str | None = None) -> str:
    """A member that has joined and synced alone; its id."""
    it.node.controller.create_internal_topic("__consumer_offsets")
    first = await join(it, instance_id=instance_id)
    member_id = str(first["member_id"])
    if first["error_code"] == Code.MEMBER_ID_REQUIRED:
        first = await join(it, member_id)
    await it.ask(
        ApiKey.SYNC_GROUP, 3,
        group_id="readers", member_id=member_id, generation_id=first["generation_id"],
        group_instance_id=instance_id,
        assignments=[{"member_id": member_id, "assignment": b""}],
    )  # fmt: skip
    return member_id


async def heartbeat(it: OneNode, member_id: str, instance_id: str | None = None) -> Code:
    answer = await it.ask(
        ApiKey.HEARTBEAT, 3, group_id="readers", generation_id=1, member_id=member_id,
        group_instance_id=instance_id,
    )  # fmt: skip
    return Code(answer["error_code"])


async def beat(it: OneNode, member_id: str, epoch: int, group_id: str = "readers") -> Any:
    it.node.controller.create_internal_topic("__consumer_offsets")
    return await members.beat(it, group_id, member_id, epoch)


def events_of(lines: list[Line]) -> list[str]:
    return [event for _, event, _ in lines]


async def test_a_classic_group_logs_its_rebalances_and_a_session_timeout(
    it: OneNode, log_lines: LogLines
) -> None:
    log = log_lines.of("groups")
    member_id = await joined(it)
    assert events_of(log.lines) == ["the group rebalances", "the group is stable"]
    assert log.lines[1] == (
        "info", "the group is stable",
        {
            "group": "readers", "group_type": "classic", "generation": 1, "members": 1,
            "state_before": "CompletingRebalance",
        },
    )  # fmt: skip
    await asyncio.sleep(11)
    assert events_of(log.lines[2:]) == ["the group rebalances", "the group has no members", REMOVED]
    _, _, fields = log.lines[4]
    assert (fields["group"], fields["member"]) == ("readers", member_id)
    assert fields["reason"] == "no heartbeat for its session timeout, 10000 ms"


async def test_a_member_that_does_not_rejoin_is_logged(tmp_path: Path, log_lines: LogLines) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        first = await joined(it)
        second = asyncio.ensure_future(joined(it))
        for _ in range(9):
            await asyncio.sleep(2)
            await heartbeat(it, first)
        await second
    ((_, _, fields),) = [line for line in log_lines.of("groups").lines if line[1] == REMOVED]
    assert fields["member"] == first
    assert fields["reason"] == "it has not joined the rebalance in time"


async def test_a_static_member_that_is_replaced_is_logged_and_fenced(
    it: OneNode, log_lines: LogLines
) -> None:
    log = log_lines.of("groups")
    first = await joined(it, "worker-1")
    await join(it, instance_id="worker-1")
    before = len(log.lines)
    assert await heartbeat(it, first, "worker-1") == Code.FENCED_INSTANCE_ID
    removed = [fields for _, event, fields in log.lines if event == REMOVED]
    assert [each["member"] for each in removed] == [first]
    assert removed[0]["reason"] == "a new member has its group.instance.id, worker-1"
    level, event, fields = log.lines[before]
    assert (level, event) == ("info", "a request of a fenced member is refused")
    assert (fields["group"], fields["member"]) == ("readers", first)
    assert (fields["error"], fields["api"]) == ("FENCED_INSTANCE_ID", "HEARTBEAT")


async def test_a_consumer_group_logs_its_rebalances_timeouts_and_fencings(
    it: OneNode, log_lines: LogLines
) -> None:
    log = log_lines.of("groups")
    it.topic("orders", 2)
    await beat(it, "a", 0)
    assert log.lines == [
        (
            "info", "the group rebalances",
            {
                "group": "readers", "group_type": "consumer", "group_epoch": 2,
                "members_before": 0,
            },
        )
    ]  # fmt: skip
    assert (await beat(it, "a", 7))["error_code"] == Code.FENCED_MEMBER_EPOCH
    _, event, fields = log.lines[1]
    assert event == "a request of a fenced member is refused"
    assert (fields["group"], fields["member"]) == ("readers", "a")
    await asyncio.sleep(46)
    assert events_of(log.lines[2:]) == [REMOVED, "the group rebalances"]
    assert log.lines[2][2]["member"] == "a"
    assert log.lines[2][2]["reason"] == "no heartbeat for its session timeout"


async def test_a_group_that_rebalances_without_end_has_a_limited_number_of_lines(
    it: OneNode, log_lines: LogLines
) -> None:
    it.topic("orders")
    for number in range(3 * LINES):
        await beat(it, f"member-{number}", 0)
    events = events_of(log_lines.of("groups").lines)
    assert events == ["the group rebalances"] * LINES
    await beat(it, "other", 0, group_id="others")
    assert log_lines.of("groups").lines[-1][2]["group"] == "others"
    it.node.cluster.state_log.close()
    _, event, fields = log_lines.of("connection").lines[-1]
    assert (event, fields) == (
        "similar lines were omitted",
        {"group": "readers", "about": "the group rebalances", "count": 2 * LINES},
    )


async def test_a_restart_logs_no_transitions(tmp_path: Path, log_lines: LogLines) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        member_id = await joined(it)
    before = len(log_lines.of("groups").lines)
    async with one_node(tmp_path, **SETTINGS) as it:
        assert await heartbeat(it, member_id) == Code.NONE
    assert log_lines.of("groups").lines[before:] == []


async def test_a_transaction_past_its_timeout_is_logged(
    tmp_path: Path, log_lines: LogLines
) -> None:
    log = log_lines.of("transactions")
    async with one_node(tmp_path) as it:
        it.topic("orders", 2)
        shop = await producer(it, "shop", timeout_ms=5000)
        assert await shop.add({"orders": [0, 1]}) == {"NONE"}
        await asyncio.sleep(30)
    ((level, event, fields),) = log.lines
    assert (level, event) == ("info", TIMED_OUT)
    assert (fields["transactional_id"], fields["timeout_ms"]) == ("shop", 5000)
    assert (fields["producer_id"], fields["partitions"]) == (shop.producer_id, 2)
    assert 5000 <= fields["open_ms"] <= 20_000


async def test_a_new_producer_and_the_requests_of_the_fenced_one_are_logged(
    tmp_path: Path, log_lines: LogLines
) -> None:
    async with one_node(tmp_path) as it:
        it.topic("orders")
        old = await producer(it, "shop")
        assert log_lines.of("transactions").lines == [], "the first producer fences no other"
        new = await producer(it, "shop")
        assert new.epoch == old.epoch + 1
        ((level, event, fields),) = log_lines.of("transactions").lines
        assert (level, event) == ("info", TAKEN_OVER)
        assert (fields["transactional_id"], fields["now"]) == ("shop", "its producer epoch is 1")
        await new.add({"orders": [0]})
        assert await new.produce("orders") == "NONE"
        assert await old.add({"orders": [0]}) == {"PRODUCER_FENCED"}
        assert await old.end() == "PRODUCER_FENCED"
        assert await old.produce("orders") != "NONE"
    lines = log_lines.of("producers").lines
    assert events_of(lines) == ["a request of a fenced producer is refused"] * 3
    apis = [fields["api"] for _, _, fields in lines]
    assert apis == ["ADD_PARTITIONS_TO_TXN", "END_TXN", "PRODUCE"]
    assert [fields.get("transactional_id") for _, _, fields in lines[:2]] == ["shop", "shop"]
    assert (lines[2][2]["topic"], lines[2][2]["partition"]) == ("orders", 0)


async def test_a_new_producer_that_aborts_an_open_transaction_is_logged(
    tmp_path: Path, log_lines: LogLines
) -> None:
    async with one_node(tmp_path) as it:
        it.topic("orders")
        shop = await producer(it, "shop")
        await shop.add({"orders": [0]})
        answer = await it.ask(
            ApiKey.INIT_PRODUCER_ID, 4, transactional_id="shop", transaction_timeout_ms=1000
        )
        assert answer["error_code"] == Code.CONCURRENT_TRANSACTIONS
    ((_, event, fields),) = log_lines.of("transactions").lines
    assert (event, fields["now"]) == (TAKEN_OVER, "its open transaction is aborted")


@pytest.mark.real_time(debug=True)
async def test_the_stop_of_a_node_and_new_leaders_are_logged(
    tmp_path: Path, log_lines: LogLines
) -> None:
    async with several_nodes(tmp_path, 2) as it:
        it.topic("orders", 1, 2, 1, 2, replicas=2)
        before = len(log_lines.of("leaders", "nodes", "controller").lines)
        await it.stop(2)
        await it.start(2)
    lines = log_lines.of("leaders", "nodes", "controller").lines[before:]
    assert [(level, event) for level, event, _ in lines] == [
        ("info", "a node stops; others take over its partitions"),
        ("info", "a broker is fenced"),
        ("info", "partitions have a new leader"),
        ("info", "a node runs again"),
    ]
    assert lines[0][2] == lines[3][2] == {"node": 2}
    assert lines[1][2]["broker"] == 2
    assert lines[2][2] == {"count": 2, "leaders": "orders-1: 2 -> 1, orders-3: 2 -> 1"}


@pytest.mark.real_time(debug=True)
async def test_many_new_leaders_make_one_line_and_the_rest_at_debug(
    tmp_path: Path, log_lines: LogLines
) -> None:
    async with several_nodes(tmp_path, 2) as it:
        it.topic("orders", *[2] * (MOST_NAMED + 5))
        it.topic("spread", *[2] * 5, replicas=2)
        await it.stop(2)
    first, *rest = log_lines.of("leaders").lines
    assert first[2]["count"] == MOST_NAMED + 10
    assert first[2]["leaders"].endswith(" and 10 more")
    assert "orders-0: 2 -> none" in first[2]["leaders"]
    assert {level for level, _, _ in rest} == {"debug"}
    assert rest[-1][2] == {"leader": "spread-4: 2 -> 1"}


@pytest.mark.real_time(debug=True)
async def test_the_line_about_leaders_costs_nothing_if_nothing_is_logged(
    tmp_path: Path, log_lines: LogLines
) -> None:
    log_output.set_level("state.change.logger", "WARN")
    async with several_nodes(tmp_path, 2) as it:
        it.topic("spread", 2, replicas=2)
        await it.stop(2)
        assert it.partition("spread").leader_id == 1
    assert log_lines.of("leaders").lines == []


@pytest.mark.parametrize("level", ["", "warn"])
def test_the_stop_of_the_broker_is_logged(level: str) -> None:
    with Ottla(log_level=level) as broker:
        broker.stop()
        _ready, *lines = broker.log_since(0).splitlines()
    events = [json.loads(line)["event"] for line in lines]
    assert events == ([] if level else ["the broker stops", "the broker has stopped"])
