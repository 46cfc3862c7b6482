"""Kafka's tools on three nodes of Ottla change and describe the cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing import running_broker

from .tool_runner import ToolRunner

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


class Tools:
    """The tools, on one cluster."""

    def __init__(self, runner: ToolRunner, bootstrap: str) -> None:
        self._runner = runner
        self._server = ("--bootstrap-server", bootstrap)

    def __call__(self, name: str, line: str, stdin: str = "") -> str:
        ran = self._runner.run(name, *self._server, *line.split(), stdin=stdin)
        assert ran.code == 0, ran
        return ran.out

    def partitions(self, topic: str) -> list[str]:
        """Leader, replicas and in-sync replicas of each partition."""
        lines = self("TopicCommand", f"--describe --topic {topic}").splitlines()[1:]
        return [" ".join(line.split()[5::2][:3]) for line in lines]


@pytest.fixture
def tools(runner: ToolRunner, apache_kafka: str) -> Iterator[Tools]:
    """The tools on three nodes; skipped unless `-m kafka` allows Kafka's jars."""
    with running_broker(nodes=3) as broker:
        yield Tools(runner, broker.bootstrap)


def test_partitions_are_moved_and_their_records_with_them(tools: Tools, tmp_path: Path) -> None:
    replicas = {0: [3, 2], 1: [1]}
    partitions = [
        {"topic": "orders", "partition": index, "replicas": wanted}
        for index, wanted in replicas.items()
    ]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": partitions}))

    tools("TopicCommand", "--create --topic orders --replica-assignment 1:2,2:3,3:1")
    tools("ConsoleProducer", "--topic orders", "one\ntwo\nthree\n")
    tools("ReassignPartitionsCommand", f"--execute --reassignment-json-file {plan}")
    told = tools("ReassignPartitionsCommand", f"--verify --reassignment-json-file {plan}")
    assert told.count("is completed") == 2
    assert tools.partitions("orders") == ["3 3,2 3,2", "1 1 1", "3 3,1 3,1"]
    assert "No partition reassignments" in tools("ReassignPartitionsCommand", "--list")

    read = "--topic orders --from-beginning --max-messages 3 --timeout-ms 15000 --group readers"
    assert sorted(tools("ConsoleConsumer", read).split()) == ["one", "three", "two"]
    groups = tools("ConsumerGroupCommand", "--describe --group readers").splitlines()[2:]
    assert sum(int(line.split()[3]) for line in groups) == 3

    told = tools("LogDirsCommand", "--describe --topic-list orders")
    brokers = json.loads(told.splitlines()[-1])["brokers"]
    found = {
        each["broker"]: sorted(log["partition"] for log in each["logDirs"][0]["partitions"])
        for each in brokers
    }
    assert found == {1: ["orders-1", "orders-2"], 2: ["orders-0"], 3: ["orders-0", "orders-2"]}


def test_the_preferred_leaders_lead_again(tools: Tools, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    partition = {"topic": "orders", "partition": 0, "replicas": [2, 1]}
    plan.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    tools("TopicCommand", "--create --topic orders --replica-assignment 1:2")
    tools("ReassignPartitionsCommand", f"--execute --reassignment-json-file {plan}")
    assert tools.partitions("orders") == ["1 2,1 2,1"]
    told = tools("LeaderElectionCommand", "--election-type preferred --all-topic-partitions")
    assert "orders-0" in told
    assert tools.partitions("orders") == ["2 2,1 2,1"]


def test_the_quorum_tool_describes_the_quorum(tools: Tools) -> None:
    rows = tools("MetadataQuorumCommand", "describe --replication").splitlines()[1:]
    assert [(row.split()[0], row.split()[-1]) for row in rows] == [
        ("1", "Leader"), ("2", "Observer"), ("3", "Observer")
    ]  # fmt: skip


def test_a_setting_of_one_node_does_not_change_the_others(tools: Tools) -> None:
    tools("ConfigCommand", "--broker 2 --alter --add-config log.cleaner.backoff.ms=16000")
    tools("ConfigCommand", "--broker-defaults --alter --add-config log.retention.ms=3600000")
    told = [tools("ConfigCommand", f"--broker {node} --describe --all") for node in (1, 2, 3)]
    assert ["log.cleaner.backoff.ms=16000" in each for each in told] == [False, True, False]
    assert all("log.retention.ms=3600000" in each for each in told)
