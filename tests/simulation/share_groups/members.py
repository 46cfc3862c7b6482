"""Members of share groups: they send heartbeats, and join again after they were removed."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any, Final

from ottla.coordinator.consumer.requests import HeartbeatReply
from ottla.coordinator.share.groups import check_request
from ottla.coordinator.share.kind import ShareKind
from ottla.coordinator.share.requests import HeartbeatRequest
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.conversation import FakeTopics, Named

from ..network import LOST, Crashed, Network, Respond
from ..scheduler import Process, Steps
from .coordinator import LIMITS, Coordinator

_REJOINS: Final = (
    Code.UNKNOWN_MEMBER_ID, Code.FENCED_MEMBER_EPOCH, Code.GROUP_ID_NOT_FOUND,
)  # fmt: skip


class Member:
    """A client with a member id of its own.

    Attributes:
        assigned: its partitions, as the coordinator has told it.
        epoch: its epoch; 0 while it has not joined.
    """

    def __init__(
        self, around: tuple[Coordinator, Network, FakeTopics], group_id: str, name: str,
        topics: frozenset[str],
    ) -> None:  # fmt: skip
        self.coordinator, self.network, self.topics = around
        self.scheduler = self.coordinator.scheduler
        self.group_id = group_id
        self.name = name
        self.subscribed = topics
        self.epoch = 0
        self.assigned: Named = {}
        self.says_all = True
        self.process = Process(name)
        self.scheduler.spawn(self.process, self._live())

    def _live(self) -> Steps[Any]:
        while True:
            request = self._request()
            self._hear((yield self.network.call("heartbeat", partial(self._arrive, request))))
            yield self.scheduler.sleep(LIMITS.heartbeat_interval_ms)

    def _request(self) -> HeartbeatRequest:
        names = self.subscribed if self.says_all or not self.epoch else None
        return HeartbeatRequest(
            self.group_id, self.name, self.epoch, subscribed_topic_names=names, client_id="sim"
        )

    def _arrive(self, request: HeartbeatRequest, respond: Respond) -> None:
        """The heartbeat is at the coordinator; there is no answer if that crashes."""
        with suppress(Crashed):
            respond(self._ask(request))

    def _ask(self, request: HeartbeatRequest) -> Any:
        try:
            check_request(request)
            return self.coordinator.run(
                lambda machine, now: machine.kind_for(ShareKind, request.group_id).share_heartbeat(
                    request, now=now
                )
            )
        except Refused as refused:
            return refused.code

    def _hear(self, answer: Any) -> None:
        if answer is LOST:
            self.says_all = True  # something may have been said that it has not heard
        elif isinstance(answer, HeartbeatReply):
            assert answer.member_epoch >= self.epoch, "an epoch goes back"
            self.epoch, self.says_all = answer.member_epoch, False
            if answer.assignment is not None:
                self.assigned = self.topics.named(answer.assignment)
        elif answer in _REJOINS:
            self.scheduler.note("member has to rejoin", self.name, answer.name)
            self.epoch, self.assigned, self.says_all = 0, {}, True
        else:
            self.scheduler.note("heartbeat refused", answer.name)

    def change_topics(self, topics: frozenset[str]) -> None:
        self.subscribed, self.says_all = topics, True

    def leave(self) -> None:
        self.process.is_alive = False
        request = HeartbeatRequest(self.group_id, self.name, -1)
        leaving = self.network.call("leave", partial(self._arrive, request))
        leaving(lambda answer: None)

    def die(self) -> None:
        self.process.is_alive = False
