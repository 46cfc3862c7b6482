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
    ALICE,
    CLOSED,
    METADATA,
    SCRAM_PASSWORD,
    SCRAM_USER,
    WRONG,
    Ask,
    Raw,
    Talk,
    authenticate,
    handshake,
    plain,
    steps,
    token,
    versions,
)
from tests.security.scram_client import ScramClient
from tests.security.signed_tokens import FAR_S, ISSUED_S, ISSUER, keys, signed_by
from tests.wire.client import LENGTH, header

from .listeners import AUDIENCE, BRIEF_MS, SIGNED
from .peer import Ahead, Bytes, Pause, Stray, Tls
from .tls_scenarios import TLS, TLS_SCENARIOS

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
        found[f"in a login: {name}"] = Scenario("LOGIN", steps(handshake("PLAIN"), Stray(raw)))
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


def _scram(mechanism: str, name: str, password: str, *behind: Any) -> Callable[[], Any]:
    def talk() -> Any:
        scram = ScramClient(mechanism, name, password, "clientnonce")
        yield handshake(mechanism)
        first = yield authenticate(scram.first())
        if first != CLOSED and first["auth_bytes"]:
            yield authenticate(scram.final(first["auth_bytes"]))
        yield from (each for each in behind)

    return talk


def _scram_begun(*behind: object) -> Callable[[], Any]:
    first = b"n,,n=scram,r=x"
    return steps(handshake("SCRAM-SHA-256"), authenticate(first), *behind)


GOOD: Final = (handshake("PLAIN"), ALICE)
HELLO: Final = bytes.fromhex("16030100c0010000bc0303") + bytes(range(186))

_LOGINS: Final[dict[str, Callable[[], Any]]] = {
    "a right password": steps(*GOOD, METADATA),
    "a wrong password of PLAIN": steps(handshake("PLAIN"), WRONG),
    "a wrong password and a request behind it": steps(handshake("PLAIN"), Ahead(WRONG), METADATA),
    "a second try after a wrong password": steps(
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
    "a mechanism that is not enabled": steps(handshake("GSSAPI")),
    "a mechanism without a name": steps(handshake("")),
    "a mechanism with a long name": steps(handshake("X" * 30_000)),
    "the handshake of another mechanism in SCRAM": _scram_begun(handshake("PLAIN")),
    "the handshake again in SCRAM": _scram_begun(handshake("SCRAM-SHA-256")),
    "Metadata in SCRAM": _scram_begun(METADATA),
    "ApiVersions in SCRAM": _scram_begun(versions(3)),
    "no bytes in SCRAM": _scram_begun(authenticate(b"")),
    "the first message twice": _scram_begun(authenticate(b"n,,n=scram,r=x")),
    "a token of PLAIN in SCRAM": _scram_begun(authenticate(plain("alice", "secret"))),
    "no bytes as a bare token": steps(handshake("PLAIN", 0), Raw(b"")),
    "null as a token": steps(handshake("PLAIN"), Raw(header(36, 0) + b"\xff\xff\xff\xff")),
    "Produce first": steps(PRODUCE),
    "Produce without acknowledgement first": steps(SILENTLY, METADATA),
    "Produce after the handshake": steps(handshake("PLAIN"), PRODUCE),
    "Produce after ApiVersions": steps(versions(3), PRODUCE),
    "Metadata behind the handshake at once": steps(Ahead(handshake("PLAIN")), METADATA),
    "Metadata behind a right password at once": steps(handshake("PLAIN"), Ahead(GOOD[1]), METADATA),
    "a frame of a negative size": steps(Bytes(b"\xff\xff\xff\xff")),
    "a frame that is one byte too large": steps(Bytes((LARGEST_BYTES + 1).to_bytes(4, "big"))),
    "a token that is one byte too large": steps(
        handshake("PLAIN"), Bytes((LARGEST_BYTES + 1).to_bytes(4, "big"))
    ),
    "a bare token that is one byte too large": steps(
        handshake("PLAIN", 0), Bytes((LARGEST_BYTES + 1).to_bytes(4, "big"))
    ),
    "the largest token": steps(handshake("PLAIN"), authenticate(bytes(LARGEST_BYTES - 22))),
    "a frame of a large negative version": steps(Raw(header(17, -5) + b"\0\5PLAIN")),
    "ApiVersions of an unsupported version": steps(
        Raw(header(18, 99, flexible=True) + b"\2x\2y\0", "ApiVersions", 0)
    ),
    "ApiVersions of a negative version": steps(Raw(header(18, -1), "ApiVersions", 0)),
    "ApiVersions with bytes behind it": steps(Raw(header(18, 0) + b"\0\1", "ApiVersions", 0)),
    "an expired unsecured token": steps(
        handshake("OAUTHBEARER"), authenticate(token({"exp": 1_500_000_001}))
    ),
    "an expired unsecured token, acknowledged": steps(
        handshake("OAUTHBEARER"), authenticate(token({"exp": 1_500_000_001})), authenticate(b"\1")
    ),
    "an expired unsecured token, acknowledged wrongly": steps(
        handshake("OAUTHBEARER"), authenticate(token({"exp": 1_500_000_001})), authenticate(b"x")
    ),
    "a request at a refused token": steps(
        handshake("OAUTHBEARER"), authenticate(token({"exp": 1_500_000_001})), METADATA
    ),
    "re-authentication as another user": steps(
        *GOOD, handshake("PLAIN"), authenticate(plain("bob", "hidden"))
    ),
    "re-authentication by another mechanism": steps(
        *GOOD, handshake("SCRAM-SHA-256"), authenticate(b"n,,n=scram,r=x")
    ),
    "re-authentication by another mechanism, then Metadata": steps(
        *GOOD, handshake("SCRAM-SHA-256"), METADATA
    ),
    "re-authentication with a wrong password": steps(*GOOD, handshake("PLAIN"), WRONG),
    "re-authentication by a mechanism that is not enabled": steps(*GOOD, handshake("GSSAPI")),
    "re-authentication with Produce in it": steps(*GOOD, handshake("PLAIN"), PRODUCE),
    "re-authentication with ApiVersions in it": steps(*GOOD, handshake("PLAIN"), versions(3)),
    "re-authentication with bare tokens": steps(
        *GOOD, handshake("PLAIN", 0), Raw(plain("alice", "secret")), METADATA
    ),
    "re-authentication with a wrong bare token": steps(
        *GOOD, handshake("PLAIN", 0), Raw(plain("alice", "wrong"))
    ),
    "re-authentication behind a request at once": steps(*GOOD, Ahead(METADATA), handshake("PLAIN")),
    "re-authentication with a token that is one byte too large": steps(
        *GOOD, handshake("PLAIN"), Bytes((LARGEST_BYTES + 1).to_bytes(4, "big"))
    ),
    "re-authentication with the handshake twice": steps(
        *GOOD, handshake("PLAIN"), handshake("PLAIN")
    ),
    "an unsupported version of the handshake again": steps(
        *GOOD, Raw(header(17, 9) + b"\0\5PLAIN", "SaslHandshake", 1)
    ),
    "SaslAuthenticate without a handshake again": steps(*GOOD, GOOD[1]),
    "TLS on a listener without it": steps(Bytes(HELLO)),
    "HTTP": steps(Bytes(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")),
}

_LATER: Final = Pause(BRIEF_MS + 300)

_BRIEF: Final[dict[str, Callable[[], Any]]] = {
    "a request within it": steps(*GOOD, Pause(100), METADATA),
    "a request after it": steps(*GOOD, _LATER, METADATA),
    "ApiVersions after it": steps(*GOOD, _LATER, versions(3)),
    "Produce without acknowledgement after it": steps(*GOOD, _LATER, SILENTLY, METADATA),
    "re-authentication after it": steps(*GOOD, _LATER, *GOOD, METADATA),
    "silence after it": steps(*GOOD, _LATER),
    "a request in a re-authentication after it": steps(*GOOD, _LATER, GOOD[0], METADATA),
    "a wrong password after it": steps(*GOOD, _LATER, GOOD[0], WRONG),
    "a session without SaslAuthenticate 1": steps(
        handshake("PLAIN"), authenticate(plain("alice", "secret"), 0), _LATER, METADATA
    ),
    "a session by bare tokens": steps(
        handshake("PLAIN", 0), Raw(plain("alice", "secret")), _LATER, METADATA
    ),
    "a session of a mechanism without a limit": _scram(
        "SCRAM-SHA-256", SCRAM_USER, SCRAM_PASSWORD, _LATER, METADATA
    ),
    "two re-authentications": steps(*GOOD, Pause(300), *GOOD, _LATER, *GOOD, METADATA),
}

_WITHOUT_LOGINS: Final[dict[str, Callable[[], Any]]] = {
    "SaslHandshake 0": steps(handshake("PLAIN", 0), METADATA),
    "SaslHandshake 1": steps(handshake("PLAIN"), METADATA),
    "SaslHandshake of an unknown mechanism": steps(handshake("X"), METADATA),
    **{
        f"SaslAuthenticate {version}": steps(
            authenticate(plain("alice", "secret"), version), METADATA
        )
        for version in (0, 1, 2)
    },
    "SaslAuthenticate after SaslHandshake": steps(*GOOD, METADATA),
    "a bare token after SaslHandshake 0": steps(
        handshake("PLAIN", 0), Raw(plain("alice", "secret"))
    ),
    "ApiVersions of an unsupported version": steps(
        Raw(header(18, 99, flexible=True) + b"\2x\2y\0", "ApiVersions", 0), METADATA
    ),
    "SaslHandshake of an unsupported version": steps(
        Raw(header(17, 9) + b"\0\5PLAIN", "SaslHandshake", 1)
    ),
    "TLS on a listener without it": steps(Bytes(HELLO)),
    "HTTP": steps(Bytes(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")),
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
