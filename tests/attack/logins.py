"""Attacks by peers that have not logged in, on listeners with TLS and logins, and without.

At scale 1 an attack sends 100,000 frames or 10,000 handshakes; `make fuzz-logins` has scale 10.
"""

from __future__ import annotations

import random
import socket
import ssl
import struct
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from ottla.protocol.api_keys import ApiKey
from tests.protocol.message_values import SERVED, Values, request_frame, schema
from tests.security.scram_client import ScramClient
from tests.wire.client import LENGTH, Closed, Connection, encode, framed, header

from .broker_process import BrokerSetup
from .frames import damaged
from .scene import Scene, attack, close_all

_MODULE: Final = "org.apache.kafka.common.security"
_PREFIX: Final = "listener.name.attacked"
_SASL: Final = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
    f"{_PREFIX}.plain.sasl.jaas.config": (
        f'{_MODULE}.plain.PlainLoginModule required user_alice="secret";'
    ),
    f"{_PREFIX}.plain.connections.max.reauth.ms": "3600000",
    f"{_PREFIX}.scram-sha-256.sasl.jaas.config": f"{_MODULE}.scram.ScramLoginModule required;",
    f"{_PREFIX}.oauthbearer.sasl.jaas.config": (
        f"{_MODULE}.oauthbearer.OAuthBearerLoginModule required;"
    ),
}
_PLAINTEXT_LOGINS: Final = BrokerSetup(settings=_SASL, protocol="SASL_PLAINTEXT")
_TLS_LOGINS: Final = BrokerSetup(settings=_SASL, protocol="SASL_SSL")
_TLS: Final = BrokerSetup(protocol="SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI", "")
_AT_ONCE: Final = 50
_IDLE_S: Final = 1.0  # the good client alone
_FRAMES_OF_A_CONNECTION: Final = 50
_DAMAGED: Final = (0.02, 0.1, 0.5)  # shares of the frames of a connection; the first often ends it
_CLOSED_IN_TLS: Final = 0.2  # the share of connections that end by close_notify
_READ_BYTES: Final = 1 << 22


class _Costs:
    """Measures what an attack costs the broker, less what the good client costs."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._sockets = scene.process.open_sockets()
        began_s, before_s = time.monotonic(), scene.process.cpu_s()
        time.sleep(_IDLE_S)
        self._began_s, self._before_s = time.monotonic(), scene.process.cpu_s()
        self._good_client = (self._before_s - before_s) / (self._began_s - began_s)

    def note(self, count: int, of: str) -> None:
        """Add a sentence about `count` attempts, and check that the descriptors are closed."""
        process = self._scene.process
        spent_s = process.cpu_s() - self._before_s
        spent_s -= self._good_client * (time.monotonic() - self._began_s)
        micros = max(0.0, spent_s) * 1e6 / count
        self._scene.notes.append(f"{count} {of}, {micros:.0f} us of the broker's CPU each")
        deadline_s = time.monotonic() + 15
        while process.open_sockets() > self._sockets + 20 and time.monotonic() < deadline_s:
            time.sleep(0.05)
        left = process.open_sockets() - self._sockets
        assert left <= 20, f"{left} closed connections are still open"


@attack(limit_s=90, setup=_PLAINTEXT_LOGINS)
def frames_before_a_login(scene: Scene) -> None:
    """100,000 frames of the login's requests and of others, right and damaged, without a login."""
    _send_frames(scene, None)


@attack(limit_s=120, setup=_TLS_LOGINS)
def frames_before_a_login_by_tls(scene: Scene) -> None:
    """The same frames inside TLS."""
    _send_frames(scene, _client_context())


@attack(limit_s=120, setup=_TLS)
def frames_by_tls(scene: Scene) -> None:
    """100,000 frames of all APIs, damaged, inside TLS."""
    _send_frames(scene, _client_context(), has_logins=False)


@attack(limit_s=120, needs_process=True)
def frames_in_plain_text(scene: Scene) -> None:
    """The same frames without TLS and logins, on the listener of the good client."""
    _send_frames(scene, None, has_logins=False)


def _send_frames(scene: Scene, context: ssl.SSLContext | None, *, has_logins: bool = True) -> None:
    """Send frames in many connections; each connection has some, as one is the end of it."""
    valid = list(_login_frames(scene.random) if has_logins else _frames_of_all(scene.random))
    count, sent, answered, connections = scene.count(100_000), 0, 0, 0
    costs = _Costs(scene)
    while sent < count:
        wave = []
        for _ in range(_AT_ONCE):
            share = scene.random.choice(_DAMAGED)
            frames = [
                _frame(scene.random, valid, share)
                for _ in range(scene.random.randrange(1, _FRAMES_OF_A_CONNECTION))
            ]
            sent += len(frames)
            if has_logins:
                frames[:0] = _beginning(scene.random)
            wave.append(b"".join(frames))
        connections += len(wave)
        answered += _send_wave(scene, wave, context)
    costs.note(sent, f"frames in {connections} connections, {answered} of them answered")
    least = connections // 2 if has_logins else sent // 10
    assert answered >= least, f"{answered} answers: these frames are not read"


def _beginning(chance: random.Random) -> list[bytes]:
    """A handshake, a whole login, behind which a session may be authenticated again, or nothing."""
    kind = chance.random()
    if kind < 0.4:
        return [_handshake(chance.choice(_MECHANISMS))]
    if kind < 0.7:
        return [
            _handshake("PLAIN"),
            encode("SaslAuthenticate", 2, {"auth_bytes": _RIGHT}, correlation_id=2),
        ]
    return []


def _frame(chance: random.Random, valid: list[bytes], damaged_share: float) -> bytes:
    frame = chance.choice(valid)
    return damaged(chance, frame) if chance.random() < damaged_share else frame


def _login_frames(chance: random.Random) -> Iterator[bytes]:
    """Requests of logins with all kinds of tokens, and requests that need a login."""
    for version in (0, 3, 4, 99):
        yield framed(header(18, version, client_id=b"wire"))
    for mechanism in _MECHANISMS:
        yield from (_handshake(mechanism, version) for version in (0, 1))
    tokens = [
        b"\0alice\0wrong", b"\0alice\0secret\0more", b"alice", b"\0\0\0", b"\xff\xfe\xfd",
        ScramClient("SCRAM-SHA-256", "nobody", "x").first(), b"n,,n=alice,r=", b"y,a=b,n=,r=x",
        b"n,,\x01auth=Bearer e30.e30.\x01\x01", b"n,,\x01auth=Bearer ...\x01\x01",
        b64encode(chance.randbytes(3000)), chance.randbytes(20_000), b"",
    ]  # fmt: skip
    for token in tokens:
        for version in (0, 1, 2):
            yield encode("SaslAuthenticate", version, {"auth_bytes": token}, correlation_id=2)
        yield struct.pack(">i", len(token)) + token
    others = (ApiKey.METADATA, ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.CREATE_TOPICS)
    for key, version in SERVED:
        if key in others:
            values = Values(chance.randrange(100)).of_struct(schema(key, "Request"), version)
            yield framed(request_frame(key, version, values))


def _handshake(mechanism: str, version: int = 1) -> bytes:
    return encode("SaslHandshake", version, {"mechanism": mechanism}, correlation_id=1)


def _frames_of_all(chance: random.Random) -> Iterator[bytes]:
    left_out = {ApiKey.UNREGISTER_BROKER, ApiKey.DELETE_TOPICS, ApiKey.DELETE_GROUPS}
    for key, version in SERVED:
        if key not in left_out:
            values = Values(chance.randrange(100)).of_struct(schema(key, "Request"), version)
            yield framed(request_frame(key, version, values))


def _send_wave(scene: Scene, wave: list[bytes], context: ssl.SSLContext | None) -> int:
    """Send each part in its own connection, then read all until the broker closes them.

    Returns:
        the number of answers.
    """
    opened: list[socket.socket] = []
    for data in wave:
        with suppress(OSError):
            plain = socket.create_connection(scene.attacked, timeout=10)
            made = plain if context is None else context.wrap_socket(plain)
            opened.append(made)
            made.sendall(data)
            # Behind its close_notify a client of OpenSSL reads no more answers.
            if isinstance(made, ssl.SSLSocket) and scene.random.random() < _CLOSED_IN_TLS:
                made.setblocking(False)
                with suppress(OSError):  # it waits for no other
                    made.unwrap()
            socket.socket.shutdown(made, socket.SHUT_WR)  # that of SSLSocket reads no TLS any more
    answered = 0
    for connection in opened:
        connection.settimeout(2)
        answered += _answers(connection)
    close_all(opened)
    return answered


def _answers(connection: socket.socket) -> int:
    """The number of answers until the broker closes the connection, or 4 MB have come."""
    received = bytearray()
    with suppress(OSError):
        while len(received) < _READ_BYTES and (data := connection.recv(1 << 16)):
            received += data
    count = position = 0
    while position + LENGTH.size <= len(received):
        position += LENGTH.size + max(0, *LENGTH.unpack_from(received, position))
        count += position <= len(received)
    return count


def _client_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@attack(limit_s=120, setup=_TLS)
def broken_handshakes(scene: Scene) -> None:
    """10,000 handshakes of TLS that are cut, damaged, random, or of another protocol."""
    hello = _client_hello()
    count = scene.count(10_000)
    costs = _Costs(scene)
    for _ in range(0, count, _AT_ONCE):
        wave = [_broken(scene.random, hello) for _ in range(_AT_ONCE)]
        _send_wave(scene, wave, None)
    costs.note(count, "broken handshakes")


def _client_hello() -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = _client_context().wrap_bio(incoming, outgoing)
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def _broken(chance: random.Random, hello: bytes) -> bytes:
    data = bytearray(hello)
    kind = chance.randrange(7)
    if kind == 0:
        return bytes(data[: chance.randrange(len(data))])
    if kind == 1:
        for _ in range(chance.randrange(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(data)
    if kind == 2:
        return hello + chance.randbytes(chance.randrange(1, 2000))
    if kind == 3:
        return chance.randbytes(chance.randrange(600))
    if kind == 4:
        return b"GET / HTTP/1.1\r\n\r\n"
    if kind == 5:
        return framed(header(18, 3, client_id=b"wire"))
    return hello + hello


@attack(limit_s=120, setup=_PLAINTEXT_LOGINS)
def wrong_logins(scene: Scene) -> None:
    """5,000 logins with wrong passwords, by PLAIN and SCRAM, 50 at a time."""
    count = scene.count(5000)
    costs = _Costs(scene)
    for _ in range(0, count, _AT_ONCE):
        connections = [Connection(scene.attacked) for _ in range(_AT_ONCE)]
        for number, connection in enumerate(connections):
            mechanism = ("PLAIN", "SCRAM-SHA-256")[number % 2]
            answer = connection.call("SaslHandshake", 1, {"mechanism": mechanism})
            assert answer["error_code"] == 0, f"SaslHandshake: {answer}"
            token = ScramClient(mechanism, "alice", "wrong").first() if number % 2 else _WRONG
            connection.send("SaslAuthenticate", 2, {"auth_bytes": token})
        for connection in connections:
            connection.frame(timeout_s=20)
            connection.close()
    costs.note(count, "wrong logins")


_WRONG: Final = b"\0alice\0wrong"
_RIGHT: Final = b"\0alice\0secret"


@attack(limit_s=60, setup=_TLS_LOGINS)
def unfinished_logins(scene: Scene) -> None:
    """1,000 peers stop in the middle: half in the handshake, half in a login's large request."""
    context, hello = _client_context(), _client_hello()
    begun = struct.pack(">i", 500_000) + header(36, 2) + bytes(300_000)
    opened: list[socket.socket] = []
    costs = _Costs(scene)
    count = min(1000, scene.count(1000))
    try:
        for number in range(count):
            connection = socket.create_connection(scene.attacked, timeout=10)
            opened.append(connection)
            with suppress(OSError):
                if number % 2:
                    connection.sendall(hello[:100])
                else:
                    opened[-1] = context.wrap_socket(connection)
                    opened[-1].settimeout(0.2)
                    opened[-1].sendall(begun)
        _log_in(scene, context)
    finally:
        close_all(opened)
    costs.note(count, "unfinished logins")


def _log_in(scene: Scene, context: ssl.SSLContext) -> None:
    """A user logs in meanwhile."""

    class Secured(Connection):
        def __init__(self) -> None:
            super().__init__(scene.attacked, 20)
            self._socket = context.wrap_socket(self._socket)

    connection = Secured()
    try:
        answer = connection.call("SaslHandshake", 1, {"mechanism": "PLAIN"})
        answer = connection.call("SaslAuthenticate", 2, {"auth_bytes": _RIGHT})
        assert answer["error_code"] == 0, f"a user cannot log in meanwhile: {answer}"
    except Closed:
        raise AssertionError("a user cannot log in meanwhile") from None
    finally:
        connection.close()
