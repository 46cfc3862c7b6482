"""Logins on a SASL listener, frame by frame on a virtual clock: answers, delays, sessions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.broker.fakes import deliver
from tests.clocks import at_rest
from tests.log_lines import LogLines
from tests.security.answered import framed
from tests.security.conversations import ALL, CLOSED, REAUTH_MS, Ask, authenticate, handshake, plain
from tests.security.sasl_listener import SETTINGS

from .sasl_door import DELAY_MS, Door

pytestmark = pytest.mark.real_time

KAFKA = json.loads(
    (Path(__file__).parents[2] / "security" / "kafka-4.4.0.json").read_text(encoding="utf-8")
)
# Kafka answers Metadata before a login without topics, which a client could take for the truth.
OTHER = {"metadata_in_a_re_authentication"}
METADATA = Ask("Metadata", 1, {"topics": []})


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


async def test_a_failed_login_is_answered_and_closed_after_the_delay(door: Door) -> None:
    client, bad = door.connect(), handshake("GSSAPI")
    await client.send(bad)
    await client.clock.advance_ms(DELAY_MS - 1)
    assert not client.transport.closed
    assert client.received(bad) is None
    await client.send(handshake("PLAIN"))
    await client.clock.advance_ms(1)
    assert client.received(bad)["error_code"] == 33
    assert client.received(bad) == CLOSED


async def test_a_request_before_the_handshake_is_closed_at_once(door: Door) -> None:
    client = door.connect()
    await client.send(METADATA)
    assert client.received(METADATA) == CLOSED


@pytest.mark.parametrize("size", [b"\x00\x08\x00\x01", b"\xff\xff\xff\xff", b"GET "])
@pytest.mark.parametrize("has_session", [False, True])
async def test_a_frame_of_a_wrong_size_is_a_failed_login(
    door: Door, log_lines: LogLines, size: bytes, has_session: bool
) -> None:
    client = door.connect()
    if has_session:
        await client.log_in()
        await client.ask(handshake("PLAIN"))
    deliver(client.connection, size)
    await client.clock.advance_ms(DELAY_MS - 1)
    assert not client.transport.closed
    await client.clock.advance_ms(1)
    assert client.transport.closed
    assert [event for level, event, _ in log_lines.lines if level == "warning"] == [
        "connection closed"
    ]


async def test_a_frame_of_a_wrong_size_on_a_session_is_closed_at_once(door: Door) -> None:
    client = door.connect()
    await client.log_in()
    deliver(client.connection, b"\xff\xff\xff\xff")
    await at_rest()
    assert client.transport.closed


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
