"""One broker with a listener for each kind of refusal: settings and certificates.

Ottla and Apache Kafka take the same settings. Each listener has its own name, which the scenarios
use; certificates are new in each run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ottla.security.certificates import Issued, issue
from tests.certificates import EXPIRED, HOSTS, NOT_YET_VALID, VALID, authority, server, write_pem
from tests.held_ports import HeldPorts
from tests.security.sasl_listener import PLAIN_LINE
from tests.security.signed_tokens import ISSUER, keys

DELAY_MS: Final = 1200
"""connection.failed.authentication.delay.ms."""
REAUTH_MS: Final = 20_000
BRIEF_MS: Final = 1000
"""The lifetime of sessions on the listener BRIEF."""
FOREIGN: Final = "another CA"
AUDIENCE: Final = "ottla"
_PACKAGE: Final = "org.apache.kafka.common.security"
_MECHANISMS: Final = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
_OTHER_SUITE: Final = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
_UNSECURED: Final = f"{_PACKAGE}.oauthbearer.internals.unsecured"
_HANDLER: Final = f"{_UNSECURED}.OAuthBearerUnsecuredValidatorCallbackHandler"
SCRAM: Final = f"{_PACKAGE}.scram.ScramLoginModule required"

# Listeners with TLS: their protocol and their own settings ssl.*.
_TLS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "TLS": ("SSL", {}),
    "MUTUAL": ("SSL", {"client.auth": "required"}),
    "REQUESTED": ("SSL", {"client.auth": "requested"}),
    "TLS12": ("SSL", {"enabled.protocols": "TLSv1.2"}),
    "TLS13": ("SSL", {"enabled.protocols": "TLSv1.3"}),
    "SUITE": ("SSL", {"enabled.protocols": "TLSv1.2", "cipher.suites": _OTHER_SUITE}),
    "SUITE13": ("SSL", {"enabled.protocols": "TLSv1.3", "cipher.suites": "TLS_AES_256_GCM_SHA384"}),
    "TRUST": ("SSL", {"client.auth": "required"}),
    "KEYS": ("SSL", {}),
    "EXPIRED": ("SSL", {}),
    "FUTURE": ("SSL", {}),
    "FOREIGN": ("SSL", {}),
    "OTHERHOST": ("SSL", {}),
    "LOGINTLS": ("SASL_SSL", {}),
}
_SASL: Final = ("LOGIN", "LOGINTLS", "BRIEF")
SIGNED: Final = "SIGNED"
NAMES: Final = ("PLAINTEXT", *_TLS, "LOGIN", "BRIEF", SIGNED)


class Listeners:
    """Addresses, settings and certificates of the listeners.

    Args:
        directory: for the certificates, and for the keys of signed tokens.

    Attributes:
        held: the ports; `close` it after the broker.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.held = HeldPorts(len(NAMES) + 1)
        self.controller, *ports = self.held.ports
        self.ports = dict(zip(NAMES, ports, strict=True))
        (directory / "ca.pem").write_text(authority().pem)
        (directory / "jwks.json").write_text(keys().key_set())
        for name in _TLS:
            write_pem(self.key_store(name), _certificate(name))
            self.trust_store(name).write_text(authority().pem)

    def key_store(self, name: str) -> Path:
        """The file of a listener's key and certificate."""
        return self.directory / f"{name.lower()}.pem"

    def trust_store(self, name: str) -> Path:
        """The file of the authorities that a listener trusts."""
        return self.directory / f"{name.lower()}-ca.pem"

    def address(self, name: str) -> tuple[str, int]:
        return "127.0.0.1", self.ports[name]

    def settings(self, *, is_kafka: bool) -> dict[str, str]:
        """The broker's settings; Kafka needs a listener of its controller."""
        listeners = [f"{name}://127.0.0.1:{port}" for name, port in self.ports.items()]
        found = {"advertised.listeners": ",".join(listeners)}
        if is_kafka:
            listeners.append(f"CONTROLLER://127.0.0.1:{self.controller}")
            found["controller.quorum.voters"] = f"1@127.0.0.1:{self.controller}"
        protocols = {name: protocol for name, (protocol, _) in _TLS.items()}
        protocols |= dict.fromkeys(("PLAINTEXT", "CONTROLLER"), "PLAINTEXT")
        protocols |= dict.fromkeys(("LOGIN", "BRIEF", SIGNED), "SASL_PLAINTEXT")
        found |= {
            "listeners": ",".join(listeners),
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}" for name, protocol in protocols.items()
            ),
            "group.initial.rebalance.delay.ms": "0",
            "connection.failed.authentication.delay.ms": str(DELAY_MS),
            "delegation.token.secret.key": "a secret of tokens",
        }
        for name, (_, own) in _TLS.items():
            found |= self._tls(name, own)
        for name in _SASL:
            found |= _logins(name, BRIEF_MS if name == "BRIEF" else REAUTH_MS)
        return found | self._signed()

    def _tls(self, name: str, own: Mapping[str, str]) -> dict[str, str]:
        stores = {
            "keystore.type": "PEM",
            "keystore.location": str(self.key_store(name)),
            "truststore.type": "PEM",
            "truststore.location": str(self.trust_store(name)),
        }
        prefix = f"listener.name.{name.lower()}.ssl."
        return {prefix + key: value for key, value in {**stores, **own}.items()}

    def _signed(self) -> dict[str, str]:
        """The listener of signed tokens, which are checked strictly."""
        package, prefix = f"{_PACKAGE}.oauthbearer", f"listener.name.{SIGNED.lower()}"
        own = f"{prefix}.oauthbearer.sasl"
        handler = f"{package}.OAuthBearerValidatorCallbackHandler"
        return {
            f"{prefix}.sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{own}.jaas.config": f"{package}.OAuthBearerLoginModule required;",
            f"{own}.server.callback.handler.class": handler,
            f"{prefix}.sasl.oauthbearer.jwks.endpoint.url": (
                (self.directory / "jwks.json").as_uri()
            ),
            f"{prefix}.sasl.oauthbearer.expected.audience": AUDIENCE,
            f"{prefix}.sasl.oauthbearer.expected.issuer": ISSUER,
        }


def _certificate(name: str) -> Issued:
    """The certificate of a listener."""
    if name == "EXPIRED":
        return issue(authority(), "server", EXPIRED, hosts=HOSTS)
    if name == "FUTURE":
        return issue(authority(), "server", NOT_YET_VALID, hosts=HOSTS)
    if name == "FOREIGN":
        return issue(authority(FOREIGN), "server", VALID, hosts=HOSTS)
    if name == "OTHERHOST":
        return issue(authority(), "server", VALID, hosts=("elsewhere.example",))
    return server()


def _logins(name: str, reauth_ms: int) -> dict[str, str]:
    prefix = f"listener.name.{name.lower()}"
    unsecured = 'unsecuredLoginStringClaim_sub="a"'
    lines = {
        "plain": PLAIN_LINE,
        "scram-sha-256": SCRAM,
        "scram-sha-512": SCRAM,
        "oauthbearer": f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule required {unsecured}",
    }
    found = {f"{prefix}.{each}.sasl.jaas.config": f"{line};" for each, line in lines.items()}
    return found | {
        f"{prefix}.sasl.enabled.mechanisms": _MECHANISMS,
        f"{prefix}.plain.connections.max.reauth.ms": str(reauth_ms),
    }


def with_handlers(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings for Apache Kafka, which needs a class that checks unsecured tokens.

    Its class for signed tokens checks little without a validator.
    """
    found = dict(settings)
    for name in _SASL:
        key = f"listener.name.{name.lower()}.oauthbearer.sasl.server.callback.handler.class"
        found[key] = _HANDLER
    prefix = f"listener.name.{SIGNED.lower()}.sasl.oauthbearer.jwt.validator.class"
    found[prefix] = f"{_PACKAGE}.oauthbearer.BrokerJwtValidator"
    return found
