"""A cluster of three nodes for each test, and its faults."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.testing import RunningBroker, running_broker

from ..crash import reading

PARTITIONS = 6
PATIENCE_S = 20.0


class Faults:
    """Injects one fault after another: nodes stop, crash and restart; leaders move."""

    def __init__(self, broker: RunningBroker) -> None:
        self._broker = broker
        self._stopped: int | None = None
        self._troubles = itertools.cycle(self._rounds())
        self.count = 0

    def _rounds(self) -> list[tuple[str, int]]:
        return [("stop", 1), ("move", 2), ("cut", 3), ("stop", 2), ("move", 1), ("cut", 1)]

    def turn(self, topic: str) -> None:
        """Restart the stopped node, then inject the next fault."""
        self.clear_up()
        kind, node_id = next(self._troubles)
        self.count += 1
        if kind == "move":
            self._broker.order(f"lead {topic} * {node_id}")
        else:
            node = self._broker.nodes[node_id]
            (node.stop if kind == "stop" else node.cut)()
            self._stopped = node_id

    def move_coordinators(
        self, topics: Sequence[str] = ("__consumer_offsets", "__transaction_state")
    ) -> None:
        """Move the coordinators of all groups and transactions to another node."""
        self.count += 1
        here = [node_id for node_id in self._broker.nodes if node_id != self._stopped]
        for topic in topics:
            self._broker.order(f"lead {topic} * {here[self.count % len(here)]}")

    def clear_up(self) -> None:
        """Restart the stopped node."""
        if self._stopped is not None:
            self._broker.nodes[self._stopped].start()
            self._stopped = None


@pytest.fixture
def cluster() -> Iterator[RunningBroker]:
    """Three nodes, one of which may be down."""
    settings = {"group.initial.rebalance.delay.ms": "0", "min.insync.replicas": "2"}
    with running_broker(nodes=3, settings=settings) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        topics = [NewTopic(name, PARTITIONS, 3) for name in ("in", "out")]
        for created in admin.create_topics(topics).values():
            created.result(PATIENCE_S)
        yield broker


@pytest.fixture
def faults(cluster: RunningBroker) -> Faults:
    return Faults(cluster)


def committed(bootstrap: str, topic: str) -> list[list[str]]:
    """The committed records of each partition."""
    return reading.committed(bootstrap, topic, PARTITIONS)
