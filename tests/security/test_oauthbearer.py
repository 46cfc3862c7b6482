"""OAUTHBEARER and unsecured tokens, as Kafka's OAuthBearerUnsecuredValidatorCallbackHandler."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any  # Any: values of JSON

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.security.oauthbearer import OAuthServer, Token, TokenRefused
from ottla.security.outcomes import (
    AuthenticationFailed,
    InvalidCredentials,
    Login,
    UnusableResponse,
)
from ottla.security.unsecured_tokens import UnsecuredValidator

NOW_MS = 1_700_000_000_000
NOW_S = NOW_MS // 1000
CLAIMS = {"sub": "alice", "iat": NOW_S - 1, "exp": NOW_S + 60}


def encoded(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def token_of(claims: dict[str, Any], header: object = {"alg": "none"}) -> str:
    return f"{encoded(header)}.{encoded(claims)}."


def response_of(token: str, extensions: str = "", authorization_id: str = "") -> bytes:
    return f"n,{authorization_id},\x01auth=Bearer {token}\x01{extensions}\x01".encode()


def server_of(validator: UnsecuredValidator | None = None) -> OAuthServer:
    return OAuthServer((validator or UnsecuredValidator()).check)


@pytest.mark.parametrize("extensions", ["", "trace=1\x01", "a=b=c\x01d=e f\x01"])
@pytest.mark.parametrize("authorization_id", ["", "a=alice"])
def test_a_valid_token_logs_in(extensions: str, authorization_id: str) -> None:
    server = server_of()
    response = response_of(token_of(CLAIMS), extensions, authorization_id)
    assert server.evaluate(response, NOW_MS) == b""
    assert server.login == Login("alice", (NOW_S + 60) * 1000)


def test_another_authorization_id_fails() -> None:
    with pytest.raises(AuthenticationFailed, match=r"\(bob\) that is different from .* \(alice\)"):
        server_of().evaluate(response_of(token_of(CLAIMS), "", "a=bob"), NOW_MS)


@pytest.mark.parametrize(
    "response",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01trace=1\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer a!b\x01\x01",
        b"y,,\x01auth=Bearer abc\x01\x01",
        b"n,,\x01auth=Bearer abc\x01",
    ],
)
def test_a_malformed_message_fails(response: bytes) -> None:
    with pytest.raises(InvalidCredentials):
        server_of().evaluate(response, NOW_MS)


@pytest.mark.parametrize(
    "claims",
    [
        {},
        CLAIMS | {"exp": NOW_S},
        CLAIMS | {"exp": "soon"},
        CLAIMS | {"exp": None},
        CLAIMS | {"iat": NOW_S + 1},
        CLAIMS | {"iat": NOW_S, "exp": NOW_S},
        CLAIMS | {"iat": "now"},
        CLAIMS | {"sub": " "},
        CLAIMS | {"sub": 5},
        CLAIMS | {"sub": ["alice"]},
        CLAIMS | {"scope": 5},
    ],
)
def test_a_token_without_valid_claims_is_refused(claims: dict[str, Any]) -> None:
    server = server_of()
    refusal = server.evaluate(response_of(token_of(claims)), NOW_MS)
    assert refusal == b'{"status":"invalid_token"}'
    assert server.login is None
    with pytest.raises(AuthenticationFailed) as raised:
        server.evaluate(b"\x01", NOW_MS)
    assert str(raised.value) == refusal.decode()


@pytest.mark.parametrize(
    "token",
    [
        "abc",
        "a.b",
        "a..",
        f"{encoded({'alg': 'none'})}.{encoded(CLAIMS)}.c2ln",
        token_of(CLAIMS, {"alg": "HS256"}),
        f"{encoded({'alg': 'none'})}.e30",
        f"{encoded({'alg': 'none'})}.e3.",
        f"{encoded({'alg': 'none'})}.{encoded(float('nan'))}.",
    ],
)
def test_a_token_that_is_no_unsecured_jwt_is_refused(token: str) -> None:
    assert server_of().evaluate(response_of(token), NOW_MS) == b'{"status":"invalid_token"}'


def test_another_scheme_closes_the_connection() -> None:
    with pytest.raises(UnusableResponse):
        server_of().evaluate(b"n,,\x01auth=Basic abc\x01\x01", NOW_MS)


@pytest.mark.parametrize("header", [{}, [], 5])
def test_a_token_without_an_algorithm_closes_the_connection(header: object) -> None:
    with pytest.raises(UnusableResponse):
        server_of().evaluate(response_of(token_of(CLAIMS, header)), NOW_MS)


def test_options_name_the_claims_and_the_skew() -> None:
    validator = UnsecuredValidator.of(
        {
            "unsecuredValidatorPrincipalClaimName": "user",
            "unsecuredValidatorScopeClaimName": "roles",
            "unsecuredValidatorRequiredScope": "read  write",
            "unsecuredValidatorAllowableClockSkewMs": "2000",
        }
    )
    claims = {"user": "bob", "iat": NOW_S + 2, "exp": NOW_S + 3, "roles": ["read", " write "]}
    assert validator.check(token_of(claims), NOW_MS) == Token("bob", (NOW_S + 3) * 1000)
    with pytest.raises(TokenRefused):
        validator.check(token_of(claims), NOW_MS - 1000)
    assert validator.check(token_of(claims), NOW_MS + 4999)
    with pytest.raises(TokenRefused):
        validator.check(token_of(claims), NOW_MS + 5000)


@pytest.mark.parametrize("scope", [{}, {"scope": "read"}, {"scope": "read write"}, {"scope": []}])
def test_a_missing_scope_is_named(scope: dict[str, Any]) -> None:
    server = server_of(UnsecuredValidator(required_scope=("read", "write")))
    refusal = server.evaluate(response_of(token_of(CLAIMS | scope)), NOW_MS)
    assert refusal == b'{"status":"insufficient_scope", "scope":"[read, write]"}'


@pytest.mark.parametrize(
    ("name", "value"),
    [("RequiredScope", 'a "b"'), ("AllowableClockSkewMs", "-1"), ("AllowableClockSkewMs", "x")],
)
def test_a_wrong_option_is_an_error(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"scope|Skew"):
        UnsecuredValidator.of({f"unsecuredValidator{name}": value})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.binary() | st.dictionaries(st.sampled_from(["sub", "exp", "iat", "scope"]), JSON))
def test_any_bytes_and_any_claims_log_in_or_fail(given: bytes | dict[str, Any]) -> None:
    server = server_of()
    response = given if isinstance(given, bytes) else response_of(token_of(given))
    try:
        server.evaluate(response, NOW_MS)
    except (AuthenticationFailed, InvalidCredentials, UnusableResponse):
        assert server.login is None
    if server.login is not None:
        assert isinstance(given, dict)
        assert given["exp"] > NOW_S
