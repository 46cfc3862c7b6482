"""Topics, a coordinator with a clock, and members, for tests of share groups."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ottla.coordinator.consumer.requests import HeartbeatReply
from ottla.coordinator.group_records import encode
from ottla.coordinator.groups import Groups
from ottla.coordinator.outcome import Outcome
from ottla.coordinator.share.effects import InitializeShareState
from ottla.coordinator.share.group import ShareGroup
from ottla.coordinator.share.groups import ShareSetup, check_request
from ottla.coordinator.share.kind import ShareKind
from ottla.coordinator.share.requests import HeartbeatRequest, ShareGroupLimits
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.conversation import FakeTopics, Named
from tests.coordinator.group_conversation import GROUP, GroupTalk, Reply

INTERVAL_MS = 1_000
SESSION_MS = 45_000


class ShareTalk(GroupTalk):
    """A coordinator that is spoken to by members of share groups.

    Attributes:
        limits: what is set for single groups, by group id.
        orders: the initializations of share state that are not carried out yet.
        initializes: whether share state is initialized at once.
    """

    def __init__(self, topics: FakeTopics | None = None, *, max_size: int = 200) -> None:
        self.topics = topics or FakeTopics(orders=4)
        self.max_size = max_size
        self.limits: dict[str, ShareGroupLimits] = {}
        self.orders: list[InitializeShareState] = []
        self.initializes = True
        super().__init__()

    def fresh_machine(self) -> Groups:
        setup = ShareSetup(
            self.topics,
            lambda group_id: self.limits.get(group_id, ShareGroupLimits()),
            self.max_size,
        )
        return Groups(self.settings, {"share": lambda: setup})

    @property
    def kind(self) -> ShareKind:
        return self.machine.kind(ShareKind)

    @property
    def share_group(self) -> ShareGroup:
        """The share group of all members of the test."""
        return self.kind.groups[GROUP]

    @property
    def epochs(self) -> tuple[str, int, int]:
        """State, epoch, and epoch of the target."""
        group = self.share_group
        return group.state.value, group.epoch, group.target_epoch

    @property
    def state_topics(self) -> tuple[Named, Named, list[str]]:
        """The partitions with share state by topic: initializing, initialized, deleting."""
        group = self.share_group
        initializing, initialized = (
            {topic.name: sorted(topic.partitions) for topic in topics.values()}
            for topics in (group.initializing, group.initialized)
        )
        return initializing, initialized, sorted(group.deleting.values())

    def written(self) -> list[tuple[bytes, bytes | None]]:
        """Keys and values of all records so far."""
        return [encode(record) for record, _ in self.log if not isinstance(record, bool)]

    def told(self, outcome: Outcome[Reply]) -> Reply:
        orders = [each for each in outcome.effects if isinstance(each, InitializeShareState)]
        others = tuple(each for each in outcome.effects if each not in orders)
        reply = super().told(outcome._replace(effects=others))
        self.orders += orders
        if self.initializes:
            self.initialize()
        return reply

    def initialize(self, *, fails: bool = False) -> None:
        """Carry the initializations out, or let them fail."""
        orders, self.orders = self.orders, []
        for order in orders:
            done: dict[UUID, set[int]] = {}
            for topic_id, index, _ in order.partitions:
                done.setdefault(topic_id, set()).add(index)
            partitions = {topic_id: frozenset(indexes) for topic_id, indexes in done.items()}
            note = self.kind.not_initialized if fails else self.kind.initialized
            super().told(note(order.group_id, partitions))


class Sharer:
    """A member of a share group, with its last assignment."""

    def __init__(self, talk: ShareTalk, name: str, *topics: str, group: str = GROUP) -> None:
        self.talk = talk
        self.name = name
        self.topics = frozenset(topics or ("orders",))
        self.group = group
        self.epoch = 0
        self.assigned: Named = {}
        self.reply: HeartbeatReply | None = None

    def join(self, **fields: Any) -> Code | Named:
        """Join; as `beat`."""
        fields.setdefault("subscribed_topic_names", self.topics)
        told = self.beat(epoch=0, **fields)
        assert told is not None
        return told

    def beat(self, *, epoch: int | None = None, **fields: Any) -> Code | Named | None:
        """Send a heartbeat: the new assignment, None without one, or the refusal."""
        given = {"client_id": "shop", "client_host": "/127.0.0.1", **fields}
        request = HeartbeatRequest(
            self.group, self.name, self.epoch if epoch is None else epoch, **given
        )
        try:
            check_request(request)
            kind = self.talk.machine.kind_for(ShareKind, self.group)
            outcome = kind.share_heartbeat(request, now=self.talk.now)
        except Refused as refused:
            return refused.code
        self.reply = self.talk.told(outcome)
        self.epoch = self.reply.member_epoch
        if self.reply.assignment is None:
            return None
        self.assigned = self.talk.topics.named(self.reply.assignment)
        return self.assigned

    def leave(self) -> Code | None:
        told = self.beat(epoch=-1)
        return told if isinstance(told, Code) else None


def settle(*members: Sharer) -> None:
    """Send heartbeats of all members, with pauses, until nothing changes."""
    talk = members[0].talk
    for _ in range(20):
        before = talk.epochs, [member.assigned for member in members]
        talk.pass_time(INTERVAL_MS)
        for member in members:
            assert not isinstance(member.beat(), Code)
        if before == (talk.epochs, [member.assigned for member in members]):
            return
    raise AssertionError("they never come to rest")
