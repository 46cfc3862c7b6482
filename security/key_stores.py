"""Key and trust stores: from the bytes of PEM, PKCS12 and JKS files to certificates and keys.

PEM and JKS need no library. PKCS12 is read by `cryptography`, which is imported then. There is no
I/O.
"""

from __future__ import annotations

import base64
import re
from typing import Final, NamedTuple

from .jks import JksStore, WrongStore, is_jks, read_jks

PEM, PKCS12, JKS = "PEM", "PKCS12", "JKS"
TYPES: Final = (JKS, PKCS12, PEM)
NEEDS_LIBRARY: Final = "PKCS12 stores need the library `cryptography`: pip install 'ottla[tls]'"

_CERTIFICATE: Final = r"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----"
_KEY: Final = r"-----BEGIN ([A-Z ]*)PRIVATE KEY-----[^-]+-----END \1PRIVATE KEY-----"


class KeyPair(NamedTuple):
    """A private key with its certificates.

    Attributes:
        key: in PEM, perhaps encrypted.
        key_password: of the key in `key`; None if it is not encrypted.
        chain: certificates in DER, the own one first.
    """

    key: str
    key_password: str | None
    chain: tuple[bytes, ...]

    def __repr__(self) -> str:
        return f"KeyPair({len(self.chain)} certificates)"


def read_key_store(
    kind: str, data: bytes, password: str | None, key_password: str | None
) -> KeyPair:
    """The first private key of a key store, with its certificates.

    Args:
        kind: ssl.keystore.type. As in Java, JKS and PKCS12 both read a store of the other type.
        password: of the store.
        key_password: of the key; None for that of the store.

    Raises:
        WrongStore: it cannot be read or has no key; the text has no secret.
    """
    if kind == PEM:
        return key_pair_of_pem(data.decode("utf-8", "replace"), key_password)
    if is_jks(data):
        store = read_jks(data, password, key_password)
        if not store.keys:
            raise WrongStore("the store has no private key")
        entry = store.keys[0]
        return KeyPair(_pem("PRIVATE KEY", entry.key), None, entry.chain)
    return _key_pair_of_pkcs12(data, password)


def read_trust_store(kind: str, data: bytes, password: str | None) -> list[bytes]:
    """The certificates of a trust store, in DER.

    Raises:
        WrongStore: it cannot be read or has no certificate.
    """
    if kind == PEM:
        found = certificates_of_pem(data.decode("utf-8", "replace"))
    elif is_jks(data):
        found = _certificates_of(read_jks(data, password))
    else:
        found = _certificates_of_pkcs12(data, password)
    if not found:
        raise WrongStore("the store has no certificate")
    return found


def key_pair_of_pem(text: str, key_password: str | None, chain: str | None = None) -> KeyPair:
    """The private key and the certificates of a PEM text.

    Args:
        chain: the text of the certificates; None if `text` has them, too.

    Raises:
        WrongStore: one of them is missing.
    """
    key = re.search(_KEY, text)
    if key is None:
        raise WrongStore("it has no private key in PEM")
    certificates = certificates_of_pem(text if chain is None else chain)
    if not certificates:
        raise WrongStore("it has no certificate in PEM")
    is_encrypted = key[1] == "ENCRYPTED " or "ENCRYPTED" in key[0]
    if is_encrypted and not key_password:
        raise WrongStore("its private key is encrypted: ssl.key.password must be set")
    return KeyPair(key[0] + "\n", key_password if is_encrypted else None, tuple(certificates))


def certificates_of_pem(text: str) -> list[bytes]:
    """The certificates of a PEM text, in DER.

    Raises:
        WrongStore: one is no Base64.
    """
    found = []
    for block in re.findall(_CERTIFICATE, text):
        lines = "".join(block.split("-----")[2].split())
        try:
            found.append(base64.b64decode(lines, validate=True))
        except ValueError:
            raise WrongStore("a certificate in PEM is damaged") from None
    return found


def pem_of(certificates: tuple[bytes, ...]) -> str:
    """Certificates as PEM."""
    return "".join(_pem("CERTIFICATE", each) for each in certificates)


def _pem(kind: str, data: bytes) -> str:
    text = base64.b64encode(data).decode()
    lines = "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----\n"


def _certificates_of(store: JksStore) -> list[bytes]:
    return [certificate for _, certificate in store.trusted]


def _key_pair_of_pkcs12(data: bytes, password: str | None) -> KeyPair:
    try:
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
            pkcs12,
        )
    except ImportError:
        raise WrongStore(NEEDS_LIBRARY) from None
    try:
        key, certificate, others = pkcs12.load_key_and_certificates(data, _encoded(password))
    except (ValueError, TypeError):
        raise WrongStore("it is no PKCS12 store, or its password is wrong") from None
    if key is None or certificate is None:
        raise WrongStore("the store has no private key")
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    chain = [each.public_bytes(Encoding.DER) for each in (certificate, *others)]
    return KeyPair(pem, None, tuple(chain))


def _certificates_of_pkcs12(data: bytes, password: str | None) -> list[bytes]:
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, pkcs12
    except ImportError:
        raise WrongStore(NEEDS_LIBRARY) from None
    try:
        _, _, found = pkcs12.load_key_and_certificates(data, _encoded(password))
    except (ValueError, TypeError):
        raise WrongStore("it is no PKCS12 store, or its password is wrong") from None
    return [each.public_bytes(Encoding.DER) for each in found]


def _encoded(password: str | None) -> bytes | None:
    return None if password is None else password.encode()
