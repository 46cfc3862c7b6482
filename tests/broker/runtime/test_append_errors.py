"""Each client's error when the log of its coordinator refuses a decision.

Read from Kafka's CoordinatorOperationExceptionHelper, GroupMetadataManager and
TransactionStateManager; the answers to batches that are too large are those of Apache Kafka 4.1.1,
whose `max.message.bytes` of the two internal topics had been made small.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ottla.metadata.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog
from tests.broker.members import beat
from tests.broker.one_node import OneNode
from tests.broker.transacting import Producer, producer

SETTINGS = {
    "offsets_topic_num_partitions": "1",
    "transaction_state_log_num_partitions": "1",
    "group_initial_rebalance_delay_ms": "0",
    "group_coordinator_append_linger_ms": "0",
}
# The error of the log          what clients of groups see     and those of transactions
TABLE = """
  UNKNOWN_TOPIC_OR_PARTITION    COORDINATOR_NOT_AVAILABLE      COORDINATOR_NOT_AVAILABLE
  NOT_ENOUGH_REPLICAS           COORDINATOR_NOT_AVAILABLE      COORDINATOR_NOT_AVAILABLE
  NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_ENOUGH_REPLICAS_AFTER_APPEND COORDINATOR_NOT_AVAILABLE
  REQUEST_TIMED_OUT             COORDINATOR_NOT_AVAILABLE      COORDINATOR_NOT_AVAILABLE
  NOT_LEADER_OR_FOLLOWER        NOT_COORDINATOR                NOT_COORDINATOR
  KAFKA_STORAGE_ERROR           NOT_COORDINATOR                NOT_COORDINATOR
  MESSAGE_TOO_LARGE             UNKNOWN_SERVER_ERROR           UNKNOWN_SERVER_ERROR
  RECORD_LIST_TOO_LARGE         UNKNOWN_SERVER_ERROR           UNKNOWN_SERVER_ERROR
  INVALID_FETCH_SIZE            UNKNOWN_SERVER_ERROR           UNKNOWN_SERVER_ERROR
  INVALID_PRODUCER_EPOCH        INVALID_PRODUCER_EPOCH         UNKNOWN_SERVER_ERROR
  UNKNOWN_SERVER_ERROR          UNKNOWN_SERVER_ERROR           UNKNOWN_SERVER_ERROR
"""
ROWS = [tuple(Code[name] for name in line.split()) for line in TABLE.strip().splitlines()]

Codes = set[Code]


class Scene:
    """A node with groups and a transaction, whose next requests are to write something."""

    def __init__(self, it: OneNode, shop: Producer, member_ids: dict[str, str]) -> None:
        self.it = it
        self.shop = shop
        self.member_ids = member_ids

    async def ask(self, key: ApiKey, version: int, **fields: Any) -> Any:
        return await self.it.ask(key, version, **fields)


@contextmanager
def refusing(code: Code) -> Iterator[None]:
    """The logs of the coordinators refuse what they are given."""
    right = PartitionLog.append_checked

    def append(self: PartitionLog, *arguments: Any, **named: Any) -> Any:
        if self.topic in (CONSUMER_OFFSETS, TRANSACTION_STATE):
            raise Refused(code, "as the test wants it")
        return right(self, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartitionLog, "append_checked", append)
        yield


async def join(
    it: OneNode, group_id: str, member_id: str = "", instance: str | None = None
) -> dict[str, Any]:
    answer = await it.ask(
        ApiKey.JOIN_GROUP, 9, group_id=group_id, member_id=member_id, group_instance_id=instance,
        protocol_type="test", protocols=[{"name": "range", "metadata": b""}],
        session_timeout_ms=30_000, rebalance_timeout_ms=30_000,
    )  # fmt: skip
    return dict(answer)


async def sync(it: OneNode, group_id: str, member_id: str, *assigned: str, **of: Any) -> Code:
    answer = await it.ask(
        ApiKey.SYNC_GROUP, 5, group_id=group_id, generation_id=1, member_id=member_id,
        protocol_type="test", protocol_name="range",
        assignments=[{"member_id": each, "assignment": b"part"} for each in assigned], **of,
    )  # fmt: skip
    return Code(answer["error_code"])


async def joined(it: OneNode, group_id: str, instance: str | None = None) -> str:
    """The id of the only member of a group, which has a generation and is to sync."""
    it.node.controller.create_internal_topic(CONSUMER_OFFSETS)
    told = await join(it, group_id, instance=instance)
    if told["error_code"] == Code.MEMBER_ID_REQUIRED:
        told = await join(it, group_id, told["member_id"])
    assert told["error_code"] == Code.NONE
    return str(told["member_id"])


async def state(it: OneNode, group_id: str) -> str:
    answer = await it.ask(ApiKey.DESCRIBE_GROUPS, 5, groups=[group_id])
    return str(answer["groups"][0]["group_state"])


async def scene(it: OneNode) -> Scene:
    it.topic("orders", 2)
    shop = await producer(it, "shop")
    assert await shop.add({"orders": [0]}) == {"NONE"}
    committed = await _commit_offset(Scene(it, shop, {}))
    assert committed == {Code.NONE}
    ids = {name: await joined(it, name) for name in ("syncing", "leaving")}
    ids["static"] = await joined(it, "static", "instance")
    for name in ("leaving", "static"):
        instance = "instance" if name == "static" else None
        assert await sync(it, name, ids[name], ids[name], group_instance_id=instance) == Code.NONE
    told = await beat(it, "modern", "m")
    assert told["error_code"] == Code.NONE
    return Scene(it, shop, ids)


async def _commit_offset(at: Scene) -> Codes:
    topics = [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 5}]}]
    answer = await at.ask(ApiKey.OFFSET_COMMIT, 8, group_id="books", topics=topics)
    return {Code(part["error_code"]) for part in answer["topics"][0]["partitions"]}


async def _delete_offset(at: Scene) -> Codes:
    topics = [{"name": "orders", "partitions": [{"partition_index": 0}]}]
    answer = await at.ask(ApiKey.OFFSET_DELETE, 0, group_id="books", topics=topics)
    assert answer["topics"] == []
    return {Code(answer["error_code"])}


async def _delete_groups(at: Scene) -> Codes:
    answer = await at.ask(ApiKey.DELETE_GROUPS, 2, groups_names=["books", "nobody's"])
    return {Code(result["error_code"]) for result in answer["results"]}


async def _join_without_id(at: Scene) -> Codes:
    return {Code((await join(at.it, "new"))["error_code"])}


async def _join_in_place(at: Scene) -> Codes:
    return {Code((await join(at.it, "static", instance="instance"))["error_code"])}


async def _sync(at: Scene) -> Codes:
    member_id = at.member_ids["syncing"]
    return {await sync(at.it, "syncing", member_id, member_id)}


async def _leave(at: Scene) -> Codes:
    members = [{"member_id": at.member_ids["leaving"]}]
    answer = await at.ask(ApiKey.LEAVE_GROUP, 4, group_id="leaving", members=members)
    assert answer["members"] == []
    return {Code(answer["error_code"])}


async def _heartbeat(at: Scene) -> Codes:
    told = await beat(at.it, "modern", "m", rebalance_timeout_ms=70_000)
    return {Code(told["error_code"])}


async def _init(at: Scene) -> Codes:
    answer = await at.ask(
        ApiKey.INIT_PRODUCER_ID, 5, transactional_id="new", transaction_timeout_ms=60_000,
    )  # fmt: skip
    return {Code(answer["error_code"])}


async def _add(at: Scene) -> Codes:
    return {Code[name] for name in await at.shop.add({"orders": [0, 1]})}


async def _add_offsets(at: Scene) -> Codes:
    return {Code[await at.shop.add_offsets("books")]}


async def _commit_in_transaction(at: Scene) -> Codes:
    return {Code[await at.shop.commit_offset("books", "orders")]}


async def _end(at: Scene) -> Codes:
    return {Code[await at.shop.end()]}


OF_GROUPS: dict[str, Callable[[Scene], Awaitable[Codes]]] = {
    "OffsetCommit": _commit_offset,
    "OffsetDelete": _delete_offset,
    "DeleteGroups": _delete_groups,
    "JoinGroup of a new group": _join_without_id,
    "JoinGroup of a static member": _join_in_place,
    "SyncGroup": _sync,
    "LeaveGroup": _leave,
    "ConsumerGroupHeartbeat": _heartbeat,
}
OF_TRANSACTIONS: dict[str, Callable[[Scene], Awaitable[Codes]]] = {
    "InitProducerId": _init,
    "AddPartitionsToTxn": _add,
    "AddOffsetsToTxn": _add_offsets,
    "TxnOffsetCommit 5": _commit_in_transaction,
    "EndTxn": _end,
}


@pytest.mark.parametrize(("of_log", "of_groups", "of_transactions"), ROWS)
async def test_a_client_gets_the_error_of_the_table(
    it: OneNode, of_log: Code, of_groups: Code, of_transactions: Code
) -> None:
    at = await scene(it)
    with refusing(of_log):
        told = {name: await ask(at) for name, ask in OF_GROUPS.items()}
        assert told == {name: {of_groups} for name in OF_GROUPS}
        told = {name: await ask(at) for name, ask in OF_TRANSACTIONS.items()}
        assert told == {name: {of_transactions} for name in OF_TRANSACTIONS}


async def test_all_members_waiting_for_an_assignment_get_the_error_of_the_log(it: OneNode) -> None:
    first = await joined(it, "two")
    told = await join(it, "two")
    second = told["member_id"]
    joining = asyncio.ensure_future(join(it, "two", second))
    await asyncio.sleep(0)
    leader = (await join(it, "two", first))["leader"]
    assert (await joining)["generation_id"] == 2
    follower = ({first, second} - {leader}).pop()

    async def synced(member_id: str, *assigned: str) -> Code:
        answer = await it.ask(
            ApiKey.SYNC_GROUP, 5, group_id="two", generation_id=2, member_id=member_id,
            protocol_type="test", protocol_name="range",
            assignments=[{"member_id": each, "assignment": b"part"} for each in assigned],
        )  # fmt: skip
        return Code(answer["error_code"])

    waiting = asyncio.ensure_future(synced(follower))
    await asyncio.sleep(0)
    with refusing(Code.MESSAGE_TOO_LARGE):
        assert await synced(leader, first, second) is Code.UNKNOWN_SERVER_ERROR
        assert await waiting is Code.UNKNOWN_SERVER_ERROR
    assert await state(it, "two") == "PreparingRebalance"


async def test_a_static_member_stays_when_the_log_refuses_its_replacement(it: OneNode) -> None:
    old = await joined(it, "static", "instance")
    assert await sync(it, "static", old, old, group_instance_id="instance") == Code.NONE
    with refusing(Code.MESSAGE_TOO_LARGE):
        told = await join(it, "static", instance="instance")
    assert told["error_code"] == Code.UNKNOWN_SERVER_ERROR
    assert (told["member_id"], told["generation_id"], told["leader"]) == ("", 1, old)
    assert told["protocol_name"] == "range"
    beat = await it.ask(
        ApiKey.HEARTBEAT, 4, group_id="static", generation_id=1, member_id=old,
        group_instance_id="instance",
    )  # fmt: skip
    assert beat["error_code"] == Code.NONE, "it is not fenced"
    await asyncio.sleep(29)
    assert await state(it, "static") == "Stable", "and has its session"
    await asyncio.sleep(2)
    assert await state(it, "static") == "Empty"


async def test_a_group_without_members_becomes_empty_once_the_log_accepts_it(it: OneNode) -> None:
    member_id = await joined(it, "leaving")
    assert await sync(it, "leaving", member_id, member_id) == Code.NONE
    with refusing(Code.NOT_ENOUGH_REPLICAS):
        await it.ask(ApiKey.LEAVE_GROUP, 4, group_id="leaving", members=[{"member_id": member_id}])
        await asyncio.sleep(60)
    await asyncio.sleep(2)
    assert await state(it, "leaving") == "Empty"
