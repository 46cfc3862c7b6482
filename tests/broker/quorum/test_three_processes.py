"""A cluster of three processes, as three containers of a compose file are."""

from __future__ import annotations

import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.__main__ import main as ottla
from ottla.client.admin.topics import create_topic
from ottla.client.cluster_client import Client, ErrorAnswer
from ottla.console.options import CannotRun
from ottla.serving.serve import serve
from tests.broker.quorum.processes import Processes, processes

COMBINED = "broker,controller"
PATIENCE_S = 30.0
SHORT_S = 10.0
RECORDS = 60


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    directory = tmp_path_factory.mktemp("three")
    roles = {1: COMBINED, 2: COMBINED, 3: COMBINED}
    with processes(directory, roles, {"min.insync.replicas": "2"}) as made:
        made.start(3, 2, 1)  # in any order
        yield made


def admin_of(running: Processes) -> AdminClient:
    return AdminClient({"bootstrap.servers": running.bootstrap_servers})


def new_topic(running: Processes, name: str) -> None:
    admin = admin_of(running)
    admin.create_topics([NewTopic(name, 3, 3)])[name].result(PATIENCE_S)


def described(running: Processes, topic: str) -> dict[int, tuple[int, set[int]]]:
    """Leader and ISR of each partition."""
    found = admin_of(running).list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
    return {index: (each.leader, set(each.isrs)) for index, each in found.items()}


def until(happens: Callable[[], Any]) -> None:
    """Ask again until it is so; each question is a request, so that this does not spin."""
    for _ in range(200):
        if happens():
            return
    pytest.fail("it does not happen")


def test_each_process_is_a_broker_at_its_own_address(three: Processes) -> None:
    brokers = admin_of(three).list_topics(timeout=PATIENCE_S).brokers
    assert {each.id: each.port for each in brokers.values()} == {
        node_id: client for node_id, (client, _) in three.ports.items()
    }


def test_leaders_move_when_a_process_stops_and_return_with_it(three: Processes) -> None:
    new_topic(three, "moves")
    assert {leader for leader, _ in described(three, "moves").values()} == {1, 2, 3}
    assert three.stop(2) == 0
    left = described(three, "moves").values()
    assert all(isr == {1, 3} and leader != 2 for leader, isr in left)
    three.start(2)
    assert all(isr == {1, 2, 3} for _, isr in described(three, "moves").values())


def test_a_killed_process_is_gone_at_once(three: Processes) -> None:
    new_topic(three, "kills")
    three.stop(3, signal.SIGKILL)
    until(lambda: all(isr == {1, 2} for _, isr in described(three, "kills").values()))
    three.start(3)


def test_a_producer_and_a_group_lose_nothing_while_a_process_is_away(three: Processes) -> None:
    new_topic(three, "kept")
    servers = three.bootstrap_servers
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 0})
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "kept", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["kept"])
    failures: list[Any] = []
    seen: list[int] = []

    def note(error: object, message: object) -> None:
        if error is not None:
            failures.append(error)

    try:
        for number in range(RECORDS):
            if number == RECORDS // 3:
                assert three.stop(2) == 0
            if number == 2 * RECORDS // 3:
                three.start(2)
            producer.produce("kept", str(number), partition=number % 3, on_delivery=note)
            producer.poll(0)
            seen += read(consumer, 0.01)
        assert producer.flush(PATIENCE_S) == 0
        while len(set(seen)) < RECORDS and (more := read(consumer, PATIENCE_S)):
            seen += more
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    assert not failures
    assert Counter(seen) == Counter(range(RECORDS))
    assert ends(servers, "kept") == [20, 20, 20]


def ends(servers: str, topic: str) -> list[int]:
    """The end offset of each of the three partitions."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "ends"})
    try:
        partitions = [TopicPartition(topic, index) for index in range(3)]
        return [consumer.get_watermark_offsets(each, PATIENCE_S)[1] for each in partitions]
    finally:
        consumer.close()


def read(consumer: Consumer, timeout_s: float) -> list[int]:
    message = consumer.poll(timeout_s)
    if message is None or message.error() is not None:
        return []
    value = message.value()
    assert isinstance(value, bytes)
    return [int(value)]


def test_all_return_after_the_process_that_runs_the_cluster(three: Processes) -> None:
    new_topic(three, "returns")
    assert three.stop(1) == 0
    three.start(1)
    until(lambda: all(isr == {1, 2, 3} for _, isr in described(three, "returns").values()))


def test_a_controller_that_does_not_run_the_cluster_accepts_connections(three: Processes) -> None:
    """Health checks by `nc -z` look at it."""
    with socket.create_connection(("127.0.0.1", three.ports[2][1]), timeout=PATIENCE_S) as peer:
        assert peer.recv(1) == b""


def test_controllers_and_brokers_may_be_apart(tmp_path: Path) -> None:
    roles = {1: "controller", 2: "controller", 4: "broker", 5: "broker"}
    with processes(tmp_path, roles, {"default.replication.factor": "2"}) as made:
        made.start(5, 4, 2, 1)
        seen = admin_of(made).list_topics(timeout=PATIENCE_S)
        assert set(seen.brokers) == {4, 5}
        admin = admin_of(made)
        admin.create_topics([NewTopic("apart", 2)])["apart"].result(PATIENCE_S)
        assert {leader for leader, _ in described(made, "apart").values()} == {4, 5}
        for node_id in (2, 4, 5, 1):
            assert made.stop(node_id) == 0


def test_the_settings_of_a_broker_make_the_topics_that_its_clients_use(tmp_path: Path) -> None:
    """Its controllers have no such settings in most compose files; Kafka asks the broker's."""
    roles = {1: "controller", 2: "controller", 4: "broker"}
    with processes(tmp_path, roles) as made:
        made.start(2, 1)
        log = "transaction.state.log"
        one = (f"--set={log}.replication.factor=1", f"--set={log}.min.isr=1")
        made.start(4, options=(*one, "--set=num.partitions=3"))
        producer = Producer({"bootstrap.servers": made.bootstrap_servers, "transactional.id": "a"})
        producer.init_transactions(SHORT_S)
        producer.begin_transaction()
        producer.produce("used", b"")
        producer.commit_transaction(SHORT_S)
        assert set(described(made, "used")) == {0, 1, 2}


def test_a_process_of_another_cluster_does_not_join(
    three: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = three.settings_of(3) | {"node.id": "9", "process.roles": "broker"}
    settings["listeners"] = "PLAINTEXT://127.0.0.1:0"
    file = tmp_path / "server.properties"
    file.write_text("\n".join(f"{name}={text}" for name, text in settings.items()))
    monkeypatch.setenv("CLUSTER_ID", "abcdefghijklmnopqrstuv")
    assert serve(["--config", str(file), "--environment"]) == 1


def test_several_nodes_of_a_process_that_others_join_are_refused(three: Processes) -> None:
    words = [f"--set={name}={text}" for name, text in three.settings_of(1).items()]
    with pytest.raises(CannotRun, match=r"--nodes 3: .* several processes"):
        serve([*words, "--nodes", "3"])


def test_rules_of_the_control_act_on_nodes_that_have_joined(tmp_path: Path) -> None:
    roles = {1: COMBINED, 2: COMBINED}
    with processes(tmp_path, roles) as made:
        made.start(1, options=("--control", "127.0.0.1:0"))
        control = made.said[1]["control"]
        rule = ["fault", "add", "error", '{"api": "CreateTopics"}', "code=POLICY_VIOLATION"]
        assert ottla([*rule, "--control", str(control)]) == 0
        made.start(2)
        host, port = "127.0.0.1", made.ports[2][0]
        with Client(host, port) as client, pytest.raises(ErrorAnswer, match="POLICY_VIOLATION"):
            create_topic(client, "refused", partitions=1, replication_factor=1)


def test_one_combined_process_coordinates_before_any_other_joins(tmp_path: Path) -> None:
    """It has one voter at an address that others could reach, as most compose files have."""
    with processes(tmp_path, {1: COMBINED}) as made:
        voters = f"1@{socket.gethostname()}:{made.ports[1][1]}"
        made.start(1, options=("--set", f"controller.quorum.voters={voters}"))
        producer = Producer({"bootstrap.servers": made.bootstrap_servers, "transactional.id": "a"})
        producer.init_transactions(PATIENCE_S)


def test_a_control_without_a_broker_is_refused(tmp_path: Path) -> None:
    with processes(tmp_path, {1: "controller"}) as made:
        words = [f"--set={name}={text}" for name, text in made.settings_of(1).items()]
        with pytest.raises(CannotRun, match=r"--control: .* must have a broker"):
            serve([*words, "--control", "127.0.0.1:0"])
