"""The share state of a group's partitions: initialized, altered and deleted with the group."""

from __future__ import annotations

import pytest

from ottla.coordinator.share.groups import ShareSetup
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.conversation import FakeTopics
from tests.coordinator.group_conversation import GROUP
from tests.coordinator.share.conversation import Sharer, ShareTalk, settle


def silent_talk() -> tuple[ShareTalk, Sharer]:
    """A coordinator whose initializations are carried out by the test."""
    talk = ShareTalk(FakeTopics(orders=2))
    talk.initializes = False
    return talk, Sharer(talk, "m1")


def starts(talk: ShareTalk) -> list[tuple[int, int]]:
    """The partitions and start offsets of the initializations, which are dropped."""
    orders, talk.orders = talk.orders, []
    return [(each.partition, each.start_offset) for order in orders for each in order.partitions]


def emptied(talk: ShareTalk, *members: Sharer) -> None:
    for member in members:
        assert member.leave() is None


def test_partitions_are_initialized_once() -> None:
    talk, member = silent_talk()
    member.join()
    assert talk.state_topics == ({"orders": [0, 1]}, {}, [])
    assert talk.orders[0].state_epoch == 2
    assert starts(talk) == [(0, -1), (1, -1)], "where the settings say"
    member.beat()
    assert starts(talk) == []


def test_an_initialization_without_an_end_is_tried_again() -> None:
    talk, member = silent_talk()
    member.join()
    starts(talk)
    talk.pass_time(ShareSetup().retry_interval_ms - 1)
    member.beat()
    assert starts(talk) == []
    talk.pass_time(1)
    member.beat()
    assert starts(talk) == [(0, -1), (1, -1)]


def test_an_initialization_that_a_crash_cut_short_is_tried_again_at_once() -> None:
    talk, member = silent_talk()
    member.join()
    starts(talk)
    talk.restart()
    member.beat()
    assert starts(talk) == [(0, -1), (1, -1)]


def test_an_initialization_that_failed_is_tried_again_at_the_next_heartbeat() -> None:
    talk, member = silent_talk()
    member.join()
    talk.initialize(fails=True)
    assert talk.state_topics == ({}, {}, [])
    member.beat()
    assert starts(talk) == [(0, -1), (1, -1)]


def test_partitions_that_a_topic_gets_later_are_read_from_their_first_record() -> None:
    talk, member = silent_talk()
    member.join()
    talk.initialize()
    talk.topics.grow("orders", 3)
    member.beat()
    assert starts(talk) == [(2, 0)]
    assert talk.state_topics == ({"orders": [2]}, {"orders": [0, 1]}, [])


def test_offsets_of_a_group_without_members_are_altered() -> None:
    talk = ShareTalk(FakeTopics(orders=2))
    offsets = [("orders", 0, 5), ("orders", 9, 5), ("unknown", 0, 5), ("orders", -1, 5)]
    altered = talk.told(talk.kind.alter_offsets(GROUP, offsets))
    unknown = Code.UNKNOWN_TOPIC_OR_PARTITION
    assert altered.codes == (Code.NONE, unknown, unknown, unknown)
    assert [(each.partition, each.start_offset) for each in altered.partitions] == [(0, 5)]
    assert talk.epochs == ("Empty", 1, 0), "the group comes to exist"
    assert talk.state_topics == ({"orders": [0]}, {}, [])
    topic_id = altered.partitions[0].topic_id
    talk.told(talk.kind.initialized(GROUP, {topic_id: frozenset({0})}))
    assert talk.state_topics == ({}, {"orders": [0]}, [])


def test_altering_nothing_makes_no_group(talk: ShareTalk) -> None:
    assert talk.told(talk.kind.alter_offsets(GROUP, [("unknown", 0, 5)])).partitions == ()
    assert talk.machine.kind_name_of(GROUP) is None


def test_offsets_of_a_group_with_members_stay_as_they_are(talk: ShareTalk) -> None:
    Sharer(talk, "m1").join()
    for call in (talk.kind.alter_offsets, talk.kind.begin_deleting_offsets):
        with pytest.raises(Refused) as found:
            call(GROUP, [])
        assert found.value.code is Code.NON_EMPTY_GROUP
        with pytest.raises(Refused) as found:
            call("", [])
        assert found.value.code is Code.INVALID_GROUP_ID


def test_offsets_are_deleted_by_topic() -> None:
    talk = ShareTalk(FakeTopics(orders=2, stock=1, other=1))
    member = Sharer(talk, "m1", "orders", "stock")
    member.join()
    emptied(talk, member)
    going = talk.told(talk.kind.begin_deleting_offsets(GROUP, ["orders", "other", "unknown"]))
    assert list(going.topics.values()) == ["orders"]
    assert [sorted(each) for each in going.partitions.values()] == [[0, 1]]
    assert {name: code for name, (code, _) in going.refusals.items()} == {
        "other": Code.UNKNOWN_TOPIC_OR_PARTITION,
        "unknown": Code.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert talk.state_topics == ({}, {"stock": [0]}, ["orders"])
    talk.told(talk.kind.deleted_offsets(GROUP, going.topics))
    assert talk.state_topics == ({}, {"stock": [0]}, [])


def test_a_deletion_that_a_crash_cut_short_can_be_asked_for_again() -> None:
    talk = ShareTalk(FakeTopics(orders=2))
    member = Sharer(talk, "m1")
    member.join()
    emptied(talk, member)
    first = talk.told(talk.kind.begin_deleting_offsets(GROUP, ["orders"]))
    talk.restart()
    assert talk.told(talk.kind.begin_deleting_offsets(GROUP, ["orders"])) == first


def test_a_member_that_joins_after_a_deletion_gets_new_share_state() -> None:
    talk = ShareTalk(FakeTopics(orders=2))
    member = Sharer(talk, "m1")
    member.join()
    emptied(talk, member)
    talk.told(talk.kind.begin_deleting_offsets(GROUP, ["orders"]))
    member.join()
    settle(member)
    assert talk.state_topics == ({}, {"orders": [0, 1]}, []), "it is not being deleted any more"
    assert member.assigned == {"orders": [0, 1]}


def test_the_deletion_of_a_group_takes_all_its_share_state() -> None:
    talk = ShareTalk(FakeTopics(orders=2, stock=1))
    member = Sharer(talk, "m1", "orders", "stock")
    member.join()
    emptied(talk, member)
    talk.told(talk.kind.begin_deleting_offsets(GROUP, ["stock"]))
    partitions = talk.told(talk.kind.begin_deletion(GROUP))
    assert sorted(map(sorted, partitions.values())) == [[0], [0, 1]]
    assert talk.state_topics == ({}, {}, ["orders", "stock"])
    assert talk.told(talk.kind.begin_deletion(GROUP)) == partitions, "the first one was cut short"


def test_state_that_comes_after_the_end_of_its_group_is_dropped() -> None:
    talk, member = silent_talk()
    member.join()
    emptied(talk, member)
    talk.told(talk.kind.begin_deletion(GROUP))
    talk.told(talk.machine.delete([GROUP]))
    talk.initialize()
    assert talk.machine.kind_name_of(GROUP) is None


def test_a_deleted_topic_leaves_the_group_s_record() -> None:
    talk = ShareTalk(FakeTopics(orders=2, stock=1))
    member = Sharer(talk, "m1", "orders", "stock")
    member.join()
    talk.topics.delete("orders")
    talk.told(talk.machine.forget_topic("orders"))
    assert talk.state_topics == ({}, {"stock": [0]}, [])
    records = len(talk.log)
    talk.told(talk.machine.forget_topic("orders"))
    assert len(talk.log) == records
