"""Ledgers that are not written by hand: of a trace, and of confluent-kafka."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, TopicPartition

from ottla.__main__ import main
from ottla.testing import Ottla
from ottla.testing.oracle_clients import Ledger, RecordedConsumer, RecordedProducer

pytestmark = pytest.mark.clients
COPIES = 3
TIMEOUT_S = 10.0


@pytest.fixture
def topics(broker: Ottla, request: pytest.FixtureRequest) -> tuple[str, str]:
    """An input with records, and an output."""
    name = f"t{abs(hash(request.node.name))}"
    for topic in (f"{name}-in", f"{name}-out"):
        broker.create_topic(topic)
    return f"{name}-in", f"{name}-out"


def fill(ledger: Ledger, broker: Ottla, topic: str) -> None:
    producer = RecordedProducer(ledger, {"bootstrap.servers": broker.bootstrap})
    for number in range(COPIES):
        producer.produce(topic, f"record-{number}")
    assert producer.flush(TIMEOUT_S) == 0


def copy(ledger: Ledger, broker: Ottla, topics: tuple[str, str], *, skips: int = 0) -> None:
    """Copy the input in transactions, the first of which is aborted; it may skip records."""
    cluster = {"bootstrap.servers": broker.bootstrap}
    group = f"{topics[0]}-group"
    settings = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = RecordedConsumer(ledger, cluster | settings)
    producer = RecordedProducer(ledger, cluster | {"transactional.id": f"{topics[1]}-id"})
    producer.init_transactions(TIMEOUT_S)
    consumer.subscribe([topics[0]])
    copied, aborts = 0, 1
    while copied < COPIES - skips:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        assert message.error() is None
        producer.begin_transaction()
        data, offset = message.value(), message.offset()
        assert data is not None
        assert offset is not None
        value = data.decode()
        producer.produce(topics[1], f"{value}#{aborts}", partition=0)
        if aborts:
            aborts -= 1
            producer.flush(TIMEOUT_S)
            producer.abort_transaction(TIMEOUT_S)
            consumer.seek(TopicPartition(topics[0], 0, offset))
            continue
        copied += 1
        behind = [TopicPartition(topics[0], 0, offset + 1)]
        metadata = consumer.consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction(behind, metadata, TIMEOUT_S, group_id=group)
        producer.commit_transaction(TIMEOUT_S)
    consumer.close()


def judged(capsys: Any, *words: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    status = main(["oracle", *words, "--json"])
    printed = capsys.readouterr()
    return status, json.loads(printed.out or "{}")


def test_a_right_program_writes_a_ledger_without_anomalies(
    broker: Ottla, topics: tuple[str, str], tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "history.jsonl"
    with Ledger(file) as ledger:
        fill(ledger, broker, topics[0])
        copy(ledger, broker, topics)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [each["time_ns"] for each in lines] == sorted(each["time_ns"] for each in lines)
    kinds = {(each["op"], each["type"]) for each in lines}
    assert {
        ("send", "ok"),
        ("abort", "ok"),
        ("commit", "ok"),
        ("poll", "ok"),
        ("init", "ok"),
    } <= kinds
    assert any(each.get("offsets") and each.get("group") for each in lines)
    status, found = judged(capsys, "--history", str(file), "-b", broker.bootstrap)
    assert (status, found["anomalies"]) == (0, {})


def test_a_record_that_was_promised_and_is_not_there_is_lost(
    broker: Ottla, topics: tuple[str, str], tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "history.jsonl"
    with Ledger(file) as ledger:
        fill(ledger, broker, topics[0])
        producer = RecordedProducer(ledger, {"bootstrap.servers": broker.bootstrap})
        producer.produce(topics[1], "elsewhere", partition=0)
        producer.flush(TIMEOUT_S)
    file.write_text(file.read_text().replace("elsewhere", "somewhere"))
    status, found = judged(capsys, "--history", str(file), "-b", broker.bootstrap)
    assert (status, found["anomalies"]) == (1, {"lost-write": 1, "inconsistent-offsets": 1})


def test_a_send_that_fails_is_not_promised(broker: Ottla, tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    failed = []
    with Ledger(file) as ledger:
        producer = RecordedProducer(ledger, {"bootstrap.servers": broker.bootstrap})
        with pytest.raises(KafkaException, match="size"):
            producer.produce("orders", "x" * 2_000_000)
        nowhere = {"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 1}
        producer = RecordedProducer(ledger, nowhere)
        producer.produce("orders", "y", on_delivery=lambda error, _: failed.append(error))
        producer.flush(TIMEOUT_S)
    types = [json.loads(line)["type"] for line in file.read_text().splitlines()]
    assert types == ["begin", "fail", "begin", "info"]
    assert len(failed) == 1


def test_a_trace_is_judged_with_the_logs(
    broker: Ottla, topics: tuple[str, str], tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "trace.jsonl"
    broker.trace.start(file=file)
    with Ledger(tmp_path / "history.jsonl") as ledger:
        fill(ledger, broker, topics[0])
        copy(ledger, broker, topics)
    broker.trace.stop()
    status, found = judged(capsys, "--trace", str(file), "-b", broker.bootstrap)
    assert (status, found["anomalies"]) == (0, {})
    assert found["lines"] > 10
    text = file.read_text().replace('"committed": false', '"committed": true')
    file.write_text(text)
    status, found = judged(capsys, "--trace", str(file), "-b", broker.bootstrap)
    assert status == 1
    assert "lost-write" in found["anomalies"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--trace", "t"], "expected the logs, too"),
        (["--trace", "t", "--history", "h"], "expected --history FILE, or --trace FILE"),
        (["--trace", "gone.jsonl", "-b", "127.0.0.1:1"], "gone.jsonl: No such file"),
    ],
)
def test_a_trace_that_cannot_be_judged_is_status_2(
    words: list[str], reason: str, capsys: Any
) -> None:
    assert main(["oracle", *words]) == 2
    assert reason in capsys.readouterr().err
