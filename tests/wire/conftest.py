"""The broker of the cases: `--bootstrap`, or one Ottla for the session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from ottla.testing import running_broker

from ..kafka.processes import is_apache_kafka
from . import registry
from .broker import Broker
from .client import Address

# The settings of the recorded Apache Kafka: rebalances and assignments of consumer groups begin at
# once. The others are Kafka's defaults, which brokers of tests do not have.
SETTINGS = {
    "group.consumer.assignment.interval.ms": "0",
    "group.initial.rebalance.delay.ms": "0",
    "group.share.assignment.interval.ms": "1000",
    "group.streams.assignment.interval.ms": "1000",
    "group.streams.initial.rebalance.delay.ms": "3000",
}


def address_of(bootstrap: str) -> Address:
    """Split HOST:PORT."""
    host, port = bootstrap.rsplit(":", 1)
    return host, int(port)


def warm_up(address: Address) -> None:
    """Create the internal topics, so that no case has to wait for them."""
    broker = Broker(address, "warm-up")
    try:
        broker.find_coordinators()
        broker.producer()
        broker.commit(broker.fresh("g"), broker.topic(), 1)
    finally:
        broker.close()


@pytest.fixture(scope="session")
def address(request: pytest.FixtureRequest) -> Iterator[Address]:
    """Address of the broker under test."""
    given = request.config.getoption("--bootstrap")
    recording = request.config.getoption("--record")
    if recording and not (given and is_apache_kafka(given)):
        pytest.exit("--record wants --bootstrap with an Apache Kafka of this machine", 4)
    with ExitStack() as stack:
        bootstrap = given or stack.enter_context(running_broker(settings=SETTINGS)).bootstrap
        found = address_of(bootstrap)
        warm_up(found)
        yield found


@pytest.fixture(scope="session")
def recorded(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Recorded outcomes by case; written at the end of the session."""
    outcomes: dict[str, Any] = {}
    yield outcomes
    if outcomes:
        registry.record(outcomes)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Cases in not-yet.txt are expected to fail, on Ottla."""
    given = config.getoption("--bootstrap")
    if given and is_apache_kafka(given):
        return
    reasons = registry.listed("not-yet.txt")
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            reason = reasons.get(str(item.callspec.params.get("name")))
            if reason:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
