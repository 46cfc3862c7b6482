"""Java's clients on a cluster in bad faults, with the programs of Kafka's own system tests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from ottla.testing import RunningBroker

from ..kafka.installation import java, tool_class
from .conftest import PARTITIONS, PATIENCE_S, Faults, committed

pytestmark = [pytest.mark.clients, pytest.mark.kafka, pytest.mark.slow]

FLAGS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@pytest.fixture(autouse=True)
def _asked_for(apache_kafka: str) -> None:
    """Skip unless `-m kafka` allows its jars."""


@contextmanager
def running(name: str, *arguments: str) -> Iterator[Iterator[dict[str, Any]]]:
    """The output of a program by lines; it must exit with status 0."""
    with subprocess.Popen(
        java(*FLAGS, tool_class(name), *arguments), stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        try:
            yield (json.loads(line) for line in program.stdout if line.startswith("{"))
            assert program.wait(PATIENCE_S) == 0
        finally:
            program.kill()


def test_an_idempotent_producer_writes_all_in_order_and_once(
    cluster: RunningBroker, faults: Faults, tmp_path: Path
) -> None:
    count = 3000
    acknowledged = 0
    to = ("--bootstrap-server", cluster.bootstrap, "--topic", "in")
    sizes = ("--max-messages", str(count), "--throughput", "1000", "--acks", "-1")
    settings = tmp_path / "producer.properties"
    settings.write_text("retries=1000000\nenable.idempotence=true\nretry.backoff.ms=50\n")
    with running("VerifiableProducer", *to, *sizes, "--producer.config", str(settings)) as said:
        for line in said:
            assert line["name"] != "producer_send_error", line
            if line["name"] == "producer_send_success":
                acknowledged += 1
                if acknowledged % 400 == 200:
                    faults.turn("in")
    faults.clear_up()
    assert acknowledged == count
    assert faults.count >= 6
    found = committed(cluster.bootstrap, "in")
    assert sorted(int(value) for part in found for value in part) == list(range(count))
    for part in found:
        assert [int(value) for value in part] == sorted(int(value) for value in part)


def test_records_are_consumed_transformed_and_produced_exactly_once(
    cluster: RunningBroker, faults: Faults
) -> None:
    count = 1500
    source = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(count):
        source.produce("in", str(number), partition=0)
    assert source.flush(PATIENCE_S) == 0
    copier = [
        "--broker-list", cluster.bootstrap, "--input-topic", "in", "--input-partition", "0",
        "--output-topic", "out", "--transactional-id", "copier", "--consumer-group", "copiers",
        "--transaction-size", "25", "--max-messages", str(count), "--use-group-metadata",
    ]  # fmt: skip
    turns = 0
    with running("TransactionalMessageCopier", *copier) as said:
        for line in said:
            if line.get("stage") == "ProcessLoop":
                turns += 1
                if turns % 8 == 3:
                    faults.turn("out")
                    faults.move_coordinators()
    faults.clear_up()
    assert faults.count >= 6
    found = [value for part in committed(cluster.bootstrap, "out") for value in part]
    assert sorted(int(value) for value in found) == list(range(count))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_continues_from_its_committed_offset_when_its_coordinator_moves(
    cluster: RunningBroker, faults: Faults, protocol: str
) -> None:
    count = 3000
    source = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(count):
        source.produce("in", str(number), partition=number % PARTITIONS)
    assert source.flush(PATIENCE_S) == 0
    reader = [
        "--bootstrap-server", cluster.bootstrap, "--topic", "in", "--group-id", "readers",
        "--group-protocol", protocol, "--reset-policy", "earliest", "--max-messages", str(count),
    ]  # fmt: skip
    ends = dict.fromkeys(range(PARTITIONS), 0)
    polls = 0
    with running("VerifiableConsumer", *reader) as said:
        for line in said:
            if line["name"] != "records_consumed":
                continue
            for part in line["partitions"]:
                assert part["minOffset"] <= ends[part["partition"]], "records were not read"
                ends[part["partition"]] = part["maxOffset"] + 1
            polls += 1
            if polls % 2 == 1:
                faults.turn("in")
                faults.move_coordinators(["__consumer_offsets"])
    faults.clear_up()
    assert ends == dict.fromkeys(range(PARTITIONS), count // PARTITIONS)
    assert faults.count >= 2
