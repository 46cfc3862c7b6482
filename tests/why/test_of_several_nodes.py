"""Replicas, leaders and nodes that are away are explained, and so is their return."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.client import Client
from ottla.testing import Ottla


@pytest.fixture(scope="module")
def cluster() -> Iterator[Ottla]:
    with Ottla(nodes=3) as started:
        yield started


def situations(cluster: Ottla, topic: str) -> dict[str, str]:
    """The sentences by their situations."""
    return {each.situation: each.sentence for each in cluster.why(topic).findings}


def test_too_few_replicas_then_no_leader_then_nothing(cluster: Ottla) -> None:
    configs = {"min.insync.replicas": "2"}
    cluster.create_topic("safe", replication_factor=3, configs=configs)
    cluster.produce("safe", ["a"])
    assert situations(cluster, "safe") == {}
    cluster.nodes[1].stop()
    assert situations(cluster, "safe") == {}  # two are enough
    cluster.nodes[2].stop()
    sentence = situations(cluster, "safe")["too_few_replicas"]
    assert sentence == (
        "A producer with acks=all waits for partition safe-0: 1 replica in sync, and"
        " min.insync.replicas is 2. The leader refuses with NOT_ENOUGH_REPLICAS, and producers"
        " retry until delivery.timeout.ms."
    )
    cluster.nodes[1].start()
    cluster.nodes[2].start()
    cluster.wait_for(lambda: situations(cluster, "safe") == {})


def test_a_partition_on_a_node_that_is_away_has_no_leader(cluster: Ottla) -> None:
    cluster.create_topic("single", partitions=3, replication_factor=1)
    cluster.nodes[3].stop()
    found = situations(cluster, "single")["no_leader"]
    assert "has no leader, so nobody reads or writes it: only node 3 may lead, and" in found
    assert "does not run" in found
    cluster.nodes[3].start()
    cluster.wait_for(lambda: "no_leader" not in situations(cluster, "single"))


def test_a_transaction_whose_coordinator_is_away_is_not_called_hanging() -> None:
    settings = {"transaction.state.log.replication.factor": "1"}
    with Ottla(nodes=3, settings=settings) as cluster:
        cluster.create_topic("orders", replication_factor=3)
        cluster.given("ongoing_transaction", topic="orders", transactional_id="x-1")
        with Client.to(cluster.bootstrap_servers) as client:
            (coordinator,) = client.transaction_coordinators(["x-1"])
        cluster.nodes[coordinator].stop()
        cluster.wait_for(lambda: "coordinator_unknown" in situations(cluster, "orders"))
        sentence = situations(cluster, "orders")["coordinator_unknown"]
        assert "not every coordinator of transactions could be asked" in sentence
        assert "hanging_transaction" not in situations(cluster, "orders")
        cluster.nodes[coordinator].start()
        cluster.wait_for(lambda: situations(cluster, "orders").keys() == {"open_transaction"})
