"""Each situation, made on a broker, is explained by its sentence."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from ottla.testing import Ottla
from tests.wire.broker import Broker

from . import client_situations, group_situations, transaction_situations
from .situations import SITUATIONS, Situation, World

TABLES = (transaction_situations, group_situations, client_situations)
"""Their import fills the table."""


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.make.__name__)
def test_a_situation_is_explained_by_its_sentence(situation: Situation, held_broker: Ottla) -> None:
    host, port = held_broker.bootstrap.split(":")
    wire = Broker((host, int(port)), situation.name)
    world = World(wire, held_broker)
    try:
        subject = situation.make(world)
        found = held_broker.why(**asdict(subject))
    finally:
        world.end()
        wire.close()
    assert not found.facts.unasked
    named = [each for each in found.findings if each.situation == situation.name]
    assert any(situation.matches(each.sentence) for each in named), str(found)
    assert all(each.is_stuck is situation.is_stuck for each in named), str(found)
