"""Records of consumer groups that this coordinator does not write: Kafka 4.0's records,
what compaction has left over, and what cannot be read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.consumer.member import ClassicMember, ConsumerMember
from ottla.coordinator.consumer.records import (
    ConsumerRemoved,
    CurrentMember,
    GroupEpoch,
    Kind,
    MemberSubscription,
    SubscriptionMetadata,
    TargetMember,
)
from ottla.coordinator.deadlines import Timer, TimerKey
from ottla.coordinator.group_records import GroupRemoved, GroupStored, OffsetCommitted
from ottla.coordinator.modern_groups import MemberState
from ottla.coordinator.outcome import Producer
from ottla.protocol.errors import Code
from tests.coordinator.consumer.conversation import (
    SESSION_MS,
    Consumer,
    ConsumerTalk,
    FakeTopics,
    stable,
)
from tests.coordinator.group_conversation import GROUP

OFFSET = OffsetCommitted(GROUP, "orders", 0, 5, commit_timestamp_ms=1)


def test_the_topics_that_kafka_4_0_stored_are_deleted_by_the_next_change() -> None:
    talk = ConsumerTalk()
    a = Consumer(talk, "a")
    a.join()
    talk.machine.replay(SubscriptionMetadata(GROUP))
    a.beat()
    gone = ConsumerRemoved(Kind.SUBSCRIPTION_METADATA, GROUP)
    assert (gone, None) in talk.log
    assert not talk.consumers.has_subscription_metadata


@pytest.mark.parametrize("kind", [each for each in Kind])
def test_a_tombstone_of_an_unknown_key_is_ignored(kind: Kind, talk: ConsumerTalk) -> None:
    talk.machine.replay(ConsumerRemoved(kind, GROUP, "x"))
    assert talk.machine.list_groups() == []
    Consumer(talk, "a").join()
    if kind not in (Kind.GROUP, Kind.TARGET):
        talk.machine.replay(ConsumerRemoved(kind, GROUP, "x"))
        assert talk.epochs == ("Stable", 2, 2)


def test_offsets_that_come_before_the_group_do_not_make_it_a_classic_one() -> None:
    talk = ConsumerTalk()
    for record in (OFFSET, GroupEpoch(GROUP, 3, 7)):
        talk.machine.replay(record)
    assert talk.epochs == ("Empty", 3, 0)
    assert talk.machine.describe(GROUP) is None
    assert talk.offset() == 5
    talk.machine.replay_pending(OFFSET._replace(offset=6), Producer(7, 0))
    assert talk.machine.describe(GROUP) is None


def test_the_last_kind_of_a_group_in_the_log_applies(talk: ConsumerTalk) -> None:
    stored = GroupStored(GROUP, "consumer", 1, None, None, 1)
    talk.machine.replay(stored)
    talk.machine.replay(GroupEpoch(GROUP, 2, 0))
    assert (talk.machine.describe(GROUP), talk.epochs[1]) == (None, 2)
    talk.machine.replay(ConsumerRemoved(Kind.GROUP, GROUP))
    talk.machine.replay(stored)
    talk.machine.replay(GroupRemoved(GROUP))
    assert talk.machine.list_groups() == []


def test_a_group_that_ends_takes_its_members_along(talk: ConsumerTalk, a: Consumer) -> None:
    a.join(subscribed_topic_regex="orders")
    talk.machine.replay(ConsumerRemoved(Kind.GROUP, GROUP))
    talk.pass_time(10 * SESSION_MS)
    assert talk.machine.list_groups() == []


def test_a_group_of_members_that_cannot_be_read_stays_a_consumer_group() -> None:
    """It cannot become a classic group; the request that would convert it is refused."""
    talk = ConsumerTalk(FakeTopics(orders=2))
    a = Consumer(talk, "a")
    a.join()
    member = replace(
        talk.consumers.members["a"], member_id="m", classic=ClassicMember(1_000_000, (("x", b""),))
    )
    fresh = type(member)("m", client_id="k", classic=member.classic)
    talk.machine.replay(MemberSubscription(GROUP, fresh))
    assert a.leave() is Code.GROUP_ID_NOT_FOUND
    assert sorted(talk.consumers.members) == ["a", "m"]


def test_a_partition_that_another_has_got_since_stays_with_that_one(talk: ConsumerTalk) -> None:
    """Where compaction has left an old record of who had it before."""
    owned = talk.topics.by_ids({"orders": [0]})
    (topic_id,) = owned
    for member_id, epoch in (("a", 4), ("b", 5)):
        stands = CurrentMember(GROUP, member_id, epoch, 0, MemberState.STABLE, owned, {})
        talk.machine.replay(stands)
    talk.machine.replay(ConsumerRemoved(Kind.CURRENT_MEMBER, GROUP, "a"))
    assert talk.consumers.partition_epoch(topic_id, 0) == 5


def test_a_member_may_take_an_instance_id_later(talk: ConsumerTalk, a: Consumer) -> None:
    a.join()
    a.instance = "i"
    assert a.beat(epoch=2) is Code.UNKNOWN_MEMBER_ID, "nobody has this instance yet"
    assert a.join() == {"orders": [0, 1, 2, 3, 4, 5]}
    talk.restart()
    assert a.beat() is None


def test_timers_of_removed_members_do_nothing(talk: ConsumerTalk, a: Consumer, b: Consumer) -> None:
    stable(a, b)
    consumer = talk.machine.kind(ConsumerKind).consumer_groups
    for group_id in (GROUP, "no group"):
        session = TimerKey(Timer.SESSION, group_id, "nobody")
        consumer.deadlines.set(session, talk.now_ms + 1)
    talk.pass_time(2)
    assert sorted(talk.consumers.members) == ["a", "b"]


def test_a_group_without_a_target_is_in_no_epoch_of_one(talk: ConsumerTalk) -> None:
    Consumer(talk, "a").join()
    talk.machine.replay(ConsumerRemoved(Kind.TARGET, GROUP))
    assert talk.consumers.target_epoch == -1


def test_an_instance_id_belongs_to_its_last_member(talk: ConsumerTalk) -> None:
    for member_id in ("a", "b"):
        talk.machine.replay(MemberSubscription(GROUP, ConsumerMember(member_id, instance_id="i")))
    talk.machine.replay(ConsumerRemoved(Kind.MEMBER, GROUP, "a"))
    member = talk.consumers.static_member("i")
    assert member is not None
    assert member.member_id == "b"


def test_a_member_without_partitions_is_in_the_target_too() -> None:
    talk = ConsumerTalk(FakeTopics(orders=1))
    Consumer(talk, "a").join()
    Consumer(talk, "b").join()
    assert (TargetMember(GROUP, "b", {}), None) in talk.log
