"""The states of share groups: kept by their coordinators, in the log, over restarts and moves."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from ottla.broker.runtime.share_persister import SharePersister
from ottla.coordinator.share_state.states import StateBatch
from ottla.metadata.catalog import SHARE_GROUP_STATE
from ottla.protocol.errors import Code, Refused
from tests.broker.fakes import in_virtual_time
from tests.broker.one_node import OneNode, one_node

ONE = {"share_coordinator_state_topic_num_partitions": "1"}
DONE = StateBatch(12, 14, 2, 1)


def persister(it: OneNode) -> SharePersister:
    return it.node.cluster.share_persister


async def write(it: OneNode, topic_id: UUID, *batches: StateBatch, start_offset: int = 10) -> None:
    await persister(it).write(
        "shop", topic_id, 0,
        state_epoch=1, leader_epoch=0, start_offset=start_offset, delivery_complete_count=2,
        batches=batches,
    )  # fmt: skip


async def initialized(it: OneNode) -> UUID:
    topic_id: UUID = it.topic("orders").topic_id
    await persister(it).initialize("shop", topic_id, 0, state_epoch=1, start_offset=10)
    return topic_id


async def code_of(it: OneNode, topic_id: UUID) -> Code:
    with pytest.raises(Refused) as refused:
        await persister(it).read("shop", topic_id, 0, leader_epoch=0)
    return refused.value.code


@in_virtual_time
async def test_the_first_use_makes_the_topic(tmp_path: Path) -> None:
    async with one_node(tmp_path) as it:
        assert SHARE_GROUP_STATE not in it.node.catalog.topics
        await initialized(it)
        assert len(it.node.catalog.topics[SHARE_GROUP_STATE].partitions) == 50


@in_virtual_time
async def test_a_restart_keeps_a_state(tmp_path: Path) -> None:
    async with one_node(tmp_path, **ONE) as it:
        topic_id = await initialized(it)
        await write(it, topic_id, DONE)
    async with one_node(tmp_path, **ONE) as it:
        state = await persister(it).read("shop", topic_id, 0, leader_epoch=3)
        assert (state.state_epoch, state.start_offset) == (1, 10)
        assert (state.delivery_complete_count, state.batches) == (2, (DONE,))
        summary = await persister(it).summarize("shop", topic_id, 0)
        assert summary == (1, 3, 10, 2)


@in_virtual_time
async def test_a_write_without_a_state_and_of_a_missing_topic_is_refused(tmp_path: Path) -> None:
    async with one_node(tmp_path, **ONE) as it:
        topic_id = it.topic("orders").topic_id
        assert await code_of(it, topic_id) is Code.INVALID_REQUEST
        with pytest.raises(Refused) as refused:
            await persister(it).summarize("shop", UUID(int=7), 0)
        assert refused.value.code is Code.UNKNOWN_TOPIC_OR_PARTITION


@in_virtual_time
async def test_a_deleted_state_is_gone_after_a_restart_too(tmp_path: Path) -> None:
    async with one_node(tmp_path, **ONE) as it:
        topic_id = await initialized(it)
        await persister(it).delete("shop", topic_id, 0)
        await persister(it).delete("shop", topic_id, 0)
        assert await code_of(it, topic_id) is Code.INVALID_REQUEST
        assert it.log(SHARE_GROUP_STATE).log_end_offset == 2
    async with one_node(tmp_path, **ONE) as it:
        assert await code_of(it, topic_id) is Code.INVALID_REQUEST


@in_virtual_time
async def test_the_states_of_a_deleted_topic_are_forgotten(tmp_path: Path) -> None:
    async with one_node(tmp_path, **ONE) as it:
        topic_id = await initialized(it)
        it.node.controller.delete_topic("orders")
        assert it.node.share_states.shard_at(0).ask(len) == 0
        assert await code_of(it, topic_id) is Code.INVALID_REQUEST
