"""Situations and healthy moments, made on an Apache Kafka, get the same answers by the protocol."""

from __future__ import annotations

import pytest

from ottla.client import Client
from ottla.why import Explanation, Subject, collect

from ..why import client_situations, group_situations, transaction_situations
from ..why.healthy_moments import MOMENTS
from ..why.situations import SITUATIONS, World
from ..wire.broker import Broker
from ..wire.conftest import address_of, warm_up
from .place import Place

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(300)]
TABLES = (client_situations, group_situations, transaction_situations)
"""Their import fills the table."""
PATIENCE_MS = 60_000


def explained(bootstrap: str, subject: Subject, patience_ms: int) -> Explanation:
    with Client.to(bootstrap) as client:
        return Explanation.of(collect(client, subject), patience_ms=patience_ms)


def test_situations_on_a_kafka_are_explained_by_their_sentences(place: Place) -> None:
    possible = [each for each in SITUATIONS if each.on_kafka]
    assert len(possible) >= 25
    wrong = []
    with place.kafka() as bootstrap:
        warm_up(address_of(bootstrap))
        for situation in possible:
            world = World(Broker(address_of(bootstrap), situation.name))
            try:
                subject = situation.make(world)
                found = explained(bootstrap, subject, patience_ms=0)
            finally:
                world.end()
                world.wire.close()
            named = [each for each in found.findings if each.situation == situation.name]
            if not any(situation.matches(each.sentence) for each in named):
                wrong.append(f"{situation}:\n{found}")
    assert not wrong, "\n\n".join(wrong)


def test_in_healthy_moments_of_a_kafka_nothing_is_stuck(place: Place) -> None:
    wrong = []
    with place.kafka() as bootstrap:
        warm_up(address_of(bootstrap))
        for moment in MOMENTS:
            world = World(Broker(address_of(bootstrap), moment.__name__))
            try:
                subject = moment(world)
                answers = [
                    explained(bootstrap, about, patience_ms=PATIENCE_MS)
                    for about in (subject, Subject())
                ]
            finally:
                world.end()
                world.wire.close()
            wrong += [f"{moment.__name__}:\n{found}" for found in answers if found.is_stuck]
    assert not wrong, "\n\n".join(wrong)
