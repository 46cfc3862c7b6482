"""Has the share state of groups initialized and deleted, for their coordinators (KIP-932).

A heartbeat is answered at once; the state of new partitions is initialized after it, and the next
heartbeat assigns them (GroupCoordinatorService.persisterInitialize in Kafka).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from ....coordinator.share.effects import InitializeShareState
from ....coordinator.share.kind import ShareKind
from ....protocol.errors import Refused
from ...log_output import Log
from ...scheduling.turns import Turns

if TYPE_CHECKING:
    from ....coordinator.groups import Groups
    from ....coordinator.moment import Moment
    from ....coordinator.outcome import Effect, Outcome
    from ....coordinator.share.requests import StatePartition, StatePartitions
    from ..shards.shard import Shard
    from .share_persister import SharePersister

_log = Log("groups")


class ShareStateWork:
    """The work on share state for the group coordinators of all nodes of a process.

    Args:
        persister: keeps the state.
    """

    def __init__(self, persister: SharePersister) -> None:
        self._persister = persister
        self._tasks: set[asyncio.Task[None]] = set()

    def carry_out(self, shard: Shard[Groups], effect: Effect) -> None:
        """Initialize share state; then the group's coordinator decides. Raises TypeError."""
        if not isinstance(effect, InitializeShareState):
            raise TypeError(f"unknown effect {effect!r}")
        going = self._initialize(shard, effect)
        task = asyncio.get_running_loop().create_task(going, name="share state")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Decide nothing any more."""
        for task in self._tasks:
            task.cancel()

    async def _initialize(self, shard: Shard[Groups], order: InitializeShareState) -> None:
        with suppress(Refused):  # another node coordinates, or the log takes nothing
            await self.initialize(
                shard, order.group_id, order.state_epoch, order.partitions, Turns()
            )

    async def initialize(
        self,
        shard: Shard[Groups],
        group_id: str,
        state_epoch: int,
        partitions: Iterable[StatePartition],
        turns: Turns,
    ) -> Mapping[tuple[UUID, int], Refused]:
        """Initialize the share state of partitions, and have the group's coordinator note it.

        Args:
            shard: the group's coordinator.
            turns: of the request, if there is one.

        Returns:
            Why partitions are not initialized, by topic id and partition.

        Raises:
            Refused: the coordinator noted nothing.
        """
        done: dict[UUID, set[int]] = {}
        failed: dict[UUID, set[int]] = {}
        refusals: dict[tuple[UUID, int], Refused] = {}
        async for topic_id, index, start_offset in turns.each(partitions):
            try:
                await self._persister.initialize(
                    group_id, topic_id, index, state_epoch=state_epoch, start_offset=start_offset
                )
            except Refused as refused:
                failed.setdefault(topic_id, set()).add(index)
                refusals[topic_id, index] = refused
                _log.warning(
                    "share state is not initialized", group=group_id, topic_id=topic_id,
                    partition=index, error=refused.code.name, reason=refused.why,
                )  # fmt: skip
            else:
                done.setdefault(topic_id, set()).add(index)

        def note(machine: Groups, now: Moment, noted: StatePartitions, ok: bool) -> Outcome[None]:
            kind = machine.kind(ShareKind)
            return (kind.initialized if ok else kind.not_initialized)(group_id, noted)

        for noted, ok in ((done, True), (failed, False)):
            if noted:
                frozen = {topic_id: frozenset(indexes) for topic_id, indexes in noted.items()}
                await shard.run(partial(note, noted=frozen, ok=ok))
        return refusals

    async def delete(
        self, group_id: str, partitions: StatePartitions, turns: Turns
    ) -> Mapping[UUID, Refused]:
        """Delete the share state of partitions.

        Returns:
            Why topics keep theirs, by topic id.
        """
        refusals: dict[UUID, Refused] = {}
        async for topic_id, indexes in turns.each(partitions.items()):
            async for index in turns.each(sorted(indexes)):
                try:
                    await self._persister.delete(group_id, topic_id, index)
                except Refused as refused:
                    refusals[topic_id] = refused
        return refusals
