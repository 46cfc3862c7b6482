"""TLS by the settings ssl.* of a listener: from files and texts to a context of Python's `ssl`.

Imported with the first listener that has TLS.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast

from ...security.distinguished_names import alternative_names_of, subject_of
from ...security.jks import WrongStore
from ...security.key_files import load_key_pair
from ...security.key_stores import (
    PEM,
    TYPES,
    KeyPair,
    certificates_of_pem,
    key_pair_of_pem,
    read_key_store,
    read_trust_store,
)
from ...security.principal_mapping import PrincipalMapping
from .cipher_suites import openssl_names, versions_of
from .config import BrokerConfig
from .definitions import BadSetting
from .listeners import SecurityProtocol, prefix_of

_Read = TypeVar("_Read")
_Made = TypeVar("_Made")
_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_NAMES: Final = (
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.cipher.suites",
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.key.password",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.certificates",
    "ssl.principal.mapping.rules",
)


class TlsSettings(NamedTuple):
    """The settings ssl.* of one listener; the passwords are not shown."""

    client_auth: str
    enabled_protocols: tuple[str, ...]
    cipher_suites: tuple[str, ...]
    keystore_type: str
    keystore_location: str | None
    keystore_password: str | None
    keystore_key: str | None
    keystore_certificate_chain: str | None
    key_password: str | None
    truststore_type: str
    truststore_location: str | None
    truststore_password: str | None
    truststore_certificates: str | None
    principal_mapping_rules: str

    def __repr__(self) -> str:
        return f"TlsSettings({self.keystore_location!r}, {self.truststore_location!r})"

    def files(self) -> tuple[tuple[int, int, int] | None, ...]:
        """Time, size and inode of each file, which change with its content."""
        return tuple(_stamp(path) for path in (self.keystore_location, self.truststore_location))


def tls_settings(config: BrokerConfig, listener: str, protocol: SecurityProtocol) -> TlsSettings:
    """The settings of a listener, with their fallbacks.

    Raises:
        BadSetting: Ottla or Python's ssl does not support one of them.
    """
    values = {
        field: config.of_listener(listener, name)
        for field, name in zip(TlsSettings._fields, _NAMES, strict=True)
    }
    own_auth = prefix_of(listener) + "ssl.client.auth"
    if protocol is SecurityProtocol.SASL_SSL and not config.is_given(own_auth):
        values["client_auth"] = "none"  # as in Kafka: the setting of all listeners is for SSL
    for field in ("keystore_type", "truststore_type"):
        kind = str(values[field]).upper()
        if kind not in TYPES:
            name = "ssl." + field.replace("_", ".")
            raise BadSetting(name, str(values[field]), f"must be one of {', '.join(TYPES)}")
        values[field] = kind
    empty_is_none = {field: None if value == "" else value for field, value in values.items()}
    return TlsSettings(**cast("dict[str, Any]", empty_is_none))  # Any: each field has its own type


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """A context for a listener.

    Raises:
        WrongStore, OSError, ValueError: a store cannot be read, or a setting cannot be used.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version, made.maximum_version = versions_of(
        settings.enabled_protocols, settings.cipher_suites
    )
    suites = openssl_names(settings.cipher_suites)
    older = [name for name in suites if not name.startswith("TLS_")]
    if older:
        made.set_ciphers(":".join(older))
    made.options |= ssl.OP_NO_RENEGOTIATION
    load_key_pair(made, key_pair_of(settings))
    made.verify_mode = _CLIENT_AUTH[settings.client_auth]
    if made.verify_mode != ssl.CERT_NONE:
        _load_trusted(made, settings)
    return made


def check_tls(config: BrokerConfig, listener: str, protocol: SecurityProtocol) -> None:
    """Check all settings of a listener and read its files.

    Raises:
        BadSetting: a connection could not be served with them.
    """
    settings = tls_settings(config, listener, protocol)
    mapping_of(settings)
    checked(listener, lambda: server_context(settings))


def check_names(
    config: BrokerConfig, present: BrokerConfig, listener: str, protocol: SecurityProtocol
) -> None:
    """Check that a new certificate has the names of the present one.

    Follows SslFactory.CertificateEntries.ensureCompatible.

    Raises:
        BadSetting: it has not, and ssl.allow.dn.changes or ssl.allow.san.changes is false.
    """
    try:
        old = key_pair_of(tls_settings(present, listener, protocol)).chain[0]
    except (BadSetting, WrongStore, OSError, ValueError):
        return  # there is nothing to compare with
    new = key_pair_of(tls_settings(config, listener, protocol)).chain[0]
    name = prefix_of(listener) + "ssl.keystore.location"
    before, after = subject_of(old), subject_of(new)
    if not config["ssl.allow.dn.changes"] and before.lower() != after.lower():
        why = f"the new certificate must have the subject of the old one, {before}, not {after}"
        raise BadSetting(name, "", why)
    has_all = alternative_names_of(new) >= alternative_names_of(old)
    if not config["ssl.allow.san.changes"] and not has_all:
        raise BadSetting(name, "", "the new certificate must have all host names of the old one")


def mapping_of(settings: TlsSettings) -> PrincipalMapping:
    text = settings.principal_mapping_rules
    try:
        return PrincipalMapping(text or "")
    except ValueError as wrong:
        raise BadSetting("ssl.principal.mapping.rules", text, str(wrong)) from None


def checked(listener: str, make: Callable[[], _Made]) -> _Made:
    """What is made of the settings; a failure names the listener."""
    try:
        return make()
    except (WrongStore, OSError, ValueError) as wrong:
        why = f"listener {listener} cannot serve TLS: {reason_of(wrong)}"
        raise BadSetting(prefix_of(listener) + "ssl.keystore.location", "", why) from None


def reason_of(wrong: Exception) -> str:
    if isinstance(wrong, ssl.SSLError):
        return f"the key or a certificate cannot be used ({wrong.reason or wrong})"
    if isinstance(wrong, OSError):
        return f"cannot read {wrong.filename}: {wrong.strerror}"
    return str(wrong)


def key_pair_of(settings: TlsSettings) -> KeyPair:
    location = settings.keystore_location
    if settings.keystore_key is not None:
        if settings.keystore_type != PEM:
            raise WrongStore("ssl.keystore.key needs ssl.keystore.type=PEM")
        chain = settings.keystore_certificate_chain or ""
        return key_pair_of_pem(settings.keystore_key, settings.key_password, chain)
    if location is None:
        raise WrongStore("ssl.keystore.location or ssl.keystore.key must be set")
    if settings.keystore_type == PEM and settings.keystore_password is not None:
        raise WrongStore("a PEM store has no ssl.keystore.password, only an ssl.key.password")
    return _named(location, lambda: read_key_store(
        settings.keystore_type, Path(location).read_bytes(), settings.keystore_password,
        settings.key_password,
    ))  # fmt: skip


def _load_trusted(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Let the context trust the certificates of the trust store, or else those of the system."""
    location = settings.truststore_location
    if settings.truststore_certificates is not None:
        if settings.truststore_type != PEM:
            raise WrongStore("ssl.truststore.certificates needs ssl.truststore.type=PEM")
        trusted = certificates_of_pem(settings.truststore_certificates)
    elif location is None:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
        return
    else:
        data, password = Path(location).read_bytes(), settings.truststore_password
        kind = settings.truststore_type
        trusted = _named(location, lambda: read_trust_store(kind, data, password))
    if not trusted:
        raise WrongStore("ssl.truststore.certificates has no certificate in PEM")
    context.load_verify_locations(cadata=b"".join(trusted))


def _named(location: str, read: Callable[[], _Read]) -> _Read:
    """What a store has; the text of a failure names the file."""
    try:
        return read()
    except WrongStore as wrong:
        raise WrongStore(f"{location}: {wrong}") from None


def _stamp(path: str | None) -> tuple[int, int, int] | None:
    if path is None:
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
