"""Faults of members, topics, the coordinator and its clock."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any, Final

from ottla.coordinator.groups import ClaimedMember, Groups
from ottla.coordinator.moment import Moment
from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.outcome import Outcome
from ottla.protocol.errors import Refused

from ..network import Crashed
from .classic import ClassicClient
from .client import Surroundings
from .crowd import Crowd, Seat

TOPICS: Final = ("orders", "stock", "returns")
_MOST_PARTITIONS: Final = 6
_MOST_CLIENTS: Final = 7
_HOUR_MS: Final = 60 * 60 * 1000
_ADMINISTERED: Final = 12
"""Groups with offsets and without members."""


class Faults:
    """Injects one fault after another until `stop`.

    Args:
        every_ms: mean time between two faults.
    """

    def __init__(self, around: Surroundings, crowd: Crowd, *, every_ms: int) -> None:
        self._around = around
        self._crowd = crowd
        self._every_ms = every_ms
        self._is_over = False
        self._kinds = (
            (6, self._kill),
            (6, self._stall),
            (4, self._leave),
            (3, self._resubscribe),
            (4, self._crash_soon),
            (2, self._crash_now),
            (2, self._make_topic),
            (2, self._grow_topic),
            (1, self._delete_topic),
            (2, self._step),
            (1, self._all_away),
            (2, self._commit_much),
        )
        self._next()

    def stop(self) -> None:
        self._is_over = True

    def _next(self) -> None:
        random = self._around.scheduler.random

        def strike() -> None:
            if self._is_over:
                return
            weights = [weight for weight, _ in self._kinds]
            random.choices([fault for _, fault in self._kinds], weights)[0]()
            self._next()

        self._around.scheduler.after(random.randint(1, 2 * self._every_ms), strike)

    def _seat(self) -> Seat:
        return self._around.scheduler.random.choice(self._crowd.seats)

    def _restart_later(self, seat: Seat, longest_ms: int) -> None:
        scheduler = self._around.scheduler

        def restart() -> None:
            if not seat.is_alive() and not self._is_over:
                seat.start()

        scheduler.after(
            scheduler.random.choice([0, scheduler.random.randint(0, longest_ms)]), restart
        )

    # Members

    def _kill(self) -> None:
        seat = self._seat()
        if seat.client is not None and seat.is_alive():
            self._around.scheduler.note("member killed", seat.client.name)
            seat.client.die()
        self._restart_later(seat, 5_000)

    def _stall(self) -> None:
        """Pause a member for long; a new process may take its seat."""
        seat, scheduler = self._seat(), self._around.scheduler
        client = seat.client
        if client is None or not seat.is_alive():
            return
        session_ms = self._around.timing.session_ms
        stops_ms = scheduler.random.choice([session_ms // 3, session_ms, 2 * session_ms])
        stops_ms += scheduler.random.randint(0, session_ms)
        scheduler.note("member stalls", client.name, stops_ms)
        client.process.paused_until_ms = scheduler.now_ms + stops_ms
        client.was_stalled = True
        scheduler.spawn(client.process, client.commit_at_once())  # when it resumes
        alive = sum(each.process.is_alive for each in self._crowd.clients)
        if scheduler.random.random() < 0.3 and alive < _MOST_CLIENTS:
            seat.start()

    def _leave(self) -> None:
        seat = self._seat()
        if seat.client is not None and seat.is_alive() and seat.client.member_id:
            self._around.scheduler.note("member leaves", seat.client.name)
            self._crowd.leave(seat.client)
        self._restart_later(seat, 3_000)

    def _resubscribe(self) -> None:
        seat, random = self._seat(), self._around.scheduler.random
        if seat.instance is not None and "classic" in seat.kinds:
            return  # a static member that returns keeps its assignment (KIP-345)
        seat.topics = frozenset(random.sample(TOPICS, random.randint(1, 2)))
        if seat.client is not None:
            seat.client.die()
        self._restart_later(seat, 1_000)

    def _all_away(self) -> None:
        scheduler = self._around.scheduler
        scheduler.note("all away")
        for seat in self._crowd.seats:
            if seat.client is not None:
                seat.client.die()
        away_ms = scheduler.random.choice([100, 4_000, 9_000])

        def come_back() -> None:
            for seat in self._crowd.seats:
                if not seat.is_alive() and not self._is_over:
                    seat.start()

        scheduler.after(away_ms, come_back)

    # The coordinator

    def _crash_soon(self) -> None:
        """Crash in one of the next appends."""
        self._around.coordinator.dies_in = self._around.scheduler.random.randint(1, 6)

    def _crash_now(self) -> None:
        if self._around.coordinator.machine is not None:
            self._around.coordinator.crash("while it waits")

    def _step(self) -> None:
        """Step the wall clock; the monotonic clock stays."""
        random, coordinator = self._around.scheduler.random, self._around.coordinator
        by_ms = random.choice([-_HOUR_MS, -1_500, -200, 300, 2_000, 6_000, _HOUR_MS])
        self._around.scheduler.note("wall clock steps", by_ms)
        coordinator.wall_step_ms += by_ms

    def _commit_much(self) -> None:
        """Groups without members commit to all partitions, for expiry or deletion of topics."""
        coordinator, topics = self._around.coordinator, self._around.topics
        self._around.scheduler.note("much committed")
        for number, name in product(range(_ADMINISTERED), TOPICS):
            facts = topics.by_name(name)
            if facts is None:
                continue
            for index in range(facts.partition_count):
                offset = OffsetToCommit(name, index, 1, topic_id=facts.topic_id)
                with suppress(Crashed, Refused):
                    coordinator.run(partial(_committed, f"administered {number}", offset))

    # Topics

    def _make_topic(self) -> None:
        random, topics = self._around.scheduler.random, self._around.topics
        missing = [name for name in TOPICS if topics.by_name(name) is None]
        if missing:
            name = random.choice(missing)
            self._around.scheduler.note("topic made", name)
            topics.make(name, random.randint(1, 4))

    def _grow_topic(self) -> None:
        random, topics = self._around.scheduler.random, self._around.topics
        name = random.choice(TOPICS)
        known = topics.by_name(name)
        if known is not None and known.partition_count < _MOST_PARTITIONS:
            self._around.scheduler.note("topic grows", name)
            topics.grow(name, known.partition_count + 1)

    def grow_all(self) -> None:
        """Grow all topics, so that every group needs a new assignment.

        The coordinator's leader may never have led, and then knows only its own topics.
        """
        for client in self._crowd.clients:
            if isinstance(client, ClassicClient):
                client.look_again()
        topics = self._around.topics
        for name in TOPICS:
            known = topics.by_name(name)
            if known is not None:
                topics.grow(name, known.partition_count + 1)

    def _delete_topic(self) -> None:
        random, topics = self._around.scheduler.random, self._around.topics
        name = random.choice(TOPICS)
        if topics.by_name(name) is not None:
            self._around.scheduler.note("topic deleted", name)
            topics.delete(name)
            self._around.oracle.topic_deleted(name)
            with suppress(Crashed, Refused):  # a coordinator that is down learns of it at its load
                self._around.coordinator.run(lambda machine, now: machine.forget_topic(name))


def _committed(group_id: str, offset: OffsetToCommit, machine: Groups, now: Moment) -> Outcome[Any]:
    return machine.commit(group_id, ClaimedMember(), [offset], now=now)
