"""Writes throw-away certificates as files that brokers and clients read: PEM, PKCS12 and JKS.

An authority, one server, and a client for each name. The keys are not protected beyond the
permissions of the files, so they are for tests and trials.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ..security.jks import JksStore, KeyEntry, write_jks
from ..storage.disk.files import RealFiles, write_atomically

if TYPE_CHECKING:
    from ..security.certificates import Issued

PASSWORD: Final = "changeit"
HOSTS: Final = ("localhost", "127.0.0.1", "::1")
DAYS: Final = 365
AUTHORITY: Final = "ca"
SERVER: Final = "server"
MISSING: Final = "`cryptography` is not installed: pip install 'ottla[tls]'"


class Names(NamedTuple):
    """Names in the certificates.

    Attributes:
        hosts: names and addresses of the server.
        clients: common names of the clients.
    """

    hosts: tuple[str, ...] = HOSTS
    clients: tuple[str, ...] = ("client",)


def write_certificates(
    directory: Path, names: Names, *, password: str = PASSWORD, days: int = DAYS
) -> list[Path]:
    """Write new certificates into a directory, which is made for this user alone.

    Args:
        password: of the PKCS12 and JKS stores; keys in PEM have none.
        days: the time in which they are valid.

    Returns:
        The files.

    Raises:
        ImportError: `cryptography` is not installed.
        OSError: the directory cannot be written to.
    """
    from ..security.certificates import Validity, issue, make_authority

    RealFiles().make_directory(str(directory))
    validity = Validity.of_days(datetime.now(UTC), days)
    authority = make_authority("Ottla test CA", validity)
    made = [_written(directory / f"{AUTHORITY}.pem", authority.pem.encode(), is_secret=False)]
    made += _trust_stores(directory, authority, password)
    server = issue(authority, SERVER, validity, hosts=names.hosts)
    made += _key_stores(directory / SERVER, server, authority, password)
    for name in names.clients:
        client = issue(authority, name, validity)
        made += _key_stores(directory / name, client, authority, password)
    return made


def server_settings(directory: Path) -> dict[str, str]:
    """The settings of a broker with these certificates, which trusts clients of the authority."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / f"{SERVER}.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / f"{AUTHORITY}.pem"),
    }


def is_file_name(name: str) -> bool:
    """Whether the name of a client may name its files."""
    return bool(name) and not set(name) & set("/\\\0") and name not in (".", "..", "ca", "server")


def _trust_stores(directory: Path, authority: Issued, password: str) -> list[Path]:
    from ..security.certificates import pkcs12_trust_store

    jks = JksStore((), ((AUTHORITY, authority.der),))
    return [
        _written(directory / "truststore.p12", pkcs12_trust_store(authority, AUTHORITY, password)),
        _written(directory / "truststore.jks", _jks(jks, password, [])),
    ]


def _key_stores(path: Path, issued: Issued, authority: Issued, password: str) -> list[Path]:
    """Stores of a key with its certificates; `path` is without a suffix."""
    from ..security.certificates import pkcs12_key_store

    alias, chain = path.name, (issued.der, authority.der)
    jks = JksStore((KeyEntry(alias, issued.key_der, chain),), ())
    pem = issued.key_pem + issued.pem + authority.pem
    return [
        _written(path.with_name(f"{alias}.pem"), pem.encode()),
        _written(
            path.with_name(f"{alias}.p12"), pkcs12_key_store(issued, authority, alias, password)
        ),
        _written(path.with_name(f"{alias}.jks"), _jks(jks, password, [secrets.token_bytes(20)])),
    ]


def _jks(store: JksStore, password: str, salts: Sequence[bytes]) -> bytes:
    made_ms = int(datetime.now(UTC).timestamp() * 1000)
    return write_jks(store, password, made_ms=made_ms, salts=salts)


def _written(path: Path, data: bytes, *, is_secret: bool = True) -> Path:
    """Replace a file at once, so that a running broker never reads half of it."""
    write_atomically(RealFiles(), str(path), data)
    if not is_secret:
        path.chmod(0o644)
    return path
