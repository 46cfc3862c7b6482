"""The client's side of SCRAM: it proves the password, and checks that the server knows it."""

from __future__ import annotations

import pytest

from ottla.security.scram_client import ScramClient, ScramRefused

# The example of RFC 7677, section 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
CHALLENGE = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
ANSWER = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def client() -> ScramClient:
    return ScramClient("SCRAM-SHA-256", ("user", "pencil"), NONCE)


def test_the_messages_are_those_of_the_rfc() -> None:
    it = client()
    assert it.first() == b"n,,n=user,r=" + NONCE.encode()
    assert it.final(CHALLENGE) == FINAL
    it.check(ANSWER)


def test_a_server_without_the_credential_is_refused() -> None:
    it = client()
    it.final(CHALLENGE)
    for answer in (ANSWER.replace(b"6", b"7"), b"", b"e=other-error"):
        with pytest.raises(ScramRefused, match="signature is wrong"):
            it.check(answer)


@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        (CHALLENGE.replace(b"r=r", b"r=x"), "first SCRAM message"),
        (CHALLENGE.replace(b"4096", b"1"), "asks for 1 iterations"),
        (CHALLENGE.replace(b"4096", b"99999999"), "asks for 99999999 iterations"),
        (CHALLENGE.replace(b"W22", b"!22"), "salt is wrong"),
        (b"\xff", "first SCRAM message"),
    ],
)
def test_a_wrong_challenge_is_refused(challenge: bytes, why: str) -> None:
    with pytest.raises(ScramRefused, match=why):
        client().final(challenge)


def test_a_name_with_separators_is_escaped() -> None:
    it = ScramClient("SCRAM-SHA-512", ("a=b,c", "p"), "n")
    assert it.first() == b"n,,n=a=3Db=2Cc,r=n"
