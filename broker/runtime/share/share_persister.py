"""Keeps the states of the partitions of share groups, at their share coordinators (KIP-932).

Kafka's brokers send each other requests for it (DefaultStatePersister, PersisterStateManager); the
nodes of one process call the shard of the coordinator, whichever node it is on. Each call waits
while the coordinator is loading or moves to another node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeVar
from uuid import UUID

from ....coordinator.moment import Moment
from ....coordinator.outcome import Outcome
from ....coordinator.partitioning import partition_for
from ....coordinator.share_state.coordinator import ShareStates
from ....coordinator.share_state.records import decode, encode
from ....coordinator.share_state.states import (
    PruneLog,
    SharePartition,
    ShareState,
    ShareStateSummary,
    StateBatch,
)
from ....metadata.catalog import SHARE_GROUP_STATE
from ....protocol.errors import Code, Refused
from ...log_output import Log
from ..logs.finished_deletions import finish_deletion
from ..shards.shard import Shard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....coordinator.outcome import Effect
    from ....metadata.catalog import Catalog
    from ....metadata.topics import Topic
    from ....storage.log import PartitionLog
    from ....storage.log_directory import LogDirectory
    from ...clock import Clock
    from ...settings.config import BrokerConfig
    from ..controller.controller import Controller
    from ..shards.coordinators import Coordinator
    from ..shards.shard import ShardServices

Reply = TypeVar("Reply")

_FOR_NOW: Final = frozenset(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS,
        Code.COORDINATOR_NOT_AVAILABLE,
        Code.NOT_COORDINATOR,
    }
)
_RETRIES: Final = 10
_FIRST_WAIT_MS: Final = 10
_LONGEST_WAIT_MS: Final = 1_000

_log = Log("share_states")


class HasShareStates(Protocol):
    """A node, as the persister sees it."""

    @property
    def share_states(self) -> Coordinator[ShareStates]: ...


class SharePersister:
    """The states of share groups, for all nodes of a process.

    Each method raises Refused: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST (a read or write without
    a state), FENCED_STATE_EPOCH, FENCED_LEADER_EPOCH; and, if several attempts fail,
    NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE or COORDINATOR_LOAD_IN_PROGRESS. A refused call has
    changed nothing.

    Args:
        nodes: by id, running or not.
        controller: makes `__share_group_state` at the first use.
        log_directory: of the cluster.
        clock: the time.

    Attributes:
        writes: how many changes `write` has stored.
    """

    def __init__(
        self,
        nodes: Mapping[int, HasShareStates],
        controller: Controller,
        log_directory: LogDirectory,
        clock: Clock,
    ) -> None:
        self._nodes = nodes
        self._controller = controller
        self._log_directory = log_directory
        self._clock = clock
        self.writes = 0

    async def initialize(
        self,
        group_id: str,
        topic_id: UUID,
        partition: int,
        *,
        state_epoch: int,
        start_offset: int,
    ) -> None:
        """Make a new state of a partition.

        Args:
            start_offset: -1: the leader of the partition will find it out.
        """
        key = SharePartition(group_id, topic_id, partition)
        await self._run(
            key,
            lambda machine, now: machine.initialize(
                key, state_epoch=state_epoch, start_offset=start_offset, now_ms=now.wall_ms
            ),
        )

    async def read(
        self, group_id: str, topic_id: UUID, partition: int, *, leader_epoch: int
    ) -> ShareState:
        """The state of a partition, for its leader; writes of older leaders are fenced from now."""
        key = SharePartition(group_id, topic_id, partition)
        return await self._run(
            key,
            lambda machine, now: machine.read(key, leader_epoch=leader_epoch, now_ms=now.wall_ms),
        )

    async def write(
        self,
        group_id: str,
        topic_id: UUID,
        partition: int,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
    ) -> None:
        """Store what has changed.

        Args:
            batches: those that have changed; others are kept as they are.
        """
        key = SharePartition(group_id, topic_id, partition)
        await self._run(
            key,
            lambda machine, now: machine.write(
                key,
                state_epoch=state_epoch,
                leader_epoch=leader_epoch,
                start_offset=start_offset,
                delivery_complete_count=delivery_complete_count,
                batches=batches,
                now_ms=now.wall_ms,
            ),
        )
        self.writes += 1

    async def summarize(self, group_id: str, topic_id: UUID, partition: int) -> ShareStateSummary:
        """The start offset of a partition, which is -1 without a state."""
        key = SharePartition(group_id, topic_id, partition)
        return await self._run(key, lambda machine, now: machine.summarize(key))

    async def delete(self, group_id: str, topic_id: UUID, partition: int) -> None:
        """Remove the state of a partition, if there is one."""
        key = SharePartition(group_id, topic_id, partition)
        await self._run(key, lambda machine, now: machine.delete(key))

    async def _run(
        self, key: SharePartition, decide: Callable[[ShareStates, Moment], Outcome[Reply]]
    ) -> Reply:
        wait_ms = _FIRST_WAIT_MS
        for _ in range(_RETRIES):
            try:
                return await (await self._shard_of(key)).run(decide)
            except Refused as refused:
                if refused.code not in _FOR_NOW:
                    raise
            await self._clock.live.sleep_ms(wait_ms)
            wait_ms = min(wait_ms * 2, _LONGEST_WAIT_MS)
        return await (await self._shard_of(key)).run(decide)

    async def _shard_of(self, key: SharePartition) -> Shard[ShareStates]:
        topic = self._controller.catalog.topics.get(SHARE_GROUP_STATE)
        if topic is None:
            topic = await self._make_topic()
        partition = topic.partitions[partition_for(key.coordinator_key, len(topic.partitions))]
        node = self._nodes.get(partition.leader_id)
        if node is None:
            raise Refused(Code.NOT_COORDINATOR)
        return node.share_states.shard_at(partition.index)

    async def _make_topic(self) -> Topic:
        try:
            await finish_deletion(self._log_directory, SHARE_GROUP_STATE)
            return self._controller.create_internal_topic(SHARE_GROUP_STATE)
        except Refused as refused:
            raise Refused(Code.COORDINATOR_NOT_AVAILABLE, refused.why) from refused


def share_state_shard(
    config: BrokerConfig, catalog: Catalog, log: PartitionLog, services: ShardServices
) -> Shard[ShareStates]:
    """The share coordinator of a partition of `__share_group_state`, not loaded yet."""

    def partition_count_of(topic_id: UUID) -> int | None:
        topic = catalog.topic_by_id(topic_id)
        return None if topic is None else len(topic.partitions)

    prefix = "share.coordinator"
    machine = ShareStates(
        partition_count_of,
        updates_per_snapshot=config[f"{prefix}.snapshot.update.records.per.snapshot"],
        cold_interval_ms=config[f"{prefix}.cold.partition.snapshot.interval.ms"],
        prune_interval_ms=config[f"{prefix}.state.topic.prune.interval.ms"],
    )
    return Shard(
        log, machine, (encode, decode), services,
        carry_out=_carry_out, machine_code_for_clients=lambda code: code,
    )  # fmt: skip


def _carry_out(shard: Shard[ShareStates], effect: Effect) -> None:
    """Prune the log. Raises TypeError for another effect."""
    if not isinstance(effect, PruneLog):
        raise TypeError(f"unknown effect {effect!r}")
    try:
        shard.log.delete_records(effect.before_offset)
    except (Refused, OSError) as failed:  # the next time deletes them too
        _log.error(
            "the log of a share coordinator cannot be pruned",
            topic=shard.log.topic, partition=shard.partition, reason=str(failed),
        )  # fmt: skip
