"""The listeners of the matrix: one for each protocol and mechanism, on one broker."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from ottla.testing.certificates import Names, server_settings, write_certificates
from tests.held_ports import HeldPorts

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
NAME, PASSWORD = "alice", "secret"
CLIENT = "client"  # the certificate of clients
REAUTH_MS: Final = 1500
_MODULES: Final = {
    "PLAIN": f'plain.PlainLoginModule required user_{NAME}="{PASSWORD}"',
    "SCRAM-SHA-256": "scram.ScramLoginModule required",
    "SCRAM-SHA-512": "scram.ScramLoginModule required",
    "OAUTHBEARER": 'oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="a"',
}
_PACKAGE: Final = "org.apache.kafka.common.security"
_HANDLER: Final = "oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"


class Way(NamedTuple):
    """A way to connect.

    Attributes:
        protocol: one of Kafka's security protocols.
        mechanism: of SASL; empty without it.
        has_certificate: whether the client must present one.
        has_short_sessions: whether the client must authenticate again every REAUTH_MS.
    """

    protocol: str
    mechanism: str = ""
    has_certificate: bool = False
    has_short_sessions: bool = False

    def __str__(self) -> str:
        extra = " with certificate" * self.has_certificate
        return " ".join(filter(None, (self.protocol, self.mechanism))) + (
            extra + " re-authentication" * self.has_short_sessions
        )


WAYS: Final = (
    Way("SSL"),
    Way("SSL", has_certificate=True),
    *(
        Way(protocol, mechanism, has_short_sessions=is_short)
        for is_short in (False, True)
        for protocol in ("SASL_PLAINTEXT", "SASL_SSL")
        for mechanism in MECHANISMS
    ),
)


class Listeners:
    """Addresses, settings and certificates of the listeners.

    Args:
        directory: for the certificates.

    Attributes:
        plaintext: HOST:PORT without logins and TLS.
        held: the ports; `before_start` and `close` are the caller's to call.
    """

    def __init__(self, directory: Path) -> None:
        self.certificates = directory / "certificates"
        write_certificates(self.certificates, Names(clients=(CLIENT,)))
        self.held = HeldPorts(len(WAYS) + 2)
        ports = self.held.ports
        self.plaintext = f"127.0.0.1:{ports[0]}"
        self._controller = f"127.0.0.1:{ports[1]}"
        self.addresses = {
            way: f"127.0.0.1:{port}" for way, port in zip(WAYS, ports[2:], strict=True)
        }

    def settings(self, *, has_controller: bool) -> dict[str, str]:
        """The broker's settings.

        Args:
            has_controller: whether the broker needs a listener of its controller.
        """
        own = {f"WAY{number}": way for number, way in enumerate(WAYS)}
        listeners = [f"PLAINTEXT://{self.plaintext}"]
        listeners += [f"{name}://{self.addresses[way]}" for name, way in own.items()]
        found = {"advertised.listeners": ",".join(listeners)}
        if has_controller:
            listeners.append(f"CONTROLLER://{self._controller}")
            found["controller.quorum.voters"] = f"1@{self._controller}"
        protocols = ["PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT"]
        protocols += [f"{name}:{way.protocol}" for name, way in own.items()]
        found |= {
            "listeners": ",".join(listeners),
            "listener.security.protocol.map": ",".join(protocols),
            "group.initial.rebalance.delay.ms": "0",
        }
        found |= server_settings(self.certificates)
        for name, way in own.items():
            found |= _of_listener(f"listener.name.{name.lower()}", way)
        return found


def _of_listener(prefix: str, way: Way) -> dict[str, str]:
    if not way.mechanism:
        return {f"{prefix}.ssl.client.auth": "required" if way.has_certificate else "none"}
    found = {f"{prefix}.sasl.enabled.mechanisms": way.mechanism}
    of_mechanism = f"{prefix}.{way.mechanism.lower()}"
    found[f"{of_mechanism}.sasl.jaas.config"] = f"{_PACKAGE}.{_MODULES[way.mechanism]};"
    if way.has_short_sessions:
        found[f"{of_mechanism}.connections.max.reauth.ms"] = str(REAUTH_MS)
    return found


def with_handler(settings: dict[str, str]) -> dict[str, str]:
    """The settings for Apache Kafka, which needs a class that checks unsecured tokens."""
    added = {
        name.replace("jaas.config", "server.callback.handler.class"): f"{_PACKAGE}.{_HANDLER}"
        for name in settings
        if name.endswith(".oauthbearer.sasl.jaas.config")
    }
    return settings | added
