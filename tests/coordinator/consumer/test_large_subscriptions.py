"""The work for a subscription to many topics grows with their number, and is done once."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from ottla.coordinator.consumer.group import ConsumerGroup
from ottla.coordinator.consumer.member import ConsumerMember
from ottla.coordinator.consumer.records import current, subscription
from tests.counted_lines import lines_of

from .conversation import Consumer, ConsumerTalk, FakeTopics, stable


def names(count: int) -> list[str]:
    return [f"t{number}" for number in range(count)]


def test_a_record_of_a_members_state_does_not_visit_its_subscription() -> None:
    group = ConsumerGroup("g")
    member = ConsumerMember("m", subscribed_topic_names=frozenset(names(1_000)))
    record = current("g", member)
    group.replay(subscription("g", member))
    group.replay(record)  # the classes are made at their first use
    assert lines_of(lambda: group.replay(record)) < 300
    assert group.subscribers.keys() == set(names(1_000))


def test_topics_without_other_subscribers_share_their_count() -> None:
    group = ConsumerGroup("g")
    member = ConsumerMember("m", subscribed_topic_names=frozenset(names(100)))
    group.replay(subscription("g", member))
    assert len({id(each) for each in group.subscribers.values()}) == 1


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_a_member_may_drop_all_topics_but_one(assignor: str) -> None:
    topics = names(300)
    talk = ConsumerTalk(FakeTopics(**dict.fromkeys(topics, 2)))
    member = Consumer(talk, "m", *topics)
    stable(member)
    member.beat(subscribed_topic_names=frozenset(["t7"]), server_assignor=assignor)
    assert talk.targets == {"m": {"t7": [0, 1]}}


def test_the_topics_that_a_member_drops_are_left_out_at_once() -> None:
    """A copy of its target for each of 10,000 would take seconds."""
    talk = ConsumerTalk(FakeTopics(**dict.fromkeys(names(50), 1)))
    member = Consumer(talk, "m", *names(50))
    stable(member)
    copies = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal copies
        copies += event == "call" and frame.f_code.co_name == "_with"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        member.beat(subscribed_topic_names=frozenset(names(1)))
    finally:
        sys.setprofile(before)
    assert copies == 1
    assert talk.targets == {"m": {"t0": [0]}}
