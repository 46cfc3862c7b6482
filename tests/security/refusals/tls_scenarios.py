"""Scenarios of TLS: certificates, versions, cipher suites, and peers that speak something else."""

from __future__ import annotations

import ssl
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from ottla.security.certificates import Issued
from tests.certificates import EXPIRED, NOT_YET_VALID, OURS, authority, client, server, write_pem
from tests.security.conversations import METADATA, versions

from .listeners import FOREIGN
from .peer import Bytes, Tls

_ALL_SUITES: Final = "ALL:@SECLEVEL=0"  # also those of versions that are no longer secure


def context(
    certificate: Callable[[], Issued] | None = None,
    version: ssl.TLSVersion | None = None,
    suites: str = "",
    trusted: str = OURS,
) -> ssl.SSLContext:
    """The TLS settings of a client.

    Args:
        certificate: makes that of the client; None for none.
        version: the only one.
        suites: of TLS 1.2, by OpenSSL's names.
        trusted: the authority of brokers.
    """
    made = ssl.create_default_context(cadata=authority(trusted).pem)
    if suites:
        made.set_ciphers(suites)
    if version is not None:
        with warnings.catch_warnings(action="ignore"):  # old versions are deprecated
            made.minimum_version = made.maximum_version = version
    if certificate is not None:
        with TemporaryDirectory(prefix="client-") as scratch:
            made.load_cert_chain(write_pem(Path(scratch) / "client.pem", certificate()))
    return made


TLS: Final = Tls(context)
_CERTIFICATES: Final[dict[str, Callable[[], Issued] | None]] = {
    "no certificate": None,
    "a good certificate": client,
    "an expired certificate": partial(client, "eve", OURS, EXPIRED),
    "a certificate of the future": partial(client, "eve", OURS, NOT_YET_VALID),
    "a foreign certificate": partial(client, "eve", FOREIGN),
    "the broker's certificate": server,
}
_VERSIONS: Final = {
    "TLS 1.0": ssl.TLSVersion.TLSv1,
    "TLS 1.1": ssl.TLSVersion.TLSv1_1,
    "TLS 1.2": ssl.TLSVersion.TLSv1_2,
    "TLS 1.3": ssl.TLSVersion.TLSv1_3,
}
_NEW: Final = ("TLS 1.2", "TLS 1.3")
Talk = Callable[[], Any]


def _asks() -> Iterator[object]:
    yield versions(3)
    yield METADATA


def _says(data: bytes) -> Talk:
    def talk() -> Iterator[object]:
        yield Bytes(data)

    return talk


def _all() -> Iterator[tuple[str, tuple[str, Talk, Tls | None]]]:
    for name, certificate in _CERTIFICATES.items():
        for new in _NEW:
            made = Tls(partial(context, certificate, _VERSIONS[new]))
            for listener in ("MUTUAL", "REQUESTED", "TLS"):
                yield f"{name} by {new} on {listener}", (listener, _asks, made)
    for name, version in _VERSIONS.items():
        old = "" if name in _NEW else _ALL_SUITES
        for listener in ("TLS", "TLS12", "TLS13", "LOGINTLS"):
            made = Tls(partial(context, None, version, old))
            yield f"{name} on {listener}", (listener, _asks, made)
    for name, suites in {
        "the suite": "ECDHE-ECDSA-AES256-GCM-SHA384",
        "another suite": "ECDHE-ECDSA-AES128-GCM-SHA256",
        "a suite of RSA keys": "ECDHE-RSA-AES256-GCM-SHA384",
    }.items():
        made = Tls(partial(context, None, ssl.TLSVersion.TLSv1_2, suites))
        for listener in ("SUITE", "TLS"):
            yield f"{name} on {listener}", (listener, _asks, made)
    yield "one suite of TLS 1.3", ("SUITE13", _asks, TLS)
    for host in ("unknown.example", "127.0.0.1"):
        yield f"the name {host}", ("TLS", _asks, Tls(partial(_without_name, host), host))
    yield "no name", ("TLS", _asks, Tls(partial(_without_name, ""), ""))
    for listener in ("EXPIRED", "FUTURE", "FOREIGN", "OTHERHOST"):
        yield f"the broker's certificate on {listener}", (listener, _asks, TLS)
    for listener in ("TLS", "LOGINTLS"):
        for name, data in _NO_TLS.items():
            yield f"{name} on {listener}", (listener, _says(data), None)
    for listener in ("PLAINTEXT", "LOGIN"):
        yield f"a client with TLS on {listener}", (listener, _asks, TLS)


def _without_name(host: str) -> ssl.SSLContext:
    """A client that takes any name in the broker's certificate."""
    made = context()
    made.check_hostname = False
    return made


_NO_TLS: Final = {
    "a request in plain text": bytes.fromhex("0000000e 0012 0000 00000007 0004 74657374"),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a record of another type": bytes.fromhex("1703030010") + bytes(16),
    "a damaged greeting": bytes.fromhex("160301000501000001") + b"\3",
    "a record of SSL 3": bytes.fromhex("1603000004") + bytes(4),
    "an alert": bytes.fromhex("15030300020228"),
    "zeros": bytes(64),
}

TLS_SCENARIOS: Final[dict[str, tuple[str, Talk, Tls | None]]] = dict(_all())
