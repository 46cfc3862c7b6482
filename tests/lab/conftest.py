"""A broker of three nodes with a trace for a module, a topic for each test, and stock clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ottla.testing import Ottla

from .actors import Actor, Aiokafka, Java, Librdkafka
from .clients import CLIENTS, with_marks


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


@pytest.fixture(scope="module")
def aiokafka_program() -> Iterator[Aiokafka]:
    made = Aiokafka()
    yield made
    made.end()


@pytest.fixture(scope="module")
def java_program(maven_jars: None) -> Iterator[Java]:
    made = Java()
    yield made
    made.end()


@pytest.fixture(scope="module")
def librdkafka_program() -> Librdkafka:
    return Librdkafka()


@pytest.fixture(scope="module", params=[with_marks(client) for client in CLIENTS])
def program(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(f"{request.param}_program")


@pytest.fixture
def actor(program: Actor, broker: Ottla, topic: str) -> Iterator[Actor]:
    program.open(broker, topic)
    yield program
    broker.faults.clear()
    program.close()
