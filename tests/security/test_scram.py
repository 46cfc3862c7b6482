"""SCRAM, the server's side: the vectors of RFC 7677, wrong proofs, delegation tokens."""

from __future__ import annotations

import contextlib
from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.metadata.scram import ScramCredential
from ottla.security.outcomes import (
    AuthenticationFailed,
    InvalidCredentials,
    Login,
    UnusableResponse,
)
from ottla.security.scram import NUMBERS, Credentials, ScramServer, TokenCredential, nonce_of

from .scram_client import ScramClient, credential_of

MECHANISMS = sorted(NUMBERS)
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
TOKEN = TokenCredential("owner", credential_of("SCRAM-SHA-256", "hmac"), 1234)


def server_of(
    users: dict[str, ScramCredential], mechanism: str = "SCRAM-SHA-256", nonce: str = SERVER_NONCE
) -> ScramServer:
    def of_user(name: str, number: int) -> ScramCredential | None:
        assert number == NUMBERS[mechanism]
        return users.get(name)

    def of_token(token_id: str, number: int) -> TokenCredential | None:
        return TOKEN if token_id == "id" else None

    return ScramServer(mechanism, Credentials(of_user, of_token), nonce)


def test_the_example_of_rfc_7677() -> None:
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    server = server_of({"user": credential_of("SCRAM-SHA-256", "pencil", salt)})
    first = server.evaluate(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", 0)
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert first == f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    final = server.evaluate(f"c=biws,r={nonce},p={proof}".encode(), 0)
    assert final == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert server.login == Login("user")


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", ["alice", "a=b,c", "=2C", "=3D2C", "mü"])
def test_the_right_password_logs_in(mechanism: str, name: str) -> None:
    server = server_of({name: credential_of(mechanism, "secret", b"s", 8192)}, mechanism)
    client = ScramClient(mechanism, name, "secret")
    if not name.isascii():  # Kafka's pattern has no other characters
        with pytest.raises(InvalidCredentials):
            server.evaluate(client.first(), 0)
        return
    final = server.evaluate(client.final(server.evaluate(client.first(), 0)), 0)
    assert final == client.signature
    assert server.login == Login(name)


def test_a_wrong_password_and_an_unknown_user_fail() -> None:
    server = server_of({"alice": credential_of("SCRAM-SHA-256", "secret")})
    client = ScramClient("SCRAM-SHA-256", "alice", "Secret")
    challenge = server.evaluate(client.first(), 0)
    with pytest.raises(InvalidCredentials):
        server.evaluate(client.final(challenge), 0)
    assert server.login is None
    with pytest.raises(InvalidCredentials):
        server_of({}).evaluate(client.first(), 0)


def test_few_iterations_fail() -> None:
    server = server_of({"alice": credential_of("SCRAM-SHA-256", "secret", b"s", 4095)})
    with pytest.raises(InvalidCredentials):
        server.evaluate(ScramClient("SCRAM-SHA-256", "alice", "secret").first(), 0)


def test_another_authorization_id_fails_with_a_text_for_the_client() -> None:
    server = server_of({"alice": credential_of("SCRAM-SHA-256", "secret")})
    with pytest.raises(AuthenticationFailed, match="different from username"):
        server.evaluate(b"n,a=bob,n=alice,r=x", 0)


@pytest.mark.parametrize("value", ["true", "TRUE", "false"])
def test_the_extension_tokenauth_logs_in_the_owner_of_a_token(value: str) -> None:
    server = server_of({"id": credential_of("SCRAM-SHA-256", "other")})
    client = ScramClient("SCRAM-SHA-256", "id", "hmac", extensions=f",tokenauth={value}")
    final = client.final(server.evaluate(client.first(), 0))
    if value == "false":
        with pytest.raises(InvalidCredentials):
            server.evaluate(final, 0)
        return
    assert server.evaluate(final, 0) == client.signature
    assert server.login == Login("owner", 1234, is_token=True)


def test_an_unknown_token_fails() -> None:
    with pytest.raises(InvalidCredentials):
        server_of({"alice": TOKEN.credential}).evaluate(b"n,,n=alice,r=x,tokenauth=true", 0)


@pytest.mark.parametrize("final", ["c=biws,r={nonce},p=", "c=biws,r={nonce},p=AAAA"])
def test_a_proof_of_another_length_closes_the_connection(final: str) -> None:
    server = server_of({"alice": credential_of("SCRAM-SHA-256", "secret")})
    challenge = server.evaluate(b"n,,n=alice,r=x", 0).decode()
    nonce = challenge.partition(",")[0].removeprefix("r=")
    with pytest.raises(UnusableResponse):
        server.evaluate(final.format(nonce=nonce).encode(), 0)


@pytest.mark.parametrize(
    "final", [b"", b"c=biws,r=x,p=AAAA", b"c=biws,r=x", b"c=b,r=x,p=AAAA", b"\xff"]
)
def test_a_malformed_final_message_fails(final: bytes) -> None:
    server = server_of({"alice": credential_of("SCRAM-SHA-256", "secret")})
    server.evaluate(b"n,,n=alice,r=x", 0)
    with pytest.raises(InvalidCredentials):
        server.evaluate(final, 0)


@pytest.mark.parametrize(
    "first",
    [b"", b"n=alice,r=x", b"y,,n=alice,r=x", b"p=tls-unique,,n=alice,r=x", b"n,,n=a=b,r=x",
     b"n,,n=alice,r=", b"n,,n=,r=x", b"n,,r=x,n=alice"],
)  # fmt: skip
def test_a_malformed_first_message_fails(first: bytes) -> None:
    with pytest.raises(InvalidCredentials):
        server_of({}).evaluate(first, 0)


@given(st.lists(st.binary() | st.sampled_from([b"n,,n=alice,r=x", b"c=biws,r=x,p=AAAA"])))
def test_no_bytes_log_in_without_the_password(responses: list[bytes]) -> None:
    server = server_of({"alice": credential_of("SCRAM-SHA-256", "secret")})
    for response in responses:
        with contextlib.suppress(AuthenticationFailed, InvalidCredentials, UnusableResponse):
            server.evaluate(response, 0)
        assert server.login is None


def test_a_nonce_has_130_random_bits_in_base_36() -> None:
    asked: list[int] = []

    def all_ones(bits: int) -> int:
        asked.append(bits)
        return (1 << bits) - 1

    nonce = nonce_of(all_ones)
    assert asked == [130]
    assert int(nonce, 36) == (1 << 130) - 1
    assert nonce_of(lambda bits: 0) == "0"


def test_a_credential_does_not_show_its_keys() -> None:
    credential = ScramCredential(b"thesalt", b"storedkey", b"serverkey", 4096)
    shown = f"{credential!r} {TOKEN._replace(credential=credential)!r}"
    assert "4096" in shown
    assert not any(secret in shown for secret in ("thesalt", "storedkey", "serverkey"))
