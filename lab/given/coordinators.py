"""States of transactional ids and of groups, made by the decisions of their coordinators."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

from ...broker.node_orders import WrongOrder
from ...coordinator.classic.requests import JoinReply, JoinRequest, SyncRequest
from ...coordinator.group_kind import ClaimedMember
from ...coordinator.offsets import OffsetToCommit
from ...coordinator.outcome import Outcome, Producer
from ...coordinator.partitioning import partition_for
from ...coordinator.transactions.states import NO_PARTITIONS, PREPARED, State, Transaction
from ...metadata.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE
from ...metadata.records import NO_LEADER, PartitionChangeRecord
from ...protocol.errors import Code, Refused
from . import specs
from .logs import Shown, Writer

if TYPE_CHECKING:
    from ...broker.cluster import Cluster
    from ...broker.runtime.shards.shard import Shard
    from ...coordinator.groups import Groups
    from ...coordinator.transactions.coordinator import Transactions

_TRIES: Final = 1000
_WAIT_MS: Final = 10
_LOADING: Final = frozenset({Code.COORDINATOR_LOAD_IN_PROGRESS, Code.NOT_COORDINATOR})
_Reply = TypeVar("_Reply")
_joining: Final[set[asyncio.Future[JoinReply]]] = set()


async def _ask_until_loaded(cluster: Cluster, ask: Callable[[], Awaitable[_Reply]]) -> _Reply:
    """Ask a coordinator, as a client does: again and again while it loads. Raises Refused."""
    for _ in range(_TRIES):
        try:
            return await ask()
        except Refused as refused:
            if refused.code not in _LOADING:
                raise
        await cluster.clock.live.sleep_ms(_WAIT_MS)
    return await ask()


async def _transactions(cluster: Cluster, transactional_id: str) -> Shard[Transactions]:
    cluster.controller.create_internal_topic(TRANSACTION_STATE)

    async def find() -> Shard[Transactions]:
        shard = cluster.transaction_shard(transactional_id)
        shard.ask(lambda machine: None)
        return shard

    return await _ask_until_loaded(cluster, find)


async def group_shard(cluster: Cluster, group_id: str) -> Shard[Groups]:
    """The shard that coordinates a group, once it is loaded. Raises Refused."""
    topic = cluster.controller.create_internal_topic(CONSUMER_OFFSETS)
    index = partition_for(group_id, len(topic.partitions))

    async def find() -> Shard[Groups]:
        leader = cluster.catalog.topics[CONSUMER_OFFSETS].partitions[index].leader_id
        node = cluster.nodes.get(leader)
        if node is None:
            raise Refused(Code.NOT_COORDINATOR)
        shard: Shard[Groups] = node.coordinators[CONSUMER_OFFSETS].shard_at(index)
        shard.ask(lambda machine: None)
        return shard

    return await _ask_until_loaded(cluster, find)


async def _producer_epoch(cluster: Cluster, spec: specs.ProducerEpoch) -> Shown:
    shard = await _transactions(cluster, spec.transactional_id)
    producer = await _init_producer(shard, spec.transactional_id, spec.timeout_ms)

    def set_epoch(machine: Transactions, now: Any) -> Outcome[Transaction]:
        known = machine.describe(spec.transactional_id)
        empty = known._replace(
            producer_epoch=spec.epoch, state=State.EMPTY, partitions=NO_PARTITIONS,
            updated_ms=now.wall_ms, last_producer_epoch=-1,
        )  # fmt: skip
        return Outcome(empty, (empty,))

    await shard.run(set_epoch)
    return {
        "transactional_id": spec.transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": spec.epoch,
    }


async def _init_producer(
    shard: Shard[Transactions], transactional_id: str, timeout_ms: int
) -> Producer:
    reply = await shard.run(
        lambda machine, now: machine.init_producer_id(
            transactional_id, timeout_ms=timeout_ms, now_ms=now.wall_ms
        )
    )
    if not isinstance(reply, Producer):
        raise WrongOrder(f"{transactional_id} has an open transaction, which is aborted now")
    return reply


async def _begin_transaction(
    cluster: Cluster, transactional_id: str, timeout_ms: int, writer: Writer, records: int
) -> tuple[Shard[Transactions], Producer]:
    """An open transaction with records."""
    shard = await _transactions(cluster, transactional_id)
    producer = await _init_producer(shard, transactional_id, timeout_ms)
    partition = (writer.log.topic, writer.log.partition)
    await shard.run(
        lambda machine, now: machine.add_partitions(
            transactional_id, producer, [partition], now_ms=now.wall_ms,
            client_version=min(_level(cluster), 2),
        )
    )  # fmt: skip
    writer.data(records, producer=producer, is_transactional=True)
    writer.producers.append(producer.producer_id)
    return shard, producer


def _level(cluster: Cluster) -> int:
    """The level of transaction.version; clients of level 1 add partitions as those of level 0."""
    level: int = cluster.catalog.features.get("transaction.version", 0)
    return level if level >= 2 else 0


async def _ongoing_transaction(cluster: Cluster, spec: specs.OngoingTransaction) -> Shown:
    writer = Writer(cluster, spec.topic, spec.partition)
    at = spec.transactional_id, spec.timeout_ms
    _, producer = await _begin_transaction(cluster, *at, writer, spec.records)
    shown = await writer.shown()
    return shown | {"producer_epoch": producer.producer_epoch}


async def _prepare_commit(cluster: Cluster, spec: specs.PreparedCommit) -> Shown:
    writer = Writer(cluster, spec.topic, spec.partition)
    transactional_id = spec.transactional_id
    shard, producer = await _begin_transaction(
        cluster, transactional_id, 60_000, writer, spec.records
    )
    topic = cluster.catalog.topics[spec.topic]
    leaderless = PartitionChangeRecord(spec.partition, topic.topic_id, leader=NO_LEADER)
    cluster.controller.change_partitions([leaderless])
    bumps = _level(cluster) >= 2
    await shard.run(
        lambda machine, now: (machine.end_and_bump if bumps else machine.end)(
            transactional_id, producer, commit=spec.commit, now_ms=now.wall_ms
        )
    )
    state = shard.ask(lambda machine: machine.describe(transactional_id).state)
    assert state in PREPARED, state
    return await writer.shown() | {"transaction_state": state.title}


async def _producer_ids_at_block_end(cluster: Cluster, spec: specs.ProducerIdsAtBlockEnd) -> Shown:
    running = {node.node_id: node for node in cluster.nodes.values() if node.runs}
    node_id = min(running) if spec.node_id is None else spec.node_id
    if node_id not in running:
        raise WrongOrder(f"node {node_id} does not run; nodes: {', '.join(map(str, running))}")
    ids = running[node_id].producer_ids
    last = ids.next()
    while ids.left != spec.left:
        last = ids.next()
    return {"node_id": node_id, "last_producer_id": last, "left": ids.left}


async def _offset_out_of_range(cluster: Cluster, spec: specs.OffsetOutOfRange) -> Shown:
    writer = Writer(cluster, spec.topic, spec.partition)
    offset = writer.log.log_end_offset + spec.beyond
    topic_id = cluster.catalog.topics[spec.topic].topic_id
    committed = OffsetToCommit(spec.topic, spec.partition, offset, topic_id=topic_id)
    shard = await group_shard(cluster, spec.group)
    await shard.run(
        lambda machine, now: machine.commit(spec.group, ClaimedMember(), [committed], now=now)
    )
    return {"group": spec.group, "offset": offset, "end_offset": writer.log.log_end_offset}


async def _preparing_rebalance(cluster: Cluster, spec: specs.PreparingRebalance) -> Shown:
    Writer(cluster, spec.topic, 0)
    shard = await group_shard(cluster, spec.group)
    known = shard.ask(lambda machine: machine.describe(spec.group))
    if known is not None and known.members:
        raise WrongOrder(f"group {spec.group} has members")  # a join would wait for them
    joined = await shard.run_parked(
        lambda machine, now, ticket: machine.join(_join(spec), ticket=ticket, now=now)
    )
    if joined.error is not Code.NONE:
        raise WrongOrder(f"group {spec.group} refuses a member: {joined.error.name}")
    first = joined.member_id
    sync = SyncRequest(spec.group, joined.generation_id, first, assignments={first: b""})
    await shard.run_parked(lambda machine, now, ticket: machine.sync(sync, ticket=ticket, now=now))
    second = asyncio.ensure_future(
        shard.run_parked(
            lambda machine, now, ticket: machine.join(_join(spec), ticket=ticket, now=now)
        )
    )
    _joining.add(second)  # it is answered at the end of the rebalance
    second.add_done_callback(_joined)
    await asyncio.sleep(0)
    return {"group": spec.group, "generation_id": joined.generation_id, "member_id": first}


def _joined(second: asyncio.Future[JoinReply]) -> None:
    _joining.discard(second)
    if not second.cancelled():
        second.exception()  # it is refused when the broker stops


def _join(spec: specs.PreparingRebalance) -> JoinRequest:
    topic = spec.topic.encode()
    subscription = b"\0\0" + b"\0\0\0\1" + len(topic).to_bytes(2, "big") + topic + b"\xff" * 4
    return JoinRequest(
        spec.group,
        "",
        None,
        "consumer",
        (("range", subscription),),
        session_timeout_ms=spec.session_timeout_ms,
        rebalance_timeout_ms=spec.rebalance_timeout_ms,
        client_id="given",
        client_host="/127.0.0.1",
        random_id=str(uuid4()),
        requires_known_member_id=False,
    )


DECISIONS: Final[Mapping[type[specs.State], Callable[[Cluster, Any], Awaitable[Shown]]]] = {
    specs.ProducerEpoch: _producer_epoch,
    specs.ProducerIdsAtBlockEnd: _producer_ids_at_block_end,
    specs.OngoingTransaction: _ongoing_transaction,
    specs.PreparedCommit: _prepare_commit,
    specs.OffsetOutOfRange: _offset_out_of_range,
    specs.PreparingRebalance: _preparing_rebalance,
}
