"""Consumer groups and time: sessions, the time to give partitions up, and what expires."""

from __future__ import annotations

from ottla.coordinator.groups import ClaimedMember
from ottla.coordinator.modern_groups import STATIC_LEAVING_EPOCH
from ottla.coordinator.offsets import OffsetToCommit
from ottla.protocol.errors import Code
from tests.coordinator.consumer.conversation import (
    REBALANCE_MS,
    SESSION_MS,
    Consumer,
    ConsumerTalk,
    FakeTopics,
    stable,
)
from tests.coordinator.group_conversation import GROUP

HALF_MS = SESSION_MS // 2


def test_a_member_that_is_not_heard_of_is_gone(talk: ConsumerTalk) -> None:
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    stable(a, b)
    talk.pass_time(HALF_MS)
    a.beat()
    talk.pass_time(SESSION_MS - HALF_MS)
    assert list(talk.consumers.members) == ["a"]
    assert b.beat() is Code.UNKNOWN_MEMBER_ID
    assert talk.epochs == ("Assigning", 4, 3)
    assert a.report() == {"orders": [0, 1, 2, 3, 4, 5]}


def test_all_sessions_that_end_at_once_end(talk: ConsumerTalk) -> None:
    stable(*(Consumer(talk, name) for name in "abc"))
    talk.pass_time(SESSION_MS)
    assert talk.epochs == ("Empty", 7, 7)
    assert talk.machine.next_deadline(talk.now) is not None, "offsets may expire"


def test_a_session_that_has_ended_ends_again_when_the_log_does_not_take_it() -> None:
    talk = ConsumerTalk()
    stable(Consumer(talk, "a"))
    talk.now_ms += SESSION_MS
    refused = next(talk.machine.tick(talk.now))
    assert refused.records, "which nobody appends: too few replicas are in sync"
    assert list(talk.consumers.members) == ["a"]
    talk.pass_time(1_000)
    assert list(talk.consumers.members) == []


def test_a_member_that_does_not_give_up_its_partitions_is_fenced(talk: ConsumerTalk) -> None:
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join()
    b.join()
    a.beat()
    for _ in range(3):
        talk.pass_time(REBALANCE_MS // 4)
        a.beat()
        b.beat()
    talk.pass_time(REBALANCE_MS // 4)
    assert list(talk.consumers.members) == ["b"]
    assert b.report() == {"orders": [0, 1, 2, 3, 4, 5]}


def test_a_member_that_has_given_them_up_is_left_alone(talk: ConsumerTalk) -> None:
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    stable(a, b)
    for _ in range(8):
        talk.pass_time(REBALANCE_MS // 4)
        a.beat()
        b.beat()
    assert sorted(talk.consumers.members) == ["a", "b"]


def test_a_static_member_may_be_away_for_its_session(talk: ConsumerTalk) -> None:
    a, b = Consumer(talk, "a", instance="i"), Consumer(talk, "b")
    stable(a, b)
    a.leave(for_a_while=True)
    assert talk.consumers.members["a"].member_epoch == STATIC_LEAVING_EPOCH
    talk.pass_time(HALF_MS)
    b.beat()
    talk.pass_time(SESSION_MS - HALF_MS)
    assert list(talk.consumers.members) == ["b"]


def test_a_static_member_that_is_away_does_not_owe_anything(talk: ConsumerTalk) -> None:
    """It left while it had partitions to give up: the time for that does not count any more."""
    a, b = Consumer(talk, "a", instance="i"), Consumer(talk, "b")
    a.join(rebalance_timeout_ms=1_000)
    b.join()
    a.beat()
    a.leave(for_a_while=True)
    talk.pass_time(2_000)
    assert sorted(talk.consumers.members) == ["a", "b"]


def test_after_a_restart_sessions_begin_anew(talk: ConsumerTalk, a: Consumer, b: Consumer) -> None:
    a.join()
    b.join()
    a.beat()
    talk.pass_time(HALF_MS)
    talk.restart()
    talk.pass_time(SESSION_MS - 1)
    assert sorted(talk.consumers.members) == ["a", "b"]
    talk.pass_time(1)
    assert not talk.consumers.members


def test_after_a_restart_the_time_to_give_up_partitions_begins_anew(talk: ConsumerTalk) -> None:
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join(rebalance_timeout_ms=10_000)
    b.join()
    a.beat()
    talk.restart()
    talk.pass_time(9_999)
    a.beat()
    talk.pass_time(1)
    assert list(talk.consumers.members) == ["b"]


def test_offsets_of_consumed_topics_stay_and_others_expire_by_age() -> None:
    talk = ConsumerTalk(
        offsets_retention_ms=60_000,
        offsets_retention_check_interval_ms=10_000,
        initial_rebalance_delay_ms=0,
    )
    a = Consumer(talk, "a")
    a.join()
    member = ClaimedMember("a", a.epoch)
    assert talk.commit(1, member) is Code.NONE
    assert talk.commit(2, member, topic="stock") is Code.NONE
    for _ in range(4):
        talk.pass_time(20_000)
        a.beat()
    assert (talk.offset(), talk.offset("stock")) == (1, -1)
    a.leave()
    talk.pass_time(20_000)
    assert talk.offset() == -1, "nobody is subscribed any more, and it is old"
    assert talk.machine.kind_name_of(GROUP) != "consumer", "nothing is left of the group"
    talk.restart()
    assert talk.machine.list_groups() == []


def test_an_offset_with_a_retention_of_its_own_goes_by_that() -> None:
    talk = ConsumerTalk(offsets_retention_ms=60_000, offsets_retention_check_interval_ms=1_000)
    a = Consumer(talk, "a")
    a.join()
    a.leave()
    outcome = talk.machine.commit(
        GROUP, ClaimedMember(), [OffsetToCommit("orders", 0, 1)], retention_ms=5_000, now=talk.now
    )
    talk.told(outcome)
    talk.pass_time(4_000)
    assert talk.offset() == 1
    talk.pass_time(2_000)
    assert talk.offset() == -1


def test_the_next_target_waits_for_the_assignment_interval() -> None:
    """KIP-1263: the first target is made at once, the next a second later, by any heartbeat."""
    talk = ConsumerTalk(consumer={"assignment_interval_ms": 1_000})
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    assert a.join() == {"orders": [0, 1, 2, 3, 4, 5]}
    assert b.join() == {}
    assert (b.epoch, talk.epochs) == (2, ("Assigning", 3, 2))
    talk.pass_time(999)
    assert b.beat() is None
    assert talk.epochs == ("Assigning", 3, 2)
    talk.pass_time(1)
    assert a.beat() == {"orders": [0, 1, 2]}
    assert talk.epochs == ("Reconciling", 3, 3)


def test_the_interval_goes_on_after_a_restart() -> None:
    talk = ConsumerTalk(consumer={"assignment_interval_ms": 1_000})
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join()
    talk.restart()
    b.join()
    assert talk.epochs == ("Assigning", 3, 2)


def test_a_clock_that_was_set_back_delays_no_target() -> None:
    talk = ConsumerTalk(consumer={"assignment_interval_ms": 1_000})
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join()
    talk.wall_step_ms = -3_600_000
    b.join()
    assert talk.epochs == ("Reconciling", 3, 3)


def test_the_first_member_after_an_empty_group_does_not_wait() -> None:
    talk = ConsumerTalk(consumer={"assignment_interval_ms": 1_000})
    a = Consumer(talk, "a")
    a.join()
    a.leave()
    assert a.join() == {"orders": [0, 1, 2, 3, 4, 5]}


def test_partitions_of_topics_no_longer_subscribed_are_given_up_before_the_next_target() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1, stock=1), consumer={"assignment_interval_ms": 1_000})
    a = Consumer(talk, "a", "orders", "stock")
    assert a.join() == {"orders": [0], "stock": [0]}
    assert a.report(subscribed_topic_names=frozenset({"stock"})) == {"stock": [0]}
    assert talk.epochs == ("Assigning", 3, 2)
