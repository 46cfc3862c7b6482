"""Attacks by single requests with very many elements."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.client import Answer, Body, framed, header

from .scene import Scene, attack


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _answer_size(scene: Scene, key: int, version: int, body: bytes) -> int:
    """Send a hand-written request; the size of its answer."""
    request = framed(header(key, version) + body)
    scene.notes.append(f"a request of {len(request)} bytes")
    connection = scene.connect(timeout_s=50)
    connection.send_raw(request)
    size = len(connection.frame(timeout_s=50))
    scene.notes.append(f"an answer of {size} bytes")
    connection.close()
    return size


def _create(broker: Broker, names: Sequence[str], partitions: int = 1) -> Answer:
    topics = [
        {"name": name, "num_partitions": partitions, "replication_factor": 1} for name in names
    ]  # fmt: skip
    body = {"topics": topics, "timeout_ms": 50_000, "validate_only": False}
    return broker.connection.call("CreateTopics", 5, body, timeout_s=50)


@attack()
def metadata_of_many_names(scene: Scene) -> None:
    """A Metadata request with 500,000 names of topics that do not exist."""
    count = scene.count(500_000)
    body = struct.pack(">i", count) + b"".join(_text(f"n{i}") for i in range(count)) + b"\0"
    assert _answer_size(scene, 3, 4, body) > count, "the answer lacks elements"


@attack()
def configs_of_the_broker_again_and_again(scene: Scene) -> None:
    """A DescribeConfigs request that names the broker 2,000 times, in 15 KB."""
    node_id = str(scene.talk().node_id())
    count = scene.count(2000)
    one = b"\4" + _text(node_id) + struct.pack(">i", -1)
    _answer_size(scene, 32, 1, struct.pack(">i", count) + one * count + b"\0")


@attack()
def commit_of_many_partitions(scene: Scene) -> None:
    """An OffsetCommit request for 200,000 partitions, most of which do not exist."""
    topic = scene.talk().topic(partitions=10)
    count = scene.count(200_000)
    body = _text("attack") + struct.pack(">i", -1) + _text("") + struct.pack(">q", -1)
    body += struct.pack(">i", 1) + _text(topic) + struct.pack(">i", count)
    body += b"".join(struct.pack(">iqh", index, 7, 0) for index in range(count))
    assert _answer_size(scene, 8, 2, body) > 6 * count, "the answer lacks elements"


@attack()
def auto_created_topics(scene: Scene) -> None:
    """A Metadata request that creates 2,000 topics."""
    count = scene.count(2000)
    body = struct.pack(">i", count) + b"".join(_text(f"made-{i}") for i in range(count)) + b"\1"
    assert _answer_size(scene, 3, 4, body) > count, "the answer lacks elements"


@attack()
def topics_made_and_deleted(scene: Scene) -> None:
    """One request creates 1,000 topics, and one deletes them."""
    broker = scene.talk()
    names = [f"short-lived-{number}" for number in range(scene.count(1000))]
    made = Counter(topic["error_code"] for topic in _create(broker, names)["topics"])
    assert made == {0: len(names)}, f"CreateTopics: {dict(made)}"
    body: Body = {"topic_names": names, "timeout_ms": 50_000}
    answer = broker.connection.call("DeleteTopics", 5, body, timeout_s=50)
    deleted = Counter(topic["error_code"] for topic in answer["responses"])
    assert deleted == {0: len(names)}, f"DeleteTopics: {dict(deleted)}"


@attack(limit_s=90)
def five_thousand_topics(scene: Scene) -> None:
    """Five requests create 5,000 topics; then Metadata of all, three times."""
    broker = scene.talk()
    for first in range(5):
        each = scene.count(1000)
        _create(broker, [f"many-{first * each + number}" for number in range(each)])
    for _ in range(3):
        broker.connection.call("Metadata", 4, {"topics": None}, timeout_s=50)


@attack()
def recompressed_batches(scene: Scene) -> None:
    """60 MB in batches of 1 MB, to a topic with compression.type=zstd."""
    broker = scene.talk()
    topic = broker.topic(compression_type="zstd")
    noise = scene.random.randbytes(50_000)
    values: list[bytes | None] = [noise[i * 100 : i * 100 + 90] * 10 for i in range(500)]
    records = batch(values * 2)
    for _ in range(scene.count(60)):
        broker.produce_raw([(topic, 0, records)], version=9)


@attack()
def batches_to_a_compacted_topic(scene: Scene) -> None:
    """60 MB in batches of 500 KB of small records with keys, to a compacted topic."""
    broker = scene.talk()
    topic = broker.topic(cleanup_policy="compact")
    count = 8000
    keys: list[bytes | None] = [b"%d" % number for number in range(count)]
    records = batch([b"v" * 40] * count, keys=keys)
    scene.notes.append(f"{count} records in {len(records)} bytes")
    for _ in range(scene.count(120)):
        broker.produce_raw([(topic, 0, records)], version=9)


@attack()
def a_transaction_over_many_partitions(scene: Scene) -> None:
    """A transaction over 2,000 partitions without a record, committed; then a second one."""
    broker = scene.talk()
    count = scene.count(2000)
    _create(broker, ["wide"], count)
    producer = broker.producer()
    for _ in range(2):
        added = producer.add_all({"wide": list(range(count))})
        assert set(added["wide"].values()) == {"NONE"}, "not all partitions were added"
        ended = producer.end()
        assert ended == "NONE", f"EndTxn: {ended}"


@attack()
def records_for_many_partitions(scene: Scene) -> None:
    """A Produce request with 50 records to each of 500 partitions, 10 times, and a Fetch of all."""
    broker = scene.talk()
    count = scene.count(500)
    _create(broker, ["spread"], count)
    records = batch([b"v" * 100] * 50)
    for _ in range(10):
        broker.produce_raw([("spread", index, records) for index in range(count)], version=9)
    parts: list[tuple[Any, int, int]] = [("spread", index, 0) for index in range(count)]
    broker.fetch_raw(parts, version=12, partition_max_bytes=1 << 16)


@attack()
def offset_fetch_of_many_groups(scene: Scene) -> None:
    """An OffsetFetch and a DescribeGroups of 20,000 groups each."""
    broker = scene.talk()
    names = [f"unknown-{number}" for number in range(scene.count(20_000))]
    groups = [{"group_id": name, "topics": None} for name in names]
    body: Body = {"groups": groups, "require_stable": False}
    broker.connection.call("OffsetFetch", 8, body, timeout_s=50)
    broker.connection.call("DescribeGroups", 4, {"groups": names}, timeout_s=50)


@attack()
def list_offsets_of_many_partitions(scene: Scene) -> None:
    """A ListOffsets request for 200,000 partitions that do not exist."""
    topic = scene.talk().topic()
    count = scene.count(200_000)
    body = struct.pack(">ii", -1, 1) + _text(topic)
    body += struct.pack(">i", count)
    body += b"".join(struct.pack(">iq", index, -1) for index in range(count))
    assert _answer_size(scene, 2, 1, body) > count, "the answer lacks elements"
