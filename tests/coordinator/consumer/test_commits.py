"""Commits and fetches of offsets by members of a consumer group, checked by their epochs."""

from __future__ import annotations

import pytest

from ottla.coordinator.groups import ClaimedMember
from ottla.coordinator.outcome import Producer
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.classic_conversation import Classic
from tests.coordinator.consumer.conversation import Consumer, ConsumerTalk, FakeTopics, settle
from tests.coordinator.group_conversation import GROUP


def test_commits_are_checked_by_the_member_and_its_epoch(talk: ConsumerTalk) -> None:
    a, m = Consumer(talk, "a"), Classic(talk, "m")
    a.join()
    m.join()
    assert talk.commit(1, ClaimedMember("a", 2)) is Code.NONE
    assert talk.commit(2, ClaimedMember("a", 1)) is Code.STALE_MEMBER_EPOCH
    assert talk.commit(2, ClaimedMember("a", 3)) is Code.STALE_MEMBER_EPOCH
    assert talk.commit(2, ClaimedMember("a", 2, knows_epochs=False)) is Code.UNSUPPORTED_VERSION
    assert talk.commit(2, ClaimedMember("x", 2)) is Code.UNKNOWN_MEMBER_ID
    assert talk.commit(2) is Code.UNKNOWN_MEMBER_ID
    assert talk.commit(3, ClaimedMember(m.member_id, 3, knows_epochs=False)) is Code.NONE
    assert talk.commit(4, ClaimedMember(m.member_id, 2)) is Code.ILLEGAL_GENERATION
    assert talk.offset() == 3
    producer = Producer(7, 0)
    assert talk.commit_in(producer, 5, ClaimedMember("a", 1)) is Code.STALE_MEMBER_EPOCH
    assert talk.commit_in(producer, 5, ClaimedMember("a", 2, knows_epochs=False)) is Code.NONE
    assert talk.commit_in(producer, 6) is Code.NONE, "of no member at all"
    assert talk.commit_in(producer, 6, ClaimedMember("", 1)) is Code.UNKNOWN_MEMBER_ID


def test_an_older_epoch_is_good_for_partitions_kept_since() -> None:
    """KIP-1251: not for those that another member has now, and for none that came later."""
    talk = ConsumerTalk(FakeTopics(orders=2))
    a, b = Consumer(talk, "a"), Consumer(talk, "b")
    a.join()
    b.join()
    settle(a, b)
    (kept,), (given_up,) = a.owned["orders"], b.owned["orders"]
    assert (a.epoch, b.epoch) == (3, 3)
    stale = Code.STALE_MEMBER_EPOCH
    assert talk.commit(1, ClaimedMember("a", 2), partition=kept) is Code.NONE
    assert talk.commit(1, ClaimedMember("a", 2), partition=given_up) is stale
    assert talk.commit(1, ClaimedMember("a", 3), partition=given_up) is Code.NONE
    assert talk.commit(1, ClaimedMember("b", 2), partition=given_up) is stale
    assert talk.commit(1, ClaimedMember("a", 1), partition=kept) is stale
    talk.restart()
    assert talk.commit(2, ClaimedMember("a", 2), partition=kept) is Code.NONE
    assert talk.commit(2, ClaimedMember("a", 1), partition=kept) is stale


def test_a_partition_to_be_given_up_may_be_committed_with_an_older_epoch() -> None:
    talk = ConsumerTalk(FakeTopics(orders=2))
    a, b, c = (Consumer(talk, name) for name in "abc")
    a.join()
    b.join()
    a.beat()
    (leaving,) = {0, 1} - {*a.owned["orders"]}
    c.join()
    assert talk.commit(1, ClaimedMember("a", 2), partition=leaving) is Code.NONE
    assert talk.commit(1, ClaimedMember("a", 1), partition=leaving) is Code.STALE_MEMBER_EPOCH


def test_fetching_offsets_as_a_member_requires_membership(talk: ConsumerTalk) -> None:
    Consumer(talk, "a").join()
    m = Classic(talk, "m")
    m.join()
    check = talk.machine.check_fetch
    check(GROUP, "a", 2)
    check(GROUP, None, -1)
    check("other", "x", 3)
    for member_id, epoch, code in (
        ("a", 1, Code.STALE_MEMBER_EPOCH),
        ("x", 1, Code.UNKNOWN_MEMBER_ID),
        ("", -1, Code.UNKNOWN_MEMBER_ID),
        (m.member_id, 2, Code.ILLEGAL_GENERATION),
    ):
        with pytest.raises(Refused, match=code.name):
            check(GROUP, member_id, epoch)
