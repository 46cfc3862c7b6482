"""The handlers of share groups: what the node adds to the coordinator."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.runtime.groups.group_settings import share_setup
from ottla.broker.runtime.share.share_persister import SharePersister
from ottla.broker.runtime.share.share_state_work import ShareStateWork
from ottla.broker.settings.config import BrokerConfig
from ottla.coordinator.share.kind import ShareKind
from ottla.coordinator.share.requests import ShareGroupLimits
from ottla.metadata.catalog import Catalog
from ottla.metadata.records import FeatureLevelRecord
from ottla.protocol.acls import AclResource, Operation
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Refused
from tests.broker.one_node import OneNode, one_node, until
from tests.broker.rights import Rights

SHARES = "shares"
INTERVAL = "share.assignment.interval.ms"
Allowed = set[tuple[Operation, AclResource, str]]


SETTINGS = {
    "offsets_topic_num_partitions": "1",
    "share_coordinator_state_topic_num_partitions": "1",
}


class Unavailable(SharePersister):
    """A share coordinator that cannot be found."""

    def __init__(self) -> None:
        """It has no nodes."""

    async def initialize(self, *_: object, **__: object) -> None:
        raise Refused(Code.COORDINATOR_NOT_AVAILABLE)

    async def delete(self, *_: object) -> None:
        raise Refused(Code.COORDINATOR_NOT_AVAILABLE)


@contextmanager
def unavailable_state(it: OneNode) -> Iterator[None]:
    """Let the node have no share coordinators for a while."""
    held = vars(it.node.cluster)
    usual, held["share_state_work"] = (
        it.node.cluster.share_state_work,
        ShareStateWork(Unavailable()),
    )
    yield
    held["share_state_work"] = usual


async def beat(it: OneNode, epoch: int = 0, *topics: str, **fields: Any) -> Any:
    """A heartbeat of member `m`; a member that joins names its topics."""
    names = list(topics) or (["orders"] if epoch == 0 else None)
    body = {
        "group_id": SHARES,
        "member_id": "m",
        "member_epoch": epoch,
        "subscribed_topic_names": names,
        **fields,
    }
    return await it.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, **body)


async def describe(it: OneNode, *groups: str) -> list[Any]:
    answer = await it.ask(
        ApiKey.SHARE_GROUP_DESCRIBE,
        1,
        group_ids=list(groups) or [SHARES],
        include_authorized_operations=True,
    )
    found: list[Any] = answer["groups"]
    return found


async def offsets(it: OneNode, topic: str | None = "orders", *partitions: int) -> Any:
    """The group of DescribeShareGroupOffsets."""
    topics = [{"topic_name": topic, "partitions": list(partitions) or [0]}] if topic else None
    answer = await it.ask(
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, groups=[{"group_id": SHARES, "topics": topics}]
    )
    return answer["groups"][0]


async def starts(it: OneNode, topic: str | None = "orders", *partitions: int) -> list[Any]:
    """Start offset, lag and error of each partition."""
    group = await offsets(it, topic, *partitions)
    assert group["error_code"] == 0, group
    return [
        (each["start_offset"], each["lag"], each["error_code"])
        for told in group["topics"]
        for each in told["partitions"]
    ]


async def alter(it: OneNode, *places: tuple[str, int, int]) -> Any:
    topics = [
        {"topic_name": name, "partitions": [{"partition_index": index, "start_offset": offset}]}
        for name, index, offset in places
    ]
    return await it.ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, group_id=SHARES, topics=topics)


async def delete_offsets(it: OneNode, *names: str) -> Any:
    topics = [{"topic_name": name} for name in names]
    return await it.ask(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, group_id=SHARES, topics=topics)


async def delete_group(it: OneNode) -> Code:
    answer = await it.ask(ApiKey.DELETE_GROUPS, 2, groups_names=[SHARES])
    return Code(answer["results"][0]["error_code"])


async def prepared(it: OneNode) -> None:
    """The topic, and the coordinators."""
    it.topic("orders", 2)
    for _ in range(3):
        found = await it.ask(ApiKey.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=[SHARES])
        if not found["coordinators"][0]["error_code"]:
            break
        await asyncio.sleep(1)


async def joined(it: OneNode) -> int:
    """Join, until the member has its partitions; its epoch."""
    told = await beat(it)
    for _ in range(5):
        assert told["error_code"] == 0, told
        epoch = int(told["member_epoch"])
        if told["assignment"] and told["assignment"]["topic_partitions"]:
            return epoch
        await asyncio.sleep(1)
        told = await beat(it, epoch)
    raise AssertionError("it gets no partitions")


async def read_up_to(it: OneNode, offset: int, *, complete: int = 0) -> None:
    """Write share state, as the leader of partition 0 does."""
    topic = it.node.catalog.topics["orders"]
    persister = it.node.cluster.share_persister
    await persister.write(
        SHARES,
        topic.topic_id,
        0,
        state_epoch=(await persister.read(SHARES, topic.topic_id, 0, leader_epoch=0)).state_epoch,
        leader_epoch=0,
        start_offset=offset,
        delivery_complete_count=complete,
        batches=[],
    )


async def test_a_member_is_assigned_and_shown(it: OneNode) -> None:
    await prepared(it)
    told = await beat(it)
    assert (told["member_epoch"], told["heartbeat_interval_ms"]) == (2, 5000)
    assert told["assignment"] == {"topic_partitions": []}
    epoch = await joined(it)
    topic_id = it.node.catalog.topics["orders"].topic_id
    (group,) = await describe(it)
    assert (group["group_state"], group["group_epoch"]) == ("Stable", epoch)
    assert (group["assignor_name"], group["authorized_operations"]) == ("simple", 3400)
    (member,) = group["members"]
    assert (member["member_id"], member["subscribed_topic_names"]) == ("m", ["orders"])
    (assigned,) = member["assignment"]["topic_partitions"]
    assert assigned == {"topic_id": topic_id, "topic_name": "orders", "partitions": [0, 1]}
    assert (await beat(it, -1))["member_epoch"] == -1
    assert (await describe(it))[0]["group_state"] == "Empty"


async def test_share_groups_are_refused_in_a_cluster_without_the_feature(it: OneNode) -> None:
    await prepared(it)
    it.node.controller._commit([FeatureLevelRecord("share.version", 0)])
    code = Code.UNSUPPORTED_VERSION
    assert (await beat(it))["error_code"] == code
    assert (await describe(it))[0]["error_code"] == code
    assert (await offsets(it))["error_code"] == code
    assert (await alter(it, ("orders", 0, 1)))["error_code"] == code
    assert (await delete_offsets(it, "orders"))["error_code"] == code


@pytest.mark.parametrize("member_id", ["", "m" * 37])
async def test_a_member_needs_an_id_of_at_most_36_characters(it: OneNode, member_id: str) -> None:
    await prepared(it)
    assert (await beat(it, member_id=member_id))["error_code"] == Code.INVALID_REQUEST
    assert (await beat(it, member_id="m" * 36))["error_code"] == 0


async def test_a_group_is_as_it_was_after_a_restart(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        await prepared(it)
        epoch = await joined(it)
        before = await describe(it)
    async with one_node(tmp_path, **SETTINGS) as it:
        await until(lambda: not it.node.groups.shard_of(SHARES).is_loading)
        assert await describe(it) == before
        told = await beat(it, epoch)
        assert (told["member_epoch"], told["assignment"]) == (epoch, None)


async def test_offsets_and_lag_are_those_of_the_share_state(it: OneNode) -> None:
    await prepared(it)
    assert await starts(it) == [(-1, -1, 0)], "no group has read anything"
    it.append("orders", b"a", b"b", b"c", b"d", b"e")
    await joined(it)
    assert await starts(it, "orders", 0, 1) == [(-1, -1, 0), (-1, -1, 0)]
    await read_up_to(it, 2, complete=1)
    assert await starts(it, "orders", 0, 1) == [(2, 2, 0), (-1, -1, 0)]
    assert await starts(it, None) == [(2, 2, 0), (-1, -1, 0)]
    unknown = Code.UNKNOWN_TOPIC_OR_PARTITION
    assert await starts(it, "orders", 0, 7) == [(2, 2, 0), (-1, -1, unknown)]
    assert await starts(it, "unknown") == [(-1, -1, 0)]


async def test_offsets_are_altered_and_deleted_while_the_group_is_empty(it: OneNode) -> None:
    await prepared(it)
    it.append("orders", b"a", b"b", b"c")
    told = await alter(it, ("orders", 0, 1), ("orders", 9, 1), ("unknown", 0, 1))
    assert [each["partitions"][0]["error_code"] for each in told["responses"]] == [0, 3, 3]
    assert await starts(it) == [(1, 2, 0)]
    assert (await describe(it))[0]["group_state"] == "Empty", "the group comes to exist"
    await joined(it)
    for refused in (await alter(it, ("orders", 0, 2)), await delete_offsets(it, "orders")):
        assert (refused["error_code"], refused["responses"]) == (Code.NON_EMPTY_GROUP, [])
    await beat(it, -1)
    told = await delete_offsets(it, "orders", "unknown")
    assert [(each["topic_name"], each["error_code"]) for each in told["responses"]] == [
        ("orders", 0),
        ("unknown", 3),
    ]
    assert await starts(it) == [(-1, -1, 0)]


async def test_a_group_is_deleted_with_its_share_state(it: OneNode) -> None:
    await prepared(it)
    it.append("orders", b"a", b"b")
    await joined(it)
    await read_up_to(it, 1)
    assert await delete_group(it) is Code.NON_EMPTY_GROUP
    assert await starts(it) == [(1, 1, 0)]
    await beat(it, -1)
    assert await delete_group(it) is Code.NONE
    assert await starts(it) == [(-1, -1, 0)]
    assert (await describe(it))[0]["error_code"] == Code.GROUP_ID_NOT_FOUND
    assert await delete_group(it) is Code.GROUP_ID_NOT_FOUND


async def test_a_group_whose_state_cannot_be_deleted_stays(it: OneNode) -> None:
    await prepared(it)
    await joined(it)
    await beat(it, -1)

    with unavailable_state(it):
        assert await delete_group(it) is Code.COORDINATOR_NOT_AVAILABLE
        told = await delete_offsets(it, "orders")
        assert [each["error_code"] for each in told["responses"]] == [15]
    assert (await describe(it))[0]["error_code"] == 0
    assert await delete_group(it) is Code.NONE


async def test_state_that_cannot_be_initialized_is_tried_again(it: OneNode) -> None:
    await prepared(it)
    with unavailable_state(it):
        await beat(it)
        await asyncio.sleep(1)
        told = await beat(it, 2)
        assert (told["member_epoch"], told["assignment"]) == (2, None)
        altered = await it.ask(
            ApiKey.ALTER_SHARE_GROUP_OFFSETS,
            0,
            group_id="other",
            topics=[
                {"topic_name": "orders", "partitions": [{"partition_index": 0, "start_offset": 0}]}
            ],
        )
        (topic,) = altered["responses"]
        code = Code.COORDINATOR_NOT_AVAILABLE
        assert topic["partitions"][0]["error_code"] == code
    assert await joined(it) > 2


async def test_clients_without_rights_are_refused(tmp_path: Path) -> None:
    allowed: Allowed = set()

    read, see, delete = Operation.READ, Operation.DESCRIBE, Operation.DELETE
    group, topic = AclResource.GROUP, AclResource.TOPIC
    no_group, no_topic = Code.GROUP_AUTHORIZATION_FAILED, Code.TOPIC_AUTHORIZATION_FAILED
    async with one_node(tmp_path, **SETTINGS) as it:
        await prepared(it)
        await joined(it)
        it.node.authorizer = Rights(lambda *asked: asked in allowed)
        assert (await beat(it))["error_code"] == no_group
        allowed.add((read, group, SHARES))
        assert (await beat(it))["error_code"] == no_topic
        assert (await describe(it))[0]["error_code"] == no_group
        assert (await offsets(it))["error_code"] == no_group
        allowed.add((see, group, SHARES))
        assert (await describe(it))[0]["error_code"] == no_topic
        assert await starts(it) == [(-1, -1, no_topic)]
        assert await starts(it, None) == []
        allowed.add((see, topic, "orders"))
        assert (await beat(it))["error_code"] == 0
        assert (await describe(it))[0]["error_code"] == 0
        assert len(await starts(it, None)) == 2
        await beat(it, -1)
        told = await alter(it, ("orders", 0, 1))
        assert told["responses"][0]["partitions"][0]["error_code"] == no_topic
        assert (await delete_offsets(it, "orders"))["error_code"] == no_group
        allowed.add((delete, group, SHARES))
        assert (await delete_offsets(it, "orders"))["responses"][0]["error_code"] == no_topic
        allowed.add((read, topic, "orders"))
        told = await alter(it, ("orders", 0, 1))
        assert told["responses"][0]["partitions"][0]["error_code"] == 0
        assert (await delete_offsets(it, "orders"))["responses"][0]["error_code"] == 0


def test_the_limits_of_a_group_are_its_own_or_else_the_broker_s() -> None:
    config = BrokerConfig.from_settings(
        {"group.share.assignment.interval.ms": "7", "group.share.max.size": "3"}
    )
    setup = share_setup(config, Catalog())
    assert setup.max_size == 3
    assert setup.limits_of(SHARES) == ShareGroupLimits(assignment_interval_ms=7)


async def test_a_group_has_settings_of_its_own(it: OneNode) -> None:
    await prepared(it)
    own = {"name": INTERVAL, "config_operation": 0, "value": "0"}
    beats = {"name": "share.heartbeat.interval.ms", "config_operation": 0, "value": "7000"}
    resource = {"resource_type": 32, "resource_name": SHARES, "configs": [own, beats]}
    answer = await it.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource])
    assert answer["responses"][0]["error_code"] == 0, answer
    told = await beat(it)
    assert told["heartbeat_interval_ms"] == 7000
    await asyncio.sleep(0.1)
    told = await beat(it, told["member_epoch"])
    assert told["assignment"]["topic_partitions"], "the next target was made at once"


async def test_a_deleted_topic_is_taken_from_members_and_from_the_group(it: OneNode) -> None:
    await prepared(it)
    it.topic("stock")
    await beat(it, 0, "orders", "stock")
    epoch = await joined(it)
    answer = await it.ask(ApiKey.DELETE_TOPICS, 5, topic_names=["orders"], timeout_ms=1000)
    assert answer["responses"][0]["error_code"] == 0
    await asyncio.sleep(1)
    told = await beat(it, epoch)
    assert told["assignment"] == {"topic_partitions": []}
    kind = it.node.groups.shard_of(SHARES).machine.kind(ShareKind)
    assert list(kind.initialized_partitions(SHARES)) == [it.node.catalog.topics["stock"].topic_id]
