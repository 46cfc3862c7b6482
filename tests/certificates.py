"""Certificates of the tests: an authority, a server and clients, made once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)

from ottla.security.certificates import Issued, Validity, issue, make_authority

NOW = datetime.now(UTC)
VALID = Validity.of_days(NOW, 30)
EXPIRED = Validity(NOW - timedelta(days=9), NOW - timedelta(days=2))
NOT_YET_VALID = Validity(NOW + timedelta(days=2), NOW + timedelta(days=9))
HOSTS = ("localhost", "127.0.0.1", "::1")


OURS = "test CA"


@cache
def _authority(name: str) -> Issued:
    return make_authority(name, VALID)


def authority(name: str = OURS) -> Issued:
    return _authority(name)


@cache
def server() -> Issued:
    return issue(authority(), "server", VALID, hosts=HOSTS)


@cache
def client(name: str = "alice", by: str = OURS, validity: Validity = VALID) -> Issued:
    return issue(authority(by), name, validity)


def encrypted_key_pem(issued: Issued, password: str) -> str:
    """The private key in PEM."""
    encryption = BestAvailableEncryption(password.encode())
    return issued.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()


def write_pem(path: Path, issued: Issued) -> Path:
    """A key store in PEM: the key and its certificate."""
    path.write_text(issued.key_pem + issued.pem)
    return path


def tls_settings(directory: Path, **more: str) -> dict[str, str]:
    """The settings of a broker with one SSL listener."""
    write_pem(directory / "server.pem", server())
    (directory / "ca.pem").write_text(authority().pem)
    return {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / "server.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / "ca.pem"),
        **{name.replace("_", "."): value for name, value in more.items()},
    }
