"""The audit over the wire finds hanging transactions, and the commands that it names end them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.audit.rules import Finding, Severity
from ottla.audit.whole import Outcome, audit
from ottla.kafka_tools.__main__ import main as kafka_tool
from ottla.spark.audit.wire import logs_of_cluster
from ottla.spark.orders import create_topics
from ottla.testing import running_broker
from tests.kafka import node
from tests.kafka.place import KAFKA, Place
from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.client import error_name, retrying
from tests.wire.conftest import address_of

pytestmark = pytest.mark.clients

# Without it a broker takes no batch that its coordinator does not know of (KIP-890).
UNVERIFIED = {"transaction.partition.verification.enable": "false"}


@pytest.fixture(scope="module")
def ottla() -> Iterator[str]:
    with running_broker(settings=UNVERIFIED) as broker:
        yield broker.bootstrap


@pytest.fixture
def kafka(pytestconfig: pytest.Config, tmp_path: Path) -> Iterator[str]:
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("starts an Apache Kafka: -m kafka")
    place = Place(tmp_path)
    try:
        node.start(place.port, place.directory, KAFKA | UNVERIFIED, heap_mb=512)
        yield f"127.0.0.1:{place.port}"
    finally:
        node.stop(place.directory, kill=True)


def hang(bootstrap: str, transactional_id: str, partition: int) -> int:
    """Write into a transaction that the coordinator does not know of; returns the producer id."""
    wire = Broker(address_of(bootstrap), transactional_id)
    try:
        named = {"key": transactional_id, "key_type": 1}
        retrying(
            lambda: error_name(wire.call("FindCoordinator", 3, named)["error_code"]), limit_s=60
        )
        body = {"transactional_id": transactional_id, "transaction_timeout_ms": 60_000}
        given = retrying(
            lambda: wire.call("InitProducerId", 2, body),
            lambda each: [error_name(each["error_code"])],
            limit_s=60,
        )
        assert given["error_code"] == 0, error_name(given["error_code"])
        producer_id: int = given["producer_id"]
        data = batch(producer_id=producer_id, epoch=0, sequence=0, transactional=True)
        body = {
            "transactional_id": transactional_id,
            "acks": -1,
            "timeout_ms": 5000,
            "topic_data": [
                {"name": "orders", "partition_data": [{"index": partition, "records": data}]}
            ],
        }
        answer = wire.call("Produce", 8, body)
        assert answer["responses"][0]["partition_responses"][0]["error_code"] == 0
        return producer_id
    finally:
        wire.close()


def audited(bootstrap: str) -> Outcome:
    """The audit of a cluster that is at rest: nothing is too recent to be judged."""
    return audit(replace(logs_of_cluster(bootstrap), live_from_ms=-1))


def errors(outcome: Outcome) -> list[Finding]:
    return [each for each in outcome.findings if each.severity is not Severity.NOTICE]


def check(bootstrap: str) -> None:
    create_topics(bootstrap, {"orders": 2})
    producers = [hang(bootstrap, f"hangs-{index}", index) for index in range(2)]
    recent = audit(logs_of_cluster(bootstrap))
    assert errors(recent) == [], "it may end in the next seconds"
    outcome = audited(bootstrap)
    found = errors(outcome)
    assert [each.rule for each in found] == ["hanging-transaction"] * 2
    assert [each.producer_id for each in found] == producers
    assert [each.place for each in found] == ["orders-0 at 0", "orders-1 at 0"]
    held = {each.partition: each for each in outcome.partitions if each.topic == "orders"}
    assert all((each.last_stable_offset, each.open) == (0, 1) for each in held.values())
    first, second = found[0].command, found[1].command
    ours, _, _ = first.partition("  # or: ")
    _, _, kafkas = second.partition("  # or: ")
    assert main(shlex.split(ours)[1:]) == 0
    tool, *arguments = shlex.split(kafkas)
    assert kafka_tool([tool.removesuffix(".sh"), *arguments]) == 0
    outcome = audited(bootstrap)
    assert errors(outcome) == []
    assert {each.rule for each in outcome.findings} == {"abort-without-decision"}


def test_hanging_transactions_of_ottla_end_with_the_commands_of_the_audit(ottla: str) -> None:
    check(ottla)


@pytest.mark.kafka
@pytest.mark.timeout(300)
def test_hanging_transactions_of_kafka_end_with_the_commands_of_the_audit(kafka: str) -> None:
    check(kafka)
