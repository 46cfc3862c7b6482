"""Logins on a SASL listener, frame by frame on a virtual clock: answers, delays, sessions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ottla.broker.complaints import Complaints
from ottla.broker.net.connection import Connection, Shared
from ottla.broker.net.fair_turns import FairTurns
from ottla.broker.net.held_memory import AnswerMemory, RequestMemory
from ottla.broker.net.logins import Logins
from ottla.broker.requests.dispatch import Dispatch
from ottla.broker.settings.listeners import SecurityProtocol, ServedListener
from ottla.metadata.scram import Upsertion
from ottla.protocol.receive_buffers import ReceiveBuffers
from tests.broker.fakes import FakeTransport, deliver
from tests.broker.one_node import OneNode
from tests.clocks import VirtualClock, at_rest
from tests.log_lines import LogLines
from tests.security.answered import decoded, framed, seen
from tests.security.conversations import (
    ALL,
    CLOSED,
    REAUTH_MS,
    SCRAM_PASSWORD,
    SCRAM_USER,
    Ask,
    Raw,
    Talk,
    authenticate,
    handshake,
    plain,
)  # fmt: skip
from tests.security.sasl_listener import SETTINGS
from tests.security.scram_client import salted_password
from tests.wire.client import LENGTH

KAFKA = json.loads(
    (Path(__file__).parents[2] / "security" / "kafka-4.1.1.json").read_text(encoding="utf-8")
)
# Kafka answers Metadata before a login without topics, which a client could take for the truth.
OTHER = {"metadata_in_a_re_authentication"}
DELAY_MS = 100
METADATA = Ask("Metadata", 1, {"topics": []})
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

    def connect(self) -> Client:
        return Client(self)


class Client:
    """One connection."""

    def __init__(self, door: Door) -> None:
        self.clock = door.clock
        self.connection = Connection(
            Dispatch(door.it.node), door.shared, size_limit_bytes=1 << 20, number=1,
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

    async def log_in(self) -> None:
        await self.ask(handshake("PLAIN"))
        answer = await self.ask(authenticate(plain("alice", "secret")))
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


@pytest_asyncio.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    it = Door(tmp_path, {})
    yield it
    it.it.node.close(clean=False)


async def test_every_conversation_has_the_answers_of_kafka(door: Door) -> None:
    for name in ALL.keys() - OTHER:
        assert await door.connect().runs(ALL[name]) == KAFKA[name], name


async def test_a_login_gives_the_connection_its_principal(door: Door) -> None:
    client = door.connect()
    assert str(client.connection.info.principal) == "User:ANONYMOUS"
    await client.ask(handshake("PLAIN"))
    assert str(client.connection.info.principal) == "User:ANONYMOUS"
    await client.ask(authenticate(plain("alice", "secret")))
    assert str(client.connection.info.principal) == "User:alice"


@pytest.mark.parametrize("bad", [handshake("GSSAPI"), METADATA])
async def test_a_failed_login_is_answered_and_closed_after_the_delay(door: Door, bad: Ask) -> None:
    client = door.connect()
    await client.send(bad)
    await client.clock.advance_ms(DELAY_MS - 1)
    assert not client.transport.closed
    assert client.received(bad) is None
    await client.send(handshake("PLAIN"))
    await client.clock.advance_ms(1)
    if bad is not METADATA:
        assert client.received(bad)["error_code"] == 33
    assert client.received(bad) == CLOSED


async def test_a_failed_login_that_the_client_ends_leaves_no_timer(door: Door) -> None:
    client = door.connect()
    await client.send(handshake("GSSAPI"))
    assert any("_close_after" in timer for timer in door.clock.pending())
    client.transport.close()
    await at_rest()
    assert not any("_close_after" in timer for timer in door.clock.pending())


async def test_an_expired_session_is_closed_at_its_next_request(door: Door) -> None:
    client = door.connect()
    await client.log_in()
    await client.clock.advance_ms(REAUTH_MS)
    assert "brokers" in await client.ask(METADATA)
    await client.clock.advance_ms(1)
    assert not client.transport.closed
    assert await client.ask(METADATA) == CLOSED


async def test_a_re_authentication_begins_a_new_session(door: Door) -> None:
    client = door.connect()
    await client.log_in()
    for _ in range(3):
        await client.clock.advance_ms(REAUTH_MS - 5000)
        await client.log_in()
    await client.clock.advance_ms(REAUTH_MS)
    assert "brokers" in await client.ask(METADATA)
    await client.clock.advance_ms(1)
    await client.log_in()  # an expired session may be authenticated again, as in Kafka
    assert "brokers" in await client.ask(METADATA)


async def test_requests_before_the_login_are_small_and_later_ones_are_not(door: Door) -> None:
    client = door.connect()
    await client.log_in()
    large = Ask("Metadata", 1, {"topics": [{"name": "x" * 30_000}] * 20})
    assert len(framed(large)) > 524_288
    assert "brokers" in await client.ask(large)
    assert await door.connect().ask(large) == CLOSED


async def test_a_client_that_never_logs_in_is_overdue_however_much_it_sends(door: Door) -> None:
    client = door.connect()
    for byte in framed(handshake("PLAIN"))[:10]:
        await client.clock.advance_ms(1000)
        deliver(client.connection, bytes([byte]))
        assert not client.connection.is_idle_since(5)
    assert client.connection.is_login_overdue(9)
    assert not client.connection.is_login_overdue(11)
    done = door.connect()
    await done.log_in()
    await client.clock.advance_ms(100_000)
    assert not done.connection.is_login_overdue(9)


async def test_a_dynamic_jaas_line_holds_for_the_next_login(door: Door) -> None:
    name = "listener.name.saslp.plain.sasl.jaas.config"
    line = SETTINGS[name].replace('user_alice="secret"', 'user_alice="other"')
    door.it.node.config.use_dynamic({}, {name: line})
    client = door.connect()
    await client.ask(handshake("PLAIN"))
    assert (await client.ask(authenticate(plain("alice", "secret"))))["error_code"] == 58
    client = door.connect()
    await client.ask(handshake("PLAIN"))
    assert (await client.ask(authenticate(plain("alice", "other"))))["error_code"] == 0


async def test_a_failed_login_is_one_log_line_without_the_password(
    door: Door, log_lines: LogLines
) -> None:
    client = door.connect()
    await client.ask(handshake("PLAIN"))
    await client.ask(authenticate(plain("alice", "topsecret")))
    (line,) = log_lines.lines
    level, event, fields = line
    assert (level, event) == ("warning", "authentication failed")
    assert fields["reason"] == "Authentication failed: Invalid username or password"
    assert "topsecret" not in str(line)
