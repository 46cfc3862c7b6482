"""Kafka's own command line tools, which contain the Java clients; they need Maven's jars."""

from __future__ import annotations

import re

import pytest

from ..kafka.installation import tool

pytestmark = [pytest.mark.clients, pytest.mark.kafka, pytest.mark.slow]


def output(name: str, *arguments: str, stdin: str = "") -> str:
    """Standard output of a tool that succeeded."""
    done = tool(name, *arguments, stdin=stdin)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def _asked_for(apache_kafka: str) -> None:
    """Skip unless `-m kafka` allows its jars."""


def test_topics_are_created_described_and_grown(bootstrap: str, name: str) -> None:
    server = ("--bootstrap-server", bootstrap)
    made = output("TopicCommand", *server, "--create", "--topic", name, "--partitions", "3")
    assert f"Created topic {name}." in made
    output("TopicCommand", *server, "--alter", "--topic", name, "--partitions", "5")
    described = output("TopicCommand", *server, "--describe", "--topic", name)
    assert re.search(r"PartitionCount: 5\s+ReplicationFactor: 1", described)
    assert described.count("Leader: ") == 5
    output("TopicCommand", *server, "--delete", "--topic", name)
    assert name not in output("TopicCommand", *server, "--list").split()


def test_console_producer_and_consumer(bootstrap: str, topic: str, name: str) -> None:
    server = ("--bootstrap-server", bootstrap)
    output("ConsoleProducer", *server, "--topic", topic, stdin="one\ntwo\nthree\n")
    read = ("--from-beginning", "--max-messages", "3", "--timeout-ms", "20000", "--group", name)
    values = output("ConsoleConsumer", *server, "--topic", topic, *read)
    assert sorted(values.split()) == ["one", "three", "two"]
    lag = output("ConsumerGroupCommand", *server, "--describe", "--group", name)
    assert topic in lag


def test_consumer_of_the_consumer_protocol(bootstrap: str, topic: str, name: str) -> None:
    """KIP-848: it reads by name and by regular expression, and the tool lists its group."""
    server = ("--bootstrap-server", bootstrap)
    output("ConsoleProducer", *server, "--topic", topic, stdin="one\n")
    protocol = ("--command-property", "group.protocol=consumer")
    read = ("--from-beginning", "--max-messages", "1", "--timeout-ms", "15000", "--group", name)
    assert output("ConsoleConsumer", *server, "--topic", topic, *protocol, *read).split() == ["one"]
    read = (*read[:-1], f"{name}-pattern")
    matching = ("--include", f"{topic[:-1]}.")
    assert output("ConsoleConsumer", *server, *matching, *protocol, *read).split() == ["one"]
    group = ("--group", name)
    lag = output("ConsumerGroupCommand", *server, "--describe", *group)
    assert re.search(rf"{name}\s+{topic}\s+\d\s+1\s+1\s+0", lag)
    shown = output("ConsumerGroupCommand", *server, "--describe", *group, "--state", "--verbose")
    assert re.search(rf"{name}\s.*\suniform\s+Empty\s+\d\s+\d\s+0", shown)
    listed = output("ConsumerGroupCommand", *server, "--list", "--type", "consumer")
    assert re.search(rf"^{name}\s+Consumer", listed, re.MULTILINE)
    reset = ("--reset-offsets", "--topic", topic, "--to-earliest", "--execute")
    assert topic in output("ConsumerGroupCommand", *server, *group, *reset)
    gone = output("ConsumerGroupCommand", *server, *group, "--delete")
    assert "was successful" in gone


def test_performance_tools_with_transactions(bootstrap: str, topic: str, name: str) -> None:
    server = ("--bootstrap-server", bootstrap)
    sizes = ("--num-records", "5000", "--record-size", "100", "--throughput", "-1")
    transactions = ("--transactional-id", name, "--transaction-duration-ms", "50")
    to = ("--producer-props", f"bootstrap.servers={bootstrap}")
    report = output("ProducerPerformance", *to, "--topic", topic, *sizes, *transactions)
    assert "5000 records sent" in report
    read = ("--messages", "5000", "--group", name, "--timeout", "20000")
    report = output("ConsumerPerformance", *server, "--topic", topic, *read)
    assert ", 5000, " in report


def test_offsets_and_groups(bootstrap: str, topic: str, name: str) -> None:
    server = ("--bootstrap-server", bootstrap)
    output("ConsoleProducer", *server, "--topic", topic, stdin="a\nb\nc\n")
    ends = output("GetOffsetShell", *server, "--topic", topic)
    assert sum(int(line.rsplit(":", 1)[1]) for line in ends.split()) == 3
    reset = ("--reset-offsets", "--to-latest", "--execute", "--topic", topic, "--group", name)
    assert topic in output("ConsumerGroupCommand", *server, *reset)
    assert name in output("ConsumerGroupCommand", *server, "--list").split()
    output("ConsumerGroupCommand", *server, "--delete", "--group", name)


def test_transactions_are_listed(bootstrap: str) -> None:
    listed = output("TransactionsCommand", "--bootstrap-server", bootstrap, "list")
    assert "TransactionalId" in listed
