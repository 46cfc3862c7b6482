"""The broker of the clients: `--bootstrap`, or one Ottla for the session."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.testing import running_broker

# Groups do not wait for more members, and heartbeats are frequent.
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
}


@pytest.fixture(scope="session")
def bootstrap(pytestconfig: pytest.Config) -> Iterator[str]:
    """HOST:PORT of the broker."""
    given = pytestconfig.getoption("--bootstrap")
    if given:
        yield given
        return
    with running_broker(settings=SETTINGS) as broker:
        yield broker.bootstrap


@pytest.fixture
def name() -> str:
    """A name that no other test uses: for groups, transactional ids, topics."""
    return f"clients-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def topic(bootstrap: str, name: str) -> str:
    """A new topic of two partitions."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for created in admin.create_topics([NewTopic(name, 2)]).values():
        created.result(10)
    return name
