"""PLAIN: name and password in one message (RFC 4616)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.security.outcomes import AuthenticationFailed, Login
from ottla.security.plain import PlainServer

OPTIONS = {"username": "admin", "password": "x", "user_alice": "secret", "user_": "y"}


@pytest.mark.parametrize("response", [b"\0alice\0secret", b"alice\0alice\0secret"])
def test_the_right_password_logs_in(response: bytes) -> None:
    server = PlainServer(OPTIONS)
    assert server.evaluate(response, 0) == b""
    assert server.login == Login("alice")


@pytest.mark.parametrize(
    ("response", "why"),
    [
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0bob\0secret", "Authentication failed: Invalid username or password"),
        (b"\0admin\0x", "Authentication failed: Invalid username or password"),
        (b"\0\0y", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"alice\0secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0a\0b\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0" * 9, "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (
            b"bob\0alice\0secret",
            "Authentication failed: Client requested an authorization id that is different "
            "from username",
        ),
    ],
)
def test_a_wrong_response_gets_the_error_of_kafka(response: bytes, why: str) -> None:
    server = PlainServer(OPTIONS)
    with pytest.raises(AuthenticationFailed) as raised:
        server.evaluate(response, 0)
    assert str(raised.value) == why
    assert server.login is None


@given(st.binary())
def test_any_bytes_log_in_the_user_or_fail(response: bytes) -> None:
    server = PlainServer(OPTIONS)
    try:
        server.evaluate(response, 0)
    except AuthenticationFailed:
        assert server.login is None
    else:
        assert response.endswith(b"\0alice\0secret")
