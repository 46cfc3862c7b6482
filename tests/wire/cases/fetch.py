"""Fetch (1) and DeleteRecords (21): offsets, limits, waiting, errors."""

from __future__ import annotations

import struct
import threading
import time
import uuid
from typing import Any

from ..batches import batch, batches_in
from ..broker import NO_SUCH_TOPIC, ZERO_ID, Broker
from ..client import Answer, Closed, error_name, framed, header
from ..registry import case


def partitions_of(answer: Answer) -> list[Answer]:
    """The partitions of a fetch answer, over all its topics."""
    return [part for topic in answer["responses"] for part in topic["partitions"]]


@case
def fetch__all_versions(broker: Broker) -> Any:
    topic = broker.filled_topic(2)
    out = {}
    for version in range(4, 18):
        named = broker.topic_ids[topic] if version >= 13 else topic
        part = broker.fetch(named, version=version)
        out[f"v{version}"] = [
            error_name(part["error_code"]),
            [found.base_offset for found in part["batches"]],
            part["high_watermark"],
            part["last_stable_offset"],
            part.get("log_start_offset"),
            part.get("preferred_read_replica"),
            part["aborted_transactions"],
        ]
    return out


@case
def fetch__answer_fields(broker: Broker) -> Any:
    """Complete answers without the records: data, the end of the log, and an error."""
    topic = broker.filled_topic(2)
    out = {}
    for version in (4, 5, 7, 11, 12, 16, 17):
        named = broker.topic_ids[topic] if version >= 13 else topic
        parts = [(named, 0, 0), (named, 0, 2), (named, 0, 9), (named, 5, 0)]
        answers = []
        for part in parts:
            answer = broker.fetch_raw([part], version=version)
            found = partitions_of(answer)[0]
            found["records"] = None if found["records"] is None else len(found["records"])
            del answer["responses"]
            answers.append([answer, found])
        out[f"v{version}"] = answers
    return out


@case
def fetch__at_end(broker: Broker) -> Any:
    part = broker.fetch(broker.filled_topic(), 3)
    return [
        error_name(part["error_code"]),
        len(part["batches"]),
        part["high_watermark"],
        part["records"] is not None,
    ]


def _offsets(part: Answer) -> list[Any]:
    return [
        error_name(part["error_code"]),
        part["high_watermark"],
        part["last_stable_offset"],
        part["log_start_offset"],
    ]


@case
def fetch__out_of_range(broker: Broker) -> Any:
    topic = broker.filled_topic()
    return {offset: _offsets(broker.fetch(topic, offset)) for offset in (4, 1000, -1, -2)}


@case
def fetch__out_of_range_waits_not(broker: Broker) -> Any:
    """An error answers at once although min_bytes is not reached."""
    topic = broker.filled_topic()
    started = time.monotonic()
    part = broker.fetch(topic, 99, min_bytes=1000, max_wait_ms=3000)
    return [error_name(part["error_code"]), time.monotonic() - started < 1.5]


@case
def fetch__unknown_topic_and_partition(broker: Broker) -> Any:
    topic = broker.filled_topic()
    return [_offsets(broker.fetch(NO_SUCH_TOPIC)), _offsets(broker.fetch(topic, partition=8))]


@case
def fetch__topic_ids(broker: Broker) -> Any:
    known = broker.topic_ids[broker.filled_topic()]
    asked = {
        "known": (known, 0),
        "unknown": (uuid.uuid4(), 0),
        "zero": (ZERO_ID, 0),
        "partition": (known, 8),
    }
    return {
        name: error_name(broker.fetch(topic, partition=partition, version=13)["error_code"])
        for name, (topic, partition) in asked.items()
    }


@case
def fetch__middle_of_batch(broker: Broker, topic: str) -> Any:
    broker.produce(topic, batch([b"a", b"b", b"c"]))
    broker.produce(topic, batch([b"d"]))
    return [[found.base_offset for found in broker.batches(topic, o)] for o in (0, 1, 2, 3)]


@case
def fetch__partial_last_batch(broker: Broker) -> Any:
    """Whether the answer has a partial batch after the complete ones."""
    topic = broker.filled_topic(3, 1000)
    size = len(broker.fetch(topic, 0, partition_max_bytes=1)["records"])
    part = broker.fetch(topic, 0, partition_max_bytes=size + 500)
    return len(part["records"]) == size + 500


@case
def fetch__partition_max_bytes(broker: Broker) -> Any:
    """The number of complete batches by the limit of the partition."""
    topic = broker.filled_topic(4, 1000)
    size = broker.batches(topic)[0].size_bytes
    limits = {"0": 0, "1": 1, "one_less_1": size - 1, "one": size, "two": 2 * size, "all": 9 * size}
    return {
        name: len(broker.fetch(topic, 0, partition_max_bytes=limit)["batches"])
        for name, limit in limits.items()
    }


@case
def fetch__max_bytes_over_partitions(broker: Broker) -> Any:
    """max_bytes 1: only the first non-empty partition answers with data."""
    topic = broker.topic(3)
    for partition in range(3):
        broker.produce(topic, batch([b"x" * 500]), partition)

    def counts(*parts: tuple[int, int], max_bytes: int) -> list[list[int]]:
        asked = [(topic, partition, offset) for partition, offset in parts]
        answer = broker.fetch_raw(asked, max_bytes=max_bytes)
        return [
            [part["partition_index"], len(batches_in(part["records"]))]
            for part in partitions_of(answer)
        ]

    return [
        counts((0, 0), (1, 0), (2, 0), max_bytes=1),
        counts((0, 1), (2, 0), (1, 0), max_bytes=1),
        counts((0, 0), (1, 0), (2, 0), max_bytes=0),
    ]


@case
def fetch__max_bytes_is_shared(broker: Broker) -> Any:
    """max_bytes of two batches, over three partitions of two batches each."""
    topic = broker.topic(3)
    for partition in (0, 1, 2, 0, 1, 2):
        broker.produce(topic, batch([b"x" * 1000]), partition)
    size = broker.batches(topic)[0].size_bytes
    answer = broker.fetch_raw([(topic, p, 0) for p in range(3)], max_bytes=3 * size)
    return [len(batches_in(part["records"])) for part in partitions_of(answer)]


@case
def fetch__long_poll_times_out(broker: Broker) -> Any:
    topic = broker.filled_topic()
    started = time.monotonic()
    part = broker.fetch(topic, 3, min_bytes=1, max_wait_ms=600)
    return [error_name(part["error_code"]), 0.5 <= time.monotonic() - started < 1.6]


@case
def fetch__min_bytes_more_than_there_is(broker: Broker) -> Any:
    """With less data than min_bytes, a fetch waits and then returns the data."""
    topic = broker.filled_topic()
    started = time.monotonic()
    part = broker.fetch(topic, 0, min_bytes=1 << 20, max_wait_ms=600)
    return [len(part["batches"]), 0.5 <= time.monotonic() - started < 1.6]


@case
def fetch__woken_by_produce(broker: Broker) -> Any:
    topic = broker.filled_topic()
    connection = broker.connect()
    started = time.monotonic()
    produce = threading.Timer(0.4, lambda: broker.produce(topic, batch([b"new"])))
    produce.start()
    answer = broker.fetch_raw([(topic, 0, 3)], min_bytes=1, max_wait_ms=5000, connection=connection)
    took_s = time.monotonic() - started
    produce.join()
    return [len(batches_in(partitions_of(answer)[0]["records"])), 0.3 < took_s < 2.5]


@case
def fetch__woken_by_commit(broker: Broker, topic: str) -> Any:
    """A read_committed fetch waits for the marker, not for the record."""
    producer = broker.open_transaction(topic)
    connection = broker.connect()
    started = time.monotonic()
    commit = threading.Timer(0.4, producer.end)
    commit.start()
    answer = broker.fetch_raw(
        [(topic, 0, 0)], isolation=1, min_bytes=1, max_wait_ms=5000, connection=connection
    )
    took_s = time.monotonic() - started
    commit.join()
    return [len(batches_in(partitions_of(answer)[0]["records"])), 0.3 < took_s < 2.5]


@case
def fetch__woken_by_deletion(broker: Broker) -> Any:
    """A waiting fetch of a topic that is deleted: its answer, and when."""
    topic = broker.filled_topic()
    connection = broker.connect()
    delete = threading.Timer(0.3, lambda: broker.delete_topic(topic))
    delete.start()
    answer = broker.fetch_raw([(topic, 0, 3)], min_bytes=1, max_wait_ms=1500, connection=connection)
    delete.join()
    return error_name(partitions_of(answer)[0]["error_code"])


@case
def fetch__leader_epochs(broker: Broker) -> Any:
    topic = broker.filled_topic()
    return {
        epoch: error_name(broker.fetch(topic, leader_epoch=epoch)["error_code"])
        for epoch in (-1, 0, 1, 5)
    }


@case
def fetch__current_leader(broker: Broker) -> Any:
    """Whether the answer names the leader and its endpoints (KIP-951)."""
    topic = broker.filled_topic()
    topic_id = broker.topic_ids[topic]
    out = {}
    epochs: dict[str, dict[str, Any]] = {
        "good": {},
        "old": {"leader_epoch": -1},
        "new": {"leader_epoch": 9},
    }
    for name, fields in epochs.items():
        answer = broker.fetch_raw([(topic_id, 0, 0)], version=16, **fields)
        part = partitions_of(answer)[0]
        out[name] = [
            error_name(part["error_code"]),
            part["current_leader"],
            part["diverging_epoch"],
            part["snapshot_id"],
            answer["node_endpoints"],
        ]
    return out


@case
def fetch__last_fetched_epoch(broker: Broker) -> Any:
    """KIP-595 truncation detection: an epoch that the log never had."""
    topic = broker.filled_topic()
    out = {}
    for epoch, offset in ((0, 3), (0, 9), (3, 3), (-1, 3)):
        part = {
            "partition": 0,
            "fetch_offset": offset,
            "last_fetched_epoch": epoch,
            "partition_max_bytes": 1 << 20,
        }
        body = {
            "max_wait_ms": 100,
            "min_bytes": 0,
            "max_bytes": 1 << 20,
            "topics": [{"topic": topic, "partitions": [part]}],
        }
        found = partitions_of(broker.call("Fetch", 12, body))[0]
        out[f"{epoch}@{offset}"] = [error_name(found["error_code"]), found["diverging_epoch"]]
    return out


@case
def fetch__isolation_2(broker: Broker) -> Any:
    topic = broker.filled_topic()
    try:
        return error_name(broker.fetch(topic, isolation=2)["error_code"])
    except Closed:
        return "closed"


@case
def fetch__no_topics(broker: Broker) -> Any:
    started = time.monotonic()
    answer = broker.fetch_raw([], max_wait_ms=500, min_bytes=1)
    took_s = time.monotonic() - started
    return [error_name(answer["error_code"]), answer["responses"], took_s < 0.4]


@case
def fetch__after_delete_records(broker: Broker) -> Any:
    topic = broker.filled_topic()
    deleted = broker.delete_records(topic, 2)
    before, after = broker.fetch(topic, 1), broker.fetch(topic, 2)
    return [
        *deleted,
        error_name(before["error_code"]),
        before["log_start_offset"],
        [found.base_offset for found in after["batches"]],
        after["log_start_offset"],
        broker.list_offset(topic, -2),
    ]


@case
def fetch__after_delete_records_inside_batch(broker: Broker, topic: str) -> Any:
    """The log start offset is inside a batch; the answer has the complete batch."""
    broker.produce(topic, batch([b"a"] * 5))
    deleted = broker.delete_records(topic, 3)
    part = broker.fetch(topic, 3)
    return [
        deleted,
        [found.base_offset for found in part["batches"]],
        broker.fetch(topic, 2)["error_code"],
        broker.list_offset(topic, -2)[1],
        broker.list_offset(topic, 0)[1],
    ]


@case
def fetch__order_of_partitions(broker: Broker) -> Any:
    """Answered in the order of the request."""
    topic = broker.topic(4)
    answer = broker.fetch_raw([(topic, partition, 0) for partition in (2, 0, 3, 1)])
    return [part["partition_index"] for part in partitions_of(answer)]


@case
def fetch__same_partition_twice(broker: Broker) -> Any:
    topic = broker.filled_topic(2)
    answer = broker.fetch_raw([(topic, 0, 0), (topic, 0, 1)])
    return [
        [part["partition_index"], [found.base_offset for found in batches_in(part["records"])]]
        for part in partitions_of(answer)
    ]


@case
def fetch__errors_beside_data(broker: Broker) -> Any:
    """Good, unknown and out of range partitions in one answer, in order."""
    topic, other = broker.filled_topic(), broker.filled_topic()
    asked = [(topic, 0, 0), (topic, 7, 0), (NO_SUCH_TOPIC, 0, 0), (other, 0, 99)]
    answer = broker.fetch_raw(asked, max_wait_ms=2000, min_bytes=1 << 20)
    return [
        [error_name(p["error_code"]), len(p["records"] or b"") > 0] for p in partitions_of(answer)
    ]


@case
def fetch__unflushed_is_seen(broker: Broker, topic: str) -> Any:
    """The next request reads a record acknowledged with acks=1."""
    out = []
    for i in range(5):
        broker.produce(topic, batch([b"%d" % i]), acks=1)
        out.append(len(broker.batches(topic, i)))
    return out


@case
def fetch__huge_array_count(broker: Broker) -> Any:
    """An array with a count of 2^31-1."""
    body = struct.pack(">iiiib", -1, 100, 0, 1 << 20, 0) + struct.pack(">i", 0x7FFFFFFF)
    return [broker.outcome_of(framed(header(1, 4) + body), None), broker.is_alive()]


@case
def fetch__negative_limits(broker: Broker) -> Any:
    """Negative waits and sizes."""
    topic = broker.filled_topic(1)
    out = {}
    for name, fields in (
        ("max_wait", {"max_wait_ms": -1, "min_bytes": 1 << 20}),
        ("min_bytes", {"min_bytes": -1}),
        ("max_bytes", {"max_bytes": -1}),
        ("partition_max_bytes", {"partition_max_bytes": -1}),
    ):
        try:
            part = broker.fetch(topic, **fields)
            out[name] = [error_name(part["error_code"]), len(part["batches"])]
        except Closed:
            out[name] = ["closed", 0]
            broker.connection = broker.connect()
    return out


@case
def deleterecords__cases(broker: Broker) -> Any:
    topic = broker.filled_topic(5)
    asked = {
        "two": (topic, 2, 0),
        "again_lower": (topic, 1, 0),
        "beyond": (topic, 99, 0),
        "negative": (topic, -5, 0),
        "high_watermark": (topic, -1, 0),
        "unknown_topic": (NO_SUCH_TOPIC, 0, 0),
        "unknown_partition": (topic, 0, 9),
    }
    out: dict[str, Any] = {
        name: broker.delete_records(where, offset, partition)
        for name, (where, offset, partition) in asked.items()
    }
    out["internal"] = broker.delete_records("__consumer_offsets", 0)[0]
    out["ends"] = [broker.list_offset(topic, -2)[1], broker.list_offset(topic, -1)[1]]
    return out


@case
def deleterecords__all_versions(broker: Broker) -> Any:
    """Complete answers, also for a compacted topic."""
    topic, compacted = broker.filled_topic(), broker.topic(cleanup_policy="compact")
    broker.produce(compacted, batch(keys=[b"k"]))
    out = {}
    for version in (0, 1, 2):
        parts = [{"partition_index": 0, "offset": version}, {"partition_index": 3, "offset": 0}]
        body = {"topics": [{"name": topic, "partitions": parts}], "timeout_ms": 5000}
        answer = broker.call("DeleteRecords", version, body)
        for one in answer["topics"]:
            del one["name"]
            one["partitions"].sort(key=lambda part: part["partition_index"])
        out[f"v{version}"] = answer
    return [out, broker.delete_records(compacted, 1)]
