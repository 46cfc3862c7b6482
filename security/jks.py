"""Java's key stores of type JKS: reads and writes them (sun.security.provider.JavaKeyStore).

A store has private keys with their certificates, and trusted certificates. A SHA-1 digest over
password and content protects it against changes; Java's own cipher, a SHA-1 key stream, hides the
keys. Both are weak, and both are the format. There is no I/O.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Sequence
from hashlib import sha1
from typing import Final, NamedTuple

MAGIC: Final = 0xFEEDFEED
_VERSIONS: Final = (1, 2)
_KEY, _CERTIFICATE = 1, 2
_WHITENER: Final = b"Mighty Aphrodite"
_DIGEST_BYTES: Final = 20
# AlgorithmIdentifier of 1.3.6.1.4.1.42.2.17.1.1, the cipher of the keys.
_ALGORITHM: Final = bytes.fromhex("300e060a2b060104012a021101010500")


class WrongStore(ValueError):
    """The bytes are no store, or the password is wrong; the text has no secret."""


class KeyEntry(NamedTuple):
    """A private key: its PKCS #8 in DER, and its certificates in DER, the own one first."""

    alias: str
    key: bytes
    chain: tuple[bytes, ...]


class JksStore(NamedTuple):
    """The content of a store."""

    keys: tuple[KeyEntry, ...]
    trusted: tuple[tuple[str, bytes], ...]


def is_jks(data: bytes) -> bool:
    """Whether a file begins like a JKS store."""
    return data[:4] == struct.pack(">I", MAGIC)


def read_jks(data: bytes, password: str | None, key_password: str | None = None) -> JksStore:
    """The content of a store.

    Args:
        password: of the store; None reads it unchecked, as Java does, but not its keys.
        key_password: of the keys; None for that of the store.

    Raises:
        WrongStore: it is damaged, or a password is wrong.
    """
    content, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if password is not None and not hmac.compare_digest(_digest(password, content), digest):
        raise WrongStore("the store was changed, or its password is wrong")
    try:
        return _read(content, password if key_password is None else key_password)
    except (struct.error, UnicodeDecodeError, IndexError) as wrong:
        raise WrongStore(f"the store is damaged: {wrong}") from None


def write_jks(store: JksStore, password: str, *, made_ms: int, salts: Sequence[bytes]) -> bytes:
    """The bytes of a store.

    Args:
        password: of the store and of its keys.
        made_ms: the time of its entries.
        salts: 20 random bytes for each key.
    """
    out = bytearray(struct.pack(">III", MAGIC, 2, len(store.keys) + len(store.trusted)))
    for entry, salt in zip(store.keys, salts, strict=True):
        hidden = _hidden(entry.key, password, salt)
        out += struct.pack(">I", _KEY) + _text(entry.alias) + struct.pack(">Q", made_ms)
        out += struct.pack(">I", len(hidden)) + hidden
        out += struct.pack(">I", len(entry.chain))
        for certificate in entry.chain:
            out += _text("X.509") + struct.pack(">I", len(certificate)) + certificate
    for alias, certificate in store.trusted:
        out += struct.pack(">I", _CERTIFICATE) + _text(alias) + struct.pack(">Q", made_ms)
        out += _text("X.509") + struct.pack(">I", len(certificate)) + certificate
    return bytes(out) + _digest(password, bytes(out))


class _Reader:
    """Reads numbers, texts and bytes one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, form: str = ">I") -> int:
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return int(value)

    def take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise IndexError("it is cut")
        self._at += size
        return taken

    def text(self) -> str:
        return self.take(self.number(">H")).decode()

    def certificate(self, version: int) -> bytes:
        if version > 1:
            self.text()
        return self.take(self.number())


def _read(content: bytes, key_password: str | None) -> JksStore:
    reader = _Reader(content)
    if reader.number() != MAGIC:
        raise WrongStore("it is no JKS store")
    version = reader.number()
    if version not in _VERSIONS:
        raise WrongStore(f"a JKS store of version {version} is not known")
    keys: list[KeyEntry] = []
    trusted: list[tuple[str, bytes]] = []
    for _ in range(reader.number()):
        kind, alias = reader.number(), reader.text()
        reader.number(">Q")
        if kind == _CERTIFICATE:
            trusted.append((alias, reader.certificate(version)))
        elif kind == _KEY:
            hidden = reader.take(reader.number())
            chain = tuple(reader.certificate(version) for _ in range(reader.number()))
            if key_password is not None:
                keys.append(KeyEntry(alias, _shown(hidden, key_password), chain))
        else:
            raise WrongStore(f"an entry of kind {kind} is not known")
    return JksStore(tuple(keys), tuple(trusted))


def _digest(password: str, content: bytes) -> bytes:
    return sha1(password.encode("utf-16-be") + _WHITENER + content).digest()


def _stream(password: bytes, salt: bytes, size: int) -> bytes:
    made, last = bytearray(), salt
    while len(made) < size:
        last = sha1(password + last).digest()
        made += last
    return bytes(made[:size])


def _xor(left: bytes, right: bytes) -> bytes:
    size = len(left)
    return (int.from_bytes(left, "big") ^ int.from_bytes(right, "big")).to_bytes(size, "big")


def _shown(hidden: bytes, password: str) -> bytes:
    """The key of an EncryptedPrivateKeyInfo."""
    start = hidden.find(_ALGORITHM)
    if start < 0:
        raise WrongStore("its key is encrypted in a way that is not known")
    _, size_bytes = _length(hidden, start + len(_ALGORITHM))
    protected = hidden[-size_bytes:] if size_bytes else b""
    salt, secret, check = (
        protected[:_DIGEST_BYTES],
        protected[_DIGEST_BYTES:-_DIGEST_BYTES],
        protected[-_DIGEST_BYTES:],
    )
    word = password.encode("utf-16-be")
    key = _xor(secret, _stream(word, salt, len(secret)))
    if not hmac.compare_digest(sha1(word + key).digest(), check):
        raise WrongStore("the password of its key is wrong")
    return key


def _hidden(key: bytes, password: str, salt: bytes) -> bytes:
    word = password.encode("utf-16-be")
    secret = _xor(key, _stream(word, salt, len(key)))
    protected = salt + secret + sha1(word + key).digest()
    inner = _ALGORITHM + b"\x04" + _der_length(len(protected)) + protected
    return b"\x30" + _der_length(len(inner)) + inner


def _length(data: bytes, at: int) -> tuple[int, int]:
    """The start and size of the content of the DER value at a position."""
    first = data[at + 1]
    if first < 0x80:
        return at + 2, first
    count = first & 0x7F
    return at + 2 + count, int.from_bytes(data[at + 2 : at + 2 + count], "big")


def _der_length(size: int) -> bytes:
    if size < 0x80:
        return bytes([size])
    encoded = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([0x80 | len(encoded)]) + encoded


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded
