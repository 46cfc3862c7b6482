"""Random requests: the machine is what a simple model says, after each restart and each crash.

The model keeps the strongest state of each offset. The machine is asked through outcomes alone, and
restarted from the records that its pruned log still has. The log is cut behind each record, as by
a crash there: a replay finds what the machine was at that moment.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ottla.coordinator.outcome import Outcome
from ottla.coordinator.share_state.batches import are_in_order
from ottla.coordinator.share_state.coordinator import ShareStates
from ottla.coordinator.share_state.records import decode, encode
from ottla.coordinator.share_state.states import (
    PruneLog,
    SharePartition,
    ShareRecord,
    ShareSnapshot,
    ShareState,
    ShareStateRemoved,
    StateBatch,
)
from ottla.protocol.errors import Code, Refused
from tests.coordinator.moments import at
from tests.coordinator.share_state.any_batches import any_batches, by_offset, offsets, runs
from tests.coordinator.share_state.share_log import INTERVAL_MS, TOPIC

PARTITIONS = st.sampled_from([SharePartition(name, TOPIC, 0) for name in ("shop", "bank")])
EPOCHS = st.integers(0, 3)


@dataclass
class Known:
    """What the model knows of a partition."""

    state_epoch: int
    start_offset: int
    complete: int
    given: list[StateBatch] = field(default_factory=list)


class Coordinator(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.machine = self.fresh()
        self.log: list[tuple[bytes, bytes | None]] = []
        self.start = 0
        self.pruned_at = 0  # the length of the log at that time
        self.known: dict[SharePartition, Known] = {}
        self.leaders: dict[SharePartition, int] = {}  # the highest epoch that was read with
        self.after: list[dict[SharePartition, ShareState | None]] = []  # each record of the log

    def fresh(self) -> ShareStates:
        return ShareStates({TOPIC: 1}.get, updates_per_snapshot=2)

    def states(self, machine: ShareStates) -> dict[SharePartition, ShareState | None]:
        return {SharePartition(name, TOPIC, 0): machine.state_of(SharePartition(name, TOPIC, 0))
                for name in ("shop", "bank")}  # fmt: skip

    def apply(self, outcome: Outcome[object]) -> None:
        for record in outcome.records:
            self.machine.replay_at(record, len(self.log))
            self.log.append(encode(record))
            self.after.append(self.states(self.machine))
        for effect in outcome.effects:
            assert isinstance(effect, PruneLog)
            self.start, self.pruned_at = effect.before_offset, len(self.log)

    def replayed(self, end: int) -> ShareStates:
        machine = self.fresh()
        for offset in range(self.start, end):
            record: ShareRecord | None = decode(*self.log[offset])
            assert record is not None
            machine.replay_at(record, offset)
        return machine

    @rule(partition=PARTITIONS, epoch=EPOCHS, start_offset=st.integers(-1, 9))
    def initialize(self, partition: SharePartition, epoch: int, start_offset: int) -> None:
        known = self.known.get(partition)
        try:
            outcome = self.machine.initialize(
                partition, state_epoch=epoch, start_offset=start_offset, now_ms=self.now_ms
            )
        except Refused as refused:
            self.check_refusal(refused, partition, 99, epoch)
            return
        assert known is None or known.state_epoch <= epoch
        self.apply(outcome)
        self.known[partition] = Known(epoch, start_offset, -1 if start_offset == -1 else 0)

    @rule(partition=PARTITIONS, leader=EPOCHS)
    def read(self, partition: SharePartition, leader: int) -> None:
        try:
            outcome = self.machine.read(partition, leader_epoch=leader, now_ms=self.now_ms)
        except Refused as refused:
            self.check_refusal(refused, partition, leader)
            return
        self.check_accepted(partition, leader)
        self.apply(outcome)
        self.leaders[partition] = leader

    @rule(
        partition=PARTITIONS,
        leader=EPOCHS,
        epoch=EPOCHS,
        start_offset=offsets,
        complete=st.integers(0, 9),
        batches=any_batches,
    )
    def write(
        self,
        *,
        partition: SharePartition,
        leader: int,
        epoch: int,
        start_offset: int,
        complete: int,
        batches: list[StateBatch],
    ) -> None:
        try:
            outcome = self.machine.write(
                partition,
                state_epoch=epoch,
                leader_epoch=leader,
                start_offset=start_offset,
                delivery_complete_count=complete,
                batches=batches,
                now_ms=self.now_ms,
            )
        except Refused as refused:
            self.check_refusal(refused, partition, leader, epoch)
            return
        self.check_accepted(partition, leader, epoch)
        self.apply(outcome)
        known = self.known[partition]
        if start_offset == known.start_offset:
            known.complete = max(known.complete, complete)
        elif start_offset > known.start_offset:
            known.start_offset, known.complete = start_offset, complete
        known.given = runs(by_offset(known.given + batches, known.start_offset))

    def check_accepted(self, partition: SharePartition, leader: int, epoch: int = 99) -> None:
        assert self.leaders.get(partition, 0) <= leader
        assert self.known[partition].state_epoch <= epoch

    def check_refusal(
        self, refused: Refused, partition: SharePartition, leader: int, epoch: int = 99
    ) -> None:
        known = self.known.get(partition)
        if known is None:
            assert refused.code is Code.INVALID_REQUEST
        elif self.leaders.get(partition, 0) > leader:
            assert refused.code is Code.FENCED_LEADER_EPOCH
        else:
            assert refused.code is Code.FENCED_STATE_EPOCH
            assert known.state_epoch > epoch

    @rule(partition=PARTITIONS)
    def delete(self, partition: SharePartition) -> None:
        self.apply(self.machine.delete(partition))
        self.known.pop(partition, None)
        self.leaders.pop(partition, None)

    @rule(partition=PARTITIONS)
    def lose_a_write(self, partition: SharePartition) -> None:
        """The log refuses what is decided: nothing has changed."""
        self.machine.delete(partition)
        self.machine.initialize(partition, state_epoch=9, start_offset=3, now_ms=self.now_ms)

    @rule(wait_ms=st.sampled_from([1, INTERVAL_MS, 2 * INTERVAL_MS]))
    def wait(self, wait_ms: int) -> None:
        self.machine.next_deadline(at(self.now_ms))
        self.now_ms += wait_ms
        due_ms = self.machine.next_deadline(at(self.now_ms))
        if due_ms is not None and due_ms <= self.now_ms:
            for outcome in self.machine.tick(at(self.now_ms)):
                self.apply(outcome)

    @rule()
    def restart(self) -> None:
        self.machine = self.replayed(len(self.log))
        self.leaders.clear()  # a new state may follow the read, and then the log forgets it
        for offset in range(self.start, len(self.log)):
            record = decode(*self.log[offset])
            if isinstance(record, ShareStateRemoved):
                self.leaders.pop(record.partition, None)
            elif record is not None:
                state = record.state if isinstance(record, ShareSnapshot) else record
                before = self.leaders.get(record.partition, 0)
                self.leaders[record.partition] = max(before, state.leader_epoch)

    @invariant()
    def the_states_are_those_of_the_model(self) -> None:
        assert len(self.machine) == len(self.known)
        for partition, known in self.known.items():
            state = self.machine.state_of(partition)
            assert state is not None
            assert are_in_order(state.batches)
            assert list(state.batches) == known.given
            told = state.state_epoch, state.start_offset, state.delivery_complete_count
            assert told == (known.state_epoch, known.start_offset, known.complete)

    @invariant()
    def a_restart_finds_the_same_states(self) -> None:
        assert self.states(self.replayed(len(self.log))) == self.states(self.machine)

    @rule()
    def crash_behind_each_record(self) -> None:
        for end in range(max(self.pruned_at, 1), len(self.log) + 1):
            assert self.states(self.replayed(end)) == self.after[end - 1]


TestCoordinator = Coordinator.TestCase
TestCoordinator.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
