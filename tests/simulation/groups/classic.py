"""A member of the classic protocol, eager or cooperative, like Kafka's classic consumer.

An eager member revokes all partitions before it joins again. A cooperative member keeps them until
an assignment revokes some, and then joins again, so that another member can get those.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from ottla.coordinator.classic.group import Protocols
from ottla.coordinator.classic.requests import (
    JoinedMember,
    JoinReply,
    JoinRequest,
    LeavingMember,
    SyncReply,
    SyncRequest,
)
from ottla.coordinator.consumer.topics import TopicMetadata
from ottla.coordinator.groups import Groups
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import Outcome
from ottla.protocol.errors import Code
from ottla.protocol.messages import decode_data, encode_data

from ..network import LOST, always
from ..scheduler import Steps
from . import dealing
from .client import RETRIABLE, Client
from .oracle import Held

Seen = tuple[tuple[str, TopicMetadata | None], ...]
"""Topics at the time of an assignment of their partitions."""

_NEVER: Final = TopicMetadata(uuid.UUID(int=0), "", 0)
_AGAIN: Final = (*RETRIABLE, Code.REBALANCE_IN_PROGRESS)


class ClassicClient(Client):
    """Joins, syncs, and sends heartbeats until an answer makes it join again.

    Args:
        cooperative: use the cooperative protocol (KIP-429).
        asks_late: its JoinGroups may arrive long after their timeout.
    """

    def __init__(self, *arguments: Any, cooperative: bool, asks_late: bool, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.cooperative = cooperative
        self._asks_late = asks_late
        self._attempt = 0
        self._leads = False
        self._seen: Seen = ()

    def live(self) -> Steps[None]:
        while True:
            if not (yield from self._join()):
                continue
            if not self.process.is_alive:
                return
            while (yield from self._beat()):
                pass
            if not self.process.is_alive:
                return

    # Joining

    def _protocols(self) -> Protocols:
        if not self.cooperative:
            return (("range", _subscription(self.topics, (), -1)),)
        owned = tuple(sorted((held.topic, held.partition) for held in self.owned))
        return (("cooperative-sticky", _subscription(self.topics, owned, self.generation)),)

    def _join(self) -> Steps[bool]:
        """Join and sync once; False if the member ends."""
        self.is_stable = False
        if not self.cooperative:
            self.hold(())
        crashes, is_new = self.around.coordinator.crashes, not self.member_id
        reply = yield from self._send_join()
        if isinstance(reply, Code) or reply is LOST:
            return (yield from self._refused(reply))
        assert isinstance(reply, JoinReply)
        if reply.error is Code.MEMBER_ID_REQUIRED:
            self.member_id = reply.member_id
            return False
        if reply.error is not Code.NONE:
            return (yield from self._refused(reply.error))
        self.member_id, self.generation = reply.member_id, reply.generation_id
        self._leads = reply.leader == reply.member_id
        assignments = {}
        if reply.skip_assignment:
            self.look_again()  # the topics may have changed since its predecessor's assignment
        elif reply.members:
            assignments = self._assign(reply.members)
        synced = yield from self._send_sync(reply, assignments)
        if isinstance(synced, Code) or synced is LOST:
            return (yield from self._refused(synced))
        reply, assigned = synced
        if reply.error is not Code.NONE:
            return (yield from self._refused(reply.error))
        takes_over = self.cooperative and self.instance is not None and is_new
        if self.around.coordinator.crashes != crashes or takes_over:
            self.around.coordinator.owing.add(self.group_id)
        return self._synced(assigned)

    def _send_join(self) -> Steps[Any]:
        scheduler, timing = self.around.scheduler, self.around.timing
        self._attempt += 1
        attempt = self._attempt
        request = JoinRequest(
            self.group_id,
            self.member_id,
            self.instance,
            "consumer",
            self._protocols(),
            timing.session_ms,
            timing.rebalance_ms,
            self.name,
            "/127.0.0.1",
            "",
            may_skip_assignment=True,
        )

        def decide(machine: Groups, now: Moment, ticket: int) -> Outcome[Any]:
            fresh = replace(request, random_id=f"{self.name}-{ticket}")  # made at the coordinator
            return machine.join(fresh, ticket=ticket, now=now)

        return (
            yield from self.ask(
                "JoinGroup",
                self.around.coordinator.serve_parked(
                    (self.name, "JoinGroup", self.member_id), decide
                ),
                patience_ms=timing.rebalance_ms + scheduler.random.randint(0, 3_000),
                details=(self.member_id, len(self.owned)),
                only_while=always if self._asks_late else lambda: attempt == self._attempt,
            )
        )

    def _send_sync(self, reply: JoinReply, assignments: dict[str, bytes]) -> Steps[Any]:
        """The reply with the topic ids of its names at that time; or a refusal."""
        attempt = self._attempt
        request = SyncRequest(
            self.group_id,
            reply.generation_id,
            reply.member_id,
            self.instance,
            reply.protocol_type,
            reply.protocol,
            assignments,
        )
        send = self.around.coordinator.serve_parked(
            (self.name, "SyncGroup", self.member_id),
            lambda machine, now, ticket: machine.sync(request, ticket=ticket, now=now),
        )
        return (
            yield from self.ask(
                "SyncGroup",
                lambda respond: send(lambda reply: respond(self._with_ids(reply))),
                patience_ms=self.around.timing.rebalance_ms,
                details=(len(assignments),),
                only_while=lambda: attempt == self._attempt,
            )
        )

    def _with_ids(self, reply: Any) -> Any:
        if not isinstance(reply, SyncReply):
            return reply
        by_name = self.around.topics.by_name
        return reply, frozenset(
            Held(topic, facts.topic_id, index)
            for topic, index in _read_assignment(reply.assignment)
            if (facts := by_name(topic)) is not None
        )

    def _synced(self, assigned: frozenset[Held]) -> bool:
        self.is_stable = True
        gave_up = self.owned - assigned
        self.hold(assigned)
        if not self._leads:
            self._seen = self._metadata(self.topics)
        if gave_up:
            self.around.scheduler.note("partitions given up", self.name)
            return False
        return True

    def _refused(self, code: Any) -> Steps[bool]:
        """Handle a lost or refused JoinGroup or SyncGroup; True if the member ends."""
        if code is Code.FENCED_INSTANCE_ID:
            self._fenced()
            return True
        if code is Code.UNKNOWN_MEMBER_ID:
            self._lose_all(forgets_id=True)
        elif code is Code.ILLEGAL_GENERATION:
            self._lose_all(forgets_id=False)
        else:
            assert code in (*_AGAIN, Code.INCONSISTENT_GROUP_PROTOCOL), code
        yield self.backoff()
        return False

    def _fenced(self) -> None:
        self.around.scheduler.note("instance fenced", self.name)
        self.die()

    def _lose_all(self, *, forgets_id: bool) -> None:
        self.around.scheduler.note("member lost", forgets_id)
        self.is_stable = False
        self.generation = -1
        if forgets_id:
            self.member_id = ""
        self.hold(())

    # Leading

    def look_again(self) -> None:
        """Join again soon, as after a change of topics."""
        self._seen = (("", _NEVER),)

    def _metadata(self, topics: Iterable[str]) -> Seen:
        return tuple((topic, self.around.topics.by_name(topic)) for topic in sorted(topics))

    def _assign(self, members: tuple[JoinedMember, ...]) -> dict[str, bytes]:
        asked = {each.member_id: _read_subscription(each.metadata) for each in members}
        self._seen = self._metadata({topic for each in asked.values() for topic in each.topics})
        counts = {topic: facts.partition_count for topic, facts in self._seen if facts is not None}
        deal = dealing.cooperative if self.cooperative else dealing.eager
        dealt = deal(asked, counts)
        return {member_id: _assignment(tuple(sorted(each))) for member_id, each in dealt.items()}

    # Staying

    def _beat(self) -> Steps[bool]:
        """Send a heartbeat; False to join again."""
        yield self.around.scheduler.sleep(self.around.timing.heartbeat_ms)
        if any(known != self.around.topics.by_name(name) for name, known in self._seen):
            return False  # topics have changed
        committer = self._committer()
        code = yield from self.ask(
            "Heartbeat",
            self.around.coordinator.serve(
                lambda machine, now: machine.heartbeat(self.group_id, committer, now=now)
            ),
        )
        if code is Code.NONE or code in RETRIABLE:
            return True
        if code is Code.FENCED_INSTANCE_ID:
            self._fenced()
        elif code is Code.REBALANCE_IN_PROGRESS:
            self.around.scheduler.note("member has to rejoin")
        elif code is Code.UNKNOWN_MEMBER_ID:
            self._lose_all(forgets_id=True)
        else:
            assert code is Code.ILLEGAL_GENERATION, code
            self._lose_all(forgets_id=False)
        return False

    def leave(self) -> Steps[None]:
        """Leave: a dynamic member sends LeaveGroup, a static member only stops."""
        self.is_stable = False
        self.hold(())
        if self.instance is None and self.member_id:
            leaving = [LeavingMember(self.member_id)]
            yield from self.ask(
                "LeaveGroup",
                self.around.coordinator.serve(
                    lambda machine, now: machine.leave(self.group_id, leaving, now=now)
                ),
            )


# Subscriptions and assignments in bytes


def _partitions(places: tuple[tuple[str, int], ...]) -> list[dict[str, Any]]:
    topics = sorted({topic for topic, _ in places})
    return [
        {"topic": topic, "partitions": [index for name, index in places if name == topic]}
        for topic in topics
    ]


@lru_cache(maxsize=4096)
def _subscription(
    topics: frozenset[str], owned: tuple[tuple[str, int], ...], generation: int
) -> bytes:
    fields = {
        "topics": sorted(topics),
        "user_data": None,
        "owned_partitions": _partitions(owned),
        "generation_id": generation,
        "rack_id": None,
    }
    return encode_data("ConsumerProtocolSubscription", 3, fields)


@lru_cache(maxsize=4096)
def _read_subscription(data: bytes) -> dealing.Subscribed:
    read = decode_data("ConsumerProtocolSubscription", data)
    owned = frozenset(
        (each.topic, index) for each in read.owned_partitions for index in each.partitions
    )
    return dealing.Subscribed(frozenset(read.topics), owned, read.generation_id)


@lru_cache(maxsize=4096)
def _assignment(places: tuple[tuple[str, int], ...]) -> bytes:
    fields = {"assigned_partitions": _partitions(places), "user_data": None}
    return encode_data("ConsumerProtocolAssignment", 3, fields)


@lru_cache(maxsize=4096)
def _read_assignment(data: bytes) -> frozenset[tuple[str, int]]:
    if not data:
        return frozenset()
    read = decode_data("ConsumerProtocolAssignment", data)
    return frozenset(
        (each.topic, index) for each in read.assigned_partitions for index in each.partitions
    )
