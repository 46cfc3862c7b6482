"""What an attack is given, and how it says what it is."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from tests.wire.broker import Broker
from tests.wire.client import Address, Connection

from .broker_process import BrokerProcess, Place

_PATIENCE_S = 50.0


class ReportNotes(list[str]):
    """Sentences for the report of one attack."""


@dataclass
class Scene:
    """One attack's view of the broker.

    Attributes:
        address: of the broker.
        random: seeded by the campaign's seed and the attack's name.
        scale: 1.0 in the long form, less in the short one.
        broker: its process; None: it was not started by the campaign.
        notes: sentences for the report.
    """

    address: Address
    random: random.Random
    scale: float
    broker: BrokerProcess | None = None
    notes: ReportNotes = field(default_factory=ReportNotes)

    @property
    def process(self) -> BrokerProcess:
        """The broker's process, of an attack that needs one."""
        assert self.broker is not None
        return self.broker

    def count(self, whole: int, least: int = 1) -> int:
        """So many in the long form, a share of them in the short one."""
        return max(least, int(whole * self.scale))

    def connect(self, timeout_s: float = 30.0) -> Connection:
        """A connection that speaks the protocol."""
        return Connection(self.address, timeout_s=timeout_s)

    def talk(self) -> Broker:
        """The calls of tests/wire, for what an attack prepares."""
        broker = Broker(self.address, "attack")
        broker.connection = broker.connect(_PATIENCE_S)
        return broker

    def socket(self, timeout_s: float = 30.0) -> socket.socket:
        """A plain connection."""
        made = socket.create_connection(self.address, timeout=timeout_s)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes:
        run: attacks, in a process of its own; raises AssertionError when the broker does wrong.
        place: what its broker is given.
        needs_process: it cannot be run against a broker that the campaign has not started.
        ends_broker: the broker is to end by itself; `run` looks at how.
        limit_s: after so many seconds it is a hang.
    """

    run: Callable[[Scene], None]
    place: Place = field(default_factory=Place)
    needs_process: bool = False
    ends_broker: bool = False
    limit_s: float = 60.0

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def text(self) -> str:
        """What it does, in a line."""
        return (self.run.__doc__ or "").strip().splitlines()[0]


ATTACKS: dict[str, Attack] = {}
"""All of them by name, in the order in which they run."""


def attack(
    *,
    place: Place | None = None,
    needs_process: bool = False,
    ends_broker: bool = False,
    limit_s: float = 60.0,
) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """Add a function to the attacks; the arguments are those of `Attack`."""

    def add(run: Callable[[Scene], None]) -> Callable[[Scene], None]:
        ATTACKS[run.__name__] = Attack(
            run,
            place=place or Place(),
            needs_process=needs_process or ends_broker or place is not None,
            ends_broker=ends_broker,
            limit_s=limit_s,
        )
        return run

    return add


def close_all(sockets: list[socket.socket]) -> None:
    """Close them without a goodbye: what was not read is thrown away."""
    for each in sockets:
        with suppress(OSError):
            each.close()


def read_until_closed(connection: socket.socket, limit_bytes: int) -> int:
    """How many bytes come until the other side closes, is silent for its timeout, or the limit."""
    count = 0
    with suppress(OSError):
        while count < limit_bytes:
            data = connection.recv(1 << 20)
            if not data:
                break
            count += len(data)
    return count
