"""Large decisions are prepared in slices: other requests may change their state meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.scheduling.turns import set_slice_s
from ottla.metadata.acls import Acl
from ottla.metadata.catalog import CONSUMER_OFFSETS
from ottla.protocol.acls import AclResource, Operation, PatternType, Permission
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.one_node import OneNode, one_node, read

pytestmark = pytest.mark.real_time

MANY = 600
SETTINGS = {
    "offsets_topic_num_partitions": "1",
    "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super_users": "User:ANONYMOUS",
}


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[OneNode]:
    set_slice_s(0.0)
    async with one_node(tmp_path, **SETTINGS) as made:
        yield made


async def answer(
    one: OneNode, key: ApiKey, version: int, meanwhile: Callable[[], None], **fields: Any
) -> Any:
    """The answer to a request; `meanwhile` is called once, in a pause of it."""
    _, answered = one.begin(key, version, **fields)
    assert isinstance(answered, asyncio.Future)
    for _ in range(MANY // 2):
        await asyncio.sleep(0)
    assert not answered.done()
    meanwhile()
    return read(key, version, await answered)


def topic(name: str, partitions: int = MANY) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": 1}


async def test_of_two_topics_of_one_name_the_first_in_the_log_is_created(one: OneNode) -> None:
    answered = await answer(
        one, ApiKey.CREATE_TOPICS, 7, lambda: one.topic("orders", partitions=2),
        topics=[topic("orders"), topic("others")], timeout_ms=1,
    )  # fmt: skip
    codes = {each["name"]: each["error_code"] for each in answered["topics"]}
    assert codes == {"orders": Code.TOPIC_ALREADY_EXISTS, "others": Code.NONE}
    found = {name: len(each.partitions) for name, each in one.node.catalog.topics.items()}
    assert found == {"orders": 2, "others": MANY}


async def test_partitions_are_added_to_those_that_another_request_adds(one: OneNode) -> None:
    one.topic("orders", partitions=1)
    answered = await answer(
        one, ApiKey.CREATE_PARTITIONS, 3,
        lambda: one.node.controller.create_partitions("orders", 5),
        topics=[{"name": "orders", "count": MANY, "assignments": None}], timeout_ms=1,
        validate_only=False,
    )  # fmt: skip
    assert answered["results"][0]["error_code"] == Code.NONE
    partitions = one.node.catalog.topics["orders"].partitions
    assert [each.index for each in partitions] == list(range(MANY))


async def test_partitions_are_not_added_to_a_topic_that_is_deleted_meanwhile(one: OneNode) -> None:
    one.topic("orders", partitions=1)
    answered = await answer(
        one, ApiKey.CREATE_PARTITIONS, 3, lambda: _drop(one, "orders"),
        topics=[{"name": "orders", "count": MANY, "assignments": None}], timeout_ms=1,
        validate_only=False,
    )  # fmt: skip
    assert answered["results"][0]["error_code"] == Code.UNKNOWN_TOPIC_OR_PARTITION


def _drop(one: OneNode, name: str) -> None:
    one.node.controller.delete_topic(name)


async def test_an_entry_that_another_request_creates_meanwhile_is_created_once(
    one: OneNode,
) -> None:
    acls = one.node.catalog.acls

    def meanwhile() -> None:
        entry = Acl(
            AclResource.TOPIC, "t7", PatternType.LITERAL, "User:bob", "*", Operation.READ,
            Permission.ALLOW,
        )  # fmt: skip
        one.node.controller.change(acls.create([entry], one.node.controller._new_id)[1])

    entries = [
        {
            "resource_type": AclResource.TOPIC, "resource_name": f"t{number}",
            "resource_pattern_type": PatternType.LITERAL, "principal": "User:bob", "host": "*",
            "operation": Operation.READ, "permission_type": Permission.ALLOW,
        }
        for number in range(MANY)
    ]  # fmt: skip
    answered = await answer(one, ApiKey.CREATE_ACLS, 3, meanwhile, creations=entries)
    assert {each["error_code"] for each in answered["results"]} == {Code.NONE}
    assert len(acls.by_id) == MANY
    assert len(set(acls.by_id.values())) == MANY


@pytest.mark.parametrize("key", [ApiKey.OFFSET_DELETE, ApiKey.DELETE_GROUPS])
async def test_offsets_that_are_committed_meanwhile_are_deleted_too(
    one: OneNode, key: ApiKey
) -> None:
    one.topic("orders", partitions=MANY)
    one.node.controller.create_internal_topic(CONSUMER_OFFSETS)
    await commit(one, range(1, MANY))
    committed: list[asyncio.Future[Any]] = []

    def meanwhile() -> None:
        committed.append(asyncio.ensure_future(commit(one, [0])))

    offsets = [{"partition_index": index} for index in range(MANY)]
    if key is ApiKey.OFFSET_DELETE:
        fields: dict[str, Any] = {
            "group_id": "g", "topics": [{"name": "orders", "partitions": offsets}]
        }  # fmt: skip
    else:
        fields = {"groups_names": ["g"]}
    await answer(one, key, 0, meanwhile, **fields)
    await committed[0]
    shard = one.node.groups.shard_of("g")
    assert shard.machine.committed_partitions("g") == {}


async def commit(one: OneNode, partitions: Any) -> None:
    _, answered = one.begin(
        ApiKey.OFFSET_COMMIT, 8, group_id="g", generation_id_or_member_epoch=-1, member_id="",
        topics=[{"name": "orders", "partitions": [
            {"partition_index": index, "committed_offset": 1} for index in partitions]}],
    )  # fmt: skip
    told = read(ApiKey.OFFSET_COMMIT, 8, await answered if asyncio.isfuture(answered) else answered)
    codes = {each["error_code"] for each in told["topics"][0]["partitions"]}
    assert codes == {Code.NONE}
