"""The application that counts words with Kafka Streams: starts it, feeds it, reads its counts."""

from __future__ import annotations

import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ..kafka.installation import STREAMS, java
from .reading import READ_TIMEOUT_S, committed_records

APPLICATION = Path(__file__).with_name("Words.java")
GROUP = "words"
WORDS = [f"word{i}" for i in range(20)]
LINES, PARTITIONS = 300, 3
COUNTED_TIMEOUT_S = 60.0


@contextmanager
def counting(
    bootstrap: str, scratch: Path, *settings: str, name: str = "streams", halt_at: int = 0
) -> Iterator[subprocess.Popen[bytes]]:
    """Start an instance of the application, and kill it at the end.

    Args:
        scratch: has its state and its log.
        settings: of Kafka Streams, as NAME=VALUE.
        name: of the instance.
        halt_at: the count at which it crashes.
    """
    flags = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    given = (bootstrap, GROUP, str(scratch / name), "lines", "counts", str(halt_at), *settings)
    command = java(*flags, str(APPLICATION), *given, pom=STREAMS)
    with (scratch / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def make_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic("lines", PARTITIONS), NewTopic("counts", PARTITIONS)]
    for made in admin.create_topics(topics).values():
        made.result(10)


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


def check_each_count_once(bootstrap: str, last: int) -> None:
    """Each word has each count from 1 to the last one, in order."""
    expected = list(range(1, last + 1))
    found = counts(bootstrap)
    assert {word: values for word, values in found.items() if values != expected} == {}
    assert sorted(found) == sorted(WORDS)


def log_of(scratch: Path) -> str:
    """The end of the output of each instance."""
    return "\n".join(log.read_text()[-5000:] for log in sorted(scratch.glob("*.log")))
