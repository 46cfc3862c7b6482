"""Key and trust stores in PEM, PKCS12 and JKS."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.security.certificates import pkcs12_key_store, pkcs12_trust_store
from ottla.security.jks import JksStore, KeyEntry, WrongStore, read_jks, write_jks
from ottla.security.key_stores import (
    certificates_of_pem,
    key_pair_of_pem,
    pem_of,
    read_key_store,
    read_trust_store,
)
from tests.certificates import authority, encrypted_key_pem, server

SALT = b"s" * 20
STORE = JksStore(
    (KeyEntry("server", server().key_der, (server().der, authority().der)),),
    (("ca", authority().der),),
)
JKS = write_jks(STORE, "secret", made_ms=1, salts=[SALT])


def test_a_jks_store_is_read_as_it_was_written() -> None:
    assert read_jks(JKS, "secret") == STORE


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_key_of_a_jks_store_becomes_pem(kind: str) -> None:
    pair = read_key_store(kind, JKS, "secret", None)
    assert pair.key == server().key_pem
    assert pair.chain == (server().der, authority().der)
    assert read_trust_store(kind, JKS, "secret") == [authority().der]


def test_a_key_of_a_pkcs12_store_becomes_pem() -> None:
    store = pkcs12_key_store(server(), authority(), "server", "secret")
    pair = read_key_store("JKS", store, "secret", None)
    assert pair.key == server().key_pem
    assert pair.chain == (server().der, authority().der)
    trusted = pkcs12_trust_store(authority(), "ca", "secret")
    assert read_trust_store("PKCS12", trusted, "secret") == [authority().der]


def test_a_key_in_pem_stays_encrypted() -> None:
    text = encrypted_key_pem(server(), "secret") + server().pem
    pair = key_pair_of_pem(text, "secret")
    assert "ENCRYPTED" in pair.key
    assert pair.key_password == "secret"
    with pytest.raises(WrongStore, match="must be set"):
        key_pair_of_pem(text, None)


def test_certificates_in_pem_may_have_other_text_around_them() -> None:
    text = f"subject=x\n{server().pem}more\n{pem_of((authority().der,))}"
    assert certificates_of_pem(text) == [server().der, authority().der]


@pytest.mark.parametrize(
    ("kind", "data", "password"),
    [
        ("JKS", JKS, "wrong"),
        ("JKS", JKS[:-30], "secret"),
        ("JKS", JKS, None),
        ("PKCS12", pkcs12_key_store(server(), authority(), "a", "secret"), "wrong"),
        ("PKCS12", pkcs12_trust_store(authority(), "a", "secret"), "secret"),
        ("PKCS12", b"nothing", "secret"),
        ("PEM", server().key_pem.encode(), None),
        ("PEM", server().pem.encode(), None),
        ("PEM", b"", None),
    ],
)
def test_a_store_without_a_usable_key_is_refused(
    kind: str, data: bytes, password: str | None
) -> None:
    with pytest.raises(WrongStore) as refused:
        read_key_store(kind, data, password, None)
    assert "secret" not in str(refused.value)
    assert "wrong" not in str(refused.value).replace("is wrong", "")


def test_the_password_of_a_key_may_be_another_one() -> None:
    with pytest.raises(WrongStore, match="password of its key"):
        read_key_store("JKS", JKS, "secret", "other")


def test_secrets_are_not_shown() -> None:
    assert "PRIVATE" not in repr(key_pair_of_pem(server().key_pem + server().pem, None))


@given(st.integers(0, len(JKS)), st.integers(0, len(JKS)), st.integers(0, 255))
def test_a_damaged_jks_store_is_refused(at: int, end: int, value: int) -> None:
    damaged = bytearray(JKS)
    damaged[at : at + 1] = bytes([value])
    for password in ("secret", None):
        with contextlib.suppress(WrongStore):
            read_jks(bytes(damaged[:end]), password, "secret")
