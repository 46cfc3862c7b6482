"""Consumer groups (KIP-848) through SIGKILL at every step of a rebalance, request by request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing import RunningBroker, running_broker

from ..wire.broker import Broker
from ..wire.client import until
from ..wire.conftest import address_of, warm_up
from ..wire.consumers import Consumer, described, state
from ..wire.groups import Member, join_raw, subscription
from ..wire.groups import described as described_classic


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    """A broker that can be killed."""
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with running_broker(data_dir=tmp_path / "data", settings=settings) as running:
        warm_up(address_of(running.bootstrap))
        yield running


class Crashing:
    """A broker that is killed and restarted while its members go on."""

    def __init__(self, broker: RunningBroker) -> None:
        self._broker = broker
        self.asked = Broker(address_of(broker.bootstrap), "crash")
        self.consumers: list[Consumer] = []

    def crash(self) -> None:
        self.asked.close()
        self._broker.kill()
        self._broker.start()
        self.asked = Broker(address_of(self._broker.bootstrap), "crash")
        for consumer in self.consumers:
            consumer.broker = self.asked


def test_a_rebalance_continues_after_a_kill(broker: RunningBroker) -> None:
    it = Crashing(broker)
    topic, group = it.asked.topic(4), it.asked.fresh("g")
    a, b = (Consumer(it.asked, group, name, [topic]) for name in "ab")
    it.consumers = [a, b]
    a.join()
    it.crash()
    assert a.beat() == ["NONE", 2, None]
    b.join()
    it.crash()
    assert a.beat() == ["NONE", 2, {"t0": [0, 1]}]
    it.crash()
    assert b.beat() == ["NONE", 3, None]
    assert a.report() == ["NONE", 3, None]
    it.crash()
    assert b.report() == ["NONE", 3, {"t0": [2, 3]}]
    assert state(it.asked, group)[1:4] == ["Stable", 3, 3]
    a.leave()
    it.crash()
    assert b.report() == ["NONE", 4, {"t0": [0, 1, 2, 3]}]
    it.asked.close()


def test_a_converted_group_stays_converted_after_a_kill(broker: RunningBroker) -> None:
    it = Crashing(broker)
    topic, group = it.asked.topic(2), it.asked.fresh("g")
    a = Consumer(it.asked, group, "a", [topic])
    it.consumers = [a]
    a.join()
    protocols = (("range", subscription(topic)),)
    given = join_raw(it.asked, group, protocols=protocols)["member_id"]
    joined = join_raw(it.asked, group, member_id=given, protocols=protocols)
    m = Member(it.asked, group, given, joined["generation_id"])
    m.sync()
    it.crash()
    m = m.but(broker=it.asked)
    assert m.heartbeat() == "NONE"
    a.leave()
    it.crash()
    assert until(lambda: described_classic(it.asked, group)[1], lambda s: s == "Stable") == "Stable"
    assert described(it.asked, group)["error"] == "GROUP_ID_NOT_FOUND"
    assert m.but(broker=it.asked).heartbeat() == "NONE"
    again = Consumer(it.asked, group, "b", [topic])
    again.join()
    it.crash()
    assert state(it.asked, group)[2] == 4
    it.asked.close()
