"""A coordinator with a clock, and members of streams groups, for tests of these."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ottla.coordinator.groups import Groups
from ottla.coordinator.streams.configured import Status
from ottla.coordinator.streams.group import StreamsGroup
from ottla.coordinator.streams.groups import StreamsSetup
from ottla.coordinator.streams.kind import StreamsKind
from ottla.coordinator.streams.member import Tasks
from ottla.coordinator.streams.requests import (
    HeartbeatReply,
    HeartbeatRequest,
    StreamsGroupSettings,
)
from ottla.coordinator.streams.topology import Subtopology, TopicInfo, Topology
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.conversation import FakeTopics
from tests.coordinator.group_conversation import GROUP, GroupTalk

SESSION_MS = 45_000
REBALANCE_MS = 10_000
AT_ONCE = StreamsGroupSettings(initial_rebalance_delay_ms=0, assignment_interval_ms=0)

COUNTS = "counts-changelog"
WORDS = Topology(0, (Subtopology("0", ("lines",)),))
STATEFUL = Topology(0, (Subtopology("0", ("lines",), state_changelog_topics=(TopicInfo(COUNTS),)),))

Named = dict[str, list[int]]


def named(tasks: Mapping[str, Any]) -> Named:
    """Tasks with their partitions in order."""
    return {each: sorted(tasks[each]) for each in sorted(tasks)}


class StreamsTalk(GroupTalk):
    """A coordinator that is spoken to by members of streams groups."""

    def __init__(self, topics: FakeTopics | None = None, /, **settings: Any) -> None:
        self.topics = topics or FakeTopics(lines=2)
        self.streams_settings = replace(AT_ONCE, **settings)
        super().__init__()

    def fresh_machine(self) -> Groups:
        setup = StreamsSetup(self.topics, lambda group_id: self.streams_settings)
        return Groups(self.settings, {"streams": lambda: setup}, topic_id_of=self.topic_id)

    def topic_id(self, name: str) -> uuid.UUID | None:
        facts = self.topics.by_name(name)
        return None if facts is None else facts.topic_id

    @property
    def streams_group(self) -> StreamsGroup:
        return self.machine.kind(StreamsKind).streams_groups.groups[GROUP]

    def settle(self, *members: Member) -> None:
        """Heartbeats until no member changes any more; internal topics are made meanwhile."""
        before = None
        while before != (now := [(each.epoch, each.tasks) for each in members]):
            before = now
            for each in members:
                each.beat()


class Member:
    """A member; it owns what it was assigned last.

    Attributes:
        statuses: of the last answer.
    """

    def __init__(
        self,
        talk: StreamsTalk,
        member_id: str,
        topology: Topology = WORDS,
        *,
        process_id: str | None = None,
        **fields: Any,
    ) -> None:
        self.talk, self.member_id, self.topology = talk, member_id, topology
        self.process_id = process_id or f"process of {member_id}"
        self.fields = fields
        self.epoch = 0
        self.active: Named = {}
        self.standby: Named = {}
        self.warmup: Named = {}
        self.statuses: list[Status] = []

    @property
    def tasks(self) -> tuple[Named, Named, Named]:
        return self.active, self.standby, self.warmup

    def request(self, **fields: Any) -> HeartbeatRequest:
        if fields.get("member_epoch", self.epoch) == 0:
            defaults: dict[str, Any] = {
                "topology": self.topology, "rebalance_timeout_ms": REBALANCE_MS,
                "process_id": self.process_id, "active": {}, "standby": {}, "warmup": {},
                **self.fields,
            }  # fmt: skip
        else:
            roles = zip(("active", "standby", "warmup"), self.tasks, strict=True)
            defaults = {role: _owned(tasks) for role, tasks in roles}
            defaults["instance_id"] = self.fields.get("instance_id")
        return HeartbeatRequest(
            GROUP, self.member_id, **{"member_epoch": self.epoch, **defaults, **fields}
        )

    def beat(self, **fields: Any) -> HeartbeatReply:
        """A heartbeat; missing internal topics are made after it."""
        talk = self.talk
        kind = talk.machine.kind_for(StreamsKind, GROUP)
        reply = talk.told(kind.streams_heartbeat(self.request(**fields), now=talk.now))
        self.epoch = reply.member_epoch
        if reply.tasks is not None:
            self.active, self.standby, self.warmup = map(named, reply.tasks)
        self.statuses = [each.status for each in reply.statuses]
        for topic in reply.missing_topics:
            talk.topics.make(topic.name, topic.partitions)
        return reply

    def refused(self, **fields: Any) -> Code:
        """The error code of a heartbeat."""
        try:
            self.beat(**fields)
        except Refused as refused:
            return refused.code
        raise AssertionError("the heartbeat was not refused")


def _owned(tasks: Named) -> Tasks:
    return {each: frozenset(partitions) for each, partitions in tasks.items()}
