"""Consumer groups (KIP-848) that Ottla and Apache Kafka find in one directory, in turn.

Members keep their epochs and partitions, and there is no rebalance, because both compute the same
hash of the topics.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ..wire.broker import Broker
from ..wire.client import until
from ..wire.conftest import address_of, warm_up
from ..wire.consumers import Consumer, described, state
from ..wire.groups import Member, join_raw, subscription
from .dump import CONSUMER_OFFSETS, complaints, dumped, files_in
from .place import Place

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(300)]


@contextmanager
def opened(place: Place, who: str) -> Iterator[Broker]:
    """A connection to Ottla or Kafka on the directory."""
    if who == "kafka":
        with place.kafka() as bootstrap, _connected(bootstrap) as broker:
            yield broker
    else:
        with place.ottla() as ottla, _connected(ottla.bootstrap) as broker:
            yield broker


@contextmanager
def _connected(bootstrap: str) -> Iterator[Broker]:
    address = address_of(bootstrap)
    warm_up(address)
    broker = Broker(address, "groups")
    try:
        yield broker
    finally:
        broker.close()


def view(broker: Broker, group: str) -> Any:
    """The result of ConsumerGroupDescribe, sorted."""

    def ask() -> Any:
        found = described(broker, group)
        for member in found["members"]:
            for key in ("assignment", "target_assignment"):
                parts = member[key]["topic_partitions"]
                member[key] = sorted(
                    (part["topic_name"], sorted(part["partitions"])) for part in parts
                )
            member["subscribed_topic_names"].sort()
        found["members"].sort(key=lambda member: member["member_id"])
        return found

    transient = ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")
    return until(ask, lambda found: found["error"] not in transient)


class Groups:
    """A group with all kinds of members, one with a regular expression, and a deleted one."""

    def __init__(self, broker: Broker) -> None:
        topics = [broker.topic(4), broker.topic(2)]
        self.group, self.matched, self.gone = (broker.fresh("g") for _ in range(3))
        self.a = Consumer(broker, self.group, "a", topics)
        self.b = Consumer(broker, self.group, "b", topics, instance="i")
        self.c = Consumer(broker, self.matched, "c", topics)
        self.consumers = [self.a, self.b, self.c]
        self.a.join(rack_id="r")
        self.b.join(subscribed_topic_names=topics[:1], server_assignor="uniform")
        given = self._join(broker, topics[0], "")
        joined = self._join(broker, topics[0], given["member_id"])
        self.m = Member(broker, self.group, joined["member_id"], joined["generation_id"])
        self.a.beat()
        self.c.join(subscribed_topic_regex=f"{topics[0]}|{topics[1]}")
        until(self.c.report, lambda told: told[2] is not None)
        d = Consumer(broker, self.gone, "d", topics)
        d.join()
        d.leave()
        broker.call("DeleteGroups", 2, {"groups_names": [self.gone]})
        self.m.sync()

    def _join(self, broker: Broker, topic: str, member_id: str) -> Any:
        protocols = (("range", subscription(topic)),)
        # A start of Kafka may take this long.
        session: dict[str, Any] = {"session_timeout_ms": 120_000}
        return join_raw(broker, self.group, member_id=member_id, protocols=protocols, **session)

    def at(self, broker: Broker) -> None:
        """Use this broker from now on."""
        for consumer in self.consumers:
            consumer.broker = broker
        self.m = self.m.but(broker=broker)

    def seen(self, broker: Broker) -> Any:
        return [view(broker, group) for group in (self.group, self.matched, self.gone)]

    def go_on(self) -> list[Any]:
        """The answers to heartbeats without changes."""
        return [self.b.beat()[:2], self.c.report()[:2], self.m.heartbeat()]

    def settle(self) -> None:
        """Send heartbeats until every member has its target assignment."""
        for _ in range(6):
            for consumer in self.consumers:
                consumer.report()
            if self.m.heartbeat() == "REBALANCE_IN_PROGRESS":
                joined = self._join(self.a.broker, self.a.topics[0], self.m.member_id)
                self.m = self.m.but(generation_id=joined["generation_id"])
                self.m.sync()


@pytest.mark.parametrize("first", ["ottla", "kafka"])
def test_the_other_broker_continues_the_groups(place: Place, first: str) -> None:
    second = "kafka" if first == "ottla" else "ottla"
    with opened(place, first) as broker:
        groups = Groups(broker)
        groups.go_on()
        went_on, left = groups.go_on(), groups.seen(broker)
    for who in (second, first):
        with opened(place, who) as broker:
            groups.at(broker)
            assert groups.seen(broker) == left, f"{who} found a different state"
            assert groups.go_on() == went_on
            assert [state(broker, groups.group)[2]] == [left[0]["group_epoch"]], "nothing moved"
            groups.settle()
            assert state(broker, groups.group)[1] == "Stable"
            newcomer = Consumer(broker, groups.group, f"new-{who}", groups.a.topics)
            newcomer.join()
            groups.consumers.append(newcomer)
            groups.go_on()
            went_on, left = groups.go_on(), groups.seen(broker)
    assert place.complaints == []


def test_kafkas_tool_reads_the_records(place: Place) -> None:
    with place.ottla() as ottla, _connected(ottla.bootstrap) as broker:
        groups = Groups(broker)
        groups.settle()
    files = files_in(place.data, [".log"], CONSUMER_OFFSETS)
    output = dumped(files, "--offsets-decoder")
    assert complaints(output) == []
    for kind in ("3", "5", "6", "7", "8", "16"):
        assert f'"type":"{kind}"' in output, f"no record of kind {kind}"
    assert '"classicMemberMetadata":null' in output
    assert '"supportedProtocols":[{"name":"range"' in output
