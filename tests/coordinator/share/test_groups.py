"""Members of share groups: joining, assignments, epochs, leaving, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.coordinator.classic.requests import LeavingMember
from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.consumer.requests import HeartbeatRequest as ConsumerHeartbeat
from ottla.coordinator.group_kind import ClaimedMember, ListedGroup
from ottla.coordinator.share.kind import ShareKind
from ottla.coordinator.share.requests import ShareGroupLimits
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.conversation import FakeTopics
from tests.coordinator.group_conversation import GROUP, Client
from tests.coordinator.share.conversation import INTERVAL_MS, Sharer, ShareTalk, settle


def refused(call: Any, *args: Any, **fields: Any) -> Code:
    with pytest.raises(Refused) as found:
        call(*args, **fields)
    return found.value.code


def two_members(talk: ShareTalk) -> tuple[Sharer, Sharer]:
    first, second = Sharer(talk, "m1"), Sharer(talk, "m2")
    assert (first.join(), second.join()) == ({}, {})
    settle(first, second)
    return first, second


def test_a_member_gets_its_partitions_when_their_share_state_is_initialized() -> None:
    talk = ShareTalk()
    member = Sharer(talk, "m1")
    assert (member.join(), member.epoch) == ({}, 2)
    assert talk.epochs == ("Stable", 2, 2)
    assert (member.beat(), member.epoch) == (None, 2), "a target was made less than 1 s ago"
    assert talk.epochs == ("Stable", 3, 2)
    talk.pass_time(INTERVAL_MS)
    assert (member.beat(), member.epoch) == ({"orders": [0, 1, 2, 3]}, 3)
    assert (member.beat(), member.epoch) == (None, 3), "nothing is new"
    records = len(talk.log)
    assert member.beat() is None
    assert len(talk.log) == records


def test_a_target_is_made_at_once_without_an_assignment_interval(talk: ShareTalk) -> None:
    talk.limits[GROUP] = ShareGroupLimits(assignment_interval_ms=0, heartbeat_interval_ms=7)
    member = Sharer(talk, "m1")
    member.join()
    assert member.beat() == {"orders": [0, 1, 2, 3]}
    assert member.reply is not None
    assert member.reply.heartbeat_interval_ms == 7


def test_a_target_does_not_wait_for_a_clock_that_was_set_back(talk: ShareTalk) -> None:
    member = Sharer(talk, "m1")
    member.join()
    talk.wall_step_ms = -3_600_000
    assert member.beat() == {"orders": [0, 1, 2, 3]}


def test_a_second_member_takes_half_and_its_partitions_come_back_when_it_leaves() -> None:
    talk = ShareTalk()
    first, second = two_members(talk)
    assert sorted(first.assigned["orders"] + second.assigned["orders"]) == [0, 1, 2, 3]
    assert len(second.assigned["orders"]) == 2
    assert second.leave() is None
    assert second.reply is not None
    assert (second.reply.member_epoch, second.reply.assignment) == (-1, None)
    settle(first)
    assert first.assigned == {"orders": [0, 1, 2, 3]}


def test_more_members_than_partitions_share_them() -> None:
    talk = ShareTalk(FakeTopics(orders=1))
    first, second = two_members(talk)
    assert first.assigned == second.assigned == {"orders": [0]}


def test_a_full_heartbeat_gets_the_assignment_again(talk: ShareTalk) -> None:
    first, _ = two_members(talk)
    assert first.beat(subscribed_topic_names=first.topics) == first.assigned
    assert first.join() == first.assigned, "the member joins again, and nothing is lost"


def test_an_older_epoch_is_fenced_unless_it_is_the_previous_one(talk: ShareTalk) -> None:
    first, _ = two_members(talk)
    now = talk.share_group.members["m1"]
    assert first.beat(epoch=now.previous_member_epoch) is None
    assert first.beat(epoch=now.member_epoch + 1) is Code.FENCED_MEMBER_EPOCH
    settle(first)
    Sharer(talk, "m3").join()
    settle(first)
    assert first.beat(epoch=now.previous_member_epoch) is Code.FENCED_MEMBER_EPOCH


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"epoch": -2}, Code.INVALID_REQUEST),
        ({"epoch": 0}, Code.INVALID_REQUEST),
        ({"epoch": 0, "subscribed_topic_names": frozenset()}, Code.INVALID_REQUEST),
        ({"epoch": 5, "rack_id": " "}, Code.INVALID_REQUEST),
        ({"epoch": 5}, Code.GROUP_ID_NOT_FOUND),
        ({"epoch": -1}, Code.GROUP_ID_NOT_FOUND),
    ],
)
def test_a_heartbeat_that_makes_no_sense_is_refused(fields: dict[str, Any], code: Code) -> None:
    assert Sharer(ShareTalk(), "m1").beat(**fields) is code


def test_an_unknown_member_of_a_known_group_is_refused(talk: ShareTalk) -> None:
    two_members(talk)
    assert Sharer(talk, "m9").beat(epoch=3) is Code.UNKNOWN_MEMBER_ID
    assert Sharer(talk, "m9").leave() is Code.UNKNOWN_MEMBER_ID


def test_a_full_group_takes_no_new_member_and_keeps_its_own() -> None:
    talk = ShareTalk(max_size=2)
    first, _ = two_members(talk)
    assert Sharer(talk, "m3").join() is Code.GROUP_MAX_SIZE_REACHED
    assert first.join() == first.assigned


def test_a_member_that_is_silent_for_its_session_timeout_is_removed(talk: ShareTalk) -> None:
    first, second = two_members(talk)
    talk.pass_time(30_000)
    assert first.beat() is None
    talk.pass_time(15_000)
    assert list(talk.share_group.members) == ["m1"]
    assert [each.fields["member"] for each in talk.notices if "removed" in each.what] == ["m2"]
    settle(first)
    assert first.assigned == {"orders": [0, 1, 2, 3]}
    assert second.beat() is Code.UNKNOWN_MEMBER_ID


def test_an_empty_group_stays_until_it_is_deleted(talk: ShareTalk) -> None:
    first, second = two_members(talk)
    first.leave()
    second.leave()
    assert talk.epochs[0] == "Empty"
    talk.pass_time(30 * 24 * 3_600_000)
    assert talk.epochs[0] == "Empty", "it has state of what it has read"
    partitions = talk.told(talk.kind.begin_deletion(GROUP))
    assert [sorted(each) for each in partitions.values()] == [[0, 1, 2, 3]]
    assert talk.told(talk.machine.delete([GROUP])) == {GROUP: Code.NONE}
    assert talk.machine.kind_name_of(GROUP) is None
    talk.restart()
    assert talk.machine.kind_name_of(GROUP) is None


def test_a_group_with_members_is_not_deleted(talk: ShareTalk) -> None:
    two_members(talk)
    assert refused(talk.kind.begin_deletion, GROUP) is Code.NON_EMPTY_GROUP
    assert talk.told(talk.machine.delete([GROUP])) == {GROUP: Code.NON_EMPTY_GROUP}


def test_a_group_is_the_same_after_a_restart(talk: ShareTalk) -> None:
    first, second = two_members(talk)
    before = talk.epochs, talk.state_topics, talk.share_group.targets
    talk.restart()
    assert (talk.epochs, talk.state_topics, talk.share_group.targets) == before
    assert (first.beat(), second.beat()) == (None, None)
    talk.pass_time(44_999)
    assert len(talk.share_group.members) == 2, "their sessions began with the restart"
    talk.pass_time(1)
    assert talk.epochs[0] == "Empty"


def test_topics_that_appear_and_vanish_change_assignments() -> None:
    talk = ShareTalk(FakeTopics(orders=1))
    member = Sharer(talk, "m1", "orders", "stock")
    member.join()
    settle(member)
    assert member.assigned == {"orders": [0]}
    talk.topics.make("stock", 2)
    settle(member)
    assert member.assigned == {"orders": [0], "stock": [0, 1]}
    talk.topics.grow("stock", 3)
    settle(member)
    assert member.assigned == {"orders": [0], "stock": [0, 1, 2]}
    talk.topics.delete("orders")
    talk.told(talk.machine.forget_topic("orders"))
    settle(member)
    assert member.assigned == {"stock": [0, 1, 2]}


def test_a_topic_made_again_under_its_name_gets_state_of_its_own() -> None:
    talk = ShareTalk(FakeTopics(orders=2))
    member = Sharer(talk, "m1")
    member.join()
    settle(member)
    talk.topics.delete("orders")
    talk.told(talk.machine.forget_topic("orders"))
    assert talk.state_topics == ({}, {}, [])
    talk.topics.make("orders", 1)
    settle(member)
    assert (member.assigned, talk.state_topics) == ({"orders": [0]}, ({}, {"orders": [0]}, []))


def test_members_with_different_topics_get_only_theirs() -> None:
    talk = ShareTalk(FakeTopics(orders=2, stock=2))
    first, second = Sharer(talk, "m1", "orders"), Sharer(talk, "m2", "stock")
    first.join()
    second.join()
    settle(first, second)
    assert (first.assigned, second.assigned) == ({"orders": [0, 1]}, {"stock": [0, 1]})
    first.topics = frozenset({"stock"})
    told = first.beat(subscribed_topic_names=first.topics)
    assert isinstance(told, dict)
    assert "orders" not in told
    settle(first, second)
    assert (len(first.assigned["stock"]), len(second.assigned["stock"])) == (1, 1)


# ---- groups of other kinds


def test_requests_of_other_protocols_to_a_share_group_are_refused(talk: ShareTalk) -> None:
    two_members(talk)
    client = Client(talk, "c")
    assert client.join() is Code.INCONSISTENT_GROUP_PROTOCOL
    machine, claimed = talk.machine, ClaimedMember("c", 1)
    assert refused(machine.heartbeat, GROUP, claimed, now=talk.now) is Code.UNKNOWN_MEMBER_ID
    leaving = [LeavingMember("c", None)]
    assert refused(machine.leave, GROUP, leaving, now=talk.now) is Code.UNKNOWN_MEMBER_ID
    assert talk.commit(7) is Code.GROUP_ID_NOT_FOUND
    assert refused(machine.delete_offsets, GROUP, [("orders", 0)]) is Code.GROUP_ID_NOT_FOUND
    assert machine.fetch_offset(GROUP, "orders", 0, require_stable=False).offset == -1
    assert refused(machine.kind_for, ConsumerKind, GROUP) is Code.GROUP_ID_NOT_FOUND
    assert machine.describe(GROUP) is None


def test_a_classic_group_with_offsets_is_not_taken_over(talk: ShareTalk) -> None:
    assert talk.commit(7) is Code.NONE
    assert Sharer(talk, "m1").join() is Code.GROUP_ID_NOT_FOUND
    assert refused(talk.kind.alter_offsets, GROUP, []) is Code.GROUP_ID_NOT_FOUND
    assert talk.machine.kind_name_of(GROUP) == "classic"


def test_a_consumer_group_is_not_taken_over(talk: ShareTalk) -> None:
    request = ConsumerHeartbeat(
        GROUP, "c", 0, rebalance_timeout_ms=1, subscribed_topic_names=frozenset({"t"}), owned={}
    )
    talk.told(talk.machine.kind(ConsumerKind).consumer_heartbeat(request, now=talk.now))
    assert Sharer(talk, "m1").join() is Code.GROUP_ID_NOT_FOUND
    assert refused(talk.machine.kind_for, ShareKind, GROUP) is Code.GROUP_ID_NOT_FOUND


def test_share_groups_are_listed_and_described(talk: ShareTalk) -> None:
    two_members(talk)
    assert talk.machine.list_groups() == [ListedGroup(GROUP, "share", "Stable", "share")]
    assert talk.machine.list_groups(types={"consumer"}) == []
    found = talk.kind.describe(GROUP)
    assert (found.state, found.epoch, found.target_epoch) == talk.epochs
    assert [member.member_id for member in found.members] == ["m1", "m2"]
    assert refused(talk.kind.describe, "") is Code.INVALID_GROUP_ID
    assert refused(talk.kind.describe, "unknown") is Code.GROUP_ID_NOT_FOUND
