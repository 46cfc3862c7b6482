"""Members of both protocols that come, go, lag and lose answers, topics that change, and crashes.

Whatever happens, no partition is in two hands, a restart leads to the same group, and once all say
what they own, all members have their target assignments.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ottla.coordinator.consumer.group import ConsumerGroup
from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.conversation import Consumer, ConsumerTalk, FakeTopics, settle
from tests.coordinator.group_conversation import GROUP, Client, subscription

NAMES = ("orders", "stock", "returns")
members = st.integers(0, 4)
subscriptions = st.sets(st.sampled_from(NAMES)).map(frozenset)
SESSION_MS = 45_000


class ConsumerModel(RuleBasedStateMachine):
    """Three dynamic members, two that claim one instance, and two of the classic protocol."""

    def __init__(self) -> None:
        super().__init__()
        self.topics = FakeTopics()
        self.talk = ConsumerTalk(self.topics, consumer={"max_size": 6})
        self.members = [
            Consumer(self.talk, f"c{number}", instance="i" if number > 2 else None)
            for number in range(5)
        ]
        self.classic = [
            Client(
                self.talk,
                f"k{number}",
                instance="k" if number else None,
                session_ms=SESSION_MS,
                protocols=(("range", subscription("orders", "stock")),),
            )
            for number in range(2)
        ]

    @initialize(counts=st.lists(st.integers(0, 5), min_size=3, max_size=3))
    def make_topics(self, counts: list[int]) -> None:
        for name, count in zip(NAMES, counts, strict=True):
            if count:
                self.topics.make(name, count)

    # ---- what consumers do

    @rule(number=members, topics=subscriptions, by_regex=st.booleans())
    def join(self, number: int, topics: frozenset[str], by_regex: bool) -> None:
        member = self.members[number]
        if by_regex:
            member.join(subscribed_topic_regex="|".join(sorted(topics)) or "x")
        else:
            member.join(subscribed_topic_names=topics, subscribed_topic_regex="")

    @rule(number=members)
    def beat(self, number: int) -> None:
        self.members[number].beat()

    @rule(number=members)
    def report(self, number: int) -> None:
        self.members[number].report()

    @rule(number=members)
    def lose_an_answer(self, number: int) -> None:
        """The member sends the same again, with what it had before."""
        member = self.members[number]
        epoch, owned = member.epoch, dict(member.owned)
        member.report()
        member.epoch, member.owned = epoch, owned
        member.report()

    @rule(number=members, topics=subscriptions, joins=st.booleans())
    def lose_the_records(self, number: int, topics: frozenset[str], joins: bool) -> None:
        """The log does not take what was decided: it never was."""
        member = self.members[number]
        before = None if self.group is None else stored(self.group)
        fields: dict[str, Any] = {"rebalance_timeout_ms": 60_000, "owned": {}}
        fields["subscribed_topic_names"] = topics
        request = member.request(0 if joins else member.epoch, **fields)
        with suppress(Refused):
            self.talk.machine.kind(ConsumerKind).consumer_heartbeat(request, now=self.talk.now)
        assert (None if self.group is None else stored(self.group)) == before

    @rule(number=members, topics=subscriptions)
    def change_subscription(self, number: int, topics: frozenset[str]) -> None:
        self.members[number].report(subscribed_topic_names=topics)

    @rule(number=members, for_a_while=st.booleans())
    def leave(self, number: int, for_a_while: bool) -> None:
        member = self.members[number]
        member.leave(for_a_while=for_a_while and member.instance is not None)

    # ---- what classic members do

    @rule(number=st.integers(0, 1))
    def join_classic(self, number: int) -> None:
        client = self.classic[number]
        code = client.join()
        self.talk.pass_time()
        if code is None:
            reply = client.joined()
            code = None if reply is None else reply.error
        if code in (Code.UNKNOWN_MEMBER_ID, Code.FENCED_INSTANCE_ID):
            client.member_id = ""

    @rule(number=st.integers(0, 1))
    def sync_classic(self, number: int) -> None:
        if self.classic[number].member_id:
            self.classic[number].sync({})

    @rule(number=st.integers(0, 1))
    def heartbeat_classic(self, number: int) -> None:
        self.classic[number].heartbeat()

    @rule(number=st.integers(0, 1))
    def leave_classic(self, number: int) -> None:
        self.classic[number].leave()
        self.classic[number].member_id = ""

    # ---- what the world does

    @rule(name=st.sampled_from(NAMES), count=st.integers(1, 5))
    def change_topic(self, name: str, count: int) -> None:
        known = self.topics.by_name(name)
        if known is None:
            self.topics.make(name, count)
        elif count > known.partition_count:
            self.topics.grow(name, count)
        else:
            self.topics.delete(name)

    @rule(time_ms=st.sampled_from([1, 5_000, 11_000, 30_000, SESSION_MS, 61_000]))
    def pass_time(self, time_ms: int) -> None:
        self.talk.pass_time(time_ms)

    @rule()
    def crash(self) -> None:
        before = self.group
        self.talk.restart()
        if before is not None:
            assert stored(self.group) == stored(before)

    @rule()
    def everybody_settles(self) -> None:
        """All members report their partitions until no assignment changes."""
        self.talk.pass_time()
        group = self.group
        if group is None or any(member.classic for member in group.members.values()):
            return
        alive = [
            member
            for member in self.members
            if (known := group.members.get(member.name)) is not None and known.member_epoch >= 0
        ]
        for member in alive:
            known = group.members[member.name]
            member.epoch, member.owned = known.member_epoch, self.topics.named(known.assigned)
        if len(alive) == len(group.members) > 0:
            settle(*alive)
            group = self.group
            assert group is not None
            assert group.state.value == "Stable"
            for each in group.members.values():
                matched = group.resolved.get(each.subscribed_topic_regex)
                subscribed = each.subscribed_topic_names | (matched.topics if matched else set())
                target = self.topics.named(group.targets.get(each.member_id, {}))
                # As in Kafka, a target keeps topics of an expression that was given up for another
                # one if other members are subscribed to them.
                assert self.topics.named(each.assigned) == {
                    topic: target[topic] for topic in target if topic in subscribed
                }

    # ---- what is always true

    @property
    def group(self) -> ConsumerGroup | None:
        return self.talk.consumer_group

    @invariant()
    def no_partition_is_in_two_hands(self) -> None:
        if self.group is None:
            return
        seen: set[object] = set()
        for member in self.group.members.values():
            for owned in (member.assigned, member.pending_revocation):
                for topic_id, indexes in owned.items():
                    for index in indexes:
                        assert (topic_id, index) not in seen, (topic_id, index)
                        seen.add((topic_id, index))
                        assert self.group.partition_epoch(topic_id, index) == member.member_epoch

    @invariant()
    def what_is_counted_is_what_is_there(self) -> None:
        if self.group is not None:
            again = ConsumerGroup(GROUP)
            for member in self.group.members.values():
                again._put(None, member)
            for each in ("regexes", "_assignors", "_classic_count", "_classic_protocols"):
                assert getattr(again, each) == getattr(self.group, each), each
            assert again._partition_epochs == self.group._partition_epochs
            assert again._static_members == self.group._static_members

    @invariant()
    def a_group_is_of_one_kind(self) -> None:
        if self.group is not None:
            assert self.talk.machine.kinds.classic.get(GROUP) is None


def stored(group: ConsumerGroup | None) -> object:
    """The state that a restart has to restore."""
    assert group is not None
    return (
        group.epoch,
        group.metadata_hash,
        group.target_epoch,
        {member_id: replace(member) for member_id, member in group.members.items()},
        group.targets,
        group.owners,
        group.resolved,
        group.subscribers,
    )


TestConsumerModel = ConsumerModel.TestCase
TestConsumerModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
