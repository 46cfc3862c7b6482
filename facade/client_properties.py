"""The security in the properties of a Kafka client, as in the file of `--command-config`.

security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=...ScramLoginModule required username="alice" password="secret";
ssl.truststore.location=truststore.p12
ssl.truststore.password=changeit
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.client_security import MECHANISMS, UNSECURED, ClientSecurity

if TYPE_CHECKING:
    from ssl import SSLContext

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_TRUST: Final = "ssl.truststore."
_KEY: Final = "ssl.keystore."


def security_of(properties: Mapping[str, str]) -> ClientSecurity:
    """The security of connections.

    Raises:
        ValueError: a property is wrong or missing, or a store cannot be read; without secrets.
    """
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise ValueError(f"security.protocol={protocol} must be one of {', '.join(_PROTOCOLS)}")
    if protocol == "PLAINTEXT":
        return UNSECURED
    tls = _tls(properties) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL_"):
        return ClientSecurity(tls)
    mechanism = properties.get("sasl.mechanism", "GSSAPI")
    if mechanism not in MECHANISMS:
        raise ValueError(f"sasl.mechanism={mechanism} must be one of {', '.join(MECHANISMS)}")
    return ClientSecurity(tls, _login(properties), mechanism)


def _login(properties: Mapping[str, str]) -> tuple[str, str]:
    from ottla.security.jaas import BadJaas, parse_jaas

    line = properties.get("sasl.jaas.config")
    if line is None:
        raise ValueError("sasl.jaas.config is missing")
    try:
        options = parse_jaas(line).options
    except BadJaas as wrong:
        raise ValueError(f"sasl.jaas.config: {wrong}") from None
    if "username" not in options or "password" not in options:
        raise ValueError("sasl.jaas.config has no username or no password")
    return options["username"], options["password"]


def _tls(properties: Mapping[str, str]) -> SSLContext:
    import ssl

    from ottla.broker.settings.tls import load_key_pair
    from ottla.security.key_stores import (
        certificates_of_pem,
        key_pair_of_pem,
        pem_of,
        read_key_store,
        read_trust_store,
    )

    made = ssl.create_default_context()
    key_password = properties.get("ssl.key.password")
    try:
        trusted: list[bytes] | None = None
        if f"{_TRUST}location" in properties:
            trusted = read_trust_store(*_store(properties, _TRUST))
        elif f"{_TRUST}certificates" in properties:
            trusted = certificates_of_pem(properties[f"{_TRUST}certificates"])
        if trusted is not None:
            made = ssl.create_default_context(cadata=pem_of(tuple(trusted)))
        pair = None
        if f"{_KEY}location" in properties:
            kind, data, password = _store(properties, _KEY)
            pair = read_key_store(kind, data, password, key_password)
        elif f"{_KEY}key" in properties:
            chain = properties.get(f"{_KEY}certificate.chain", "")
            pair = key_pair_of_pem(properties[f"{_KEY}key"], key_password, chain)
        if pair is not None:
            load_key_pair(made, pair)
    except OSError as wrong:  # ssl.SSLError, too
        raise ValueError(f"a key store or trust store cannot be used: {wrong}") from None
    made.check_hostname = bool(properties.get("ssl.endpoint.identification.algorithm", "https"))
    return made


def _store(properties: Mapping[str, str], prefix: str) -> tuple[str, bytes, str | None]:
    """Type, content and password of a store. Raises OSError."""
    kind = properties.get(f"{prefix}type", "JKS").upper()
    data = Path(properties[f"{prefix}location"]).read_bytes()
    return kind, data, properties.get(f"{prefix}password")
