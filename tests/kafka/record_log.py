"""`python -m tests.kafka.record_log FILE.zip`: records a small log directory of an Apache Kafka.

The archive has what a broker leaves after transactions, compaction, all codecs, committed offsets,
a restart, and an end by SIGKILL. tests/spark/kafka_log reads it (recorded-kafka.zip). Takes about
a minute.
"""

from __future__ import annotations

import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from . import node

PORT = 29470
START_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.index.size.max.bytes": "4096",
    "log.cleaner.backoff.ms": "200",
    "log.initial.task.delay.ms": "100",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    # A killed node stays registered until its session ends.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}
# The least size of a segment that a topic may set by its public name is 1 MB.
_ROLLS = {"internal.segment.bytes": "900", "retention.ms": "-1"}
TOPICS: dict[str, dict[str, str]] = {
    "orders": _ROLLS,
    "codecs": {"retention.ms": "-1"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "latest": {
        **_ROLLS,
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "3600000",
    },
    "emptied": {
        **_ROLLS,
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "0",
    },
}
_LIMIT_S = 60.0
_INDEX_BYTES = 4096


def main(archive: Path) -> None:
    """Record the directory into an archive."""
    with TemporaryDirectory(prefix="recorded-kafka-") as name:
        directory = Path(name)
        for turn, kill in enumerate((False, True)):
            node.start(PORT, directory, SETTINGS, heap_mb=384)
            try:
                _play(f"127.0.0.1:{PORT}", directory / "data", turn)
            finally:
                node.stop(directory, kill=kill)
        _pack(directory / "data", archive)


def _play(bootstrap: str, data: Path, turn: int) -> None:
    if turn == 0:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        topics = [NewTopic(name, 1, 1, config=config) for name, config in TOPICS.items()]
        for created in admin.create_topics(topics).values():
            created.result()
    _codecs(bootstrap, turn)
    _orders(bootstrap, turn)
    _compacted(bootstrap, data, turn)
    _offsets(bootstrap, turn)


def _codecs(bootstrap: str, turn: int) -> None:
    """A batch of each codec, with null keys, null values and headers."""
    for codec in CODECS:
        settings = {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 200}
        producer = Producer(settings)
        for index in range(20):
            for topic in ("codecs", "stamped"):
                producer.produce(
                    topic,
                    key=None if index % 5 == 0 else f"{codec} {index}",
                    value=None if index % 7 == 6 else f"value {index} of {codec} " * 3,
                    headers=[("turn", str(turn)), ("none", None)] if index % 3 == 0 else None,
                    timestamp=START_MS + turn * HOUR_MS + index,
                )
        producer.flush()


def _orders(bootstrap: str, turn: int) -> None:
    """Transactions that commit and abort over the ends of segments; two stay open at the end."""
    producers = {
        name: Producer({"bootstrap.servers": bootstrap, "transactional.id": f"shop-{name}"})
        for name in ("a", "b", "c")
    }
    for producer in producers.values():
        producer.init_transactions()
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "shop"})
    for step in range(6):
        time_ms = START_MS + (turn * 6 + step) * HOUR_MS
        for name, producer in producers.items():
            if name != "b" or step % 2 == 0:
                producer.begin_transaction()
            for index in range(3):
                producer.produce(
                    "orders", key=f"{name}{index}", value=f"{turn} {step}", timestamp=time_ms
                )
            producer.flush()
        offsets = [TopicPartition("codecs", 0, turn * 100 + step)]
        group = consumer.consumer_group_metadata()
        producers["a"].send_offsets_to_transaction(offsets, group)
        producers["a"].commit_transaction()
        if step % 2:
            producers["b"].abort_transaction()
        if turn == 0 or step < 5:
            producers["c"].commit_transaction()
    consumer.close()


def _compacted(bootstrap: str, data: Path, turn: int) -> None:
    """Keys that are written again, and tombstones, until the cleaner has been there."""
    for topic in ("latest", "emptied"):
        for step, codec in enumerate(CODECS):
            settings = {"bootstrap.servers": bootstrap, "compression.type": codec}
            producer = Producer({**settings, "linger.ms": 200, "enable.idempotence": True})
            time_ms = START_MS + (turn * 10 + step * 2) * HOUR_MS
            for index in range(12):
                is_tombstone = topic == "emptied" or index == 7
                producer.produce(
                    topic,
                    key=f"key {index if step % 2 else index % 4}",
                    value=None if is_tombstone else f"{turn} {step} {index}",
                    timestamp=time_ms,
                )
            producer.flush()
            _transaction(bootstrap, topic, time_ms, commit=step % 2 == 0)
        last = Producer({"bootstrap.servers": bootstrap})
        last.produce(topic, key="last", value="v", timestamp=START_MS + (turn * 10 + 9) * HOUR_MS)
        last.flush()
    for topic in ("latest", "emptied"):
        _until(lambda topic=topic: _is_clean(data, topic))  # type: ignore[misc]  # mypy cannot type the default


def _transaction(bootstrap: str, topic: str, time_ms: int, *, commit: bool) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"in {topic}"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, key=f"by {commit}", value=f"{time_ms}", timestamp=time_ms)
    producer.flush()
    if commit:
        producer.commit_transaction()
    else:
        producer.abort_transaction()


def _is_clean(data: Path, topic: str) -> bool:
    """Whether the cleaner has reached the active segment of the topic."""
    checkpoint = data / "cleaner-offset-checkpoint"
    bases = sorted(int(path.stem) for path in (data / f"{topic}-0").glob("*.log"))
    lines = checkpoint.read_text().splitlines() if checkpoint.exists() else []
    return f"{topic} 0 {bases[-1]}" in lines


def _offsets(bootstrap: str, turn: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers"})
    for offset in range(3):
        at = TopicPartition("codecs", 0, turn * 10 + offset, metadata="note")
        consumer.commit(offsets=[at], asynchronous=False)
    consumer.close()


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LIMIT_S
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError("the cleaner has not come")
        time.sleep(0.1)


def _files(data: Path) -> Iterator[Path]:
    for directory in sorted(data.iterdir()):
        if directory.is_dir() and not directory.name.endswith("-delete"):
            files = (path for path in sorted(directory.iterdir()) if path.is_file())
            yield from (path for path in files if path.suffix != ".deleted")


def _pack(data: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in _files(data):
            # One time for all files: the archive states what is in them, not when.
            entry = zipfile.ZipInfo(str(path.relative_to(data)))
            entry.compress_type = zipfile.ZIP_DEFLATED
            content = path.read_bytes()
            if path.suffix in (".index", ".timeindex"):  # the rest of an active one is reserved
                content = content[:_INDEX_BYTES]
            packed.writestr(entry, content, compresslevel=9)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
