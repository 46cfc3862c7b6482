"""Markers: in the same turn as the decision, again until they are written, or after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ottla.broker.node import Node
from ottla.broker.runtime.markers import markers
from ottla.broker.runtime.work_limits import WorkLimits
from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.listeners import Listener
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.coordinator.transactions.states import State, Transaction
from ottla.metadata.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE
from ottla.protocol.batch import build, headers_in
from ottla.protocol.control import read_marker
from ottla.protocol.errors import Code, Refused
from tests.broker.fakes import broken_markers
from tests.clocks import StillClock

pytestmark = pytest.mark.real_time

SHOP = "shop"
NOW_MS = 1_700_000_000_000
BOTH = [("orders", 0), ("orders", 1)]
AT_ONCE = WorkLimits(marker_retry_ms=0, marker_retry_max_ms=0)


@asynccontextmanager
async def running_node(directory: Path, limits: WorkLimits = AT_ONCE) -> AsyncIterator[Node]:
    """A node, which is killed at the end."""
    settings = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
    config = BrokerConfig.from_settings(settings)
    node = Node(config, directory, StillClock(), limits=limits)
    node.start([Listener("PLAINTEXT", "localhost", 9092)])
    try:
        yield node
    finally:
        node.close(clean=False)


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    async with running_node(tmp_path) as started:
        yield started


def prepare(node: Node, *, writes: bool = True) -> Producer:
    """A producer of `shop` with an open transaction on both partitions of `orders`."""
    node.controller.create_internal_topic(TRANSACTION_STATE)
    node.controller.create_topic("orders", partitions=2)
    shard = node.transactions.shard_of(SHOP)
    producer = shard.run_now(
        lambda machine, now: machine.init_producer_id(SHOP, timeout_ms=60_000, now_ms=now.wall_ms)
    )
    assert isinstance(producer, Producer)
    join(node, producer, BOTH)
    for place in BOTH if writes else ():
        log = node.open_log_of(*place)
        assert log is not None
        log.append(
            build(
                [(None, b"an order")],
                timestamp_ms=NOW_MS,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                base_sequence=0,
                transactional=True,
            ),
            now_ms=NOW_MS,
        )
    return producer


def join(node: Node, producer: Producer, places: list[tuple[str, int]]) -> None:
    node.transactions.shard_of(SHOP).run_now(
        lambda machine, now: machine.add_partitions(SHOP, producer, places, now_ms=now.wall_ms)
    )


def end(node: Node, producer: Producer, *, commit: bool = True) -> None:
    def decide(machine: Transactions, now: Moment) -> Outcome[Producer]:
        return machine.end_and_bump(SHOP, producer, commit=commit, now_ms=now.wall_ms)

    node.transactions.shard_of(SHOP).run_now(decide)


def known(node: Node) -> Transaction:
    return node.transactions.shard_of(SHOP).ask(lambda machine: machine.describe(SHOP))


def markers_of(node: Node, place: tuple[str, int]) -> list[tuple[bool, int]]:
    """Whether each marker commits, and its epoch."""
    log = node.open_log_of(*place)
    assert log is not None
    data = log.read(0, max_bytes=1 << 20, up_to=log.log_end_offset, min_one=True).records
    found = []
    for position, header in headers_in(data):
        if header.is_control:
            marker = read_marker(data, position, header)
            assert marker is not None
            found.append((marker.commit, header.producer_epoch))
    return found


async def turns_of_the_loop() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("commit", [True, False])
async def test_markers_are_written_before_the_answer(node: Node, commit: bool) -> None:
    producer = prepare(node)
    waiting = node.fetch_waits.wait(BOTH[:1])
    end(node, producer, commit=commit)
    assert known(node).state is (State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT)
    for place in BOTH:
        log = node.open_log_of(*place)
        assert log is not None
        assert markers_of(node, place) == [(commit, 1)]
        assert log.last_stable_offset == log.log_end_offset == 2
    assert waiting.done(), "who waits for committed records looks again"


async def test_only_markers_that_failed_are_retried(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = prepare(node)
    with broken_markers(monkeypatch, BOTH[1]):
        end(node, producer)
        await turns_of_the_loop()
        assert known(node).state is State.PREPARE_COMMIT
        with pytest.raises(Refused, match="CONCURRENT_TRANSACTIONS"):
            join(node, known(node).producer, BOTH)
    await turns_of_the_loop()
    assert known(node).state is State.COMPLETE_COMMIT
    assert [markers_of(node, place) for place in BOTH] == [[(True, 1)], [(True, 1)]]


@pytest.mark.parametrize("at_once", [True, False])
async def test_markers_that_failed_before_a_crash_are_written_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    limits = AT_ONCE if at_once else AT_ONCE._replace(load_at_once_bytes=0)

    with broken_markers(monkeypatch, BOTH[1]):
        async with running_node(tmp_path, limits) as node:
            end(node, prepare(node), commit=False)
            assert known(node).state is State.PREPARE_ABORT
    async with running_node(tmp_path, limits) as node:
        if not at_once:
            with pytest.raises(Refused, match="COORDINATOR_LOAD_IN_PROGRESS"):
                known(node)
            await turns_of_the_loop()
        assert known(node).state is State.COMPLETE_ABORT
        assert markers_of(node, BOTH[1]) == [(False, 1)]
        assert set(markers_of(node, BOTH[0])) == {(False, 1)}


async def test_an_open_transaction_stays_open_through_a_crash(tmp_path: Path) -> None:
    async with running_node(tmp_path) as node:
        producer = prepare(node)

    async with running_node(tmp_path) as node:
        assert known(node).state is State.ONGOING
        end(node, producer)
        assert [markers_of(node, place) for place in BOTH] == [[(True, 1)], [(True, 1)]]


async def test_a_topic_that_is_gone_gets_no_marker(node: Node) -> None:
    producer = prepare(node)
    node.controller.delete_topic("orders")
    end(node, producer)
    assert known(node).state is State.COMPLETE_COMMIT


async def test_a_completion_that_the_log_refuses_is_retried(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = Transactions.markers_written

    def refused(self: Transactions, prepared: Transaction, *, now_ms: int) -> Outcome[None]:
        raise Refused(Code.KAFKA_STORAGE_ERROR)

    producer = prepare(node)
    monkeypatch.setattr(Transactions, "markers_written", refused)
    end(node, producer)
    assert known(node).state is State.PREPARE_COMMIT
    monkeypatch.setattr(Transactions, "markers_written", working)
    await turns_of_the_loop()
    assert known(node).state is State.COMPLETE_COMMIT
    assert markers_of(node, BOTH[0]) == [(True, 1)]


async def test_unloading_a_coordinator_ends_its_retries(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = prepare(node)
    with broken_markers(monkeypatch, BOTH[1]):
        end(node, producer)
    node.transactions.unload()
    await turns_of_the_loop()
    assert markers_of(node, BOTH[0]) == [(True, 1)]
    assert markers_of(node, BOTH[1]) == [], "its partition would take it again"


async def test_a_marker_settles_the_offsets_of_a_group(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = prepare(node, writes=False)
    node.controller.create_internal_topic(CONSUMER_OFFSETS)
    join(node, producer, [(CONSUMER_OFFSETS, 0)])
    settled = []
    machine = node.groups.shard_at(0).machine
    replay = machine.replay_marker

    def replay_marker(producer: Producer, *, commit: bool) -> None:
        settled.append((producer, commit))
        replay(producer, commit=commit)

    monkeypatch.setattr(type(machine), "replay_marker", staticmethod(replay_marker))
    end(node, producer)
    assert settled == [(Producer(producer.producer_id, 1), True)]
    assert markers_of(node, (CONSUMER_OFFSETS, 0)) == [(True, 1)]


async def test_a_log_that_cannot_be_opened_gets_its_marker_when_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there, and its records are undecided: that is no topic that was deleted."""

    async with running_node(tmp_path) as node:
        producer = prepare(node)

    async with running_node(tmp_path) as node:
        node.log_directory.failed[BOTH[1]] = "too many open files"
        closed = node.log_directory._logs.pop(BOTH[1])
        with monkeypatch.context() as patch:
            patch.setattr(node.controller.topic_logs, "open_of", lambda topic: None)
            end(node, producer)
            await turns_of_the_loop()
            assert known(node).state is State.PREPARE_COMMIT
            assert len(node.marker_channel.destinations[node.node_id]) == 1
            assert node.marker_channel.retries > 0
        node.log_directory._logs[BOTH[1]] = closed
        await turns_of_the_loop()
        assert known(node).state is State.COMPLETE_COMMIT
        assert markers_of(node, BOTH[1]) == [(True, 1)]


@pytest.mark.parametrize("place", [("nowhere", 0), ("orders", 2)])
async def test_a_marker_needs_a_partition(node: Node, place: tuple[str, int]) -> None:
    prepare(node)
    with pytest.raises(Refused, match="UNKNOWN_TOPIC_OR_PARTITION"):
        markers.append(node, place, Producer(1, 0), commit=True, coordinator_epoch=0)
