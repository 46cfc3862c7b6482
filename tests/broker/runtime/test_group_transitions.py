"""The events of groups over a whole node: each transition and conversion is emitted once."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from ottla.broker.events import DecisionAppended, DecisionRefused, GroupConverted, GroupTransition
from ottla.metadata.catalog import CONSUMER_OFFSETS, ResourceType
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker import members
from tests.broker.observing import Heard, hear
from tests.broker.one_node import OneNode, one_node

SETTINGS = {
    "group_initial_rebalance_delay_ms": "0",
    "group_coordinator_append_linger_ms": "0",
    "group_consumer_migration_policy": "bidirectional",
    "offsets_topic_num_partitions": "1",
}
AT_ONCE = {"group_consumer_assignment_interval_ms": "0"}
SUBSCRIPTION = struct.pack(">hih", 0, 1, 6) + b"orders" + struct.pack(">i", -1)
NO_PARTITIONS = struct.pack(">hii", 0, 0, -1)


async def prepared(it: OneNode) -> Heard:
    it.topic("orders", 2)
    it.node.controller.create_internal_topic("__consumer_offsets")
    return hear(it)


async def beat(it: OneNode, member_id: str, epoch: int = 0, **fields: Any) -> Any:
    """ConsumerGroupHeartbeat of a member of `readers`; at epoch 0 it joins."""
    answer = await members.beat(it, "readers", member_id, epoch, **fields)
    assert answer["error_code"] == Code.NONE
    return answer


async def join_classic(it: OneNode) -> str:
    """One member joins the classic group `readers` and syncs; returns its id."""
    joined = await it.ask(
        ApiKey.JOIN_GROUP, 3, group_id="readers", protocol_type="consumer",
        session_timeout_ms=30_000, rebalance_timeout_ms=30_000,
        protocols=[{"name": "range", "metadata": SUBSCRIPTION}],
    )  # fmt: skip
    member_id = str(joined["member_id"])
    given = [{"member_id": member_id, "assignment": NO_PARTITIONS}]
    await it.ask(
        ApiKey.SYNC_GROUP, 2,
        group_id="readers", member_id=member_id, generation_id=1, assignments=given,
    )  # fmt: skip
    return member_id


def transitions(heard: Heard) -> list[Any]:
    """Transitions and conversions since the last call, without the node."""
    found = [each[1:] for each in heard.of(GroupTransition, GroupConverted)]
    heard.events.clear()
    return found


CLASSIC_JOINED = [
    ("readers", "classic", "Empty", "PreparingRebalance"),
    ("readers", "classic", "PreparingRebalance", "CompletingRebalance"),
    ("readers", "classic", "CompletingRebalance", "Stable"),
]


async def test_transitions_of_classic_groups_emit_events(it: OneNode) -> None:
    heard = await prepared(it)
    member_id = await join_classic(it)
    kinds = [type(each) for each in heard.of(DecisionAppended, GroupTransition)]
    assert kinds[-2:] == [DecisionAppended, GroupTransition]
    assert transitions(heard) == CLASSIC_JOINED
    await it.ask(ApiKey.LEAVE_GROUP, 2, group_id="readers", member_id=member_id)
    assert transitions(heard) == [
        ("readers", "classic", "Stable", "PreparingRebalance"),
        ("readers", "classic", "PreparingRebalance", "Empty"),
    ]
    await it.ask(ApiKey.DELETE_GROUPS, 1, groups_names=["readers"])
    assert transitions(heard) == [("readers", "classic", "Empty", "Dead")]


async def test_transitions_of_consumer_groups_emit_events(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS, **AT_ONCE) as it:
        heard = await prepared(it)
        first = await beat(it, "a")
        assert transitions(heard) == [("readers", "consumer", "Empty", "Stable")]
        await beat(it, "b")
        assert transitions(heard) == [("readers", "consumer", "Stable", "Reconciling")]
        assigned = first["assignment"]["topic_partitions"]
        owned = [{"topic_id": assigned[0]["topic_id"], "partitions": [0]}]
        await beat(it, "a", 2)  # learns that it must give up a partition
        await beat(it, "a", 2, topic_partitions=owned, rebalance_timeout_ms=60_000,
                   subscribed_topic_names=["orders"])  # fmt: skip
        assert transitions(heard) == []
        await beat(it, "b", 3)
        assert transitions(heard) == [("readers", "consumer", "Reconciling", "Stable")]
        await beat(it, "a", -1)
        assert transitions(heard) == [("readers", "consumer", "Stable", "Assigning")]
        await beat(it, "b", -1)
        assert transitions(heard) == [("readers", "consumer", "Assigning", "Empty")]
        await it.ask(ApiKey.DELETE_GROUPS, 1, groups_names=["readers"])
        assert transitions(heard) == [("readers", "consumer", "Empty", "Dead")]


async def test_the_expiry_of_a_session_emits_the_transition(it: OneNode) -> None:
    heard = await prepared(it)
    await beat(it, "a")
    assert transitions(heard) == [("readers", "consumer", "Empty", "Stable")]
    await it.clock.sleep_ms(46_000)
    (decision,) = heard.of(DecisionAppended)
    assert decision.by_timer
    assert transitions(heard) == [("readers", "consumer", "Stable", "Empty")]


async def test_conversions_of_groups_emit_events(it: OneNode) -> None:
    heard = await prepared(it)
    await join_classic(it)
    assert transitions(heard) == CLASSIC_JOINED
    await beat(it, "new")
    assert transitions(heard) == [("readers", "classic", "consumer", "Stable", "Reconciling")]
    await beat(it, "new", -1)
    assert transitions(heard) == [
        ("readers", "consumer", "classic", "Reconciling", "Stable"),
        ("readers", "classic", "Stable", "PreparingRebalance"),
    ]


async def test_an_empty_group_that_gives_way_to_the_other_type_is_converted(it: OneNode) -> None:
    heard = await prepared(it)
    await beat(it, "a")
    await beat(it, "a", -1)
    transitions(heard)
    await join_classic(it)
    converted, *entered = transitions(heard)
    assert converted[:3] == ("readers", "consumer", "classic")
    assert entered == CLASSIC_JOINED


async def test_a_decision_that_the_log_refuses_emits_a_refusal_and_no_transition(
    it: OneNode,
) -> None:
    heard = await prepared(it)
    await beat(it, "a")
    transitions(heard)
    configs = {"max.message.bytes": "1"}
    it.node.controller.set_configs(ResourceType.TOPIC, CONSUMER_OFFSETS, configs)
    answer = await it.ask(ApiKey.DELETE_GROUPS, 1, groups_names=["unknown"])
    assert answer["results"][0]["error_code"] == Code.GROUP_ID_NOT_FOUND
    heard.events.clear()
    await it.clock.sleep_ms(46_000)
    refused = heard.of(DecisionRefused)
    assert refused
    assert {each.code for each in refused} == {Code.MESSAGE_TOO_LARGE}
    assert transitions(heard) == []
    shard = it.node.groups.shard_at(0)
    assert shard._group_transitions is not None
    assert shard._group_transitions._before is None
