"""The scenarios: who says what on which listener, by name.

Those of logins are here, together with all conversations of conversations.py, whose ends they add;
those of TLS are in tls_scenarios.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from ottla.broker.requests.served_apis import HANDLERS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name
from ottla.protocol.requests import request_frame
from tests.security import conversations
from tests.security.conversations import (  # fmt: skip
    CLOSED,
    SCRAM_PASSWORD,
    SCRAM_USER,
    Ask,
    Raw,
    Talk,
    authenticate,
    handshake,
    plain,
    token,
    versions,
)
from tests.security.scram_client import ScramClient
from tests.security.signed_tokens import FAR_S, ISSUED_S, ISSUER, keys, signed_by
from tests.wire.client import LENGTH, header

from .listeners import AUDIENCE, BRIEF_MS, SIGNED
from .peer import Ahead, Bytes, Pause, Stray, Tls
from .tls_scenarios import TLS, TLS_SCENARIOS

METADATA: Final = Ask("Metadata", 1, {"topics": []})
PRODUCE: Final = Ask("Produce", 9, {"acks": 1, "timeout_ms": 1000, "topic_data": []})
SILENT: Final = Ask("Produce", 9, {"acks": 0, "timeout_ms": 1000, "topic_data": []})
SILENTLY: Final = Ahead(SILENT, is_answered=False)
LARGEST_BYTES: Final = 524_288


class Scenario(NamedTuple):
    """What one client does.

    Attributes:
        listener: where.
        talk: what it says.
        tls: None for plain TCP.
    """

    listener: str
    talk: Callable[[], Talk]
    tls: Tls | None = None


def all_scenarios() -> dict[str, Scenario]:
    """Every scenario by its name."""
    found = {f"login: {name}": Scenario("LOGIN", talk) for name, talk in conversations.ALL.items()}
    found |= {name: Scenario(*rest) for name, rest in TLS_SCENARIOS.items()}
    for name, talk in _LOGINS.items():
        found[f"login: {name}"] = Scenario("LOGIN", talk)
        found[f"login by TLS: {name}"] = Scenario("LOGINTLS", talk, TLS)
    found |= {f"brief session: {name}": Scenario("BRIEF", talk) for name, talk in _BRIEF.items()}
    for name, talk in _WITHOUT_LOGINS.items():
        found[f"no logins: {name}"] = Scenario("PLAINTEXT", talk)
        found[f"no logins, by TLS: {name}"] = Scenario("TLS", talk, TLS)
    for name, raw in _requests():
        found[f"in a login: {name}"] = Scenario("LOGIN", _said(handshake("PLAIN"), Stray(raw)))
    for name, claims in _CLAIMS.items():
        found[f"signed token: {name}"] = Scenario(SIGNED, partial(_by_token, claims))
    return found


# Kafka closes the connection at once if it cannot read the request, or needs no answer.
_FIELDS: Final[dict[ApiKey, dict[str, object]]] = {
    ApiKey.PRODUCE: {"acks": 1},
    ApiKey.DESCRIBE_ACLS: {
        "resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1,
    },
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: {
        "topology_description": {"subtopologies": [], "global_stores": []},
    },
}  # fmt: skip


def _requests() -> Iterator[tuple[str, Raw]]:
    """A request of each API, of the first and of the last version."""
    for key, served in HANDLERS.items():
        if key in (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.API_VERSIONS):
            continue
        for version in sorted({max(served.lowest, served.closed_below), served.highest}):
            frame = bytes(request_frame(key, version, 7, "wire", _FIELDS.get(key, {})))
            yield (f"{api_name(key)} {version}", Raw(frame[LENGTH.size :], api_name(key), version))


def _each(steps: tuple[Any, ...]) -> Talk:
    for step in steps:
        _ = yield step  # a tuple could not be sent the answers


def _said(*steps: Any) -> Callable[[], Any]:  # Any: a Talk that also has pauses
    """A talk that does not depend on the answers."""

    def talk() -> Talk:
        yield from _each(steps)

    return talk


def _scram(mechanism: str, name: str, password: str, *behind: Any) -> Callable[[], Any]:
    def talk() -> Any:
        scram = ScramClient(mechanism, name, password, "clientnonce")
        yield handshake(mechanism)
        first = yield authenticate(scram.first())
        if first != CLOSED and first["auth_bytes"]:
            yield authenticate(scram.final(first["auth_bytes"]))
        yield from _each(behind)

    return talk


def _scram_begun(*behind: object) -> Callable[[], Any]:
    first = b"n,,n=scram,r=x"
    return _said(handshake("SCRAM-SHA-256"), authenticate(first), *behind)


GOOD: Final = (handshake("PLAIN"), authenticate(plain("alice", "secret")))
WRONG: Final = authenticate(plain("alice", "wrong"))
HELLO: Final = bytes.fromhex("16030100c0010000bc0303") + bytes(range(186))

_LOGINS: Final[dict[str, Callable[[], Any]]] = {
    "a right password": _said(*GOOD, METADATA),
    "a wrong password of PLAIN": _said(handshake("PLAIN"), WRONG),
    "a wrong password and a request behind it": _said(handshake("PLAIN"), Ahead(WRONG), METADATA),
    "a second try after a wrong password": _said(
        handshake("PLAIN"), Ahead(WRONG), authenticate(plain("alice", "secret"))
    ),
    **{
        f"{what} of {mechanism}": _scram(mechanism, name, password)
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        for what, name, password in (
            ("a right password", SCRAM_USER, SCRAM_PASSWORD),
            ("a wrong password", SCRAM_USER, "wrong"),
            ("an unknown user", "carol", SCRAM_PASSWORD),
            ("a user of PLAIN", "alice", "secret"),
        )
    },
    "a mechanism that is not enabled": _said(handshake("GSSAPI")),
    "a mechanism without a name": _said(handshake("")),
    "a mechanism with a long name": _said(handshake("X" * 30_000)),
    "the handshake of another mechanism in SCRAM": _scram_begun(handshake("PLAIN")),
    "the handshake again in SCRAM": _scram_begun(handshake("SCRAM-SHA-256")),
    "Metadata in SCRAM": _scram_begun(METADATA),
    "ApiVersions in SCRAM": _scram_begun(versions(3)),
    "no bytes in SCRAM": _scram_begun(authenticate(b"")),
    "the first message twice": _scram_begun(authenticate(b"n,,n=scram,r=x")),
    "a token of PLAIN in SCRAM": _scram_begun(authenticate(plain("alice", "secret"))),
    "no bytes as a bare token": _said(handshake("PLAIN", 0), Raw(b"")),
    "null as a token": _said(handshake("PLAIN"), Raw(header(36, 0) + b"\xff\xff\xff\xff")),
    "Produce first": _said(PRODUCE),
    "Produce without acknowledgement first": _said(SILENTLY, METADATA),
    "Produce after the handshake": _said(handshake("PLAIN"), PRODUCE),
    "Produce after ApiVersions": _said(versions(3), PRODUCE),
    "Metadata behind the handshake at once": _said(Ahead(handshake("PLAIN")), METADATA),
    "Metadata behind a right password at once": _said(handshake("PLAIN"), Ahead(GOOD[1]), METADATA),
    "a frame of a negative size": _said(Bytes(b"\xff\xff\xff\xff")),
    "a frame that is one byte too large": _said(Bytes((LARGEST_BYTES + 1).to_bytes(4, "big"))),
    "a token that is one byte too large": _said(
        handshake("PLAIN"), Bytes((LARGEST_BYTES + 1).to_bytes(4, "big"))
    ),
    "a bare token that is one byte too large": _said(
        handshake("PLAIN", 0), Bytes((LARGEST_BYTES + 1).to_bytes(4, "big"))
    ),
    "the largest token": _said(handshake("PLAIN"), authenticate(bytes(LARGEST_BYTES - 22))),
    "a frame of a large negative version": _said(Raw(header(17, -5) + b"\0\5PLAIN")),
    "ApiVersions of an unsupported version": _said(
        Raw(header(18, 99, flexible=True) + b"\2x\2y\0", "ApiVersions", 0)
    ),
    "ApiVersions of a negative version": _said(Raw(header(18, -1), "ApiVersions", 0)),
    "ApiVersions with bytes behind it": _said(Raw(header(18, 0) + b"\0\1", "ApiVersions", 0)),
    "an expired unsecured token": _said(
        handshake("OAUTHBEARER"), authenticate(token({"exp": 1_500_000_001}))
    ),
    "an expired unsecured token, acknowledged": _said(
        handshake("OAUTHBEARER"), authenticate(token({"exp": 1_500_000_001})), authenticate(b"\1")
    ),
    "an expired unsecured token, acknowledged wrongly": _said(
        handshake("OAUTHBEARER"), authenticate(token({"exp": 1_500_000_001})), authenticate(b"x")
    ),
    "a request at a refused token": _said(
        handshake("OAUTHBEARER"), authenticate(token({"exp": 1_500_000_001})), METADATA
    ),
    "re-authentication as another user": _said(
        *GOOD, handshake("PLAIN"), authenticate(plain("bob", "hidden"))
    ),
    "re-authentication by another mechanism": _said(
        *GOOD, handshake("SCRAM-SHA-256"), authenticate(b"n,,n=scram,r=x")
    ),
    "re-authentication by another mechanism, then Metadata": _said(
        *GOOD, handshake("SCRAM-SHA-256"), METADATA
    ),
    "re-authentication with a wrong password": _said(*GOOD, handshake("PLAIN"), WRONG),
    "re-authentication by a mechanism that is not enabled": _said(*GOOD, handshake("GSSAPI")),
    "re-authentication with Produce in it": _said(*GOOD, handshake("PLAIN"), PRODUCE),
    "re-authentication with ApiVersions in it": _said(*GOOD, handshake("PLAIN"), versions(3)),
    "re-authentication with bare tokens": _said(
        *GOOD, handshake("PLAIN", 0), Raw(plain("alice", "secret")), METADATA
    ),
    "re-authentication with a wrong bare token": _said(
        *GOOD, handshake("PLAIN", 0), Raw(plain("alice", "wrong"))
    ),
    "re-authentication behind a request at once": _said(*GOOD, Ahead(METADATA), handshake("PLAIN")),
    "re-authentication with a token that is one byte too large": _said(
        *GOOD, handshake("PLAIN"), Bytes((LARGEST_BYTES + 1).to_bytes(4, "big"))
    ),
    "re-authentication with the handshake twice": _said(
        *GOOD, handshake("PLAIN"), handshake("PLAIN")
    ),
    "an unsupported version of the handshake again": _said(
        *GOOD, Raw(header(17, 9) + b"\0\5PLAIN", "SaslHandshake", 1)
    ),
    "SaslAuthenticate without a handshake again": _said(*GOOD, GOOD[1]),
    "TLS on a listener without it": _said(Bytes(HELLO)),
    "HTTP": _said(Bytes(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")),
}

_LATER: Final = Pause(BRIEF_MS + 300)

_BRIEF: Final[dict[str, Callable[[], Any]]] = {
    "a request within it": _said(*GOOD, Pause(100), METADATA),
    "a request after it": _said(*GOOD, _LATER, METADATA),
    "ApiVersions after it": _said(*GOOD, _LATER, versions(3)),
    "Produce without acknowledgement after it": _said(*GOOD, _LATER, SILENTLY, METADATA),
    "re-authentication after it": _said(*GOOD, _LATER, *GOOD, METADATA),
    "silence after it": _said(*GOOD, _LATER),
    "a request in a re-authentication after it": _said(*GOOD, _LATER, GOOD[0], METADATA),
    "a wrong password after it": _said(*GOOD, _LATER, GOOD[0], WRONG),
    "a session without SaslAuthenticate 1": _said(
        handshake("PLAIN"), authenticate(plain("alice", "secret"), 0), _LATER, METADATA
    ),
    "a session by bare tokens": _said(
        handshake("PLAIN", 0), Raw(plain("alice", "secret")), _LATER, METADATA
    ),
    "a session of a mechanism without a limit": _scram(
        "SCRAM-SHA-256", SCRAM_USER, SCRAM_PASSWORD, _LATER, METADATA
    ),
    "two re-authentications": _said(*GOOD, Pause(300), *GOOD, _LATER, *GOOD, METADATA),
}

_WITHOUT_LOGINS: Final[dict[str, Callable[[], Any]]] = {
    "SaslHandshake 0": _said(handshake("PLAIN", 0), METADATA),
    "SaslHandshake 1": _said(handshake("PLAIN"), METADATA),
    "SaslHandshake of an unknown mechanism": _said(handshake("X"), METADATA),
    **{
        f"SaslAuthenticate {version}": _said(
            authenticate(plain("alice", "secret"), version), METADATA
        )
        for version in (0, 1, 2)
    },
    "SaslAuthenticate after SaslHandshake": _said(*GOOD, METADATA),
    "a bare token after SaslHandshake 0": _said(
        handshake("PLAIN", 0), Raw(plain("alice", "secret"))
    ),
    "ApiVersions of an unsupported version": _said(
        Raw(header(18, 99, flexible=True) + b"\2x\2y\0", "ApiVersions", 0), METADATA
    ),
    "SaslHandshake of an unsupported version": _said(
        Raw(header(17, 9) + b"\0\5PLAIN", "SaslHandshake", 1)
    ),
    "TLS on a listener without it": _said(Bytes(HELLO)),
    "HTTP": _said(Bytes(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")),
}

_GOOD_CLAIMS: Final[dict[str, object]] = {
    "sub": "alice", "iat": ISSUED_S, "exp": FAR_S, "aud": AUDIENCE, "iss": ISSUER,
}  # fmt: skip
_CLAIMS: Final[dict[str, dict[str, object]]] = {
    "right": {},
    "expired": {"exp": ISSUED_S + 10},
    "of another audience": {"aud": "another"},
    "of another issuer": {"iss": "another"},
    "without an audience": {"aud": None},
    "with a wrong scope": {"scope": [7]},
    "of the future": {"nbf": FAR_S - 10},
}


def _by_token(claims: dict[str, object]) -> Any:
    merged = {key: value for key, value in (_GOOD_CLAIMS | claims).items() if value is not None}
    signed = signed_by(keys().first, merged)
    yield handshake("OAUTHBEARER")
    answer = yield authenticate(f"n,,\x01auth=Bearer {signed}\x01\x01".encode())
    if answer != CLOSED and answer["auth_bytes"]:
        yield authenticate(b"\x01")
    else:
        yield METADATA
