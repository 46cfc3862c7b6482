"""The controller's listener, where the cluster runs: others join, and pass clients on."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine
from functools import partial
from typing import Final, cast

from ..clock import Clock, Timer
from ..log_output import Log
from . import lines
from .handover import hand_over
from .members import CannotJoin, Joining, Members

_GREETING_MS: Final = 10_000
"""How long a connection may take to say what it is."""
_log = Log("nodes")


class QuorumListener:
    """The listener, from `open` to `close`.

    Args:
        listening: its socket.
        members: lets the processes join.
        clock: the time.
        session_timeout_ms: a process that says nothing for so long has lost its node.
    """

    def __init__(
        self, listening: socket.socket, members: Members, clock: Clock, session_timeout_ms: int
    ) -> None:
        self._listening = listening
        self.members = members
        self.clock = clock.live
        self.session_timeout_ms = session_timeout_ms
        self._server: asyncio.Server | None = None
        self._peers: set[asyncio.Transport] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_closed = False

    async def open(self) -> None:
        """Take connections."""
        loop = asyncio.get_running_loop()
        greet = partial(_Greeting, self)
        self._server = await loop.create_server(greet, sock=self._listening)

    async def close(self) -> None:
        """Take no more connections, and end those of the processes: their nodes end with this."""
        self.is_closed = True
        if self._server is not None:
            self._server.close()
        self._listening.close()
        for transport in [*self._peers]:
            transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)  # what stops is stopped first

    def add(self, transport: asyncio.Transport) -> None:
        """Remember a connection that `close` has to end."""
        self._peers.add(transport)

    def forget(self, transport: asyncio.Transport) -> None:
        """The connection has ended, or belongs to a client."""
        self._peers.discard(transport)

    def run(self, work: Coroutine[object, object, None]) -> None:
        """Run something in the background; the reference keeps it alive."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Greeting(asyncio.Protocol):
    """A connection, until it has said what it is."""

    def __init__(self, listener: QuorumListener) -> None:
        self._listener = listener
        self._received = b""
        self._overdue: Timer
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        self._listener.add(self._transport)
        self._overdue = self._listener.clock.call_after_ms(_GREETING_MS, self._transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._overdue.cancel()
        self._listener.forget(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not lines.may_begin_a_line(self._received) or len(self._received) > lines.LIMIT_BYTES:
            self._transport.abort()  # a client of Kafka, for example
        elif self._received.endswith(b"\n"):
            self._overdue.cancel()
            try:
                self._begin(lines.read_line(self._received))
            except (ValueError, KeyError) as wrong:
                _log.warning("a connection to the controller is refused", reason=str(wrong))
                self._transport.abort()

    def _begin(self, fields: lines.Fields) -> None:
        if fields.text("kind") == "forward":
            self._pass_on(fields)
            return
        session = _Session(self._listener, Joining.of_line(fields), self._transport)
        self._transport.set_protocol(session)
        self._listener.run(session.begin())

    def _pass_on(self, fields: lines.Fields) -> None:
        door = self._listener.members.door_of(fields.number("node_id"), fields.text("key"))
        self._listener.forget(self._transport)
        self._transport.write(lines.OK)
        hand_over(
            self._transport, door, fields.text("listener"),
            client=fields.address("client"), listener=fields.address("at"),
        )  # fmt: skip


class _Session(asyncio.Protocol):
    """A process that joins, until it stops, falls silent, or its connection ends."""

    def __init__(
        self, listener: QuorumListener, joining: Joining, transport: asyncio.Transport
    ) -> None:
        self._listener = listener
        self._joining = joining
        self._transport = transport
        self._received = b""
        self._is_joined = False
        self._is_lost = False
        self._overdue: Timer | None = None

    async def begin(self) -> None:
        """Let the process join, and answer it."""
        members = self._listener.members
        try:
            key = await members.join(self._joining)
        except CannotJoin as refused:
            self._transport.write(
                lines.line("refused", reason=str(refused), may_try_again=refused.may_try_again)
            )
            self._transport.close()
            return
        except BaseException:
            self._transport.abort()
            raise
        self._is_joined = True
        if self._is_lost:  # meanwhile
            self._is_joined = False
            await members.leave(self._joining.node_id, at_once=True)
            return
        self._transport.write(lines.line("joined", key=key, cluster_id=members.cluster_id))
        self._extend()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > lines.LIMIT_BYTES:
            self._transport.abort()
        *said, self._received = self._received.split(b"\n")
        if said:
            self._extend()
        if lines.STOP.rstrip() in said and self._is_joined:
            self._is_joined = False
            self._listener.run(self._stop())

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        self._listener.forget(self._transport)
        if self._overdue is not None:
            self._overdue.cancel()
        if self._is_joined and not self._listener.is_closed:
            self._is_joined = False
            leaving = self._listener.members.leave(self._joining.node_id, at_once=True)
            self._listener.run(leaving)

    def _extend(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
        wait_ms = self._listener.session_timeout_ms
        if not self._is_lost:
            self._overdue = self._listener.clock.call_after_ms(wait_ms, self._fall_silent)

    def _fall_silent(self) -> None:
        _log.warning("a process of the cluster is silent", node=self._joining.node_id)
        self._transport.abort()

    async def _stop(self) -> None:
        await self._listener.members.leave(self._joining.node_id, at_once=False)
        if not self._is_lost:
            self._transport.write(lines.STOPPED)
            self._transport.close()
