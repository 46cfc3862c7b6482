"""The broker's log beside a client: its logins, by connections, and the lines before a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NamedTuple, Protocol

_SHOWN_LINES: Final = 20
_DEBUG: Final = ('"level": "debug"', " DEBUG ")


class Seen(NamedTuple):
    """What a client did on a listener with logins.

    Attributes:
        connections: how many it opened.
        logins: how often it authenticated; a re-authentication is one more of a connection.
    """

    connections: int
    logins: int


class BrokerLog(Protocol):
    """The log of a broker since the last `begin`."""

    def begin(self) -> None:
        """Forget the lines so far."""

    def logins(self, address: str) -> Seen:
        """The logins on the listener with this HOST:PORT."""

    def tail(self) -> list[str]:
        """The last lines, without those that logins are counted by."""


class _Lines:
    """The lines of a growing file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._from_bytes = 0

    def begin(self) -> None:
        self._from_bytes = self._path.stat().st_size

    def tail(self) -> list[str]:
        others = [line for line in self.all() if not any(mark in line for mark in _DEBUG)]
        return others[-_SHOWN_LINES:]

    def all(self) -> list[str]:
        with self._path.open("rb") as file:
            file.seek(self._from_bytes)
            return file.read().decode(errors="replace").splitlines()


class OttlaLog(_Lines):
    """That of Ottla, with `LEVELS`."""

    LEVELS: Final = "info,kafka.network.Processor=debug"

    def logins(self, address: str) -> Seen:
        """As in BrokerLog."""
        lines = [json.loads(line) for line in self.all() if '"the client has logged in"' in line]
        ids = [str(line["connection"]) for line in lines]
        found = [each for each in ids if each.startswith(f"{address}-")]
        return Seen(len(set(found)), len(found))


class KafkaLog(_Lines):
    """That of Apache Kafka, with `CONFIGURATION`; its logins may be of any listener."""

    CONFIGURATION: Final = Path(__file__).with_name("kafka-log4j2.xml")

    def logins(self, address: str) -> Seen:
        """As in BrokerLog."""
        lines, here = self.all(), f" on /{address} "
        accepted = sum("Accepted connection from" in line and here in line for line in lines)
        return Seen(accepted, sum("Authentication complete;" in line for line in lines))
