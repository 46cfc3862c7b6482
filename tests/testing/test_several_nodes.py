"""`ottla serve --nodes` and `running_broker(nodes=...)`: several brokers in one process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.serving.health import answers
from ottla.testing import BrokerFailed, RunningBroker, running_broker

PATIENCE_S = 20.0


def trouble(bootstrap: str) -> str | None:
    host, _, port = bootstrap.partition(":")
    return answers(host, int(port))


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    """Three nodes. After each test all run, and node N leads partition N - 1 of `orders`."""
    with running_broker(nodes=3) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("orders", 3, 3)])["orders"].result(PATIENCE_S)
        yield broker


def leaders(broker: RunningBroker, asked: int) -> list[int]:
    """Of the partitions of `orders`, as one node tells."""
    admin = AdminClient({"bootstrap.servers": broker.nodes[asked].bootstrap})
    partitions = admin.list_topics("orders", PATIENCE_S).topics["orders"].partitions
    return [partitions[index].leader for index in sorted(partitions)]


def test_each_node_answers_on_a_port_of_its_own(broker: RunningBroker) -> None:
    assert list(broker.nodes) == [1, 2, 3]
    assert broker.bootstrap == ",".join(node.bootstrap for node in broker.nodes.values())
    assert [trouble(node.bootstrap) for node in broker.nodes.values()] == [None] * 3
    assert [leaders(broker, asked) for asked in broker.nodes] == [[1, 2, 3]] * 3


@pytest.mark.parametrize("how", ["stop", "cut"])
def test_a_stopped_node_is_away_until_it_restarts(broker: RunningBroker, how: str) -> None:
    node = broker.nodes[2]
    broker.move_leader("orders", 1, 2)
    getattr(node, how)()
    try:
        assert trouble(node.bootstrap) is not None
        assert leaders(broker, 1) == [1, 3, 3]
        with pytest.raises(BrokerFailed, match="does not run"):
            node.stop()
    finally:
        node.start()
    assert trouble(node.bootstrap) is None
    assert leaders(broker, 2) == [1, 3, 3]
    with pytest.raises(BrokerFailed, match="node 2 runs"):
        node.start()
    broker.move_leader("orders", 1, 2)


def test_leaders_are_moved(broker: RunningBroker) -> None:
    broker.move_leader("orders", 0, 3)
    broker.move_leader("orders", 0, 3)
    assert leaders(broker, 2)[0] == 3
    broker.order("lead orders * 1")
    assert leaders(broker, 2) == [1, 1, 1]
    for index in range(3):
        broker.move_leader("orders", index, index + 1)


@pytest.mark.parametrize(
    "order", ["lead orders 0 9", "lead nowhere 0 1", "stop 9", "stop x", "what is this", ""]
)
def test_an_impossible_order_fails(broker: RunningBroker, order: str) -> None:
    before = leaders(broker, 1)
    with pytest.raises(BrokerFailed):
        broker.order(order)
    assert leaders(broker, 1) == before


def test_the_queued_markers_of_each_node_are_reported(broker: RunningBroker) -> None:
    told = json.loads(broker.order("queues"))
    empty = {
        "destinations": {},
        "unknown_leader": 0,
        "completions": 0,
        "refused_for_good": 0,
        "retries": 0,
    }
    assert told == {"1": empty, "2": empty, "3": empty}


def test_nodes_have_ids_from_the_given_one_on() -> None:
    with running_broker(nodes=2, settings={"node.id": "7"}) as broker:
        assert list(broker.nodes) == [7, 8]
        broker.nodes[7].stop()
        assert trouble(broker.nodes[8].bootstrap) is None
        broker.kill()
        broker.start()
        assert [trouble(node.bootstrap) for node in broker.nodes.values()] == [None, None]


def test_a_broker_that_ended_accepts_no_orders(broker: RunningBroker) -> None:
    broker.kill()
    try:
        with pytest.raises(BrokerFailed, match="stop 1"):
            broker.nodes[1].stop()
    finally:
        broker.start()


@pytest.mark.parametrize("nodes", ["0", "17", "many"])
def test_a_number_of_nodes_has_limits(nodes: str) -> None:
    command = [sys.executable, "-P", "-m", "ottla", "serve", "--nodes", nodes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--nodes" in done.stderr


def test_too_few_ports_are_reported() -> None:
    command = [sys.executable, "-P", "-m", "ottla", "serve", "--nodes", "3"]
    done = subprocess.run(
        [*command, "--listen", "127.0.0.1:65534"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "listeners" in done.stderr
