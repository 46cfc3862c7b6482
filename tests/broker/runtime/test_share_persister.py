"""The states of share groups: kept by their coordinators, in the log, over restarts and moves."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from shutil import copytree
from uuid import UUID

import pytest

from ottla.broker.runtime.share.share_persister import SharePersister
from ottla.broker.runtime.work_limits import WORK_LIMITS, WorkLimits
from ottla.broker.scheduling.turns import set_slice_s
from ottla.coordinator.share_state.states import SharePartition, StateBatch
from ottla.metadata.catalog import SHARE_GROUP_STATE
from ottla.protocol.errors import Code, Refused
from tests.broker.one_node import OneNode, one_node, until
from tests.broker.refusing_files import RefusingFiles
from tests.broker.several_nodes import several_nodes

SETTINGS = {"share_coordinator_state_topic_num_partitions": "1"}
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


async def test_the_first_use_makes_the_topic(tmp_path: Path) -> None:
    async with one_node(tmp_path) as it:
        assert SHARE_GROUP_STATE not in it.node.catalog.topics
        await initialized(it)
        assert len(it.node.catalog.topics[SHARE_GROUP_STATE].partitions) == 50


async def test_a_restart_keeps_a_state(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        topic_id = await initialized(it)
        await write(it, topic_id, DONE)
    async with one_node(tmp_path, **SETTINGS) as it:
        state = await persister(it).read("shop", topic_id, 0, leader_epoch=3)
        assert (state.state_epoch, state.start_offset) == (1, 10)
        assert (state.delivery_complete_count, state.batches) == (2, (DONE,))
        summary = await persister(it).summarize("shop", topic_id, 0)
        assert summary == (1, 3, 10, 2)


async def test_a_write_without_a_state_and_of_a_missing_topic_is_refused(it: OneNode) -> None:
    topic_id = it.topic("orders").topic_id
    assert await code_of(it, topic_id) is Code.INVALID_REQUEST
    with pytest.raises(Refused) as refused:
        await persister(it).summarize("shop", UUID(int=7), 0)
    assert refused.value.code is Code.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_deleted_state_is_gone_after_a_restart_too(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        topic_id = await initialized(it)
        await persister(it).delete("shop", topic_id, 0)
        await persister(it).delete("shop", topic_id, 0)
        assert await code_of(it, topic_id) is Code.INVALID_REQUEST
        assert it.log(SHARE_GROUP_STATE).log_end_offset == 2
    async with one_node(tmp_path, **SETTINGS) as it:
        assert await code_of(it, topic_id) is Code.INVALID_REQUEST


async def test_the_states_of_a_deleted_topic_are_forgotten(it: OneNode) -> None:
    topic_id = await initialized(it)
    it.node.controller.delete_topic("orders")
    assert it.node.share_states.shard_at(0).ask(len) == 0
    assert await code_of(it, topic_id) is Code.INVALID_REQUEST


async def test_a_crash_behind_each_write_keeps_the_state(tmp_path: Path) -> None:
    copies = []
    async with one_node(tmp_path / "node", **SETTINGS) as it:
        topic_id = await initialized(it)
        for start_offset in range(10, 16):
            await write(it, topic_id, DONE, start_offset=start_offset)
            state = await persister(it).read("shop", topic_id, 0, leader_epoch=0)
            copy = tmp_path / f"behind {start_offset}"
            crash_copy(tmp_path / "node", copy)
            copies.append((copy, state))
    for copy, state in copies:
        async with one_node(copy, **SETTINGS) as it:
            assert await persister(it).read("shop", topic_id, 0, leader_epoch=0) == state


def crash_copy(of: Path, to: Path, *, torn_bytes: int = 0) -> None:
    """Copy the directory of a running node, without the last bytes of the log."""
    copytree(of, to)
    (to / ".lock").unlink(missing_ok=True)
    segment = to / f"{SHARE_GROUP_STATE}-0" / f"{0:020}.log"
    segment.write_bytes(segment.read_bytes()[: -torn_bytes or None])


async def test_a_torn_write_is_forgotten(tmp_path: Path) -> None:
    async with one_node(tmp_path / "node", **SETTINGS) as it:
        topic_id = await initialized(it)
        await write(it, topic_id, DONE)
        before = await persister(it).read("shop", topic_id, 0, leader_epoch=0)
        await write(it, topic_id, DONE, start_offset=15)
        crash_copy(tmp_path / "node", tmp_path / "torn", torn_bytes=1)
    async with one_node(tmp_path / "torn", **SETTINGS) as it:
        assert await persister(it).read("shop", topic_id, 0, leader_epoch=0) == before


async def test_a_log_that_refuses_a_write_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    files = RefusingFiles()
    async with one_node(tmp_path, WORK_LIMITS, files, **SETTINGS) as it:
        topic_id = await initialized(it)
        await write(it, topic_id, DONE)
        shard = it.node.share_states.shard_at(0)
        before = shard.machine.state_of(SharePartition("shop", topic_id, 0))
        files.failure = OSError(28, "No space left on device")
        with pytest.raises(Refused) as refused:
            await write(it, topic_id, DONE, start_offset=12)
        assert refused.value.code is Code.NOT_COORDINATOR
        files.failure = None
        assert shard.machine.state_of(SharePartition("shop", topic_id, 0)) == before
        await write(it, topic_id, DONE, start_offset=12)


async def test_the_log_of_states_at_rest_is_pruned(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        topic_id = await initialized(it)
        await write(it, topic_id, DONE)
        await asyncio.sleep(650)
        log = it.log(SHARE_GROUP_STATE)
        assert (log.log_start_offset, log.log_end_offset) == (2, 3)
        state = await persister(it).read("shop", topic_id, 0, leader_epoch=0)
        assert (state.snapshot_epoch, state.batches) == (1, (DONE,))
    async with one_node(tmp_path, **SETTINGS) as it:
        assert await persister(it).read("shop", topic_id, 0, leader_epoch=0) == state


async def test_a_start_forgets_the_states_of_a_topic_deleted_while_it_was_away(
    tmp_path: Path,
) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        await initialized(it)
        it.node.share_states.unload()
        it.node.controller.delete_topic("orders")
    async with one_node(tmp_path, **SETTINGS) as it:
        assert it.node.share_states.shard_at(0).ask(len) == 0


async def test_a_call_waits_while_the_coordinator_is_loading(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        topic_id = await initialized(it)
        await write(it, topic_id, DONE)
    set_slice_s(math.inf)
    slow = WorkLimits(load_at_once_bytes=10, load_slice_s=-1.0)
    async with one_node(tmp_path, slow, **SETTINGS) as it:
        assert it.node.share_states.shard_at(0).is_loading
        summary = await persister(it).summarize("shop", topic_id, 0)
        assert summary.start_offset == 10


async def test_a_topic_deleted_during_the_load_is_forgotten_afterwards(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        await initialized(it)
    slow = WorkLimits(load_at_once_bytes=10, load_slice_s=-1.0)
    async with one_node(tmp_path, slow, **SETTINGS) as it:
        shard = it.node.share_states.shard_at(0)
        assert shard.is_loading
        it.node.controller.delete_topic("orders")
        await until(lambda: not shard.is_loading)
        assert shard.ask(len) == 0


async def test_the_coordinator_is_called_on_whichever_node_it_is(tmp_path: Path) -> None:
    async with several_nodes(tmp_path, 3) as them:
        topic_id = them.topic("orders", 1).topic_id
        calls = them.cluster.share_persister
        groups = [f"group {number}" for number in range(60)]  # on each node is one
        for group_id in groups:
            await calls.initialize(group_id, topic_id, 0, state_epoch=1, start_offset=5)
        coordinators = {
            node.node_id
            for node in them.nodes.values()
            if any(shard.ask(len) for shard in node.share_states.shards())
        }
        assert coordinators == {1, 2, 3}
        await them.stop(2)
        for group_id in groups:
            summary = await calls.summarize(group_id, topic_id, 0)
            assert summary.start_offset == 5
