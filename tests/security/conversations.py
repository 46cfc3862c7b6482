"""Authentications, right and wrong, whose answers by Apache Kafka 4.4.0 are in kafka-4.4.0.json.

Each is a generator: it yields a request, or bytes for a whole frame, and gets the answer.
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


def _plain_by(handshake_version: int, version: int) -> Callable[[], Talk]:
    def talk() -> Talk:
        yield handshake("PLAIN", handshake_version)
        yield authenticate(plain("alice", "secret"), version)
        yield Ask("Metadata", 1, {"topics": []})

    return talk


for _version in (0, 1, 2):
    ALL[f"plain_by_sasl_authenticate_{_version}"] = _plain_by(1, _version)


@_listed
def plain_by_bare_tokens() -> Talk:
    yield handshake("PLAIN", 0)
    yield Raw(plain("alice", "secret"))
    yield Ask("Metadata", 1, {"topics": []})


@_listed
def a_wrong_password_by_bare_tokens() -> Talk:
    yield handshake("PLAIN", 0)
    yield Raw(plain("alice", "wrong"))


@_listed
def sasl_authenticate_after_handshake_0() -> Talk:
    yield handshake("PLAIN", 0)
    yield authenticate(plain("alice", "secret"))


@_listed
def a_wrong_password() -> Talk:
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "wrong"))


@_listed
def an_unknown_user() -> Talk:
    yield handshake("PLAIN")
    yield authenticate(plain("carol", "secret"))


@_listed
def a_user_of_another_mechanism() -> Talk:
    yield handshake("PLAIN")
    yield authenticate(plain(SCRAM_USER, SCRAM_PASSWORD))


def _refused_by_plain(response: bytes) -> Callable[[], Talk]:
    def talk() -> Talk:
        yield handshake("PLAIN")
        yield authenticate(response)

    return talk


for _name, _response in {
    "no_user": plain("", "secret"),
    "no_password": plain("alice", ""),
    "two_parts": b"alice\0secret",
    "four_parts": b"\0alice\0secret\0",
    "no_bytes": b"",
    "another_authorization_id": plain("alice", "secret", "bob"),
    "bytes_that_are_no_text": b"\0alice\0\xff\xfe",
}.items():
    ALL[f"plain_with_{_name}"] = _refused_by_plain(_response)


@_listed
def plain_with_its_own_authorization_id() -> Talk:
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "secret", "alice"))


@_listed
def an_unknown_mechanism() -> Talk:
    yield handshake("CRAM-MD5")


@_listed
def a_mechanism_in_lower_case() -> Talk:
    yield handshake("plain")


@_listed
def gssapi() -> Talk:
    yield handshake("GSSAPI")


@_listed
def an_unknown_mechanism_by_handshake_0() -> Talk:
    yield handshake("GSSAPI", 0)


def _api_versions_first(version: int) -> Callable[[], Talk]:
    def talk() -> Talk:
        yield versions(version)
        yield handshake("PLAIN")
        yield authenticate(plain("alice", "secret"))

    return talk


for _version in range(5):
    ALL[f"api_versions_{_version}_first"] = _api_versions_first(_version)


@_listed
def an_unsupported_version_of_api_versions() -> Talk:
    yield Raw(header(18, 99, flexible=True) + b"\2x\2y\0", "ApiVersions", 0)
    yield versions(3)
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "secret"))


@_listed
def an_invalid_software_name() -> Talk:
    yield versions(3, name="-")
    yield versions(3)
    yield handshake("PLAIN")


@_listed
def api_versions_twice() -> Talk:
    yield versions(3)
    yield versions(3)


@_listed
def api_versions_after_the_handshake() -> Talk:
    yield handshake("PLAIN")
    yield versions(3)


@_listed
def the_handshake_twice() -> Talk:
    yield handshake("PLAIN")
    yield handshake("PLAIN")


@_listed
def metadata_first() -> Talk:
    yield Ask("Metadata", 1, {"topics": []})


@_listed
def metadata_after_api_versions() -> Talk:
    yield versions(3)
    yield Ask("Metadata", 1, {"topics": []})


@_listed
def heartbeat_after_the_handshake() -> Talk:
    yield handshake("PLAIN")
    body = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    yield Ask("Heartbeat", 1, body)


@_listed
def describe_cluster_after_the_handshake() -> Talk:
    yield handshake("PLAIN")
    yield Ask("DescribeCluster", 0, {})


@_listed
def sasl_authenticate_first() -> Talk:
    yield authenticate(plain("alice", "secret"))


@_listed
def sasl_authenticate_after_api_versions() -> Talk:
    yield versions(3)
    yield authenticate(plain("alice", "secret"))


@_listed
def an_unknown_api_first() -> Talk:
    yield Raw(header(999, 0))


@_listed
def an_unknown_api_after_api_versions() -> Talk:
    yield versions(3)
    yield Raw(header(999, 0))


@_listed
def an_unknown_api_after_the_handshake() -> Talk:
    yield handshake("PLAIN")
    yield Raw(header(999, 0))


@_listed
def an_unsupported_version_of_the_handshake() -> Talk:
    yield Raw(header(17, 2) + b"\0\5PLAIN", "SaslHandshake", 1)


@_listed
def an_unsupported_version_of_sasl_authenticate() -> Talk:
    yield handshake("PLAIN")
    yield Raw(header(36, 3, flexible=True) + b"\1\0")


@_listed
def a_cut_handshake() -> Talk:
    yield Raw(header(17, 1) + b"\0\5PLA", "SaslHandshake", 1)


@_listed
def a_cut_sasl_authenticate() -> Talk:
    yield handshake("PLAIN")
    yield Raw(header(36, 0) + b"\0\0\0\5ab")


@_listed
def an_empty_frame() -> Talk:
    yield Raw(b"")


@_listed
def a_short_frame() -> Talk:
    yield Raw(b"\0\x12")


@_listed
def a_gssapi_token() -> Talk:
    yield Raw(b"\x60\x82\x01\x02\x06\x09\x2a\x86\x48\x86\xf7\x12")


@_listed
def a_large_frame() -> Talk:
    yield Raw(header(17, 1) + b"\0\5PLAIN" + bytes(524_289 - 21), "SaslHandshake", 1)


@_listed
def the_largest_frame() -> Talk:
    yield Raw(header(17, 1) + b"\0\5PLAIN" + bytes(524_288 - 21), "SaslHandshake", 1)


@_listed
def a_large_token() -> Talk:
    yield handshake("PLAIN")
    yield authenticate(bytes(600_000))


@_listed
def a_handshake_on_a_session_without_an_end() -> Talk:
    yield from _scram_login("SCRAM-SHA-256")
    yield handshake("SCRAM-SHA-256")
    yield authenticate(b"n,,n=scram,r=x")
    yield Ask("Metadata", 1, {"topics": []})


@_listed
def a_re_authentication() -> Talk:
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "secret"))
    yield Ask("Metadata", 1, {"topics": []})
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "secret"))
    yield Ask("Metadata", 1, {"topics": []})


@_listed
def a_re_authentication_within_a_second_of_another() -> Talk:
    yield from a_re_authentication()
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "secret"))
    yield Ask("Metadata", 1, {"topics": []})


@_listed
def a_re_authentication_as_another_user() -> Talk:
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "secret"))
    yield handshake("PLAIN")
    yield authenticate(plain("bob", "hidden"))


@_listed
def a_re_authentication_with_a_wrong_password() -> Talk:
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "secret"))
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "wrong"))


@_listed
def a_re_authentication_with_a_malformed_token() -> Talk:
    yield handshake("OAUTHBEARER")
    yield authenticate(token({}))
    yield handshake("OAUTHBEARER")
    yield authenticate(b"x")


@_listed
def a_re_authentication_by_another_mechanism() -> Talk:
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "secret"))
    yield handshake("SCRAM-SHA-256")
    yield authenticate(b"n,,n=scram,r=x")


@_listed
def a_re_authentication_by_an_unknown_mechanism() -> Talk:
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "secret"))
    yield handshake("GSSAPI")


@_listed
def metadata_in_a_re_authentication() -> Talk:
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "secret"))
    yield handshake("PLAIN")
    yield Ask("Metadata", 1, {"topics": []})


@_listed
def api_versions_on_a_session() -> Talk:
    yield handshake("PLAIN")
    yield authenticate(plain("alice", "secret"))
    yield versions(3)
    yield authenticate(plain("alice", "secret"))
    yield Ask("Metadata", 1, {"topics": []})


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
    yield Ask("Metadata", 1, {"topics": []})


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


def _scram_first(first: bytes) -> Callable[[], Talk]:
    def talk() -> Talk:
        yield handshake("SCRAM-SHA-256")
        yield authenticate(first)

    return talk


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
    ALL[f"scram_with_{_name}"] = _scram_first(_response)


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
}


@_listed
def oauth_by_a_second_token_after_a_refused_one() -> Talk:
    yield handshake("OAUTHBEARER")
    yield authenticate(token({"sub": " "}))
    yield authenticate(token({}))
