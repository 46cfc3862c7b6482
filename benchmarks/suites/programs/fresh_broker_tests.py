"""Tests that have a broker for themselves; the environment says which, and how many tests."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.peers import running_kfake
from tests.kafka.node import free_pair, start, stop

BROKER = os.environ["BENCH_BROKER"]
TIMEOUT_S = 30.0


@pytest.fixture
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    if BROKER == "ottla":
        yield str(request.getfixturevalue("ottla_broker").bootstrap_servers)
    elif BROKER == "kfake":
        with running_kfake() as address:
            yield address
    else:
        port = free_pair()
        with tempfile.TemporaryDirectory(prefix="kafka-") as scratch:
            try:
                start(port, Path(scratch))
                yield f"127.0.0.1:{port}"
            finally:
                stop(Path(scratch), kill=True)


@pytest.mark.parametrize("number", range(int(os.environ["BENCH_TESTS"])))
def test_a_group_reads_a_record(bootstrap: str, number: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("orders", 1)])["orders"].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    producer.produce("orders", f"order {number}".encode())
    assert producer.flush(TIMEOUT_S) == 0
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "readers", "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe(["orders"])
        record = consumer.poll(TIMEOUT_S)
        assert record is not None
        assert record.error() is None
        assert record.value() == f"order {number}".encode()
    finally:
        consumer.close()
