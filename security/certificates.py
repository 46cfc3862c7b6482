"""Makes throw-away certificates: an authority, and certificates of servers and clients.

For tests and trials: the keys are new and not protected. Keys are of the curve P-256, which all of
Kafka's clients know. `cryptography` is imported with this module; times are arguments.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ORGANIZATION: Final = "Ottla test certificates"
_BACKDATED: Final = timedelta(hours=1)  # a client's clock may be behind


class Issued(NamedTuple):
    """A certificate with its private key."""

    certificate: x509.Certificate
    key: EllipticCurvePrivateKey

    def __repr__(self) -> str:
        return f"Issued({self.certificate.subject.rfc4514_string()})"

    @property
    def pem(self) -> str:
        """The certificate in PEM."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def der(self) -> bytes:
        """The certificate in DER."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def key_pem(self) -> str:
        """The private key in PEM (PKCS #8), not encrypted."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    @property
    def key_der(self) -> bytes:
        """The private key in DER (PKCS #8)."""
        return self.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


class Validity(NamedTuple):
    """The time in which a certificate is valid."""

    begin: datetime
    end: datetime

    @classmethod
    def of_days(cls, now: datetime, days: int) -> Validity:
        """From an hour before `now` on."""
        return cls(now - _BACKDATED, now + timedelta(days=days))


def make_authority(name: str, validity: Validity) -> Issued:
    """A certificate authority, signed by itself."""
    key = generate_private_key(SECP256R1())
    subject = _name(name)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    made = (
        _builder(subject, subject, key, validity)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    return Issued(made, key)


def issue(authority: Issued, name: str, validity: Validity, *, hosts: Sequence[str] = ()) -> Issued:
    """A certificate of a server or a client.

    Args:
        name: the common name of the subject.
        hosts: names and addresses of the server; none for a client.
    """
    key = generate_private_key(SECP256R1())
    made = (
        _builder(_name(name), authority.certificate.subject, key, validity)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage(
                [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            ),
            critical=False,
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()),
            critical=False,
        )
    )
    if hosts:
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        made = made.add_extension(names, critical=False)
    return Issued(made.sign(authority.key, hashes.SHA256()), key)


def pkcs12_key_store(issued: Issued, authority: Issued, alias: str, password: str) -> bytes:
    """A PKCS12 store of a key with its certificates."""
    return pkcs12.serialize_key_and_certificates(
        alias.encode(), issued.key, issued.certificate, [authority.certificate],
        BestAvailableEncryption(password.encode()),
    )  # fmt: skip


def pkcs12_trust_store(authority: Issued, alias: str, password: str) -> bytes:
    """A PKCS12 store of a trusted certificate, with the attribute that Java requires."""
    trusted = pkcs12.PKCS12Certificate(authority.certificate, alias.encode())
    return pkcs12.serialize_java_truststore([trusted], BestAvailableEncryption(password.encode()))


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANIZATION),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, validity: Validity
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity.begin)
        .not_valid_after(validity.end)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
