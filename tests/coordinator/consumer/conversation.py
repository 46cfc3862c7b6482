"""Topics, a coordinator with a clock, and members, for tests of consumer groups."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ottla.coordinator.consumer.group import ConsumerGroup
from ottla.coordinator.consumer.groups import ConsumerSetup
from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.consumer.member import Assignment
from ottla.coordinator.consumer.requests import (
    ConsumerGroupSettings,
    GroupLimits,
    HeartbeatReply,
    HeartbeatRequest,
)
from ottla.coordinator.consumer.topics import TopicMetadata
from ottla.coordinator.groups import Groups
from ottla.protocol.errors import Code, Refused
from tests.coordinator.group_conversation import GROUP, GroupTalk

SESSION_MS = 45_000
REBALANCE_MS = 60_000

Named = dict[str, list[int]]
"""Partitions by the name of their topic."""


class FakeTopics:
    """Topics that a test makes and deletes; ids are numbers, so that they come out the same."""

    def __init__(self, **counts: int) -> None:
        self.version = self.newest_version = 1
        self._topics: dict[str, TopicMetadata] = {}
        self._made = 0
        for name, count in counts.items():
            self.make(name, count)

    def make(self, name: str, count: int = 1) -> None:
        self._made += 1
        self._topics[name] = TopicMetadata(
            uuid.UUID(int=self._made << 64 | self._made), name, count
        )
        self.version += 1
        self.newest_version = self.version

    def put(self, topic: TopicMetadata) -> None:
        """Add a topic, or replace the one of its name."""
        self._topics[topic.name] = topic
        self.version += 1

    def grow(self, name: str, count: int) -> None:
        self._topics[name] = self._topics[name]._replace(partition_count=count)
        self.version += 1

    def delete(self, name: str) -> None:
        del self._topics[name]
        self.version += 1

    def by_name(self, name: str) -> TopicMetadata | None:
        return self._topics.get(name)

    def by_id(self, topic_id: uuid.UUID) -> TopicMetadata | None:
        return next((each for each in self._topics.values() if each.topic_id == topic_id), None)

    def names(self) -> Iterable[str]:
        return self._topics

    def named(self, assignment: Assignment) -> Named:
        """An assignment by names; `?` for topics that are gone."""
        named = {}
        for topic_id, indexes in assignment.items():
            facts = self.by_id(topic_id)
            named["?" if facts is None else facts.name] = sorted(indexes)
        return dict(sorted(named.items()))

    def by_ids(self, named: Mapping[str, Collection[int]]) -> Assignment:
        """The other way round; topics that do not exist count as an id of their own."""
        facts = {name: self.by_name(name) for name in named}
        return {
            uuid.UUID(int=99) if (known := facts[name]) is None else known.topic_id: frozenset(each)
            for name, each in named.items()
        }


class ConsumerTalk(GroupTalk):
    """A coordinator that is spoken to by members of consumer groups, and by classic ones.

    Attributes:
        limits: what is set for single groups, by group id.
    """

    def __init__(
        self, topics: FakeTopics | None = None, /, *, consumer: Any = None, **limits: int
    ) -> None:
        self.topics = topics or FakeTopics(orders=6)
        at_once = ConsumerGroupSettings(assignment_interval_ms=0)
        self.consumer_settings = replace(at_once, **(consumer or {}))
        self.limits: dict[str, GroupLimits] = {}
        super().__init__(**limits)

    def fresh_machine(self) -> Groups:
        consumer = self.consumer_settings
        usual = GroupLimits(
            consumer.session_timeout_ms,
            consumer.heartbeat_interval_ms,
            consumer.assignment_interval_ms,
        )
        setup = ConsumerSetup(
            consumer, self.topics, lambda group_id: self.limits.get(group_id, usual)
        )
        return Groups(self.settings, {"consumer": lambda: setup}, topic_id_of=self.topic_id)

    def topic_id(self, name: str) -> uuid.UUID | None:
        facts = self.topics.by_name(name)
        return None if facts is None else facts.topic_id

    @property
    def consumer_group(self) -> ConsumerGroup | None:
        return self.machine.kind(ConsumerKind).groups.get(GROUP)

    @property
    def consumers(self) -> ConsumerGroup:
        """The consumer group of all members of the test."""
        group = self.consumer_group
        assert group is not None, "there is no such group"
        return group

    @property
    def epochs(self) -> tuple[str, int, int]:
        """State, epoch, and epoch of the target."""
        group = self.consumers
        return group.state.value, group.epoch, group.target_epoch

    @property
    def targets(self) -> dict[str, Named]:
        return {
            member_id: self.topics.named(target)
            for member_id, target in sorted(self.consumers.targets.items())
        }


class Consumer:
    """A member of a consumer group, with its last assignment.

    Attributes:
        owned: its partitions; it revokes partitions at once.
    """

    def __init__(
        self,
        talk: ConsumerTalk,
        name: str,
        *topics: str,
        instance: str | None = None,
        group: str = GROUP,
    ) -> None:
        self.talk = talk
        self.name = name
        self.topics = frozenset(topics or ("orders",))
        self.instance = instance
        self.group = group
        self.epoch = 0
        self.owned: Named = {}
        self.reply: HeartbeatReply | None = None

    def request(self, epoch: int, **fields: Any) -> HeartbeatRequest:
        """A heartbeat that says nothing, but for what is given."""
        if "owned" in fields and fields["owned"] is not None:
            fields["owned"] = self.talk.topics.by_ids(fields["owned"])
        given = {"client_id": "shop", "client_host": "/127.0.0.1", **fields}
        return HeartbeatRequest(self.group, self.name, epoch, instance_id=self.instance, **given)

    def join(self, **fields: Any) -> Code | Named:
        """Join with nothing; as `beat`."""
        self.owned = {}
        if "subscribed_topic_regex" not in fields:
            fields.setdefault("subscribed_topic_names", self.topics)
        fields.setdefault("rebalance_timeout_ms", REBALANCE_MS)
        fields.setdefault("owned", {})
        told = self.beat(epoch=0, **fields)
        assert told is not None
        return told

    def beat(self, *, epoch: int | None = None, **fields: Any) -> Code | Named | None:
        """Send a heartbeat: the new assignment, None without one, or the refusal."""
        request = self.request(self.epoch if epoch is None else epoch, **fields)
        try:
            outcome = self.talk.machine.kind(ConsumerKind).consumer_heartbeat(
                request, now=self.talk.now
            )
        except Refused as refused:
            return refused.code
        self.reply = self.talk.told(outcome)
        self.epoch = self.reply.member_epoch
        if self.reply.assignment is None:
            return None
        self.owned = self.talk.topics.named(self.reply.assignment)
        return self.owned

    def report(self, **fields: Any) -> Code | Named | None:
        """A heartbeat that says what the member owns."""
        return self.beat(owned=self.owned, **fields)

    def leave(self, *, for_a_while: bool = False) -> Code | None:
        told = self.beat(epoch=-2 if for_a_while else -1)
        return told if isinstance(told, Code) else None


def settle(*members: Consumer) -> None:
    """Send heartbeats of all members until the group is stable and no assignment changes."""
    talk = members[0].talk
    for _ in range(4 * len(members) + 4):
        talk.pass_time()
        told = [member.report() for member in members]
        if not any(each is not None for each in told) and talk.epochs[0] == "Stable":
            return
    raise AssertionError("they never come to rest")


def stable(*members: Consumer) -> None:
    """Have members join one after the other, and share."""
    for member in members:
        assert isinstance(member.join(), dict)
    settle(*members)
    assert members[0].talk.epochs[0] == "Stable"
