"""A share coordinator with a log in memory."""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import UUID

from ottla.coordinator.outcome import Outcome
from ottla.coordinator.share_state.coordinator import ShareStates
from ottla.coordinator.share_state.states import (
    PruneLog,
    SharePartition,
    ShareRecord,
    ShareState,
    StateBatch,
)
from tests.coordinator.moments import at

Reply = TypeVar("Reply")
TOPIC = UUID(int=7)
SHOP = SharePartition("shop", TOPIC, 0)
BANK = SharePartition("bank", TOPIC, 1)
NOW_MS = 1_000
INTERVAL_MS = 300_000
DONE = StateBatch(10, 12, 2, 1)


class Log:
    """A machine with a log of its own."""

    def __init__(self, updates_per_snapshot: int = 3) -> None:
        self.topics = {TOPIC: 200}
        self.updates_per_snapshot = updates_per_snapshot
        self.records: list[ShareRecord] = []
        self.start = 0
        self.machine = self.fresh()

    def fresh(self) -> ShareStates:
        return ShareStates(self.topics.get, updates_per_snapshot=self.updates_per_snapshot)

    def apply(self, outcome: Outcome[Reply]) -> Reply:
        for record in outcome.records:
            self.machine.replay_at(record, len(self.records))
            self.records.append(record)
        for effect in outcome.effects:
            assert isinstance(effect, PruneLog)
            assert effect.before_offset > self.start
            self.start = effect.before_offset
        return outcome.reply

    def replayed(self) -> ShareStates:
        """A machine that replays the log after a restart."""
        machine = self.fresh()
        for offset in range(self.start, len(self.records)):
            machine.replay_at(self.records[offset], offset)
        return machine

    def initialize(
        self,
        partition: SharePartition = SHOP,
        *,
        state_epoch: int = 1,
        start_offset: int = 10,
        now_ms: int = NOW_MS,
    ) -> None:
        self.apply(
            self.machine.initialize(
                partition, state_epoch=state_epoch, start_offset=start_offset, now_ms=now_ms
            )
        )

    def write(self, partition: SharePartition = SHOP, **fields: Any) -> ShareRecord:
        usual = {"state_epoch": 1, "leader_epoch": 0, "start_offset": 10, "batches": ()}
        given = {**usual, "delivery_complete_count": 0, "now_ms": NOW_MS, **fields}
        self.apply(self.machine.write(partition, **given))
        return self.records[-1]

    def tick(self, now_ms: int) -> None:
        """Let timers act that are due."""
        due_ms = self.machine.next_deadline(at(now_ms))
        if due_ms is not None and due_ms <= now_ms:
            for outcome in self.machine.tick(at(now_ms)):
                self.apply(outcome)

    def state(self, partition: SharePartition = SHOP) -> ShareState:
        state = self.machine.state_of(partition)
        assert state is not None
        return state
