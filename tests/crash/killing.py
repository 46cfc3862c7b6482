"""Connections to a broker that is killed and restarted, for tests of single requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ottla.testing import RunningBroker

from ..wire.broker import Broker
from ..wire.conftest import address_of
from ..wire.transactions import Producer


@contextmanager
def connected(broker: RunningBroker) -> Iterator[Broker]:
    """The running broker, for requests."""
    asked = Broker(address_of(broker.bootstrap), "crash")
    try:
        yield asked
    finally:
        asked.close()


def crash(broker: RunningBroker) -> None:
    """Send SIGKILL and restart."""
    broker.kill()
    broker.start()


def at(asked: Broker, producer: Producer) -> Producer:
    """The producer after a restart, with a new connection."""
    return producer.but(broker=asked)
