"""Ottla and an Apache Kafka with the same settings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.testing import running_broker

from ..wire.client import Address
from ..wire.conftest import SETTINGS, address_of, warm_up

Pair = tuple[Address, Address]


@pytest.fixture(scope="session")
def pair(apache_kafka: str) -> Iterator[Pair]:
    """The addresses of Ottla and of Kafka."""
    with running_broker(settings=SETTINGS) as ottla:
        addresses = address_of(ottla.bootstrap), address_of(apache_kafka)
        for address in addresses:
            warm_up(address)
        yield addresses
