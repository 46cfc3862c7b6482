"""The share coordinator: snapshots, updates, fenced epochs, deleted topics and pruning."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest

from ottla.coordinator.outcome import Outcome
from ottla.coordinator.share_state.coordinator import RECORDS_PER_DECISION
from ottla.coordinator.share_state.states import (
    SharePartition,
    ShareSnapshot,
    ShareState,
    ShareStateRemoved,
    ShareUpdate,
    StateBatch,
)
from ottla.protocol.errors import Code, Refused
from tests.coordinator.moments import at
from tests.coordinator.share_state.share_log import (
    BANK,
    DONE,
    INTERVAL_MS,
    NOW_MS,
    SHOP,
    TOPIC,
    Log,
)


@pytest.fixture
def log() -> Log:
    return Log()


def test_a_new_state_is_a_snapshot(log: Log) -> None:
    log.initialize()
    state = ShareState(0, 1, 0, 10, 0, (), NOW_MS, NOW_MS)
    assert log.records == [ShareSnapshot(SHOP, state)]
    log.initialize(state_epoch=2, start_offset=-1)
    assert log.state() == ShareState(1, 2, 0, -1, -1, (), NOW_MS, NOW_MS)


def test_a_write_is_an_update_with_its_own_batches(log: Log) -> None:
    log.initialize()
    log.write(batches=[DONE])
    later = [StateBatch(14, 14, 4, 2), StateBatch(13, 13, 4, 2)]
    update = log.write(batches=later, delivery_complete_count=5)
    assert update == ShareUpdate(SHOP, 0, 0, 10, 5, (StateBatch(13, 14, 4, 2),))
    assert log.state().batches == (DONE, StateBatch(13, 14, 4, 2))
    assert log.state().delivery_complete_count == 5


def test_a_snapshot_follows_so_many_updates(log: Log) -> None:
    log.initialize()
    kinds = [type(log.write(batches=[DONE], now_ms=each)) for each in range(8)]
    after_three = [ShareUpdate] * 3 + [ShareSnapshot]
    assert kinds == after_three * 2
    assert log.state() == ShareState(2, 1, 0, 10, 0, (DONE,), 7, 7)


def test_another_snapshot_does_not_begin_a_new_count_of_updates(log: Log) -> None:
    log.initialize()
    log.write()
    log.write()
    log.initialize()
    assert [type(log.write()) for _ in range(3)] == [ShareUpdate, ShareSnapshot, ShareUpdate]


def test_with_no_updates_each_write_is_a_snapshot() -> None:
    log = Log(updates_per_snapshot=0)
    log.initialize()
    assert [type(log.write()) for _ in range(3)] == [ShareSnapshot] * 3


def test_a_start_offset_moves_only_forward(log: Log) -> None:
    log.initialize()
    log.write(start_offset=12, delivery_complete_count=4, batches=[StateBatch(13, 13, 2, 1)])
    log.write(start_offset=11, delivery_complete_count=9)
    assert (log.state().start_offset, log.state().delivery_complete_count) == (12, 4)
    log.write(start_offset=12, delivery_complete_count=3)
    assert log.state().delivery_complete_count == 4
    log.write(start_offset=14, delivery_complete_count=0)
    assert log.state()[3:6] == (14, 0, ())


def test_a_read_of_a_new_leader_fences_writes_of_the_one_before(log: Log) -> None:
    log.initialize()
    log.write(batches=[DONE], leader_epoch=0)
    state = log.apply(log.machine.read(SHOP, leader_epoch=4, now_ms=NOW_MS))
    assert state.batches == (DONE,)
    assert log.state().leader_epoch == 4
    count = len(log.records)
    log.apply(log.machine.read(SHOP, leader_epoch=4, now_ms=NOW_MS))
    assert len(log.records) == count, "the same epoch needs no record"
    with pytest.raises(Refused) as refused:
        log.write(leader_epoch=3)
    assert refused.value.code is Code.FENCED_LEADER_EPOCH
    log.write(leader_epoch=5)
    assert log.state().leader_epoch == 4, "a write does not raise the epoch"


def test_a_new_state_keeps_the_fence_of_leaders(log: Log) -> None:
    log.initialize()
    log.apply(log.machine.read(SHOP, leader_epoch=4, now_ms=NOW_MS))
    log.initialize(state_epoch=2)
    assert log.state().leader_epoch == 0
    log.write(state_epoch=2, leader_epoch=4)
    with pytest.raises(Refused) as refused:
        log.machine.read(SHOP, leader_epoch=3, now_ms=NOW_MS)
    assert refused.value.code is Code.FENCED_LEADER_EPOCH


def test_an_empty_batch_is_refused(log: Log) -> None:
    log.initialize()
    with pytest.raises(Refused) as refused:
        log.write(batches=[StateBatch(12, 11, 2, 1)])
    assert refused.value.code is Code.INVALID_REQUEST


def test_the_states_of_deleted_topics_are_removed(log: Log) -> None:
    other = SharePartition("shop", UUID(int=8), 0)
    log.topics[other.topic_id] = 1
    for each in (SHOP, BANK, other):
        log.initialize(each)
    del log.topics[TOPIC]
    log.apply(log.machine.forget_topics((TOPIC,)))
    assert log.records[3:] == [ShareStateRemoved(SHOP), ShareStateRemoved(BANK)]
    assert len(log.machine) == 1


def test_a_start_removes_states_of_topics_that_were_deleted_meanwhile(log: Log) -> None:
    log.initialize()
    assert not log.machine.forget_missing_topics().records
    log.topics.clear()
    log.apply(log.machine.forget_missing_topics())
    assert len(log.machine) == 0


def test_without_states_there_are_no_timers(log: Log) -> None:
    assert log.machine.next_deadline(at(0)) is None
    log.initialize()
    log.apply(log.machine.delete(SHOP))
    for now_ms in range(0, 10 * INTERVAL_MS, INTERVAL_MS):
        log.tick(now_ms)
    assert log.machine.next_deadline(at(0)) is None
    assert log.start == 1, "the tombstone is kept: nothing says that it is not needed"


def test_a_state_that_rests_gets_one_more_snapshot_and_then_costs_nothing(log: Log) -> None:
    log.initialize(now_ms=0)
    log.write(batches=[DONE])
    assert log.machine.next_deadline(at(0)) == INTERVAL_MS
    log.tick(INTERVAL_MS - 1)
    assert len(log.records) == 2
    log.tick(INTERVAL_MS)
    cold = ShareState(1, 1, 0, 10, 0, (DONE,), 0, INTERVAL_MS)
    assert log.records[2:] == [ShareSnapshot(SHOP, cold)]
    assert log.machine.next_deadline(at(INTERVAL_MS)) == 2 * INTERVAL_MS, "to prune the log"
    log.tick(2 * INTERVAL_MS)
    assert log.start == 2
    assert log.machine.next_deadline(at(2 * INTERVAL_MS)) is None
    assert log.replayed().state_of(SHOP) == log.state()


def test_a_busy_state_lets_those_that_rest_be_written_again(log: Log) -> None:
    log.initialize(SHOP, now_ms=0)
    log.initialize(BANK, now_ms=0)
    for now_ms in range(0, 4 * INTERVAL_MS + 1, INTERVAL_MS):
        for _ in range(4):
            log.write(BANK, now_ms=now_ms)
        log.tick(now_ms)
    assert log.start > 8, "the log of the busy state can be pruned"
    assert log.replayed().state_of(SHOP) == log.state(SHOP)


def test_the_log_is_pruned_up_to_the_oldest_snapshot_that_is_needed(log: Log) -> None:
    log.initialize(SHOP)
    log.initialize(BANK)
    for _ in range(8):
        log.write(SHOP)
    log.machine.next_deadline(at(0))
    log.tick(INTERVAL_MS - 1)
    assert log.start == 0, "the state of the other group is in the second record"
    log.initialize(SHOP, state_epoch=2)
    log.apply(log.machine.delete(BANK))
    needed = 10  # the snapshot of SHOP; the tombstone is behind it
    assert isinstance(log.records[needed], ShareSnapshot)
    log.tick(INTERVAL_MS)
    log.tick(2 * INTERVAL_MS)
    assert log.start == needed
    assert log.replayed().state_of(SHOP) is not None


def test_a_state_that_is_not_written_again_keeps_its_snapshot(log: Log) -> None:
    log.initialize(SHOP, now_ms=INTERVAL_MS)
    log.initialize(BANK, now_ms=INTERVAL_MS)
    log.initialize(SHOP, now_ms=INTERVAL_MS)
    log.machine.next_deadline(at(0))
    log.tick(INTERVAL_MS)
    assert log.start == 1
    assert log.replayed().state_of(BANK) == log.state(BANK)


def test_a_tombstone_is_pruned_too(log: Log) -> None:
    log.initialize(SHOP)
    log.apply(log.machine.delete(SHOP))
    log.initialize(BANK)
    log.machine.next_deadline(at(0))
    log.tick(INTERVAL_MS)
    log.tick(2 * INTERVAL_MS)
    assert log.start > 1


def test_many_states_at_rest_are_written_in_several_decisions() -> None:
    log = Log()
    count = RECORDS_PER_DECISION + 1
    for partition in range(count):
        log.initialize(SharePartition("shop", TOPIC, partition), now_ms=0)
    log.machine.next_deadline(at(0))
    work: Iterator[Outcome[None]] = log.machine.tick(at(INTERVAL_MS))
    first = next(work)
    log.apply(first)
    assert len(first.records) == RECORDS_PER_DECISION
    work = iter(())  # the slice is over
    assert log.machine.next_deadline(at(INTERVAL_MS)) == INTERVAL_MS
    log.tick(INTERVAL_MS)
    assert len(log.records) == 2 * count, "no state is written twice"


def test_batches_of_another_writer_are_put_in_order(log: Log) -> None:
    state = ShareState(0, 1, 0, 10, 0, (StateBatch(14, 16, 2, 1), DONE), 0, 0)
    log.machine.replay_at(ShareSnapshot(SHOP, state), 0)
    assert log.state().batches == (DONE, StateBatch(14, 16, 2, 1))
