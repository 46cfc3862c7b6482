"""A member of the consumer protocol (KIP-848), like Kafka's new consumer."""

from __future__ import annotations

import uuid
from typing import Any, Final

from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.consumer.member import Assignment
from ottla.coordinator.consumer.requests import HeartbeatReply, HeartbeatRequest
from ottla.protocol.errors import Code

from ..scheduler import Steps
from .client import RETRIABLE, Client
from .oracle import Held

_LOST_MEMBERSHIP: Final = (
    Code.FENCED_MEMBER_EPOCH,
    Code.UNKNOWN_MEMBER_ID,
    Code.GROUP_ID_NOT_FOUND,
)


class ConsumerClient(Client):
    """Sends all fields when it joins or after a lost answer, and else the changed ones."""

    is_classic = False

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.member_id = f"{self.name}-id"
        self.generation = 0
        self._target: frozenset[Held] = frozenset()
        self._has_changed = False
        self._is_unsure = True
        self._sent = 0
        self._gives_up_until_ms = 0

    def live(self) -> Steps[None]:
        scheduler, timing = self.around.scheduler, self.around.timing
        while True:
            reply = yield from self._beat()
            if reply in RETRIABLE:
                self._is_unsure = True
                yield self.backoff()
            elif isinstance(reply, Code):
                if not (yield from self._refused(reply)):
                    self.die()
                    return
            else:
                self._apply(reply)
                if not self._has_changed:
                    left_ms = self._gives_up_until_ms - scheduler.now_ms
                    wait_ms = timing.heartbeat_ms
                    if 0 < left_ms < wait_ms:
                        wait_ms = left_ms
                    yield scheduler.sleep(wait_ms)
            if not self._is_unsure:  # else the assignment may already be outdated
                self._give_up()

    def _beat(self) -> Steps[Any]:
        tells_all = self._is_unsure or self.generation == 0
        tells = tells_all or self._has_changed
        self._has_changed = False
        self._sent += 1
        number, has_arrived = self._sent, False
        request = HeartbeatRequest(
            self.group_id,
            self.member_id,
            self.generation,
            instance_id=self.instance,
            rebalance_timeout_ms=self.around.timing.rebalance_ms if tells_all else -1,
            subscribed_topic_names=self.topics if tells_all else None,
            subscribed_topic_regex=self.regex if tells_all else None,
            owned=_by_id(self.owned) if tells else None,
            client_id=self.name,
        )

        def is_in_order() -> bool:
            """Whether the heartbeat is still the last one, as on a TCP connection.

            The coordinator may not get a list of owned partitions late, or answer a lost member.
            """
            nonlocal has_arrived
            is_first, has_arrived = not has_arrived, True
            return is_first and number == self._sent

        return (
            yield from self.ask(
                "ConsumerGroupHeartbeat",
                self.around.coordinator.serve(
                    lambda machine, now: machine.kind(ConsumerKind).consumer_heartbeat(
                        request, now=now
                    )
                ),
                details=(sorted(self.owned) if tells else None,),
                only_while=is_in_order,
            )
        )

    def _refused(self, code: Code) -> Steps[bool]:
        """Handle a refused heartbeat; False if the member ends."""
        scheduler = self.around.scheduler
        if code is Code.FENCED_INSTANCE_ID:
            scheduler.note("instance fenced", self.name)
            return False
        if code in _LOST_MEMBERSHIP:
            scheduler.note("member lost", code.name)
            self._lose_all()
            yield self.backoff()
        else:
            assert code is Code.UNRELEASED_INSTANCE_ID, code
            self._lose_all()
            yield scheduler.sleep(400)
        return True

    def _lose_all(self) -> None:
        self.is_stable = False
        self.forget_commits()
        self.generation = 0
        self._is_unsure = True
        self._target = frozenset()
        self.hold(())

    def _apply(self, reply: HeartbeatReply) -> None:
        self.generation = reply.member_epoch
        self.is_stable = True
        self._is_unsure = False
        if reply.assignment is None:
            return
        self._target = frozenset(
            Held(facts.name, topic_id, index)
            for topic_id, indexes in reply.assignment.items()
            if (facts := self.around.topics.by_id(topic_id)) is not None
            for index in indexes
        )
        if self.owned - self._target and self._gives_up_until_ms <= self.around.scheduler.now_ms:
            random, rebalance_ms = self.around.scheduler.random, self.around.timing.rebalance_ms
            longest_ms = rebalance_ms // 4 if self.around.is_calm else rebalance_ms
            takes_ms = random.choice([0, 0, random.randint(1, longest_ms)])
            if not self.around.is_calm and random.random() < 0.1:
                takes_ms = 2 * rebalance_ms
            self._gives_up_until_ms = self.around.scheduler.now_ms + takes_ms

    def _give_up(self) -> None:
        """Revoke partitions once their processing is finished."""
        if self._target == self.owned or not self.is_stable:
            return
        if self._gives_up_until_ms > self.around.scheduler.now_ms:
            return
        if self.owned - self._target:
            self.around.scheduler.note("partitions given up", self.name)
        self._has_changed = True
        self.hold(self._target)

    def leave(self) -> Steps[None]:
        """Leave the group; a static member leaves temporarily."""
        self.is_stable = False
        self.hold(())
        epoch = -1 if self.instance is None else -2
        request = HeartbeatRequest(
            self.group_id, self.member_id, epoch, instance_id=self.instance, client_id=self.name
        )
        yield from self.ask(
            "ConsumerGroupHeartbeat",
            self.around.coordinator.serve(
                lambda machine, now: machine.kind(ConsumerKind).consumer_heartbeat(request, now=now)
            ),
            details=("leaves", epoch),
        )


def _by_id(owned: frozenset[Held]) -> Assignment:
    found: dict[uuid.UUID, frozenset[int]] = {}
    for held in sorted(owned):
        found[held.topic_id] = found.get(held.topic_id, frozenset()) | {held.partition}
    return found
