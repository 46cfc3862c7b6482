"""Members of streams groups: they take tasks at once, and give them up after some time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from ottla.coordinator.modern_groups import LEAVING_EPOCH, STATIC_LEAVING_EPOCH
from ottla.coordinator.streams.kind import StreamsKind
from ottla.coordinator.streams.member import NO_TASKS, Tasks, TasksTuple
from ottla.coordinator.streams.requests import HeartbeatReply, HeartbeatRequest
from ottla.coordinator.streams.topology import Topology
from ottla.protocol.errors import Code, Refused

from ..network import LOST, Crashed, Network, Respond
from ..scheduler import Process, Steps
from .coordinator import HEARTBEAT_MS, REBALANCE_MS, Coordinator

_REJOINS: Final = (
    Code.UNKNOWN_MEMBER_ID, Code.FENCED_MEMBER_EPOCH, Code.GROUP_ID_NOT_FOUND,
)  # fmt: skip
_RETRIABLE: Final = (
    Code.NOT_COORDINATOR,
    Code.COORDINATOR_NOT_AVAILABLE,
    Code.UNRELEASED_INSTANCE_ID,  # the one before has not left, or that was lost
)


class Member:
    """A thread of an application, with a member id of its own.

    Attributes:
        process_id: of the application, which may have several threads.
        instance_id: of a static member, else None.
        owned: the tasks that it processes or restores now.
        target: its tasks, as the coordinator has told it.
        epoch: its epoch; 0 while it has not joined.
    """

    def __init__(
        self, around: tuple[Coordinator, Network], group_id: str, name: str,
        topology: Topology, *, process_id: str, instance_id: str | None,
    ) -> None:  # fmt: skip
        self.coordinator, self.network = around
        self.scheduler = self.coordinator.scheduler
        self.group_id, self.name = group_id, name
        self.topology = topology
        self.process_id, self.instance_id = process_id, instance_id
        self.epoch = 0
        self.owned = self.target = NO_TASKS
        self.is_calm = False
        self._says_all, self._is_unsure = True, False
        self._gives_up_at_ms = 0
        self._sent = 0
        self.process = Process(name)
        self.scheduler.spawn(self.process, self._live())

    def _live(self) -> Steps[Any]:
        while True:
            self._give_up()
            self._sent += 1
            answer = yield self.network.call(
                "heartbeat",
                partial(self._arrive, self._request()),
                only_while=self._is_in_order(),
            )
            self._hear(answer)
            yield self.scheduler.sleep(HEARTBEAT_MS)

    def _is_in_order(self) -> Callable[[], bool]:
        """Whether the heartbeat arrives once, and before later ones, as on a TCP connection."""
        number, has_arrived = self._sent, False

        def is_in_order() -> bool:
            nonlocal has_arrived
            is_first, has_arrived = not has_arrived, True
            return is_first and self.process.is_alive and number == self._sent

        return is_in_order

    def _give_up(self) -> None:
        if self.owned != self.target and self.scheduler.now_ms >= self._gives_up_at_ms:
            self.owned, self._says_all = self.target, True

    def _request(self) -> HeartbeatRequest:
        fields: dict[str, Any] = {"instance_id": self.instance_id}
        if not self.epoch:
            fields |= {
                "rebalance_timeout_ms": REBALANCE_MS, "topology": self.topology,
                "process_id": self.process_id,
            }  # fmt: skip
        if self._says_all or not self.epoch:
            owned = self.owned
            fields |= {"active": owned.active, "standby": owned.standby, "warmup": owned.warmup}
        return HeartbeatRequest(self.group_id, self.name, self.epoch, client_id="sim", **fields)

    def _arrive(self, request: HeartbeatRequest, respond: Respond) -> None:
        """The heartbeat is at the coordinator; there is no answer if that crashes."""
        with suppress(Crashed):
            answer = self._ask(request)
            if isinstance(answer, HeartbeatReply):
                self.coordinator.make_topics(answer.missing_topics)
            respond(answer)

    def _ask(self, request: HeartbeatRequest) -> Any:
        try:
            return self.coordinator.run(
                lambda machine, now: machine.kind_for(
                    StreamsKind, request.group_id
                ).streams_heartbeat(request, now=now)
            )
        except Refused as refused:
            return refused.code

    def _hear(self, answer: Any) -> None:
        if answer is LOST:
            self._says_all = self._is_unsure = True
        elif isinstance(answer, HeartbeatReply):
            assert answer.member_epoch >= self.epoch, "an epoch goes back"
            self.epoch, self._says_all = answer.member_epoch, False
            for status in answer.statuses:
                self.scheduler.note(f"status {status.status.name}", self.name)
            if answer.tasks is not None:
                self._take(answer.tasks.without_epochs)
            elif self._is_unsure:
                # As Kafka's, the coordinator tells tasks once only: the lost answer may have them.
                self._begin_again("an answer was lost")
            self._is_unsure = False
        elif answer in _REJOINS:
            self._begin_again(answer.name)
        elif answer is Code.FENCED_INSTANCE_ID:
            self.scheduler.note("instance fenced", self.name)
            self.die()
        elif answer is Code.INVALID_REQUEST:
            # Its task is gone, because the source was made again with fewer partitions.
            self.scheduler.note("member fails", self.name)
            self.die()
        else:
            assert answer in _RETRIABLE, answer
            self.scheduler.note("heartbeat refused", answer.name)
            self._says_all = True

    def _begin_again(self, why: str) -> None:
        self.scheduler.note("member has to rejoin", self.name, why)
        self.epoch, self._says_all = 0, True
        self.owned = self.target = NO_TASKS

    def _take(self, target: TasksTuple) -> None:
        """Take new tasks now, and give up others in a while."""
        random, now_ms = self.scheduler.random, self.scheduler.now_ms
        both = TasksTuple(*map(_united, self.owned, target))
        self.target = target
        if both != target and now_ms >= self._gives_up_at_ms:
            longest_ms = REBALANCE_MS // 4 if self.is_calm else REBALANCE_MS * 3 // 2
            takes_ms = random.choice([0, 0, random.randint(1, longest_ms)])
            self._gives_up_at_ms = now_ms + takes_ms
            self.scheduler.note("tasks given up", self.name, takes_ms)
        if both != self.owned:
            self.owned, self._says_all = both, True

    def leave(self, *, is_back_soon: bool = False) -> None:
        self.die()
        epoch = STATIC_LEAVING_EPOCH if is_back_soon else LEAVING_EPOCH
        request = HeartbeatRequest(self.group_id, self.name, epoch, instance_id=self.instance_id)
        leaving = self.network.call("leave", partial(self._arrive, request))
        leaving(lambda answer: None)

    def die(self) -> None:
        self.process.is_alive = False


def _united(one: Tasks, other: Tasks) -> Tasks:
    return {
        each: one.get(each, frozenset()) | other.get(each, frozenset())
        for each in sorted({*one, *other})
    }
