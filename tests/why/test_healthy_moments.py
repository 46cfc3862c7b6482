"""In healthy moments the answer is that nothing is stuck: four questions in each of 25 moments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict

import pytest

from ottla.client import Client
from ottla.testing import Ottla
from ottla.why import Explanation, Subject, collect
from tests.wire.broker import Broker

from .healthy_moments import MOMENTS
from .situations import World

pytestmark = pytest.mark.slow
PATIENCE_MS = 60_000
"""A busy machine is slow; what is under way is younger than this."""


@pytest.fixture(scope="module")
def healthy_broker() -> Iterator[Ottla]:
    with Ottla() as broker:
        yield broker


def test_there_are_enough_moments() -> None:
    assert len(MOMENTS) >= 25


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda each: each.__name__)
def test_nothing_is_stuck_in_a_healthy_moment(
    moment: Callable[[World], Subject], healthy_broker: Ottla
) -> None:
    host, port = healthy_broker.bootstrap.split(":")
    wire = Broker((host, int(port)), moment.__name__)
    world = World(wire, healthy_broker)
    try:
        subject = moment(world)
        for about in (subject, Subject()):
            found = healthy_broker.why(**asdict(about), patience_s=PATIENCE_MS / 1000)
            assert not found.is_stuck, f"with the control: {found}"
            with Client.to(healthy_broker.bootstrap) as client:
                found = Explanation.of(collect(client, about), patience_ms=PATIENCE_MS)
            assert not found.is_stuck, f"by the protocol: {found}"
    finally:
        world.end()
        wire.close()
