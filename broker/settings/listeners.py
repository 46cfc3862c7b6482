"""Listeners: the addresses the broker binds and advertises, and the security protocol of each.

They are written like `PLAINTEXT://127.0.0.1:9092,INSIDE://:9093`, as in the setting `listeners`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence
from enum import StrEnum

from ...protocol.java_integers import number_in
from ...protocol.named_tuple import NamedTuple
from .definitions import BadSetting

LISTENER = r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)"
EVERY_ADDRESS = ("", "0.0.0.0", "::")
CONTROLLER_LISTENER = "CONTROLLER"
"""The listener of the controller; clients do not connect to it."""
EXPECTED = "must be NAME://HOST:PORT, with commas between several"


class SecurityProtocol(StrEnum):
    """The security protocol of a listener (org.apache.kafka.common.security.auth)."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def number(self) -> int:
        """Its number in records (SecurityProtocol.id)."""
        return list(SecurityProtocol).index(self)

    @property
    def has_tls(self) -> bool:
        """Whether connections begin with a TLS handshake."""
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def has_login(self) -> bool:
        """Whether connections begin with a login by SASL."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


PLAINTEXT = SecurityProtocol.PLAINTEXT


class Listener(NamedTuple):
    """One listener; an empty host means every address, port 0 any free port."""

    name: str
    host: str
    port: int


class ServedListener(NamedTuple):
    """A listener as its connections have it.

    Attributes:
        host, port: the advertised address.
    """

    name: str
    protocol: SecurityProtocol
    host: str
    port: int


def parse_listeners(setting: str, text: str) -> list[Listener]:
    """The listeners in the text of a setting.

    Raises:
        BadSetting: the text is wrong; the error names `setting`.
    """
    found: list[Listener] = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(LISTENER, entry)
        if match is None:
            raise BadSetting(setting, text, f"{entry!r} is not a listener: it {EXPECTED}")
        port = number_in(match[3])
        if port is None or port > 65_535:
            raise BadSetting(setting, text, f"port {match[3]} must be from 0 to 65535")
        listener = Listener(match[1].upper(), match[2], port)
        if any(listener.name == other.name for other in found):
            raise BadSetting(setting, text, f"listener {listener.name} must occur only once")
        found.append(listener)
    return found


def parse_protocols(text: str) -> dict[str, SecurityProtocol]:
    """The security protocol by listener name, from `listener.security.protocol.map`."""
    name = "listener.security.protocol.map"
    found = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        listener, _, protocol = entry.rpartition(":")
        if not listener.strip() or protocol.strip().upper() not in SecurityProtocol.__members__:
            known = ", ".join(SecurityProtocol)
            raise BadSetting(name, text, f"{entry!r} must be LISTENER:PROTOCOL, one of {known}")
        found[listener.strip().upper()] = SecurityProtocol(protocol.strip().upper())
    return found


def check_ports(text: str, listeners: Sequence[Listener]) -> None:
    """Check that each listener has a port of its own (SocketServerConfigs.validate).

    Two may share one if the host of exactly one is an IPv4 address and of the other an IPv6 one.

    Raises:
        BadSetting: two others have the same port.
    """
    by_port: dict[int, list[Listener]] = {}
    for listener in listeners:
        if listener.port:
            by_port.setdefault(listener.port, []).append(listener)
    for port, sharing in by_port.items():
        families = sorted(_family(each.host) for each in sharing)
        if len(sharing) > 1 and families != ["IPv4", "IPv6"]:
            why = f"port {port} must occur only once, or with one IPv4 and one IPv6 address"
            raise BadSetting("listeners", text, why)


def _family(host: str) -> str:
    if ":" in host:
        return "IPv6"
    return "IPv4" if re.fullmatch(r"[0-9]+(\.[0-9]+){3}", host) else ""


def prefix_of(listener: str) -> str:
    """What begins the names of the settings of one listener (ListenerName.configPrefix)."""
    return f"listener.name.{listener.lower()}."


def advertised(
    listeners: list[Listener], text: str | None, ports: Mapping[str, int]
) -> list[Listener]:
    """The listeners that clients connect to: `advertised.listeners`, or else `listeners`.

    A listener on every address is advertised as localhost: this is a broker for one machine, and
    the name of a container could not be resolved outside of it. Where `advertised.listeners` has no
    host it is the machine's host name, as in Kafka (ListenerInfo.withWildcardHostnamesResolved).
    """
    names = {listener.name for listener in listeners}
    if text is not None:
        found = [
            each if each.host else each._replace(host=socket.gethostname())
            for each in parse_listeners("advertised.listeners", text)
            if each.name in names
        ]
    else:
        found = [
            each._replace(host="localhost") if each.host in EVERY_ADDRESS else each
            for each in listeners
        ]
    return [each._replace(port=each.port or ports.get(each.name, 0)) for each in found]
