"""What a member acquires, as observed on Apache Kafka 4.4.0."""

from __future__ import annotations

from ottla.coordinator.share_partition.states import LogBatch, ShareLimits
from ottla.coordinator.share_state.states import StateBatch
from tests.coordinator.share_partition.talk import ACCEPT, GAP, RELEASE, Talk


def test_batches_of_the_log_are_one_range_up_to_the_batch_size() -> None:
    assert Talk(3, 1, 2).fetch() == [(0, 5, 1)]
    assert Talk(3, 1, 2).fetch(size=3) == [(0, 2, 1), (3, 5, 1)]
    assert Talk(1, 1, 1).fetch(size=0) == [(0, 0, 1), (1, 1, 1), (2, 2, 1)]


def test_a_batch_of_the_log_is_never_divided_by_the_limit() -> None:
    assert Talk(*[1] * 10).fetch(most=4) == [(0, 3, 1)]
    assert Talk(10, 10, 10).fetch(most=4) == [(0, 9, 1)]
    assert Talk(10, 10, 10).fetch(most=10) == [(0, 9, 1)]
    assert Talk(10, 10, 10).fetch(most=15) == [(0, 19, 1)]


def test_the_mode_record_limit_divides_a_batch_and_remembers_the_pieces() -> None:
    talk = Talk(10, 10, 10)
    assert talk.fetch(most=15, by_count=True) == [(0, 14, 1)]
    talk.acknowledge((0, 14, ACCEPT))
    assert talk.fetch(most=15, by_count=True) == [(15, 19, 1), (20, 29, 1)]


def test_the_mode_record_limit_gives_the_rest_of_a_batch_to_the_next_fetch() -> None:
    talk = Talk(10)
    assert talk.fetch(most=4, by_count=True) == [(0, 3, 1)]
    assert talk.fetch("b", most=4, by_count=True) == [(4, 7, 1)]


def test_nothing_is_acquired_without_a_limit_of_records() -> None:
    assert Talk(3).fetch(most=0) == []
    assert Talk(3).fetch(most=-1) == []


def test_released_records_come_first_and_in_the_batches_that_they_had() -> None:
    talk = Talk(1, 1, 1, 1, 1)
    assert talk.fetch(size=2) == [(0, 1, 1), (2, 3, 1), (4, 4, 1)]
    talk.acknowledge((0, 3, RELEASE), (4, 4, ACCEPT))
    talk.append(1)
    assert talk.fetch() == [(0, 1, 2), (2, 3, 2), (5, 5, 1)]


def test_there_are_no_more_locks_than_allowed() -> None:
    talk = Talk(*[1] * 130, limits=ShareLimits(max_record_locks=100))
    assert talk.fetch() == [(0, 99, 1)]
    assert talk.fetch("b") == []
    talk.acknowledge((0, 9, ACCEPT))
    assert talk.fetch("b") == [(100, 109, 1)]


def test_records_in_between_are_acquired_again_when_all_locks_are_used() -> None:
    talk = Talk(*[1] * 30, limits=ShareLimits(max_record_locks=20))
    talk.fetch()
    talk.acknowledge((10, 10, RELEASE))
    assert talk.fetch("b") == [(10, 10, 2)]
    assert talk.fetch("b") == []


def test_records_delivered_often_come_in_smaller_portions_and_at_last_alone() -> None:
    talk = Talk(8, limits=ShareLimits(delivery_count_limit=4))
    for expected in ([(0, 7, 1)], [(0, 7, 2)]):
        assert talk.fetch() == expected
        talk.release("a")
    assert talk.fetch() == [(0, 3, 3)]
    talk.release("a")
    assert talk.fetch() == [(0, 0, 4)]
    assert talk.fetch() == [(1, 1, 4)]


def test_a_batch_with_records_delivered_often_comes_alone() -> None:
    talk = Talk(1, 4, limits=ShareLimits(delivery_count_limit=6))
    for _ in range(3):
        talk.fetch(size=1)
        talk.acknowledge((1, 4, RELEASE))
        if talk.machine.start_offset == 0:
            talk.acknowledge((0, 0, RELEASE))
    assert talk.fetch() == [(0, 0, 4)]
    assert talk.fetch() == [(1, 2, 4)]


def test_records_of_aborted_transactions_are_archived_and_left_out() -> None:
    talk = Talk(2, 2, 2)
    assert talk.fetch(aborted=[LogBatch(2, 3)]) == [(0, 1, 1), (4, 5, 1)]
    assert talk.bounds == (0, 2)
    talk.acknowledge((0, 1, ACCEPT))
    assert talk.bounds == (4, 0)
    assert Talk(2).fetch(aborted=[LogBatch(0, 1)]) == []


def test_available_records_that_compaction_has_removed_are_given_up() -> None:
    talk = Talk(2, 2, 2)
    talk.fetch(size=2)
    talk.acknowledge((0, 1, ACCEPT), (2, 3, RELEASE))
    del talk.log[:2]
    talk.append(1)
    assert talk.fetch("b") == [(6, 6, 1)]
    talk.acknowledge((4, 5, ACCEPT))
    assert talk.bounds == (6, 0)


def test_a_new_leader_delivers_the_records_between_stored_ones() -> None:
    stored = [StateBatch(3, 4, 2, 1), StateBatch(7, 7, 0, 2)]
    talk = Talk(*[1] * 10, start=1, stored=stored)
    assert talk.bounds == (1, 2)
    assert talk.fetch(most=1) == [(1, 1, 1)]
    assert talk.fetch() == [(2, 2, 1), (5, 6, 1), (7, 7, 3), (8, 9, 1)]


def test_a_new_leader_passes_offsets_without_records() -> None:
    talk = Talk(*[1] * 6, stored=[StateBatch(3, 3, 2, 1)])
    del talk.log[:2]
    assert talk.fetch() == [(2, 2, 1), (4, 5, 1)]
    talk.acknowledge((2, 2, GAP), (4, 4, ACCEPT))
    assert talk.bounds == (5, 0)


def test_a_new_leader_does_not_begin_with_records_that_are_done() -> None:
    talk = Talk(*[1] * 4, stored=[StateBatch(0, 1, 2, 1), StateBatch(2, 2, 4, 5)])
    assert talk.bounds == (3, 0)
    assert talk.fetch() == [(3, 3, 1)]
