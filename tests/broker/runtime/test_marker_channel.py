"""Markers for partitions that other nodes lead: over sockets, again until they are written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.runtime.markers import marker_requests, markers
from ottla.broker.runtime.work_limits import WorkLimits
from ottla.broker.scheduling.turns import set_slice_s
from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.states import State
from ottla.metadata.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE, ResourceType
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code, Malformed, Refused
from tests.broker.runtime.marker_scenes import (
    ONE_PARTITION,
    SHOP,
    coordinator_of,
    end,
    markers_of,
    others_of,
    prepare,
    state,
)
from tests.broker.several_nodes import SeveralNodes, several_nodes, until
from tests.log_lines import LogLines

pytestmark = pytest.mark.real_time(debug=True)

SOON = WorkLimits(marker_retry_ms=1, marker_retry_max_ms=2)


def nodes(
    directory: Path, count: int = 3, limits: WorkLimits = SOON
) -> AbstractAsyncContextManager[SeveralNodes]:
    return several_nodes(directory, count, limits, **ONE_PARTITION)


@pytest.fixture
async def it(tmp_path: Path) -> AsyncIterator[SeveralNodes]:
    async with nodes(tmp_path, 2) as it:
        yield it


@pytest.mark.parametrize("commit", [True, False])
async def test_each_node_gets_its_markers_by_requests_without_blocking_the_answer(
    tmp_path: Path, commit: bool
) -> None:
    async with nodes(tmp_path) as it:
        it.topic("orders", 1, 2, 3)
        places = [("orders", index) for index in range(3)]
        producer = prepare(it, *places)
        here = coordinator_of(it).node_id - 1
        end(it, producer, commit=commit)
        assert state(it) is (State.PREPARE_COMMIT if commit else State.PREPARE_ABORT)
        assert markers_of(it, places[here]) == [(commit, 0)], "in the same turn"
        channel = coordinator_of(it).marker_channel
        assert {to: len(queue) for to, queue in channel.destinations.items()} == dict.fromkeys(
            others_of(it), 1
        )
        done = State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT
        await until(lambda: state(it) is done)
        assert [markers_of(it, place) for place in places] == [[(commit, 0)]] * 3
        assert [len(queue) for queue in channel.destinations.values()] == [0, 0]
        assert channel.retries == 0, "each one had its own answer"


async def test_queued_markers_of_a_node_leave_in_one_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    send = marker_requests.MarkerRequests.send

    async def counted(self: Any, node_id: int, entries: Any) -> list[Code]:
        sizes.append(len(entries))
        return await send(self, node_id, entries)

    monkeypatch.setattr(marker_requests.MarkerRequests, "send", counted)
    async with nodes(tmp_path, 2) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        (other,) = others_of(it)
        it.topic("orders", *[other] * 5)
        end(it, prepare(it, *[("orders", index) for index in range(5)]))
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert sizes == [5]


async def test_a_partition_without_a_leader_gets_its_marker_when_it_has_one(tmp_path: Path) -> None:
    async with nodes(tmp_path) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        other, third = others_of(it)
        it.topic("orders", other, third)
        producer = prepare(it, ("orders", 0), ("orders", 1))
        await it.stop(other)
        end(it, producer)
        channel = coordinator_of(it).marker_channel
        assert len(channel.unknown_leader) == 1
        await until(lambda: markers_of(it, ("orders", 1)))
        assert state(it) is State.PREPARE_COMMIT
        await it.start(other)
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert markers_of(it, ("orders", 0)) == [(True, 0)]
        assert len(channel.unknown_leader) == 0


async def test_queued_markers_follow_the_leader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with nodes(tmp_path) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        other, third = others_of(it)
        it.topic("orders", other, replicas=3)
        producer = prepare(it, ("orders", 0))
        it.doors[other].refuse()  # no node can connect to it
        it.doors[other].cut()
        end(it, producer)
        await until(lambda: coordinator_of(it).marker_channel.retries > 2)
        assert state(it) is State.PREPARE_COMMIT
        it.controller.change_leader("orders", 0, third)
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert markers_of(it, ("orders", 0)) == [(True, 0)]
        assert it.cluster.peers == set(), "no connection is expected any more"


@pytest.mark.parametrize("trouble", [OSError(), TimeoutError(), Malformed("what is this")])
async def test_a_request_that_fails_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    send, failures = marker_requests.MarkerRequests.send, [trouble, trouble]

    async def failing(self: Any, node_id: int, entries: Any) -> list[Code]:
        if failures:
            raise failures.pop()
        return await send(self, node_id, entries)

    monkeypatch.setattr(marker_requests.MarkerRequests, "send", failing)
    async with nodes(tmp_path, 2) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        it.topic("orders", *others_of(it))
        end(it, prepare(it, ("orders", 0)))
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert coordinator_of(it).marker_channel.retries == 2


async def test_deleting_a_topic_drops_its_queued_marker(it: SeveralNodes) -> None:
    it.controller.create_internal_topic(TRANSACTION_STATE)
    (other,) = others_of(it)
    it.topic("orders", other)
    producer = prepare(it, ("orders", 0))
    it.doors[other].refuse()
    it.doors[other].cut()
    end(it, producer)
    await until(lambda: coordinator_of(it).marker_channel.retries > 0)
    it.controller.delete_topic("orders")
    await until(lambda: state(it) is State.COMPLETE_COMMIT)


async def test_another_coordinator_goes_on_under_its_own_epoch_and_the_old_one_stops(
    tmp_path: Path,
) -> None:
    async with nodes(tmp_path) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        old = coordinator_of(it)
        other, third = others_of(it)
        it.topic("orders", other)
        producer = prepare(it, ("orders", 0))
        it.doors[other].refuse()
        it.doors[other].cut()
        end(it, producer)
        shard = old.transactions.shard_of(SHOP)
        await until(lambda: old.marker_channel.retries > 0)
        it.controller.change_leader(TRANSACTION_STATE, 0, third)
        assert [len(queue.entries) for queue in old.marker_channel.destinations.values()] == [0]
        with pytest.raises(Refused, match="NOT_COORDINATOR"):
            shard.run_now(lambda machine, now: Outcome(None))
        with pytest.raises(Refused, match="NOT_COORDINATOR"):
            old.transactions.shard_of(SHOP)
        assert state(it) is State.PREPARE_COMMIT, "the new one knows"
        it.doors[other].bind()
        await it.doors[other].open(it.nodes[other])
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert markers_of(it, ("orders", 0)) == [(True, 1)]


async def test_a_coordinator_of_an_older_epoch_cannot_append(it: SeveralNodes) -> None:
    """Also a coordinator that was not unloaded."""
    producer = prepare(it, ("nowhere", 0))
    shard = coordinator_of(it).transactions.shard_of(SHOP)
    shard.log.leader_epoch += 1
    before = shard.log.log_end_offset
    with pytest.raises(Refused, match="NOT_COORDINATOR"):
        end(it, producer)
    assert shard.is_closed
    assert shard.log.log_end_offset == before


async def test_a_marker_settles_offsets_where_the_group_is_coordinated(tmp_path: Path) -> None:
    async with nodes(tmp_path) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        it.controller.create_internal_topic(CONSUMER_OFFSETS)
        other, _ = others_of(it)
        if it.partition(CONSUMER_OFFSETS).leader_id != other:
            it.controller.change_leader(CONSUMER_OFFSETS, 0, other)
        producer = prepare(it, (CONSUMER_OFFSETS, 0))
        end(it, producer)
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert markers_of(it, (CONSUMER_OFFSETS, 0)) == [(True, 0)]


async def test_a_marker_for_a_loading_group_coordinator_is_refused_as_not_leader(
    it: SeveralNodes,
) -> None:
    it.controller.create_internal_topic(CONSUMER_OFFSETS)
    node = it.nodes[it.partition(CONSUMER_OFFSETS).leader_id]
    node.groups.shard_at(0).begin_loading()
    with pytest.raises(Refused, match="NOT_LEADER_OR_FOLLOWER"):
        markers.append(
            node, (CONSUMER_OFFSETS, 0), Producer(1, 0), commit=True, coordinator_epoch=0
        )


async def test_a_marker_is_acknowledged_when_it_is_on_disk(it: SeveralNodes) -> None:
    it.controller.create_internal_topic(TRANSACTION_STATE)
    (other,) = others_of(it)
    it.topic("orders", other, flush_messages="1")
    end(it, prepare(it, ("orders", 0)))
    log = it.cluster.open_log_of("orders", 0)
    assert log is not None
    await until(lambda: state(it) is State.COMPLETE_COMMIT)
    assert log.recovery_point == log.log_end_offset == 1


async def test_a_completion_that_the_log_does_not_take_is_tried_again(it: SeveralNodes) -> None:
    it.controller.create_internal_topic(TRANSACTION_STATE)
    (other,) = others_of(it)
    it.topic("orders", other)
    producer = prepare(it, ("orders", 0))
    end(it, producer)
    transaction_state = ResourceType.TOPIC, TRANSACTION_STATE
    it.controller.set_configs(*transaction_state, {"max.message.bytes": "1"})
    await until(lambda: coordinator_of(it).marker_channel.completions)
    assert state(it) is State.PREPARE_COMMIT
    it.controller.set_configs(*transaction_state, {"max.message.bytes": None})
    await until(lambda: state(it) is State.COMPLETE_COMMIT)
    assert markers_of(it, ("orders", 0)) == [(True, 0)]


class Broken:
    """The end of a transaction at which something unexpected fails."""

    def __getattr__(self, name: str) -> Any:
        raise MemoryError


async def test_a_completion_that_lacks_memory_does_not_keep_the_others_waiting(
    tmp_path: Path,
) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    async with nodes(tmp_path, 2) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        (other,) = others_of(it)
        it.topic("orders", other)
        end(it, prepare(it, ("orders", 0)))
        transaction_state = ResourceType.TOPIC, TRANSACTION_STATE
        it.controller.set_configs(*transaction_state, {"max.message.bytes": "1"})
        channel: Any = coordinator_of(it).marker_channel
        await until(lambda: channel.completions)
        channel.completions.appendleft(Broken())
        it.controller.set_configs(*transaction_state, {"max.message.bytes": None})
        await until(lambda: state(it) is State.COMPLETE_COMMIT)


async def test_a_node_that_stops_sends_nothing_more(tmp_path: Path) -> None:
    async with nodes(tmp_path) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        old = coordinator_of(it)
        other, _ = others_of(it)
        it.topic("orders", other)
        producer = prepare(it, ("orders", 0))
        end(it, producer)
        await it.stop(old.node_id)
        assert not old.marker_channel.destinations
        await until(lambda: coordinator_of(it) is not old and state(it) is State.COMPLETE_COMMIT)
        await asyncio.sleep(0.01)
        assert markers_of(it, ("orders", 0))[-1] == (True, 1)


async def test_nothing_waits_for_a_coordinator_that_is_no_more(it: SeveralNodes) -> None:
    it.controller.create_internal_topic(TRANSACTION_STATE)
    channel = coordinator_of(it).marker_channel
    (other,) = others_of(it)
    it.topic("orders", other)
    end(it, prepare(it, ("orders", 0)))
    assert len(channel.destinations[other]) == 1
    it.controller.delete_topic(TRANSACTION_STATE)
    assert len(channel.destinations[other]) == 0


async def test_nodes_may_write_markers_whatever_the_authorizer_says_of_clients(
    tmp_path: Path,
) -> None:
    settings = {
        **ONE_PARTITION,
        "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super_users": "User:admin",
    }
    async with several_nodes(tmp_path, 2, SOON, **settings) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        (other,) = others_of(it)
        it.topic("orders", other)
        end(it, prepare(it, ("orders", 0)))
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert coordinator_of(it).marker_channel.retries == 0
        marker = {
            "producer_id": 7,
            "producer_epoch": 0,
            "transaction_result": True,
            "coordinator_epoch": 0,
            "topics": [{"name": "orders", "partition_indexes": [0]}],
        }
        answer = await it.ask(other, ApiKey.WRITE_TXN_MARKERS, 1, markers=[marker])
        (partition,) = answer["markers"][0]["topics"][0]["partitions"]
        assert Code(partition["error_code"]) is Code.CLUSTER_AUTHORIZATION_FAILED


async def test_a_node_without_a_plain_listener_gets_its_markers_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> bytes:
        raise AssertionError("nobody may connect to it")

    monkeypatch.setattr(marker_requests.MarkerRequests, "_answer", never)
    async with nodes(tmp_path, 2) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        (other,) = others_of(it)
        it.nodes[other].between_nodes = None
        it.topic("orders", other, flush_messages="1")
        end(it, prepare(it, ("orders", 0)))
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert markers_of(it, ("orders", 0)) == [(True, 0)]
        log = it.cluster.open_log_of("orders", 0)
        assert log is not None
        assert log.recovery_point == log.log_end_offset


async def test_a_marker_wants_as_many_in_sync_as_any_record(tmp_path: Path) -> None:
    async with nodes(tmp_path) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        here = coordinator_of(it).node_id
        other, third = others_of(it)
        it.topic("orders", here, replicas=2, min_insync_replicas="2")
        follower = next(each for each in it.partition("orders").replicas if each != here)
        producer = prepare(it, ("orders", 0))
        await it.stop(follower)
        end(it, producer)
        await until(lambda: coordinator_of(it).marker_channel.retries > 0)
        assert state(it) is State.PREPARE_COMMIT
        assert follower in (other, third)
        await it.start(follower)
        await until(lambda: state(it) is State.COMPLETE_COMMIT)


async def test_the_address_of_a_connection_between_nodes_counts_once(it: SeveralNodes) -> None:
    it.controller.create_internal_topic(TRANSACTION_STATE)
    (other,) = others_of(it)
    it.topic("orders", other)
    end(it, prepare(it, ("orders", 0)))
    await until(lambda: state(it) is State.COMPLETE_COMMIT)
    assert it.cluster.peers == set(), "known until the other node has accepted it"


async def test_the_next_coordinator_completes_decisions_that_were_not_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Effects of a decision wait for its flush; by then the shard may be of an older epoch."""
    async with nodes(tmp_path) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        old = coordinator_of(it)
        other, third = others_of(it)
        it.topic("orders", other)
        producer = prepare(it, ("orders", 0))
        shard = old.transactions.shard_of(SHOP)
        late: list[Any] = []
        carry_out = shard._carry_out
        monkeypatch.setattr(shard, "_carry_out", lambda *given: late.append(given))
        end(it, producer)
        it.controller.change_leader(TRANSACTION_STATE, 0, third)
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        for given in late:
            carry_out(*given)
        assert not any(map(len, old.marker_channel.destinations.values()))
        assert markers_of(it, ("orders", 0)) == [(True, 1)]


async def test_a_refusal_that_comes_again_and_again_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_lines: LogLines
) -> None:

    async def told(self: Any, node_id: int, entries: Any) -> list[Code]:
        return [Code.KAFKA_STORAGE_ERROR] * len(entries)

    monkeypatch.setattr(marker_requests.MarkerRequests, "send", told)
    async with nodes(tmp_path, 2) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        it.topic("orders", *others_of(it))
        end(it, prepare(it, ("orders", 0)))
        await until(lambda: coordinator_of(it).marker_channel.retries > 3)
        assert len(log_lines.of("markers").lines) == 1


# Very many partitions


def many(count: int) -> list[tuple[str, int]]:
    return [("orders", index) for index in range(count)]


def with_records(it: SeveralNodes, node_id: int, places: Sequence[tuple[str, int]]) -> None:
    """The topic of very many partitions, led by a node, with something in each log."""
    it.topic("orders", *[node_id] * len(places), replicas=len(it.nodes))
    now_ms = it.nodes[node_id].clock.now_ms()
    for place in places:
        log = it.cluster.open_log_of(*place)
        assert log is not None
        log.append(build([(b"key", b"value")], timestamp_ms=now_ms), now_ms=now_ms)


async def test_a_transaction_of_ordinary_size_is_complete_in_the_turn_that_decides(
    tmp_path: Path,
) -> None:
    set_slice_s(0.0)
    async with nodes(tmp_path, 1) as it:
        places = many(SOON.markers_at_once)
        with_records(it, 1, places)
        end(it, prepare(it, *places))
        assert state(it) is State.COMPLETE_COMMIT


async def test_a_transaction_over_a_few_partitions_without_a_record_is_complete_in_that_turn_too(
    tmp_path: Path,
) -> None:
    set_slice_s(0.0)
    async with nodes(tmp_path, 1) as it:
        it.topic("orders", *[1] * 10)
        end(it, prepare(it, *many(10)))
        assert state(it) is State.COMPLETE_COMMIT


@pytest.mark.parametrize("is_made", [True, False], ids=["logs that are made", "logs to be made"])
async def test_fewer_markers_of_empty_logs_are_written_in_the_deciding_turn(
    tmp_path: Path, is_made: bool
) -> None:
    set_slice_s(0.0)
    none_made = SOON._replace(logs_made_at_once=0, logs_made_in_a_turn=0)
    async with nodes(tmp_path, 1, SOON if is_made else none_made) as it:
        places = many(SOON.markers_at_once)
        it.topic("orders", *[1] * len(places))
        end(it, prepare(it, *places))
        assert len(coordinator_of(it).marker_channel.unwritten) == len(places) - 10
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert [markers_of(it, place) for place in places] == [[(True, 0)]] * len(places)


async def test_the_markers_of_very_many_partitions_are_written_in_slices(tmp_path: Path) -> None:
    set_slice_s(0.0)
    async with nodes(tmp_path, 1) as it:
        places = many(SOON.markers_at_once + 5)
        with_records(it, 1, places)
        end(it, prepare(it, *places))
        written = []
        while state(it) is State.PREPARE_COMMIT:
            written.append(sum(len(markers_of(it, place)) for place in places))
            await asyncio.sleep(0)
        assert written == [SOON.markers_at_once + more for more in range(5)]
        assert [markers_of(it, place) for place in places] == [[(True, 0)]] * len(places)
        assert coordinator_of(it).marker_channel.retries == 0
        assert coordinator_of(it).marker_channel.unfinished == {}


async def test_a_marker_that_lacks_memory_does_not_keep_the_others_waiting(tmp_path: Path) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    set_slice_s(0.0)
    async with nodes(tmp_path, 1) as it:
        places = many(SOON.markers_at_once + 5)
        with_records(it, 1, places)
        end(it, prepare(it, *places))
        channel: Any = coordinator_of(it).marker_channel
        channel.unwritten.appendleft((Broken(), places[0]))
        await until(lambda: state(it) is State.COMPLETE_COMMIT)


async def test_markers_not_yet_written_follow_the_leader(tmp_path: Path) -> None:
    set_slice_s(0.0)
    async with nodes(tmp_path, 2) as it:
        it.controller.create_internal_topic(TRANSACTION_STATE)
        here = coordinator_of(it).node_id
        (other,) = others_of(it)
        places = many(SOON.markers_at_once + 3)
        with_records(it, here, places)
        end(it, prepare(it, *places))
        it.controller.change_leader(*places[-1], other)
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert [markers_of(it, place) for place in places] == [[(True, 0)]] * len(places)


async def test_a_coordinator_that_is_unloaded_writes_no_further_markers(tmp_path: Path) -> None:
    set_slice_s(0.0)
    async with nodes(tmp_path, 1) as it:
        places = many(SOON.markers_at_once + 3)
        with_records(it, 1, places)
        end(it, prepare(it, *places))
        coordinator_of(it).transactions.unload()
        assert not coordinator_of(it).marker_channel.unwritten
        await asyncio.sleep(0)
        assert markers_of(it, places[-1]) == []
