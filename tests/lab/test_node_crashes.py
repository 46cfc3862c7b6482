"""One node of three dies at each point, seen by clients: on the wire, in the trace, in the state.

librdkafka waits half a second before it looks for a coordinator again, so it does not go to all
points. aiokafka is not here: its producer gives up when it asks a dead node for a coordinator.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from ottla.client import Client
from ottla.protocol.api_keys import ApiKey
from ottla.testing import Ottla
from ottla.testing.lab import Event

from .actors import Actor
from .clients import with_marks
from .crash_points import OF_COMPACTION, OF_NODES, OLD_MS, begin_old_segment, match_of
from .traces import answers_of, values

pytestmark = pytest.mark.clients


@pytest.fixture(scope="module")
def started() -> Iterator[Ottla]:
    settings = {"log.cleaner.backoff.ms": "50", "offsets.topic.num.partitions": "3"}
    with Ottla(nodes=3, settings={**settings, "transaction.state.log.num.partitions": "3"}) as made:
        made.trace.start()
        yield made


@pytest.fixture(autouse=True)
def _all_run_again(broker: Ottla) -> Iterator[None]:
    yield
    broker.faults.clear()
    for node_id in dead(broker):
        start(broker, node_id)


@pytest.fixture
def topic(broker: Ottla, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).replace("[", "-").replace("]", "")[:200]
    begin_old_segment(broker, name, replication_factor=3)
    return name


@pytest.fixture
def client_at(
    request: pytest.FixtureRequest, broker: Ottla, topic: str
) -> Iterator[tuple[Actor, str]]:
    """A client, and the point at which a node dies."""
    name, point = request.param
    program = request.getfixturevalue(f"{name}_program")
    program.open(broker, topic)
    yield program, point
    program.close()


def dead(broker: Ottla) -> list[int]:
    nodes = broker.lab().call("GET", "/nodes")
    return [each["node_id"] for each in nodes if not each["is_running"]]


def start(broker: Ottla, node_id: int) -> None:
    broker.lab().call("POST", f"/nodes/{node_id}/start")


@pytest.mark.parametrize(
    "client_at",
    [with_marks(*case) for case in OF_NODES],
    indirect=True,
)
def test_a_transaction_is_whole_although_a_node_dies_at(
    client_at: tuple[Actor, str], broker: Ottla, topic: str
) -> None:
    client, point = client_at
    with broker.faults.expect("crash", point=point, match=match_of(point, topic)) as fault:
        client.begin()
        client.send(topic, "x")
        client.offset(topic, topic, 7)
        client.flush()
        client.commit()
        fault.wait_fired()
    (crash,) = broker.trace.where(kind="fault")
    assert [crash["node_id"]] == dead(broker)
    assert is_unanswered(broker, crash)
    assert changes_after(broker, crash) == []
    assert broker.wait_for(lambda: states(broker, topic) == ["CompleteCommit"])
    assert values(broker, topic) == ["old", "x"]
    assert committed(broker, topic) == [7]
    start(broker, crash["node_id"])
    client.begin()
    client.send(topic, "y")
    client.commit()
    assert client.poll(topic, 3) == values(broker, topic) == ["old", "x", "y"]


def is_unanswered(broker: Ottla, crash: Event) -> bool:
    """Whether the request in whose steps a node died got no answer from it.

    The step of an answer, and a completion after markers on other nodes, are of no request.
    """
    if "cause" not in crash:
        point: str = crash["action"]["point"]
        return point.endswith(("prepare_answer", "complete_append"))
    (request,) = broker.trace.where(seq=crash["cause"])
    assert request["node_id"] == crash["node_id"]
    return all("unanswered" in each for each in answers_of(broker, request))


def changes_after(broker: Ottla, crash: Event) -> list[Event]:
    """Appends of the request in whose steps a node died, after its death."""
    later = broker.trace.events(crash["seq"])
    kinds = {"records_appended", "decision", "marker_appended"}
    if crash["action"]["point"].endswith("offsets_materialized"):  # the marker is in the log
        kinds.remove("marker_appended")
    of_request = [each for each in later if each.get("cause", 0) == crash.get("cause")]
    return [each for each in of_request if each["kind"] in kinds]


def states(broker: Ottla, transactional_id: str) -> list[str]:
    found = broker.transactions()
    return [each.state for each in found if each.transactional_id == transactional_id]


def committed(broker: Ottla, group: str) -> list[int]:
    return list(broker.offsets(group).values())


@pytest.mark.parametrize(
    "client_at",
    [with_marks(client, point) for client in ("librdkafka", "java") for point in OF_COMPACTION],
    indirect=True,
)
def test_a_compacted_log_is_whole_although_a_node_dies_at(
    client_at: tuple[Actor, str], broker: Ottla, topic: str
) -> None:
    client, swap = client_at
    configs = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    name = f"{topic}-compacted"
    broker.create_topic(name, replication_factor=3, configs={**configs, "segment.ms": "60000"})
    with broker.faults.expect("crash", point=swap, match={"topic": name, "times": 1}) as fault:
        for index in range(3):
            broker.produce(name, [{"key": "k", "value": str(index), "timestamp_ms": OLD_MS}])
        broker.produce(name, [("other", "last")])
        fault.wait_fired()
    (crash,) = broker.trace.where(kind="fault")
    assert [crash["node_id"]] == dead(broker)
    broker.wait_for(lambda: values(broker, name) == ["2", "last"])
    assert client.poll(name, 2) == ["2", "last"]


def test_a_dead_node_applies_nothing_that_it_held(broker: Ottla) -> None:
    broker.create_topic("held", replication_factor=1)
    (leader,) = leaders(broker, "held")
    producer = once(broker)
    is_stored: list[bool] = []
    with broker.faults.expect("hold", match={"api": "Produce", "topic": "held"}) as fault:
        producer.produce("held", b"x", on_delivery=lambda error, _: is_stored.append(error is None))
        fault.wait_held()
        broker.lab().call("POST", f"/nodes/{leader}/kill")
        broker.wait_for(lambda: fault.held == 0)
        assert producer.flush(30) == 0
        start(broker, leader)
    broker.wait_for(lambda: leaders(broker, "held") == [leader])
    assert (is_stored, values(broker, "held")) == ([False], [])


def once(broker: Ottla) -> Producer:
    """A producer that sends nothing again."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
    return Producer({**settings, "retries": 0})


def leaders(broker: Ottla, topic: str) -> list[int]:
    with Client.to(broker.bootstrap) as client:
        answer = client.ask(ApiKey.METADATA, {"topics": [{"name": topic}]})
    return [each.leader_id for found in answer.topics for each in found.partitions]


def test_a_crash_of_the_process_kills_all_nodes() -> None:
    with Ottla(nodes=2) as broker:
        broker.create_topic("t")
        broker.faults.add("crash", point="produce_append", scope="process", match={"topic": "t"})
        producer = once(broker)
        producer.produce("t", b"x")
        broker.wait_for(lambda: not broker.runs)
        broker.kill()
        broker.start()
        assert values(broker, "t") == ["x"]
