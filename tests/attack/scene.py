"""The arguments of an attack, and the table of attacks."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from tests.wire.broker import Broker
from tests.wire.client import Address, Connection

from .broker_process import BrokerProcess, BrokerSetup

_PATIENCE_S = 50.0


class ReportNotes(list[str]):
    """Sentences for the report of one attack."""


@dataclass
class Scene:
    """One attack's view of the broker.

    Attributes:
        address: of the broker.
        random: seeded by the campaign's seed and the attack's name.
        scale: 1.0 in the long form, less in the short form.
        broker: its process; None if the campaign did not start it.
        notes: sentences for the report.
    """

    address: Address
    random: random.Random
    scale: float
    broker: BrokerProcess | None = None
    notes: ReportNotes = field(default_factory=ReportNotes)

    @property
    def process(self) -> BrokerProcess:
        """The broker's process, for an attack that needs it."""
        assert self.broker is not None
        return self.broker

    @property
    def attacked(self) -> Address:
        """The listener that is attacked: one with TLS or logins, or that of `address`."""
        return self.process.attacked

    def count(self, whole: int, least: int = 1) -> int:
        """`whole` in the long form, a share of it in the short form."""
        return max(least, int(whole * self.scale))

    def connect(self, timeout_s: float = 30.0) -> Connection:
        """A connection that speaks the protocol."""
        return Connection(self.address, timeout_s=timeout_s)

    def talk(self) -> Broker:
        """The requests of tests/wire, for the preparation of an attack."""
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
        run: performs the attack, in its own process; AssertionError if the broker fails.
        setup: settings and limits of its broker.
        needs_process: the campaign must have started the broker.
        ends_broker: the broker exits; `run` checks how.
        limit_s: after this time the attack counts as hanging.
    """

    run: Callable[[Scene], None]
    setup: BrokerSetup = field(default_factory=BrokerSetup)
    needs_process: bool = False
    ends_broker: bool = False
    limit_s: float = 60.0

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def text(self) -> str:
        """The attack in one line."""
        return (self.run.__doc__ or "").strip().splitlines()[0]


ATTACKS: dict[str, Attack] = {}
"""All attacks by name, in the order of their definition."""


def attack(
    *,
    setup: BrokerSetup | None = None,
    needs_process: bool = False,
    ends_broker: bool = False,
    limit_s: float = 60.0,
) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """Add a function to the attacks; the arguments are those of `Attack`."""

    def add(run: Callable[[Scene], None]) -> Callable[[Scene], None]:
        ATTACKS[run.__name__] = Attack(
            run,
            setup=setup or BrokerSetup(),
            needs_process=needs_process or ends_broker or setup is not None,
            ends_broker=ends_broker,
            limit_s=limit_s,
        )
        return run

    return add


def close_all(sockets: list[socket.socket]) -> None:
    """Close them; unread data is discarded."""
    for each in sockets:
        with suppress(OSError):
            each.close()


def read_until_closed(connection: socket.socket, limit_bytes: int) -> int:
    """Read until the peer closes, a read times out, or the limit; the number of bytes."""
    count = 0
    with suppress(OSError):
        while count < limit_bytes:
            data = connection.recv(1 << 20)
            if not data:
                break
            count += len(data)
    return count
