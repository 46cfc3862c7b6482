"""The state of share groups by requests: answers that Apache Kafka 4.4.0 gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ottla.coordinator.java_order import ids_one_by_one, partitions_one_by_one
from ottla.metadata.catalog import SHARE_GROUP_STATE
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.one_node import OneNode, one_node

SETTINGS = {"share_coordinator_state_topic_num_partitions": "1"}
INITIALIZE = ApiKey.INITIALIZE_SHARE_GROUP_STATE
READ = ApiKey.READ_SHARE_GROUP_STATE
WRITE = ApiKey.WRITE_SHARE_GROUP_STATE
DELETE = ApiKey.DELETE_SHARE_GROUP_STATE
SUMMARIZE = ApiKey.READ_SHARE_GROUP_STATE_SUMMARY
HIGHEST = {WRITE: 1, SUMMARIZE: 1}
OK = {"partition": 0, "error_code": Code.NONE, "error_message": None}
WRONG_STATE = "The coordinator rejected the request because the state epoch did not match."
WRONG_LEADER = "The leader epoch in the request is older than the epoch on the broker."
NOT_HOSTED = "This server does not host this topic-partition."
BATCH = {"first_offset": 12, "last_offset": 14, "delivery_state": 2, "delivery_count": 1}


def refused(code: Code, why: str, **fields: Any) -> dict[str, Any]:
    return {"partition": 0, "error_code": code, "error_message": why, **fields}


class Talk:
    """Requests about the partition 0 of the topic `orders` in the group `shop`."""

    def __init__(self, it: OneNode) -> None:
        self._it = it
        it.node.controller.create_internal_topic(SHARE_GROUP_STATE)
        self.topic_id: UUID = it.topic("orders").topic_id

    async def ask(self, key: ApiKey, version: int | None = None, **fields: Any) -> dict[str, Any]:
        results = await self.results(key, {"partition": 0, **fields}, version=version)
        (answer,) = results[0]["partitions"]
        return dict(answer)

    async def results(
        self,
        key: ApiKey,
        *partitions: dict[str, Any],
        version: int | None = None,
        group_id: str = "shop",
    ) -> Any:
        topics = [{"topic_id": self.topic_id, "partitions": list(partitions)}]
        version = HIGHEST.get(key, 0) if version is None else version
        return (await self._it.ask(key, version, group_id=group_id, topics=topics))["results"]

    async def initialize(self, state_epoch: int, start_offset: int) -> dict[str, Any]:
        return await self.ask(INITIALIZE, state_epoch=state_epoch, start_offset=start_offset)

    async def read(self, leader_epoch: int) -> dict[str, Any]:
        return await self.ask(READ, leader_epoch=leader_epoch)

    async def write(self, **fields: Any) -> dict[str, Any]:
        usual = {"state_epoch": 1, "leader_epoch": 5, "start_offset": 10, "state_batches": []}
        return await self.ask(WRITE, **{**usual, "delivery_complete_count": 0, **fields})


@pytest.fixture
def talk(it: OneNode) -> Talk:
    return Talk(it)


async def test_older_epochs_are_fenced(talk: Talk) -> None:
    assert await talk.initialize(1, 10) == OK
    assert await talk.write() == OK
    assert await talk.write(leader_epoch=4) == OK  # a read alone raises the epoch
    fenced = refused(Code.FENCED_STATE_EPOCH, WRONG_STATE)
    assert await talk.write(state_epoch=0) == fenced
    assert await talk.write(state_epoch=2) == OK
    state = {"state_epoch": 1, "start_offset": 10, "state_batches": []}
    assert await talk.read(3) == OK | state
    assert await talk.read(8) == OK | state
    assert await talk.write(leader_epoch=7) == refused(Code.FENCED_LEADER_EPOCH, WRONG_LEADER)
    assert await talk.initialize(0, 3) == fenced
    assert await talk.initialize(3, 3) == OK
    assert await talk.read(8) == OK | state | {"state_epoch": 3, "start_offset": 3}
    nothing = {"state_epoch": 0, "start_offset": 0, "state_batches": []}
    older = refused(Code.FENCED_LEADER_EPOCH, WRONG_LEADER)
    assert await talk.read(7) == older | nothing


async def test_batches_and_counts_are_kept(talk: Talk) -> None:
    await talk.initialize(1, 10)
    assert await talk.write(delivery_complete_count=3, state_batches=[BATCH]) == OK
    assert (await talk.read(5))["state_batches"] == [BATCH]
    told = {"state_epoch": 1, "leader_epoch": 5, "start_offset": 10}
    summary = await talk.ask(SUMMARIZE, leader_epoch=0)
    assert summary == OK | told | {"delivery_complete_count": 3}
    assert await talk.ask(SUMMARIZE, version=0, leader_epoch=0) == OK | told


async def test_many_batches_are_merged_before_the_decision(tmp_path: Path) -> None:
    async with one_node(tmp_path, message_max_bytes="40000", **SETTINGS) as it:
        talk = Talk(it)
        await talk.initialize(1, 10)
        many = [{**BATCH, "first_offset": each, "last_offset": each} for each in range(10, 1010)]
        assert await talk.write(state_batches=[*many, *many]) == OK
        whole = {**BATCH, "first_offset": 10, "last_offset": 1009}
        assert (await talk.read(5))["state_batches"] == [whole]
        why = "A state batch ends before it begins."
        empty = {**BATCH, "first_offset": 12, "last_offset": 11}
        refusal = refused(Code.INVALID_REQUEST, why)
        assert await talk.write(state_batches=[*many, empty]) == refusal
        apart = [
            {**BATCH, "first_offset": 2 * each, "last_offset": 2 * each} for each in range(3000)
        ]
        why = "The server experienced an unexpected error when processing the request."
        refusal = refused(Code.UNKNOWN_SERVER_ERROR, f"Unable to write share group state: {why}")
        assert await talk.write(state_batches=apart) == refusal


async def test_a_write_of_version_0_has_no_count(talk: Talk) -> None:
    await talk.initialize(1, 10)
    write = {"state_epoch": 1, "leader_epoch": 5, "start_offset": 11, "state_batches": []}
    assert await talk.ask(WRITE, version=0, **write) == OK
    summary = await talk.ask(SUMMARIZE, leader_epoch=0)
    assert (summary["start_offset"], summary["delivery_complete_count"]) == (11, -1)


async def test_a_partition_without_a_state(it: OneNode, talk: Talk) -> None:
    why = "{} operation on uninitialized share partition not allowed."
    read = refused(Code.INVALID_REQUEST, why.format("Read"))
    assert await talk.read(0) == read | {
        "state_epoch": 0, "start_offset": 0, "state_batches": []
    }  # fmt: skip
    assert await talk.write() == refused(Code.INVALID_REQUEST, why.format("Write"))
    assert await talk.ask(DELETE) == OK
    nothing = {"state_epoch": 0, "leader_epoch": 0, "start_offset": -1}
    summary = await talk.ask(SUMMARIZE, leader_epoch=0)
    assert summary == OK | nothing | {"delivery_complete_count": -1}
    assert it.log(SHARE_GROUP_STATE).log_end_offset == 0


async def test_a_partition_that_the_topic_has_not(talk: Talk) -> None:
    missing = {**refused(Code.UNKNOWN_TOPIC_OR_PARTITION, NOT_HOSTED), "partition": 1}
    epochs = {"state_epoch": 1, "start_offset": 0}
    (result,) = await talk.results(INITIALIZE, {"partition": 1, **epochs})
    assert result["partitions"] == [missing]
    (result,) = await talk.results(DELETE, {"partition": 1})
    assert result["partitions"] == [missing]
    (result,) = await talk.results(DELETE, {"partition": -1})
    assert result["partitions"] == [
        {
            "partition": -1,
            "error_code": Code.INVALID_REQUEST,
            "error_message": "The partition id cannot be a negative number.",
        }
    ]


async def test_a_negative_epoch_is_refused(talk: Talk) -> None:
    why = "The {} epoch cannot be a negative number."
    leader = refused(Code.INVALID_REQUEST, why.format("leader"))
    state = refused(Code.INVALID_REQUEST, why.format("state"))
    assert await talk.initialize(-1, 0) == state
    assert await talk.write(leader_epoch=-1) == leader
    assert await talk.write(state_epoch=-1) == state
    assert await talk.read(-1) == leader | {
        "state_epoch": 0, "start_offset": 0, "state_batches": []
    }  # fmt: skip


async def test_a_request_without_a_group_or_partitions_has_no_results(it: OneNode) -> None:
    talk = Talk(it)
    for key in (INITIALIZE, READ, WRITE, DELETE, SUMMARIZE):
        assert await talk.results(key) == []
    assert await talk.results(DELETE, {"partition": 0}, group_id="") == []


async def test_results_come_in_the_order_of_a_hash_map(talk: Talk) -> None:
    asked = [{"partition": each} for each in (40, 3, 2, 17, 3)]
    (result,) = await talk.results(DELETE, *asked)
    assert [each["partition"] for each in result["partitions"]] == [17, 2, 3, 40]


async def test_another_node_or_no_topic_is_not_the_coordinator(it: OneNode) -> None:
    topic_id = it.topic("orders").topic_id
    topics = [{"topic_id": topic_id, "partitions": [{"partition": 0}]}]
    answer = await it.ask(DELETE, 0, group_id="shop", topics=topics)
    why = "Unable to delete share group state: This is not the correct coordinator."
    assert answer["results"][0]["partitions"] == [refused(Code.NOT_COORDINATOR, why)]


def test_hash_maps_that_are_filled_one_by_one() -> None:
    assert partitions_one_by_one([65_536, 2, 1]) == [65_536, 1, 2]
    assert partitions_one_by_one([1 << 20, 16, 0]) == [1 << 20, 16, 0]
    ids = [UUID(int=2), UUID(int=17), UUID(int=1)]
    assert ids_one_by_one(ids) == [UUID(int=17), UUID(int=1), UUID(int=2)]


async def found(it: OneNode, key: str, version: int = 6) -> Code:
    answer = await it.ask(ApiKey.FIND_COORDINATOR, version, key_type=2, coordinator_keys=[key])
    return Code(answer["coordinators"][0]["error_code"])


async def test_the_coordinator_of_a_share_partition_is_found(tmp_path: Path) -> None:
    async with one_node(tmp_path) as it:
        topic_id = "AZDS8Yp7fD2eT1prfI2eDw"
        assert await found(it, f"shop:{topic_id}:0", version=5) is Code.INVALID_REQUEST
        for key in (
            "shop",
            "shop:0",
            f":{topic_id}:0",
            f"shop:{topic_id}:x",
            "shop:AZ:0",
            f"shop:!{topic_id}:0",
        ):
            assert await found(it, key) is Code.INVALID_REQUEST
        assert SHARE_GROUP_STATE not in it.node.catalog.topics
        for key in (f"shop:{topic_id}:0", f"a:b:{topic_id}==:+1"):
            assert await found(it, key) is Code.NONE
        assert len(it.node.catalog.topics[SHARE_GROUP_STATE].partitions) == 50
