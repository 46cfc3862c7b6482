"""The security of a client by its properties: the names of Java clients, and those of librdkafka.

security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=...ScramLoginModule required username="alice" password="secret";
ssl.truststore.location=truststore.p12
ssl.truststore.password=changeit

For librdkafka the last three are sasl.username, sasl.password and ssl.ca.location.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ..security.jaas import BadJaas, parse_jaas
from ..security.key_stores import (
    KeyPair,
    certificates_of_pem,
    key_pair_of_pem,
    pem_of,
    read_key_store,
    read_trust_store,
)
from .security import MECHANISMS, UNSECURED, ClientSecurity

if TYPE_CHECKING:
    from ssl import SSLContext

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_TRUST: Final = "ssl.truststore."
_KEY: Final = "ssl.keystore."
READ: Final = frozenset(
    {
        *("security.protocol", "sasl.mechanism", "sasl.mechanisms", "sasl.jaas.config"),
        *("sasl.username", "sasl.password", "ssl.endpoint.identification.algorithm"),
        *("enable.ssl.certificate.verification", "ssl.key.password"),
        *(_TRUST + each for each in ("location", "certificates", "type", "password")),
        *(_KEY + each for each in ("location", "key", "certificate.chain", "type", "password")),
        *(f"ssl.{each}.location" for each in ("ca", "key", "certificate")),
        *(f"ssl.{each}.pem" for each in ("ca", "key", "certificate")),
    }
)
"""The properties that `ClientProperties` reads."""


class TlsOfClient(NamedTuple):
    """What a client trusts, and how it identifies itself.

    Attributes:
        trusted: certificates in DER; None for those of the system.
        pair: None for a client without a certificate.
        verifies: false for a client that trusts every broker.
        checks_host_name: of the broker's certificate.
    """

    trusted: tuple[bytes, ...] | None
    pair: KeyPair | None
    verifies: bool
    checks_host_name: bool

    def context(self) -> SSLContext:
        """A context of Python's `ssl`. Raises ssl.SSLError."""
        import ssl

        from ..security.key_files import load_key_pair

        trusted = None if self.trusted is None else pem_of(self.trusted)
        made = ssl.create_default_context(cadata=trusted)
        if self.pair is not None:
            load_key_pair(made, self.pair)
        made.check_hostname = self.checks_host_name and self.verifies
        if not self.verifies:
            made.verify_mode = ssl.CERT_NONE
        return made


class ClientProperties(NamedTuple):
    """The properties of a client that secure its connections; the password is not shown.

    Attributes:
        protocol: security.protocol.
        tls: None without TLS.
        login: name and password; None without logins.
        mechanism: of the login.
    """

    protocol: str
    tls: TlsOfClient | None
    login: tuple[str, str] | None
    mechanism: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.protocol!r}, mechanism={self.mechanism!r})"

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> ClientProperties:
        """Read the properties, and the files that they name.

        Raises:
            ValueError: a property is wrong or missing, or a store cannot be read; without secrets.
        """
        protocol = properties.get("security.protocol", "PLAINTEXT").upper()
        if protocol not in _PROTOCOLS:
            raise ValueError(f"security.protocol={protocol} must be one of {', '.join(_PROTOCOLS)}")
        tls = _tls(properties) if protocol.endswith("SSL") else None
        if not protocol.startswith("SASL_"):
            return cls(protocol, tls, None, "PLAIN")
        name = "sasl.mechanisms" if "sasl.mechanisms" in properties else "sasl.mechanism"
        mechanism = properties.get(name, "GSSAPI")
        if mechanism not in MECHANISMS:
            raise ValueError(f"{name}={mechanism} must be one of {', '.join(MECHANISMS)}")
        return cls(protocol, tls, _login(properties), mechanism)

    def security(self) -> ClientSecurity:
        """The security of connections. Raises ValueError: a key or certificate cannot be used."""
        if self.protocol == "PLAINTEXT":
            return UNSECURED
        try:
            context = None if self.tls is None else self.tls.context()
        except OSError as wrong:  # ssl.SSLError, too
            raise _unusable(wrong) from None
        return ClientSecurity(context, self.login, self.mechanism)


def security_of(properties: Mapping[str, str]) -> ClientSecurity:
    """The security of connections.

    Raises:
        ValueError: a property is wrong or missing, or a store cannot be read; without secrets.
    """
    return ClientProperties.of(properties).security()


def _unusable(wrong: Exception) -> ValueError:
    return ValueError(f"a key store or trust store cannot be used: {wrong}")


def _login(properties: Mapping[str, str]) -> tuple[str, str]:
    line = properties.get("sasl.jaas.config")
    if line is None:
        if "sasl.username" in properties and "sasl.password" in properties:
            return properties["sasl.username"], properties["sasl.password"]
        raise ValueError("sasl.jaas.config is missing")
    try:
        options = parse_jaas(line).options
    except BadJaas as wrong:
        raise ValueError(f"sasl.jaas.config: {wrong}") from None
    if "username" not in options or "password" not in options:
        raise ValueError("sasl.jaas.config has no username or no password")
    return options["username"], options["password"]


def _tls(properties: Mapping[str, str]) -> TlsOfClient:
    algorithm = properties.get("ssl.endpoint.identification.algorithm", "https")
    return TlsOfClient(
        _trusted(properties),
        _pair(properties),
        properties.get("enable.ssl.certificate.verification", "true").lower() != "false",
        algorithm.lower() not in ("", "none"),
    )


def _trusted(properties: Mapping[str, str]) -> tuple[bytes, ...] | None:
    """The certificates in DER; None for those of the system. Raises ValueError."""
    name = _first(properties, f"{_TRUST}location", f"{_TRUST}certificates", *_pem_of("ssl.ca"))
    if name is None:
        return None
    with _naming(properties, name):
        if name == f"{_TRUST}location":
            return tuple(read_trust_store(*_store(properties, _TRUST)))
        return tuple(certificates_of_pem(_text(properties, name)))


def _pair(properties: Mapping[str, str]) -> KeyPair | None:
    """The key of the client, if it has one. Raises ValueError."""
    key_password = properties.get("ssl.key.password")
    name = _first(properties, f"{_KEY}location", f"{_KEY}key", *_pem_of("ssl.key"))
    if name is None:
        return None
    chain = properties.get(f"{_KEY}certificate.chain", "")
    if name in _pem_of("ssl.key"):
        chain = ""
        if certificate := _first(properties, *_pem_of("ssl.certificate")):
            with _naming(properties, certificate):
                chain = _text(properties, certificate)
    with _naming(properties, name):
        if name == f"{_KEY}location":
            kind, data, password = _store(properties, _KEY)
            return read_key_store(kind, data, password, key_password)
        return key_pair_of_pem(_text(properties, name), key_password, chain)


def _pem_of(name: str) -> tuple[str, str]:
    """The properties of librdkafka for a PEM: its file, or the text itself."""
    return f"{name}.location", f"{name}.pem"


def _first(properties: Mapping[str, str], *names: str) -> str | None:
    return next((name for name in names if name in properties), None)


def _text(properties: Mapping[str, str], name: str) -> str:
    """The PEM of NAME.location or NAME.pem. Raises OSError."""
    value = properties[name]
    return Path(value).read_text() if name.endswith(".location") else value


def _store(properties: Mapping[str, str], prefix: str) -> tuple[str, bytes, str | None]:
    """Type, content and password of a store. Raises OSError."""
    kind = properties.get(f"{prefix}type", "JKS").upper()
    data = Path(properties[f"{prefix}location"]).read_bytes()
    return kind, data, properties.get(f"{prefix}password")


@contextmanager
def _naming(properties: Mapping[str, str], name: str) -> Iterator[None]:
    """Raise a ValueError with a property, and the file that it names, for errors of the body."""
    try:
        yield
    except (OSError, ValueError) as wrong:
        file = f"={properties[name]}" if name.endswith(".location") else ""
        why = getattr(wrong, "strerror", None) or wrong
        raise ValueError(f"{name}{file} cannot be used: {why}") from None
