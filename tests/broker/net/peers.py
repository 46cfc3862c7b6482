"""A connection, spoken to in frames: its transport is a list and its handlers are the test's."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from ottla.broker.complaints import Complaints
from ottla.broker.net.connection import Connection, Shared
from ottla.broker.net.fair_turns import FairTurns
from ottla.broker.net.held_memory import AnswerMemory, RequestMemory
from ottla.broker.node import Node
from ottla.broker.requests.api import APIS, OPEN, Api
from ottla.broker.requests.context import Context, Disconnect
from ottla.broker.requests.dispatch import Dispatch
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Refused
from ottla.protocol.frames import ReceiveBuffers
from tests.broker.fakes import LISTENER, FakeTransport, correlation_ids, deliver, framed
from tests.broker.idle_node import idle_node
from tests.clocks import LoopClock
from tests.log_lines import LogLines

LIMIT = 64 << 20
REQUESTS_BYTES = 8 << 20
ANSWERS_BYTES = 1 << 20
HEARTBEAT, FETCH, LIST_OFFSETS = ApiKey.HEARTBEAT, ApiKey.FETCH, ApiKey.LIST_OFFSETS
EMPTY_FETCH: dict[str, Any] = {"error_code": 0, "session_id": 0, "responses": []}


def answer_now(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class Peer:
    """A connection, its transport, and what its handlers were asked.

    Attributes:
        waiting: of each Fetch that was begun, the future it waits for.
        now_s: the time by which a slice of work is measured.
        request_s: by how much a request moves it on.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, log_lines: LogLines, chunk_bytes: int = 1 << 19
    ) -> None:
        self.log = log_lines
        for key, handler in {
            HEARTBEAT: self._heartbeat,
            FETCH: self._fetch,
            LIST_OFFSETS: self._list_offsets,
            ApiKey.OFFSET_FOR_LEADER_EPOCH: self._list_offsets,
            ApiKey.PRODUCE: self._produce,
        }.items():
            monkeypatch.setitem(APIS, key, Api(handler, OPEN))
        self.closed: list[Connection] = []
        self.waiting: list[asyncio.Future[None]] = []
        self.handled: list[int] = []
        self.may_hasten = True
        self.fetch_throttle_ms = 0
        self.cancelled = 0
        self.turns = FairTurns(lambda: self.now_s, read_bytes=1 << 40)
        clock = LoopClock()
        self.memory = RequestMemory(REQUESTS_BYTES, clock), AnswerMemory(ANSWERS_BYTES)
        self.shared = Shared(
            self.turns, ReceiveBuffers(), *self.memory, Complaints(clock), clock, chunk_bytes
        )
        self.now_s = self.request_s = 0.0
        self.connection, self.transport = self.another()

    def accepted(self) -> Connection:
        return Connection(
            Dispatch(idle_node()),
            self.shared,
            size_limit_bytes=LIMIT,
            number=3,
            listener=LISTENER,
            on_closed=self.closed.append,
        )

    def another(self) -> tuple[Connection, FakeTransport]:
        connection = self.accepted()
        transport = FakeTransport(connection)
        connection.connection_made(transport)
        return connection, transport

    def send(self, *frames: bytes) -> None:
        """All in one piece."""
        deliver(self.connection, b"".join(frames))

    @property
    def answered(self) -> list[int]:
        return correlation_ids(self.transport.written)

    async def _heartbeat(self, node: Node, context: Context, request: Any) -> dict[str, Any]:
        self.handled.append(context.correlation_id)
        self.now_s += self.request_s
        if request.member_id == "uses too much":
            context.throttle_time_ms = 2000
        if request.member_id == "refused":
            raise Refused(Code.UNKNOWN_MEMBER_ID)
        if request.member_id == "bug":
            raise ZeroDivisionError
        return {}

    async def _list_offsets(self, node: Node, context: Context, request: Any) -> dict[str, Any]:
        self.handled.append(context.correlation_id)
        return {"topics": []}

    async def _fetch(self, node: Node, context: Context, request: Any) -> dict[str, Any]:
        self.handled.append(context.correlation_id)
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(waiting)
        if self.may_hasten:
            context.hasten = partial(answer_now, waiting)
        try:
            await waiting
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        context.throttle_time_ms = self.fetch_throttle_ms
        return EMPTY_FETCH

    async def _produce(self, node: Node, context: Context, request: Any) -> dict[str, Any] | None:
        self.now_s += self.request_s
        self.handled.append(context.correlation_id)
        if request.timeout_ms == 2:
            await asyncio.sleep(0)
        if request.timeout_ms in (1, 2):
            raise Disconnect("a Produce request with acks=0 failed")
        return None if request.acks == 0 else {"responses": []}


async def until_served(it: Peer) -> None:
    """Wait until no connection wants another turn."""
    for _ in range(10_000):
        if not len(it.turns):
            return
        await asyncio.sleep(0)
    raise AssertionError("it never comes to an end")


def heartbeat(number: int, member_id: str = "") -> bytes:
    return framed(HEARTBEAT, 0, correlation_id=number, member_id=member_id)


def fetch(number: int) -> bytes:
    return framed(FETCH, 12, correlation_id=number)


def list_offsets(number: int) -> bytes:
    return framed(LIST_OFFSETS, 5, correlation_id=number)


def produce(number: int, *, acks: int = 0, timeout_ms: int = 5) -> bytes:
    fields = {"acks": acks, "timeout_ms": timeout_ms}
    return framed(ApiKey.PRODUCE, 9, correlation_id=number, **fields)
