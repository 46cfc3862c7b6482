"""The order of messages of an authentication and its answers: those of Apache Kafka 4.4.0."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.metadata.scram import ScramCredential
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.protocol.messages import answer, read_request, read_request_header
from ottla.security.authenticator import Authenticator, End, Mechanism, Session, Step
from ottla.security.oauthbearer import OAuthServer
from ottla.security.outcomes import Login, SaslServer
from ottla.security.plain import PlainServer
from ottla.security.scram import NUMBERS, Credentials, ScramServer
from ottla.security.unsecured_tokens import UnsecuredValidator
from tests.wire.client import LENGTH, header

from .answered import by_machine, decoded, framed
from .conversations import (  # fmt: skip
    ALL,
    MECHANISMS,
    NOW_MS,
    REAUTH_MS,
    SCRAM_PASSWORD,
    SCRAM_USER,
    USERS,
    Ask,
    Raw,
    authenticate,
    handshake,
    plain,
    token,
    versions,
)
from .scram_client import credential_of

KAFKA = json.loads(Path(__file__).with_name("kafka-4.4.0.json").read_text())
# The connection refuses frames by their size.
OTHER = {"a_large_frame", "a_large_token"}
# Kafka answers Metadata before a login without topics, which a client could take for the truth.
OTHER |= {"metadata_in_a_re_authentication"}
CREDENTIALS = {
    number: credential_of(mechanism, SCRAM_PASSWORD) for mechanism, number in NUMBERS.items()
}


class Expiring:
    """A mechanism that takes a name and the expiry time of its credential in ms."""

    def __init__(self) -> None:
        self.login: Login | None = None

    def evaluate(self, response: bytes, now_ms: int) -> bytes:
        name, _, expires_at_ms = response.decode().partition(":")
        self.login = Login(name, int(expires_at_ms))
        return b""


def server_of(mechanism: str) -> SaslServer:
    if mechanism == "PLAIN":
        return PlainServer({f"user_{name}": secret for name, secret in USERS.items()})
    if mechanism == "OAUTHBEARER":
        return OAuthServer(UnsecuredValidator().check)
    if mechanism == "EXPIRING":
        return Expiring()

    def of_user(name: str, number: int) -> ScramCredential | None:
        return CREDENTIALS[number] if name == SCRAM_USER else None

    credentials = Credentials(of_user, lambda name, number: None)
    return ScramServer(mechanism, credentials, "servernonce")


def api_versions(frame: memoryview) -> bytearray:
    request = read_request_header(frame)
    code, version = Code.NONE, request.api_version
    if version > 4:
        code, version = Code.UNSUPPORTED_VERSION, 0
    elif version >= 3 and read_request(request, frame).client_software_name == "-":
        code = Code.INVALID_REQUEST
    return answer(ApiKey.API_VERSIONS, version, request.correlation_id, {"error_code": code})


def authenticator(
    previous: Session | None = None,
    max_reauth_ms: int = REAUTH_MS,
    names: str = MECHANISMS + ",EXPIRING",
) -> Authenticator:
    mechanisms = {
        name: Mechanism(new(name), max_reauth_ms if name in ("PLAIN", "EXPIRING") else 0)
        for name in names.split(",")
    }
    return Authenticator(mechanisms, api_versions, previous)


def new(mechanism: str) -> Callable[[], SaslServer]:
    return lambda: server_of(mechanism)


def send(machine: Authenticator, ask: Ask | Raw, now_ms: int = NOW_MS) -> Step:
    return machine.receive(memoryview(framed(ask)[LENGTH.size :]), now_ms)


def fields(ask: Ask, step: Step) -> dict[str, object]:
    assert step.frame is not None
    answered = decoded(ask, bytes(step.frame[LENGTH.size :]))
    assert isinstance(answered, dict)
    return answered


@pytest.mark.parametrize("name", sorted(ALL.keys() - OTHER))
def test_the_answers_are_those_of_kafka(name: str) -> None:
    found = by_machine(ALL[name], authenticator(names=MECHANISMS))
    assert found == KAFKA[name][: len(found)]
    assert found


def test_a_completed_authentication_is_a_session() -> None:
    machine = authenticator()
    assert send(machine, handshake("PLAIN")).end is None
    step = send(machine, authenticate(plain("alice", "secret")))
    assert step.end is End.COMPLETE
    assert machine.session == Session("PLAIN", Login("alice"), REAUTH_MS)


@pytest.mark.parametrize(
    ("max_reauth_ms", "expires_in_ms", "lifetime_ms"),
    [(0, 5000, 5000), (2000, 5000, 2000), (9000, 5000, 5000), (2000, -1, 0), (0, -1, 0)],
)
def test_a_session_ends_with_its_credential_or_by_the_setting(
    max_reauth_ms: int, expires_in_ms: int, lifetime_ms: int
) -> None:
    machine = authenticator(max_reauth_ms=max_reauth_ms)
    send(machine, handshake("EXPIRING"))
    ask = authenticate(f"alice:{NOW_MS + expires_in_ms}".encode())
    assert fields(ask, send(machine, ask))["session_lifetime_ms"] == lifetime_ms
    assert machine.session is not None
    assert machine.session.lifetime_ms == lifetime_ms


def test_a_session_without_a_limit_has_no_end() -> None:
    machine = authenticator(max_reauth_ms=0)
    send(machine, handshake("PLAIN"))
    ask = authenticate(plain("alice", "secret"))
    assert fields(ask, send(machine, ask))["session_lifetime_ms"] == 0
    assert machine.session is not None
    assert machine.session.lifetime_ms is None


@pytest.mark.parametrize(
    ("name", "mechanism", "end"),
    [
        ("alice", "PLAIN", End.COMPLETE),
        ("bob", "PLAIN", End.CLOSE_LATER),
        ("alice", "SCRAM-SHA-256", End.CLOSE_LATER),
    ],
)
def test_a_session_keeps_its_user_and_mechanism(name: str, mechanism: str, end: End) -> None:
    machine = authenticator(Session("PLAIN", Login("alice"), 1000))
    send(machine, handshake(mechanism))
    step = send(machine, authenticate(plain(name, USERS[name])))
    assert step.end is end
    assert (machine.session is not None) == (end is End.COMPLETE)
    if mechanism != "PLAIN":  # refused for itself, not for its token
        assert step.reason == "re-authentication is requested with another mechanism"


def test_a_failure_waits_and_a_broken_request_does_not() -> None:
    machine = authenticator()
    send(machine, handshake("PLAIN"))
    step = send(machine, authenticate(plain("alice", "wrong")))
    assert step.end is End.CLOSE_LATER
    assert send(machine, authenticate(plain("alice", "secret"))).end is End.CLOSE_NOW
    assert send(authenticator(), Raw(header(17, 1) + b"\0\5PLA")).end is End.CLOSE_NOW
    assert send(authenticator(), handshake("GSSAPI")).end is End.CLOSE_LATER


def test_the_reason_of_a_failure_has_no_secret_and_is_short() -> None:
    long = "M" * 5000
    for asks in (
        [handshake("PLAIN"), authenticate(plain("alice", "topsecret"))],
        [handshake("PLAIN"), authenticate(b"topsecret")],
        [handshake("OAUTHBEARER"), authenticate(b"n,,\x01auth=Bearer topsecret\x01\x01")],
        [handshake("OAUTHBEARER"), authenticate(b"topsecret")],
        [handshake("SCRAM-SHA-256"), authenticate(b"n,,n=topsecret,r=topsecret")],
        [handshake("SCRAM-SHA-256"), authenticate(b"topsecret")],
        [handshake(long)],
    ):
        machine = authenticator()
        for ask in asks:
            step = send(machine, ask)
            assert "topsecret" not in step.reason
            assert len(step.reason) < 200


def test_bare_tokens_follow_version_0_of_the_handshake() -> None:
    machine = authenticator()
    send(machine, handshake("PLAIN", 0))
    step = send(machine, Raw(plain("alice", "secret")))
    assert step == Step(bytearray(4), End.COMPLETE)


ASKS = st.sampled_from(
    [
        handshake("PLAIN"), handshake("PLAIN", 0), handshake("SCRAM-SHA-256"),
        handshake("OAUTHBEARER"), handshake("GSSAPI"), versions(3), versions(0),
        versions(3, name="-"), authenticate(plain("alice", "wrong")), authenticate(b"\x01"),
        authenticate(b"n,,n=scram,r=x"), authenticate(token({"exp": 1})),
        Ask("Metadata", 1, {"topics": []}), Raw(plain("bob", "wrong")),
    ]
)  # fmt: skip


@given(st.lists(ASKS | st.binary().map(Raw), max_size=6))
def test_no_frames_log_in_without_the_password(asks: list[Ask | Raw]) -> None:
    machine, ended = authenticator(), False
    for ask in asks:
        step = send(machine, ask)
        assert step.end is not End.COMPLETE
        assert not (ended and step.end is None), "an ended authentication goes on"
        ended = ended or step.end is not None
        assert step.frame is not None or step.end is not None
    assert machine.session is None
