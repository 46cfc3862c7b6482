"""A broker of three nodes with a trace for a module, and a topic for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.testing import Ottla


@pytest.fixture(scope="module")
def started() -> Iterator[Ottla]:
    with Ottla(nodes=3) as broker:
        broker.trace.start()
        yield broker


@pytest.fixture
def broker(started: Ottla) -> Iterator[Ottla]:
    yield started
    started.faults.clear()
    started.trace.clear()


@pytest.fixture
def topic(broker: Ottla, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).replace("[", "-").replace("]", "")[:200]
    broker.create_topic(name, replication_factor=3)
    return name
