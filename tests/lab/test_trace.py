"""The trace from Python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.testing import Ottla

from .actors import Aiokafka

pytestmark = pytest.mark.clients


@pytest.fixture
def actor(broker: Ottla, topic: str) -> Iterator[Aiokafka]:
    made = Aiokafka()
    made.open(broker, topic)
    yield made
    made.close()
    made.end()


def states_before(broker: Ottla) -> list[str | None]:
    return [
        record["before"]
        for event in broker.trace.where(kind="decision")
        for record in event["records"]
        if record["type"] == "Transaction"
    ]


def transact(actor: Aiokafka, topic: str) -> None:
    actor.begin()
    actor.send(topic, "x")
    actor.flush()


def test_the_state_before_is_unknown_after_a_pause_of_the_trace(
    actor: Aiokafka, broker: Ottla, topic: str
) -> None:
    transact(actor, topic)
    assert states_before(broker)[-1] == "Empty"
    broker.trace.stop()
    actor.commit()
    broker.wait_for(lambda: broker.transactions()[0].state == "CompleteCommit")
    broker.trace.clear()
    broker.trace.start()
    transact(actor, topic)
    assert states_before(broker) == [None]
    actor.commit()


def test_the_lines_of_a_trace_are_those_of_chosen_apis(
    actor: Aiokafka, broker: Ottla, topic: str
) -> None:
    transact(actor, topic)
    actor.commit()
    requests = [line for line in broker.trace.lines("End*", "Produce") if " actor " in line]
    assert ["EndTxn" in line for line in requests] == [False, True]
    assert any("AddPartitionsToTxn" in line for line in broker.trace.lines())
