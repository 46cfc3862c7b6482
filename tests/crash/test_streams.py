"""Kafka Streams counts exactly once, through kills of the application and the broker."""

from __future__ import annotations

import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.testing import running_broker

from ..kafka.installation import STREAMS, java
from .reading import READ_TIMEOUT_S, committed_records

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.kafka]

APPLICATION = Path(__file__).with_name("Words.java")
WORDS = [f"word{i}" for i in range(20)]
LINES, PARTITIONS = 300, 3
COUNTED_TIMEOUT_S = 60.0
HALTED = 137


@contextmanager
def counting(bootstrap: str, scratch: Path, halt_at: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    """Start the application; at a count of `halt_at` it crashes."""
    flags = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    given = (bootstrap, "words", str(scratch / "state"), "lines", "counts", str(halt_at))
    command = java(*flags, str(APPLICATION), *given, pom=STREAMS)
    with (scratch / "streams.log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def say(bootstrap: str) -> None:
    """Produce LINES lines of all WORDS, over all partitions."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for line in range(LINES):
        producer.produce("lines", " ".join(WORDS), partition=line % PARTITIONS)
    assert producer.flush(READ_TIMEOUT_S) == 0


def counts(bootstrap: str) -> dict[str, list[int]]:
    """The counts of each word, in order."""
    found = defaultdict(list)
    for partition in committed_records(bootstrap, "counts", PARTITIONS):
        for word, count in partition:
            found[word].append(int(count))
    return found


def wait_for(bootstrap: str, count: int, scratch: Path) -> None:
    """Wait until each word has this count."""
    deadline = time.monotonic() + COUNTED_TIMEOUT_S
    while True:
        found = counts(bootstrap)
        if all(found[word] and found[word][-1] >= count for word in WORDS):
            return
        seen = {word: found[word][-1:] for word in WORDS}
        assert time.monotonic() < deadline, (seen, log_of(scratch))


def log_of(scratch: Path) -> str:
    """The end of the application's output."""
    return (scratch / "streams.log").read_text()[-5000:]


@pytest.mark.timeout(240)
@pytest.mark.usefixtures("apache_kafka")  # Java and Maven exist if this mark is selected
def test_kafka_streams_counts_each_word_once_through_kills(tmp_path: Path) -> None:
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    }
    with running_broker(data_dir=tmp_path / "data", settings=settings) as broker:
        server = broker.bootstrap
        admin = AdminClient({"bootstrap.servers": server})
        topics = [NewTopic("lines", PARTITIONS), NewTopic("counts", PARTITIONS)]
        for made in admin.create_topics(topics).values():
            made.result(10)
        say(server)
        with counting(server, tmp_path, halt_at=LINES - 10) as application:
            assert application.wait(COUNTED_TIMEOUT_S) == HALTED, log_of(tmp_path)
        with counting(server, tmp_path):
            wait_for(server, LINES, tmp_path)
            say(server)
            broker.kill()
            broker.restart()
            say(server)
            wait_for(server, 3 * LINES, tmp_path)
        expected = list(range(1, 3 * LINES + 1))
        found = counts(server)
        assert {word: values for word, values in found.items() if values != expected} == {}
        assert sorted(found) == sorted(WORDS)
