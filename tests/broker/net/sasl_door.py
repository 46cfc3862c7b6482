"""A node with a SASL listener, spoken to frame by frame on a virtual clock, without sockets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ottla.broker.complaints import Complaints
from ottla.broker.net.connection import Connection, Shared
from ottla.broker.net.fair_turns import FairTurns
from ottla.broker.net.held_memory import AnswerMemory, RequestMemory
from ottla.broker.net.logins import Logins
from ottla.broker.requests.dispatch import Dispatch
from ottla.broker.settings.listeners import SecurityProtocol, ServedListener
from ottla.metadata.scram import Upsertion
from ottla.protocol.frames import ReceiveBuffers
from tests.broker.fakes import FakeTransport, deliver
from tests.broker.one_node import OneNode
from tests.clocks import VirtualClock, at_rest
from tests.security.answered import decoded, framed, seen
from tests.security.conversations import (  # fmt: skip
    CLOSED,
    SCRAM_PASSWORD,
    SCRAM_USER,
    USERS,
    Ask,
    Raw,
    Talk,
    authenticate,
    handshake,
    plain,
)
from tests.security.sasl_listener import SETTINGS
from tests.security.scram_client import salted_password
from tests.wire.client import LENGTH

DELAY_MS = 100
PASSWORDS = {**USERS, "admin": "x"}
LISTENER = ServedListener("SASLP", SecurityProtocol.SASL_PLAINTEXT, "localhost", 9092)


class Door:
    """A node with a SASL listener, and its connections."""

    def __init__(self, directory: Path, settings: dict[str, str]) -> None:
        self.clock = VirtualClock()
        self.it = OneNode(directory, SETTINGS | settings, self.clock)
        for number in (1, 2):
            salted = salted_password(number, SCRAM_PASSWORD)
            change = Upsertion(SCRAM_USER, number, 4096, b"salt", salted)
            _, records = self.it.node.catalog.scram.alter([], [change])
            self.it.node.controller.change(records)
        self.logins = Logins(self.it.node, LISTENER)
        clock = self.clock
        self.shared = Shared(
            FairTurns(clock.monotonic_s), ReceiveBuffers(), RequestMemory(8 << 20, clock),
            AnswerMemory(), Complaints(clock), clock,
        )  # fmt: skip

    def connect(self, dispatch: Dispatch | None = None) -> Client:
        """A connection; its requests are served by a dispatch of its own, or a usual one."""
        return Client(self, dispatch or Dispatch(self.it.node))

    async def logged_in(self, name: str) -> Client:
        """A client that has logged in by PLAIN."""
        client = self.connect()
        await client.log_in(name)
        return client


class Client:
    """One connection."""

    def __init__(self, door: Door, dispatch: Dispatch) -> None:
        self.clock = door.clock
        self.connection = Connection(
            dispatch, door.shared, size_limit_bytes=1 << 20, number=1,
            listener=LISTENER, on_closed=lambda _: None, logins=door.logins,
        )  # fmt: skip
        self.transport = FakeTransport(self.connection)
        self.connection.connection_made(self.transport)
        self.read_bytes = 0

    async def send(self, ask: Ask | Raw) -> None:
        if not self.transport.closed:
            deliver(self.connection, framed(ask))
            await at_rest()

    def received(self, ask: Ask | Raw) -> Any:
        """The next answer, CLOSED, or None if neither came."""
        written = self.transport.written[self.read_bytes :]
        if written:
            (size_bytes,) = LENGTH.unpack_from(written)
            self.read_bytes += LENGTH.size + size_bytes
            return decoded(ask, written[LENGTH.size : LENGTH.size + size_bytes])
        return CLOSED if self.transport.closed else None

    async def ask(self, ask: Ask | Raw) -> Any:
        """The answer, after the delay of failures if it does not come at once."""
        await self.send(ask)
        found = self.received(ask)
        if found is None:
            await self.clock.advance_ms(DELAY_MS)
            found = self.received(ask)
        assert found is not None
        return found

    async def log_in(self, name: str = "alice") -> None:
        """Log in, or authenticate again, by PLAIN."""
        await self.ask(handshake("PLAIN"))
        answer = await self.ask(authenticate(plain(name, PASSWORDS[name])))
        assert answer["error_code"] == 0

    async def runs(self, talk: Callable[[], Talk]) -> list[object]:
        conversation, answers = talk(), list[object]()
        try:
            ask = next(conversation)
            while True:
                answer = await self.ask(ask)
                answers.append(seen(answer, ask))
                if answer == CLOSED:
                    return answers
                ask = conversation.send(answer)
        except StopIteration:
            return answers
