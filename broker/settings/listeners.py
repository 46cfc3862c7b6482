"""Listeners: the addresses the broker binds and advertises, and the security protocol of each.

They are written like `PLAINTEXT://127.0.0.1:9092,INSIDE://:9093`, as in the setting `listeners`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from .definitions import BadSetting

LISTENER = r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)"
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
EVERY_ADDRESS = ("", "0.0.0.0", "::")
CONTROLLER_LISTENER = "CONTROLLER"
"""The listener of the controller; clients do not connect to it."""
EXPECTED = "must be NAME://HOST:PORT, with commas between several"


class Listener(NamedTuple):
    """One listener; an empty host means every address, port 0 any free port."""

    name: str
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
        listener = Listener(match[1].upper(), match[2], int(match[3]))
        if listener.port > 65_535:
            raise BadSetting(setting, text, f"port {listener.port} must be from 0 to 65535")
        if any(listener.name == other.name for other in found):
            raise BadSetting(setting, text, f"listener {listener.name} must occur only once")
        found.append(listener)
    return found


def parse_protocols(text: str) -> dict[str, str]:
    """The security protocol by listener name, from `listener.security.protocol.map`."""
    name = "listener.security.protocol.map"
    found = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        listener, colon, protocol = entry.rpartition(":")
        if not colon or protocol.strip() not in PROTOCOLS:
            known = ", ".join(PROTOCOLS)
            raise BadSetting(name, text, f"{entry!r} must be LISTENER:PROTOCOL, one of {known}")
        found[listener.strip().upper()] = protocol.strip()
    return found


def advertised(
    listeners: list[Listener], text: str | None, ports: Mapping[str, int]
) -> list[Listener]:
    """The listeners that clients connect to: `advertised.listeners`, or else `listeners`.

    A listener on every address is advertised as localhost: this is a broker for one machine, and
    the name of a container could not be resolved outside of it.
    """
    names = {listener.name for listener in listeners}
    if text is not None:
        found = [
            each for each in parse_listeners("advertised.listeners", text) if each.name in names
        ]
    else:
        found = [
            each._replace(host="localhost") if each.host in EVERY_ADDRESS else each
            for each in listeners
        ]
    return [each._replace(port=each.port or ports.get(each.name, 0)) for each in found]
