"""Transactions of one transactional id over partitions of several nodes, and what came of them."""

from __future__ import annotations

from ottla.broker.node import Node
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.coordinator.transactions.states import State, Transaction
from ottla.metadata.catalog import TRANSACTION_STATE
from ottla.protocol.batch import headers_in
from ottla.protocol.control import read_marker
from tests.broker.several_nodes import SeveralNodes

SHOP = "shop"
ONE_PARTITION = {"transaction_state_log_num_partitions": "1", "offsets_topic_num_partitions": "1"}


def coordinator_of(it: SeveralNodes) -> Node:
    return it.nodes[it.partition(TRANSACTION_STATE).leader_id]


def others_of(it: SeveralNodes) -> list[int]:
    return [node_id for node_id in it.nodes if node_id != coordinator_of(it).node_id]


def prepare(it: SeveralNodes, *places: tuple[str, int]) -> Producer:
    """A producer of `shop` with an open transaction on these partitions."""
    it.controller.create_internal_topic(TRANSACTION_STATE)
    shard = coordinator_of(it).transactions.shard_of(SHOP)
    producer = shard.run_now(
        lambda machine, now: machine.init_producer_id(SHOP, timeout_ms=60_000, now_ms=now.wall_ms)
    )
    assert isinstance(producer, Producer)
    shard.run_now(
        lambda machine, now: machine.add_partitions(SHOP, producer, places, now_ms=now.wall_ms)
    )
    return producer


def end(it: SeveralNodes, producer: Producer, *, commit: bool = True) -> None:
    def decide(machine: Transactions, now: Moment) -> Outcome[Producer]:
        return machine.end_and_bump(SHOP, producer, commit=commit, now_ms=now.wall_ms)

    coordinator_of(it).transactions.shard_of(SHOP).run_now(decide)


def state(it: SeveralNodes) -> State:
    shard = it.cluster.transaction_shard(SHOP)
    known: Transaction = shard.ask(lambda machine: machine.describe(SHOP))
    return known.state


def markers_of(it: SeveralNodes, place: tuple[str, int]) -> list[tuple[bool, int]]:
    """Whether each marker in a log commits, and its coordinator's epoch."""
    log = it.cluster.open_log_of(*place)
    assert log is not None
    if log.log_end_offset == 0:
        return []
    data = log.read(0, max_bytes=1 << 20, up_to=log.log_end_offset, min_one=True).records
    found = []
    for position, header in headers_in(data):
        if header.is_control:
            marker = read_marker(data, position, header)
            assert marker is not None
            found.append((marker.commit, marker.coordinator_epoch))
    return found
