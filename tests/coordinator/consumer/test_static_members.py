"""Static members of consumer groups: they leave for a while, and come back under another id."""

from __future__ import annotations

from ottla.protocol.errors import Code
from tests.coordinator.consumer.conversation import (
    SESSION_MS,
    Consumer,
    ConsumerTalk,
    FakeTopics,
    settle,
    stable,
)


def pair() -> tuple[ConsumerTalk, Consumer, Consumer, Consumer]:
    """A static member, a dynamic one, and the static one's next life."""
    talk = ConsumerTalk(FakeTopics(orders=4))
    a, b = Consumer(talk, "a", instance="i"), Consumer(talk, "b")
    stable(a, b)
    return talk, a, b, Consumer(talk, "a2", instance="i")


def test_an_instance_that_is_in_use_is_not_given_away() -> None:
    talk, _, _, again = pair()
    logged = len(talk.log)
    assert again.join() is Code.UNRELEASED_INSTANCE_ID
    assert again.beat(epoch=2) is Code.FENCED_INSTANCE_ID
    assert again.leave() is Code.FENCED_INSTANCE_ID
    assert len(talk.log) == logged


def test_no_partition_moves_while_a_static_member_is_away() -> None:
    talk, a, b, _ = pair()
    assert a.leave(for_a_while=True) is None
    assert a.reply is not None
    assert a.reply.member_epoch == -2
    assert (b.report(), talk.epochs[1:]) == (None, (3, 3))


def test_a_returning_static_member_gets_its_assignment_under_a_new_id() -> None:
    talk, a, b, again = pair()
    a.leave(for_a_while=True)
    assert again.join() == a.owned
    assert (again.epoch, talk.epochs) == (3, ("Stable", 3, 3))
    assert b.report() is None
    assert sorted(talk.consumers.members) == ["a2", "b"]
    assert a.beat(epoch=3) is Code.FENCED_INSTANCE_ID
    talk.restart()
    assert again.report() is None


def test_under_the_same_id_it_is_back_too() -> None:
    talk, a, _, _ = pair()
    before = a.owned
    a.leave(for_a_while=True)
    assert a.join() == before
    assert talk.epochs == ("Stable", 3, 3)


def test_under_the_same_id_it_is_given_up_too_when_it_is_not_heard_of_again() -> None:
    talk, a, b, _ = pair()
    a.leave(for_a_while=True)
    a.join()
    for _ in range(2):
        talk.pass_time(SESSION_MS - 1)
        b.beat()
    assert list(talk.consumers.members) == ["b"]


def test_with_another_subscription_the_group_is_assigned_anew() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2, stock=2))
    a, b = Consumer(talk, "a", instance="i"), Consumer(talk, "b")
    stable(a, b)
    a.leave(for_a_while=True)
    again = Consumer(talk, "a2", "stock", instance="i")
    again.join()
    assert talk.consumers.epoch == 4
    settle(again, b)
    assert (again.owned, b.owned) == ({"stock": [0, 1]}, {"orders": [0, 1]})


def test_a_returning_static_member_has_no_pending_revocations() -> None:
    """Away while it had partitions to give up: they are free when it comes back."""
    talk = ConsumerTalk(FakeTopics(orders=4))
    a, b = Consumer(talk, "a", instance="i"), Consumer(talk, "b")
    a.join()
    b.join()
    a.beat()
    a.leave(for_a_while=True)
    assert b.beat() == {"orders": [2, 3]}


def test_a_static_member_may_leave_for_good() -> None:
    talk, a, b, again = pair()
    a.leave(for_a_while=True)
    assert a.leave() is None
    assert list(talk.consumers.members) == ["b"]
    settle(b)
    assert b.owned == {"orders": [0, 1, 2, 3]}
    assert again.beat(epoch=2) is Code.UNKNOWN_MEMBER_ID


def test_static_members_come_first_where_ranges_are_dealt() -> None:
    talk = ConsumerTalk(FakeTopics(orders=3))
    a, z = Consumer(talk, "a"), Consumer(talk, "z", instance="y")
    a.join(server_assignor="range")
    z.join(server_assignor="range")
    assert talk.targets == {"a": {"orders": [2]}, "z": {"orders": [0, 1]}}


def test_a_returning_static_member_keeps_its_partitions_when_it_subscribes_to_more() -> None:
    talk = ConsumerTalk(FakeTopics(orders=4, stock=1))
    a, b = Consumer(talk, "a", instance="i"), Consumer(talk, "b")
    stable(a, b)
    before = a.owned["orders"]
    a.leave(for_a_while=True)
    again = Consumer(talk, "a2", "orders", "stock", instance="i")
    again.join()
    settle(again, b)
    assert again.owned == {"orders": before, "stock": [0]}
