"""An Apache Kafka that has a bug, and an Ottla that rehearses it, give the same answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ottla.testing import Ottla

from ..wire.broker import Broker
from ..wire.client import retrying
from ..wire.transactions import Producer
from .place import SHARED, Place
from .story import connected

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(240)]
LAST_EPOCH = 32766
TIMEOUT_MS = 500


@dataclass(frozen=True)
class Ids:
    """Producer ids that have their last epoch."""

    timed_out: int
    rotated: int


def given(ottla: Ottla) -> Ids:
    timed_out, rotated = (
        ottla.given(
            "producer_epoch", transactional_id=name, epoch=LAST_EPOCH, timeout_ms=TIMEOUT_MS
        )
        for name in ("timed-out", "rotated")
    )
    return Ids(timed_out["producer_id"], rotated["producer_id"])


def init(broker: Broker, transactional_id: str, **fields: int) -> tuple[str, int, int]:
    """InitProducerId; Kafka loads a coordinator again after its node has registered."""
    return retrying(lambda: broker.init_raw(transactional_id, **fields), lambda answer: [answer[0]])


def abort_after_the_timeout(broker: Broker, producer_id: int) -> list[Any]:
    """KAFKA-20090, mended in Kafka 4.4: what a producer sees at its last epoch, and after it."""
    broker.find_coordinators()
    topic = broker.topic()
    producer = Producer(broker, "timed-out", producer_id, LAST_EPOCH)
    assert producer.produce(topic, version=12)[0] == "NONE"
    assert producer.wait_state("CompleteAbort") == "CompleteAbort"
    aborted = producer.end(commit=False, version=5)
    _, producer_id_after, epoch_after = aborted
    after = producer.but(
        producer_id=producer_id if producer_id_after == "same-pid" else producer_id_after,
        epoch=epoch_after,
    )
    return [
        aborted,
        after.produce(topic, version=12)[0],
        after.end(commit=True, version=5)[0],
        after.end(commit=False, version=5)[0],
        init(broker, "timed-out")[0],
        after.state(),
    ]


def rotation(broker: Broker, old_id: int) -> tuple[str, bool, int]:
    """KAFKA-20357: InitProducerId at the last epoch; whether the answer has a new producer id."""
    broker.find_coordinators()
    error, new_id, epoch = init(broker, "rotated", producer_id=old_id, epoch=LAST_EPOCH)
    return error, new_id not in (old_id, -1), epoch


STUCK = [
    ["NONE", "same-pid", LAST_EPOCH + 1], "NONE", "UNKNOWN_SERVER_ERROR",
    "UNKNOWN_SERVER_ERROR", "UNKNOWN_SERVER_ERROR", "Ongoing",
]  # fmt: skip
"""What Kafka 4.1.1 answered, which has KAFKA-20090."""


def without_ids(seen: list[Any]) -> list[Any]:
    """The answers without the new producer id, which brokers choose."""
    (error, producer_id, epoch), *after = seen
    return [[error, "new" if isinstance(producer_id, int) else producer_id, epoch], *after]


def test_the_last_epoch_of_a_producer(place: Place) -> None:
    with place.ottla() as ottla:
        ids = given(ottla)
    with place.kafka(kill=True) as bootstrap, connected(bootstrap) as broker:
        mended = abort_after_the_timeout(broker, ids.timed_out)
        first = rotation(broker, ids.rotated)
    with place.kafka() as bootstrap, connected(bootstrap) as broker:
        repeated = rotation(broker, ids.rotated)
    assert mended[0][2] == 0
    assert (first, repeated) == (("NONE", True, 0), ("PRODUCER_FENCED", False, -1))

    with Ottla(settings=SHARED) as ottla, connected(ottla.bootstrap) as broker:
        seen = abort_after_the_timeout(broker, given(ottla).timed_out)
        assert without_ids(seen) == without_ids(mended)

    with Ottla(settings=SHARED, emulate=["KAFKA-20090", "KAFKA-20357"]) as ottla:
        ids = given(ottla)
        with connected(ottla.bootstrap) as broker:
            assert abort_after_the_timeout(broker, ids.timed_out) == STUCK
            assert rotation(broker, ids.rotated) == first
        ottla.kill()
        ottla.start()
        with connected(ottla.bootstrap) as broker:
            assert rotation(broker, ids.rotated) == repeated
