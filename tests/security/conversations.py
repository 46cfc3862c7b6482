"""Authentications, right and wrong, whose answers by Apache Kafka 4.4.0 are in kafka-4.4.0.json.

Each makes a generator: it yields a request, or bytes for a whole frame, and gets the answer.
answered.py runs them with the state machine, with a running Ottla, and with a real Kafka.

The listener is SASL_PLAINTEXT with PLAIN (alice, "secret"; bob, "hidden"), SCRAM of both kinds
(scram, "pencil"), OAUTHBEARER with unsecured tokens, and connections.max.reauth.ms=20000 for PLAIN.
"""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Generator
from typing import Any, NamedTuple  # Any: decoded answers

from tests.wire.client import header

from .scram_client import ScramClient

MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
REAUTH_MS = 20_000
USERS = {"alice": "secret", "bob": "hidden"}
SCRAM_USER, SCRAM_PASSWORD = "scram", "pencil"
CLOSED = "closed"
NOW_MS = 1_700_000_000_000
LONG_AGO_S, FAR_S = 1_500_000_000, 4_000_000_000


class Ask(NamedTuple):
    """A request."""

    api: str
    version: int
    body: dict[str, Any]


class Raw(NamedTuple):
    """The bytes of a frame, and the API of its answer; None: a bare token answers."""

    data: bytes
    api: str | None = None
    version: int = 0


Talk = Generator[Ask | Raw, Any, None]  # Any: an answer's fields, bytes, or CLOSED
ALL: dict[str, Callable[[], Talk]] = {}


def _listed(function: Callable[[], Talk]) -> Callable[[], Talk]:
    ALL[function.__name__] = function
    return function


def handshake(mechanism: str, version: int = 1) -> Ask:
    return Ask("SaslHandshake", version, {"mechanism": mechanism})


def authenticate(auth_bytes: bytes, version: int = 2) -> Ask:
    return Ask("SaslAuthenticate", version, {"auth_bytes": auth_bytes})


def versions(version: int = 3, name: str = "test", software: str = "1") -> Ask:
    body = {"client_software_name": name, "client_software_version": software}
    return Ask("ApiVersions", version, body if version >= 3 else {})


def plain(name: str, password: str, authorization_id: str = "") -> bytes:
    return f"{authorization_id}\0{name}\0{password}".encode()


def token(claims: dict[str, object], alg: str = "none", signature: str = "") -> bytes:
    times = {"iat": LONG_AGO_S, "exp": FAR_S}
    parts = [{"alg": alg}, {"sub": "olga"} | times | claims]
    texts = [urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return f"n,,\x01auth=Bearer {'.'.join([*texts, signature])}\x01\x01".encode()


def steps(*asked: Any) -> Callable[[], Talk]:  # Any: a refused client also makes pauses
    """A conversation whose requests do not depend on the answers."""

    def talk() -> Talk:
        yield from (each for each in asked)  # a tuple itself takes no answers

    return talk


METADATA = Ask("Metadata", 1, {"topics": []})
PLAIN, UNKNOWN_API = handshake("PLAIN"), Raw(header(999, 0))
ALICE, WRONG = (authenticate(plain("alice", password)) for password in ("secret", "wrong"))
OF_PLAIN = {
    "no_user": plain("", "secret"),
    "no_password": plain("alice", ""),
    "two_parts": b"alice\0secret",
    "four_parts": b"\0alice\0secret\0",
    "no_bytes": b"",
    "another_authorization_id": plain("alice", "secret", "bob"),
    "its_own_authorization_id": plain("alice", "secret", "alice"),
    "bytes_that_are_no_text": b"\0alice\0\xff\xfe",
}

ALL |= {
    f"plain_by_sasl_authenticate_{version}": steps(
        PLAIN, authenticate(plain("alice", "secret"), version), METADATA
    )
    for version in (0, 1, 2)
}
ALL |= {f"plain_with_{name}": steps(PLAIN, authenticate(sent)) for name, sent in OF_PLAIN.items()}
ALL |= {
    f"api_versions_{version}_first": steps(versions(version), PLAIN, ALICE) for version in range(5)
}
ALL |= {
    "plain_by_bare_tokens": steps(
        handshake("PLAIN", 0), Raw(plain("alice", "secret")), METADATA
    ),
    "a_wrong_password_by_bare_tokens": steps(handshake("PLAIN", 0), Raw(plain("alice", "wrong"))),
    "sasl_authenticate_after_handshake_0": steps(handshake("PLAIN", 0), ALICE),
    "a_wrong_password": steps(PLAIN, WRONG),
    "an_unknown_user": steps(PLAIN, authenticate(plain("carol", "secret"))),
    "a_user_of_another_mechanism": steps(PLAIN, authenticate(plain(SCRAM_USER, SCRAM_PASSWORD))),
    "an_unknown_mechanism": steps(handshake("CRAM-MD5")),
    "a_mechanism_in_lower_case": steps(handshake("plain")),
    "gssapi": steps(handshake("GSSAPI")),
    "an_unknown_mechanism_by_handshake_0": steps(handshake("GSSAPI", 0)),
    "an_unsupported_version_of_api_versions": steps(
        Raw(header(18, 99, flexible=True) + b"\2x\2y\0", "ApiVersions", 0),
        versions(3), PLAIN, ALICE,
    ),
    "an_invalid_software_name": steps(versions(3, name="-"), versions(3), PLAIN),
    "api_versions_twice": steps(versions(3), versions(3)),
    "api_versions_after_the_handshake": steps(PLAIN, versions(3)),
    "the_handshake_twice": steps(PLAIN, PLAIN),
    "metadata_first": steps(METADATA),
    "metadata_after_api_versions": steps(versions(3), METADATA),
    "heartbeat_after_the_handshake": steps(
        PLAIN, Ask("Heartbeat", 1, {"group_id": "g", "generation_id": 1, "member_id": "m"})
    ),
    "describe_cluster_after_the_handshake": steps(PLAIN, Ask("DescribeCluster", 0, {})),
    "sasl_authenticate_first": steps(ALICE),
    "sasl_authenticate_after_api_versions": steps(versions(3), ALICE),
    "an_unknown_api_first": steps(UNKNOWN_API),
    "an_unknown_api_after_api_versions": steps(versions(3), UNKNOWN_API),
    "an_unknown_api_after_the_handshake": steps(PLAIN, UNKNOWN_API),
    "an_unsupported_version_of_the_handshake": steps(
        Raw(header(17, 2) + b"\0\5PLAIN", "SaslHandshake", 1)
    ),
    "an_unsupported_version_of_sasl_authenticate": steps(
        PLAIN, Raw(header(36, 3, flexible=True) + b"\1\0")
    ),
    "a_cut_handshake": steps(Raw(header(17, 1) + b"\0\5PLA", "SaslHandshake", 1)),
    "a_cut_sasl_authenticate": steps(PLAIN, Raw(header(36, 0) + b"\0\0\0\5ab")),
    "an_empty_frame": steps(Raw(b"")),
    "a_short_frame": steps(Raw(b"\0\x12")),
    "a_gssapi_token": steps(Raw(b"\x60\x82\x01\x02\x06\x09\x2a\x86\x48\x86\xf7\x12")),
    "a_re_authentication": steps(*[PLAIN, ALICE, METADATA] * 2),
    "a_re_authentication_within_a_second_of_another": steps(*[PLAIN, ALICE, METADATA] * 3),
    "a_re_authentication_as_another_user": steps(
        PLAIN, ALICE, PLAIN, authenticate(plain("bob", "hidden"))
    ),
    "a_re_authentication_with_a_wrong_password": steps(PLAIN, ALICE, PLAIN, WRONG),
    "a_re_authentication_with_a_malformed_token": steps(
        handshake("OAUTHBEARER"), authenticate(token({})),
        handshake("OAUTHBEARER"), authenticate(b"x"),
    ),
    "a_re_authentication_by_another_mechanism": steps(
        PLAIN, ALICE, handshake("SCRAM-SHA-256"), authenticate(b"n,,n=scram,r=x")
    ),
    "a_re_authentication_by_an_unknown_mechanism": steps(PLAIN, ALICE, handshake("GSSAPI")),
    "metadata_in_a_re_authentication": steps(PLAIN, ALICE, PLAIN, METADATA),
    "api_versions_on_a_session": steps(PLAIN, ALICE, versions(3), ALICE, METADATA),
}  # fmt: skip


@_listed
def a_large_frame() -> Talk:
    yield Raw(header(17, 1) + b"\0\5PLAIN" + bytes(524_289 - 21), "SaslHandshake", 1)


@_listed
def the_largest_frame() -> Talk:
    yield Raw(header(17, 1) + b"\0\5PLAIN" + bytes(524_288 - 21), "SaslHandshake", 1)


@_listed
def a_large_token() -> Talk:
    yield PLAIN
    yield authenticate(bytes(600_000))


@_listed
def a_handshake_on_a_session_without_an_end() -> Talk:
    yield from _scram_login("SCRAM-SHA-256")
    yield handshake("SCRAM-SHA-256")
    yield authenticate(b"n,,n=scram,r=x")
    yield METADATA


def _scram_login(
    mechanism: str, name: str = SCRAM_USER, password: str = SCRAM_PASSWORD, channel: bytes = b"n,,"
) -> Talk:
    scram = ScramClient(mechanism, name, password, "clientnonce")
    yield handshake(mechanism)
    first = yield authenticate(scram.first())
    if first == CLOSED or not first["auth_bytes"]:
        return
    final = yield authenticate(scram.final(first["auth_bytes"], channel))
    if final != CLOSED and final["auth_bytes"]:
        assert final["auth_bytes"] == scram.signature


@_listed
def scram_sha_256() -> Talk:
    yield from _scram_login("SCRAM-SHA-256")
    yield METADATA


@_listed
def scram_sha_512() -> Talk:
    yield from _scram_login("SCRAM-SHA-512")


@_listed
def scram_with_a_wrong_password() -> Talk:
    yield from _scram_login("SCRAM-SHA-256", password="wrong")


@_listed
def scram_of_an_unknown_user() -> Talk:
    yield from _scram_login("SCRAM-SHA-256", name="carol")


@_listed
def scram_with_another_channel_binding() -> Talk:
    yield from _scram_login("SCRAM-SHA-256", channel=b"y,,")


for _name, _response in {
    "no_bytes": b"",
    "channel_binding": b"p=tls-unique,,n=scram,r=x",
    "an_unknown_token": b"n,,n=scram,r=x,tokenauth=true",
    "another_authorization_id": b"n,a=bob,n=scram,r=x",
    "its_own_authorization_id": b"n,a=scram,n=scram,r=x",
    "an_unknown_extension": b"n,,n=scram,r=x,ext=5",
    "a_reserved_extension": b"n,,m=x,n=scram,r=x",
    "an_unescaped_name": b"n,,n=sc=ram,r=x",
    "a_name_that_is_no_ascii": "n,,n=mü,r=x".encode(),
}.items():
    ALL[f"scram_with_{_name}"] = steps(handshake("SCRAM-SHA-256"), authenticate(_response))


def _scram_final(final: str) -> Callable[[], Talk]:
    def talk() -> Talk:
        yield handshake("SCRAM-SHA-256")
        first = yield authenticate(b"n,,n=scram,r=x")
        nonce = first["auth_bytes"].decode().partition(",")[0].removeprefix("r=")
        yield authenticate(final.format(nonce=nonce).encode())

    return talk


for _name, _final in {
    "a_wrong_proof": f"c=biws,r={{nonce}},p={b64encode(bytes(32)).decode()}",
    "a_short_proof": "c=biws,r={nonce},p=AAAA",
    "no_proof": "c=biws,r={nonce}",
    "another_nonce": f"c=biws,r=x,p={b64encode(bytes(32)).decode()}",
    "an_empty_final_message": "",
}.items():
    ALL[f"scram_with_{_name}"] = _scram_final(_final)


def _oauth(response: Callable[[], bytes]) -> Callable[[], Talk]:
    def talk() -> Talk:
        yield handshake("OAUTHBEARER")
        answer = yield authenticate(response())
        if answer != CLOSED and answer["auth_bytes"]:
            yield authenticate(b"\x01")

    return talk


ALL |= {
    "oauth_by_a_valid_token": _oauth(lambda: token({})),
    "oauth_by_an_expired_token": _oauth(lambda: token({"exp": LONG_AGO_S + 1})),
    "oauth_by_a_token_of_the_future": _oauth(lambda: token({"iat": FAR_S, "exp": FAR_S + 1})),
    "oauth_by_a_token_without_user": _oauth(lambda: token({"sub": " "})),
    "oauth_by_a_token_with_a_number_as_user": _oauth(lambda: token({"sub": 5})),
    "oauth_by_a_signed_token": _oauth(lambda: token({}, "HS256", "c2ln")),
    "oauth_by_a_token_with_a_scope": _oauth(lambda: token({"scope": ["a"]})),
    "oauth_by_a_token_with_url_characters": _oauth(lambda: token({"sub": "ol~ga???>>>"})),
    "oauth_by_a_text": _oauth(lambda: b"n,,\x01auth=Bearer abc\x01\x01"),
    "oauth_by_a_token_without_algorithm": _oauth(lambda: b"n,,\x01auth=Bearer e30.e30.\x01\x01"),
    "oauth_without_auth": _oauth(lambda: b"n,,\x01a=b\x01\x01"),
    "oauth_with_another_scheme": _oauth(lambda: b"n,,\x01auth=Basic abc\x01\x01"),
    "oauth_without_bytes": _oauth(lambda: b""),
    "oauth_with_the_final_byte_first": _oauth(lambda: b"\x01"),
    "oauth_with_another_authorization_id": _oauth(lambda: token({}).replace(b"n,,", b"n,a=bob,")),
    "oauth_with_an_extension": _oauth(lambda: token({})[:-1] + b"trace=1\x01\x01"),
    "oauth_by_a_second_token_after_a_refused_one": steps(
        handshake("OAUTHBEARER"), authenticate(token({"sub": " "})), authenticate(token({}))
    ),
}
