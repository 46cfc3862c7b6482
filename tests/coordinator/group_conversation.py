"""A coordinator with a clock, and its clients, for tests of the group coordinator."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

from ottla.coordinator.classic.group import Protocols
from ottla.coordinator.classic.requests import (
    GroupSettings,
    JoinReply,
    JoinRequest,
    LeavingMember,
    SyncReply,
    SyncRequest,
)
from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.consumer.regexes import Found, MatchTopics, matching
from ottla.coordinator.group_records import GroupRecord, decode, encode
from ottla.coordinator.groups import ClaimedMember, DescribedGroup, Groups
from ottla.coordinator.moment import Moment
from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.outcome import PARKED, Answer, Notice, Outcome, Producer
from ottla.protocol.errors import Code, Refused

Reply = TypeVar("Reply")

GROUP = "shoppers"
SESSION_MS = 10_000
REBALANCE_MS = 30_000
START_MS = 1_000_000


def subscription(*topics: str) -> bytes:
    """A consumer's metadata, version 0 (ConsumerProtocolSubscription)."""
    names = b"".join(len(topic).to_bytes(2) + topic.encode() for topic in topics)
    return bytes(2) + len(topics).to_bytes(4) + names + (-1).to_bytes(4, signed=True)


RANGE: Protocols = (("range", subscription("orders")),)


def found_by(order: MatchTopics) -> Found:
    """Match the topics of a group, at once."""
    may_see = order.may_see or (lambda name: True)
    job = matching(order.regexes, [*filter(may_see, order.names)])
    while True:
        try:
            next(job)
        except StopIteration as ended:
            found: Found = ended.value
            return found


class GroupTalk:
    """A coordinator that is spoken to: it logs, replays and answers as the shard makes it.

    Attributes:
        now_ms: the monotonic time.
        wall_step_ms: by how much the wall clock has been set forward, or back.
        log: every record with its producer, None outside of transactions; markers as a bool.
        answers: the answers to parked requests, by ticket.
        notices: for the broker's log.
    """

    def __init__(self, **limits: int) -> None:
        self.settings = GroupSettings(**{"initial_rebalance_delay_ms": 0, **limits})
        self.machine = self.fresh_machine()
        self.now_ms = START_MS
        self.wall_step_ms = 0
        self.log: list[tuple[GroupRecord | bool, Producer | None]] = []
        self.answers: dict[int, Any] = {}
        self.notices: list[Notice] = []
        self.tickets = count(1)

    @property
    def now(self) -> Moment:
        return Moment(self.now_ms + self.wall_step_ms, self.now_ms)

    def fresh_machine(self) -> Groups:
        """A coordinator that knows nothing yet."""
        return Groups(self.settings)

    def told(self, outcome: Outcome[Reply]) -> Reply:
        """Make it so, as the shard does; the reply."""
        for record in outcome.records:
            self.log.append((record, outcome.producer))
            self._replay(self.machine, record, outcome.producer)
        for effect in outcome.effects:
            if isinstance(effect, Notice):
                self.notices.append(effect)
                continue
            if isinstance(effect, MatchTopics):
                self.match(effect)
                continue
            assert isinstance(effect, Answer)
            assert effect.ticket not in self.answers, "answered twice"
            self.answers[effect.ticket] = effect.reply
        return outcome.reply

    def match(self, order: MatchTopics) -> None:
        """Match a group's regular expressions, and make the decision that follows."""
        decide = self.machine.kind(ConsumerKind).matched
        self.told(decide(order, found_by(order), now=self.now))

    def topic_id(self, name: str) -> UUID | None:
        """The id of a topic; this coordinator knows none."""
        return None

    def pass_time(self, time_ms: int = 0) -> None:
        """Let time pass; timers run when they are due."""
        end_ms = self.now_ms + time_ms
        for _ in range(10_000):
            due_ms = self.machine.next_deadline(self.now)
            if due_ms is None or due_ms > end_ms:
                self.now_ms = end_ms
                return
            self.now_ms = max(self.now_ms, due_ms)
            self.tick()
        raise AssertionError("the timers never come to rest")

    def tick(self) -> int:
        """Run the due decisions one after the other; their number."""
        return sum(1 for outcome in self.machine.tick(self.now) if self.told(outcome) is None)

    def end_transaction(self, producer: Producer, *, commit: bool) -> None:
        self.log.append((commit, producer))
        self.machine.replay_marker(producer, commit=commit)

    def restart(self) -> None:
        """Memory is gone; the log, read back from its bytes, is all there is."""
        self.machine = self.fresh_machine()
        for record, producer in self.log:
            if isinstance(record, bool):
                assert producer is not None
                self.machine.replay_marker(producer, commit=record)
                continue
            read = decode(*encode(record))
            assert read == record
            self._replay(self.machine, read, producer)

    def _replay(self, machine: Groups, record: GroupRecord, producer: Producer | None) -> None:
        if producer is None:
            machine.replay(record)
        else:
            machine.replay_pending(record, producer)

    @property
    def group(self) -> DescribedGroup:
        described = self.machine.describe(GROUP)
        assert described is not None, "there is no such group"
        return described

    @property
    def state(self) -> str:
        described = self.machine.describe(GROUP)
        return "Dead" if described is None else described.state

    def commit(
        self,
        offset: int,
        committer: ClaimedMember | None = None,
        *,
        topic: str = "orders",
        partition: int = 0,
    ) -> Code:
        """Commit for one partition; the code, whether it was refused or not."""
        offsets = [OffsetToCommit(topic, partition, offset, topic_id=self.topic_id(topic))]
        try:
            outcome = self.machine.commit(
                GROUP, committer or ClaimedMember(), offsets, now=self.now
            )
        except Refused as refused:
            return refused.code
        (code,) = self.told(outcome)
        return code

    def commit_in(
        self, producer: Producer, offset: int, committer: ClaimedMember | None = None
    ) -> Code:
        """Commit for partition 0 of `orders` in a producer's transaction."""
        try:
            outcome = self.machine.commit_in_transaction(
                GROUP,
                committer or ClaimedMember(),
                producer,
                [OffsetToCommit("orders", 0, offset)],
                now=self.now,
            )
        except Refused as refused:
            return refused.code
        (code,) = self.told(outcome)
        return code

    def offset(self, topic: str = "orders", *, stable: bool = False) -> int | Code:
        """What OffsetFetch says of partition 0: the offset or its error."""
        fetched = self.machine.fetch_offset(GROUP, topic, 0, require_stable=stable)
        return fetched.offset if fetched.error is Code.NONE else fetched.error


class Client:
    """A member or joining client, with its last answers."""

    def __init__(
        self,
        talk: GroupTalk,
        name: str,
        *,
        instance: str | None = None,
        protocols: Protocols = RANGE,
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        version: int = 9,
    ) -> None:
        self.talk = talk
        self.name = name
        self.instance = instance
        self.protocols = protocols
        self.protocol_type = protocol_type
        self.session_ms = session_ms
        self.rebalance_ms = rebalance_ms
        self.version = version
        self.member_id = ""
        self.generation_id = -1
        self._ticket = 0

    @property
    def committer(self) -> ClaimedMember:
        return ClaimedMember(self.member_id, self.generation_id, self.instance)

    def ask_for_id(self) -> Code:
        """JoinGroup without an id, as a dynamic member begins."""
        reply = self._join()
        assert isinstance(reply, JoinReply)
        self.member_id = reply.member_id
        return reply.error

    def join(self) -> Code | None:
        """JoinGroup, with an id if one is needed; None when it has to wait for `joined`."""
        if not self.member_id and self.instance is None and self.version >= 4:
            code = self.ask_for_id()
            if code is not Code.MEMBER_ID_REQUIRED:
                return code
        reply = self._join()
        return None if reply is PARKED else self._take(reply)

    def joined(self) -> JoinReply | None:
        """The answer to the parked JoinGroup; None while it waits."""
        reply = self.talk.answers.get(self._ticket)
        if reply is not None:
            self._take(reply)
        return reply

    def sync(
        self, assignments: Mapping[Client, bytes] | None = None, *, protocol: str | None = None
    ) -> bytes | Code | None:
        """SyncGroup, by the leader with what each client gets; its part. None: it has to wait."""
        members = {client.member_id: part for client, part in (assignments or {}).items()}
        self._ticket = next(self.talk.tickets)
        request = SyncRequest(
            GROUP,
            self.generation_id,
            self.member_id,
            self.instance,
            self.protocol_type,
            protocol,
            members,
        )
        try:
            outcome = self.talk.machine.sync(request, ticket=self._ticket, now=self.talk.now)
        except Refused as refused:
            return refused.code
        reply = self.talk.told(outcome)
        return reply.assignment if isinstance(reply, SyncReply) else None

    def synced(self) -> bytes | Code | None:
        """The answer to the parked SyncGroup, an assignment or an error; None while it waits."""
        reply: SyncReply | None = self.talk.answers.get(self._ticket)
        if reply is None:
            return None
        return reply.assignment if reply.error is Code.NONE else reply.error

    def heartbeat(self) -> Code:
        try:
            return self.talk.told(
                self.talk.machine.heartbeat(GROUP, self.committer, now=self.talk.now)
            )
        except Refused as refused:
            return refused.code

    def leave(self) -> Code:
        leaving = [LeavingMember(self.member_id, self.instance)]
        try:
            codes = self.talk.told(self.talk.machine.leave(GROUP, leaving, now=self.talk.now))
        except Refused as refused:
            return refused.code
        return codes[0]

    def commit(self, offset: int) -> Code:
        return self.talk.commit(offset, self.committer)

    def _join(self) -> Any:
        self._ticket = next(self.talk.tickets)
        request = JoinRequest(
            GROUP,
            self.member_id,
            self.instance,
            self.protocol_type,
            self.protocols,
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=self.rebalance_ms,
            client_id=self.name,
            client_host="/127.0.0.1",
            random_id=str(self._ticket),
            requires_known_member_id=self.version >= 4,
            may_skip_assignment=self.version >= 9,
        )
        try:
            outcome = self.talk.machine.join(request, ticket=self._ticket, now=self.talk.now)
        except Refused as refused:
            return JoinReply(self.member_id, refused.code)
        return self.talk.told(outcome)

    def _take(self, reply: JoinReply) -> Code:
        if reply.error is Code.NONE:
            self.member_id, self.generation_id = reply.member_id, reply.generation_id
        return reply.error


def joined_group(talk: GroupTalk, *clients: Client) -> None:
    """Have the clients form the next generation, the first one leading if it is new."""
    for client in clients:
        assert client.join() is None
    talk.pass_time()
    for client in clients:
        reply = client.joined()
        assert reply is not None
        assert reply.error is Code.NONE


def stable_group(talk: GroupTalk, *clients: Client) -> None:
    """Have the clients form a group in which each is assigned its own name."""
    joined_group(talk, *clients)
    leader, *others = clients
    for client in others:
        assert client.sync() is None
    leader.sync({client: client.name.encode() for client in clients})
    assert talk.state == "Stable"
