"""Acknowledgements, locks and the start of a share partition, as on Apache Kafka 4.4.0."""

from __future__ import annotations

import pytest

from ottla.coordinator.share_partition.partition import dead_letters_of
from ottla.coordinator.share_partition.states import DeadLetterReason, DeadLetters, ShareLimits
from ottla.coordinator.share_state.states import StateBatch
from ottla.protocol.errors import Code, Refused
from tests.coordinator.share_partition.talk import ACCEPT, GAP, REJECT, RELEASE, RENEW, Talk

LOCK_MS = 30_000


def test_accepted_rejected_and_missing_records_are_done_and_released_ones_come_again() -> None:
    talk = Talk(4)
    talk.fetch()
    talk.acknowledge((0, 3, [ACCEPT, RELEASE, REJECT, GAP]))
    assert talk.stored == [
        StateBatch(0, 0, 2, 1), StateBatch(1, 1, 0, 1), StateBatch(2, 3, 4, 1),
    ]  # fmt: skip
    assert talk.bounds == (1, 2)
    assert talk.fetch() == [(1, 1, 2)]


def test_the_start_stays_until_a_change_is_stored_and_the_count_does_not_wait() -> None:
    talk = Talk(3)
    talk.fetch()
    change = talk.begin((0, 1, ACCEPT))
    assert talk.bounds == (0, 2)
    talk.store(change)
    assert talk.bounds == (2, 0)


def test_a_change_that_fails_leaves_the_records_to_their_member() -> None:
    talk = Talk(3)
    talk.fetch()
    change = talk.begin((0, 1, ACCEPT))
    talk.machine.roll_back(change, talk.limits, now_ms=talk.now_ms)
    assert talk.bounds == (0, 0)
    talk.acknowledge((0, 2, ACCEPT))
    assert talk.bounds == (3, 0)


def test_a_change_that_fails_after_the_lock_has_ended_gives_the_records_back() -> None:
    talk = Talk(2)
    talk.fetch()
    change = talk.begin((0, 1, ACCEPT))
    talk.pass_ms(LOCK_MS)
    assert talk.fetch("b") == []
    talk.machine.roll_back(change, talk.limits, now_ms=talk.now_ms)
    assert talk.fetch("b") == [(0, 1, 2)]


@pytest.mark.parametrize(
    ("first", "last", "code"),
    [
        (0, 1, Code.INVALID_RECORD_STATE),  # another member's
        (2, 3, Code.INVALID_RECORD_STATE),  # available
        (2, 4, Code.INVALID_RECORD_STATE),
        (4, 6, Code.INVALID_REQUEST),  # never fetched
        (7, 9, Code.INVALID_REQUEST),
    ],
)
def test_records_that_the_member_does_not_have_are_refused(
    first: int, last: int, code: Code
) -> None:
    talk = Talk(*[1] * 8)
    talk.fetch("b", most=2)
    talk.fetch("a", most=3)
    talk.acknowledge((2, 3, RELEASE))
    with pytest.raises(Refused) as refused:
        talk.begin((first, last, ACCEPT))
    assert refused.value.code is code


def test_an_error_leaves_everything_as_it_was() -> None:
    talk = Talk(3)
    talk.fetch()
    with pytest.raises(Refused):
        talk.begin((0, 0, ACCEPT), (1, 1, 9))
    with pytest.raises(Refused):
        talk.begin((0, 1, ACCEPT), (1, 2, ACCEPT))
    assert talk.bounds == (0, 0)
    talk.acknowledge((0, 2, ACCEPT))


def test_records_below_the_start_may_be_acknowledged_again() -> None:
    talk = Talk(4)
    talk.fetch()
    talk.acknowledge((0, 2, ACCEPT))
    talk.acknowledge((0, 1, REJECT))
    talk.acknowledge((1, 3, ACCEPT))
    assert talk.bounds == (4, 0)
    with pytest.raises(Refused, match="not found"):
        talk.begin((4, 4, ACCEPT))


def test_a_record_is_delivered_no_more_often_than_the_limit() -> None:
    talk = Talk(1)
    counts = []
    for _ in range(7):
        for _, _, count in talk.fetch():
            counts.append(count)
            talk.acknowledge((0, 0, RELEASE))
    assert counts == [1, 2, 3, 4, 5]
    assert talk.bounds == (1, 0)
    assert talk.stored[-1] == StateBatch(0, 0, 4, 5)


def test_a_lock_ends_and_its_records_come_again() -> None:
    talk = Talk(2, 1)
    talk.fetch(most=2)
    talk.pass_ms(10)
    talk.fetch("b")
    assert talk.machine.next_deadline() == 1_000 + LOCK_MS
    talk.pass_ms(LOCK_MS - 11)
    assert talk.fetch("c") == []
    talk.pass_ms(1)
    assert talk.fetch("c") == [(0, 1, 2)]
    assert talk.stored == [StateBatch(0, 1, 0, 1)]
    with pytest.raises(Refused):
        talk.begin((0, 1, ACCEPT))
    talk.acknowledge((2, 2, ACCEPT), member="b")
    talk.acknowledge((0, 1, ACCEPT), member="c")
    assert talk.machine.next_deadline() is None


def test_a_renewed_lock_begins_again_for_these_records_alone() -> None:
    talk = Talk(3)
    talk.fetch()
    talk.pass_ms(20_000)
    talk.acknowledge((1, 1, RENEW))
    assert talk.stored == []
    talk.pass_ms(10_000)
    assert talk.fetch("b") == [(0, 0, 2), (2, 2, 2)]
    talk.acknowledge((1, 1, ACCEPT))


def test_renewal_may_be_forbidden() -> None:
    talk = Talk(1, limits=ShareLimits(may_renew=False))
    talk.fetch()
    with pytest.raises(Refused) as refused:
        talk.begin((0, 0, RENEW))
    assert refused.value.code is Code.INVALID_RECORD_STATE


def test_the_records_of_a_member_that_goes_are_given_back() -> None:
    talk = Talk(*[1] * 4)
    talk.fetch("a", most=2)
    talk.fetch("b")
    talk.acknowledge((0, 0, ACCEPT))
    talk.release("a")
    assert talk.fetch("c") == [(1, 1, 2)]
    talk.acknowledge((2, 3, ACCEPT), member="b")


def test_records_that_the_log_has_deleted_are_forgotten() -> None:
    talk = Talk(*[1] * 10)
    talk.fetch(most=6)
    talk.acknowledge((1, 2, ACCEPT))
    talk.machine.move_start(4)
    assert talk.bounds == (4, 0)
    talk.acknowledge((0, 3, ACCEPT))
    talk.acknowledge((3, 5, ACCEPT))
    assert talk.bounds == (6, 0)
    talk.machine.move_start(20)
    assert talk.machine.next_fetch_offset() == 20


def test_records_that_are_given_up_wait_for_the_dead_letter_queue() -> None:
    limits = ShareLimits(delivery_count_limit=2, has_dead_letters=True)
    talk = Talk(1, 1, limits=limits)
    talk.fetch()
    rejected = talk.begin((0, 0, REJECT))
    talk.store(rejected)
    assert talk.stored == [StateBatch(0, 0, 3, 1)]
    assert talk.bounds == (0, 0)
    [dead] = dead_letters_of(rejected)
    assert dead == DeadLetters(0, 0, 1, DeadLetterReason.REJECTED)
    talk.store(talk.machine.bury(dead))
    assert talk.stored[-1] == StateBatch(0, 0, 4, 1)
    assert talk.bounds == (1, 0)
    talk.acknowledge((1, 1, RELEASE))
    talk.fetch()
    talk.now_ms += LOCK_MS
    ended = talk.machine.tick(limits, now_ms=talk.now_ms)
    assert ended is not None
    assert dead_letters_of(ended) == [
        DeadLetters(1, 1, 2, DeadLetterReason.DELIVERY_COUNT_EXCEEDED)
    ]


def test_a_new_leader_knows_the_records_that_wait_for_the_dead_letter_queue() -> None:
    talk = Talk(3, stored=[StateBatch(0, 1, 3, 2)])
    assert talk.machine.waiting_dead_letters() == [
        DeadLetters(0, 1, 2, DeadLetterReason.DELIVERY_COUNT_EXCEEDED)
    ]
    assert talk.fetch() == [(2, 2, 1)]


def test_ten_thousand_renewals_leave_few_locks_to_look_at() -> None:
    talk = Talk(1)
    talk.fetch()
    for _ in range(10_000):
        talk.now_ms += 1
        talk.begin((0, 0, RENEW))
    assert len(talk.machine.locks) < 200


def test_a_million_records_in_one_batch_are_a_few_runs() -> None:
    talk = Talk(1_000_000)
    talk.fetch()
    talk.acknowledge((0, 499_999, ACCEPT), (600_000, 699_999, RELEASE))
    assert sum(len(batch.runs) for batch in talk.machine.in_flight.batches) == 3
