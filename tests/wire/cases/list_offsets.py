"""ListOffsets (2) and OffsetForLeaderEpoch (23)."""

from __future__ import annotations

from typing import Any

from ..batches import batch
from ..broker import NO_SUCH_TOPIC, Broker
from ..client import Answer, error_name
from ..registry import case


def asked(broker: Broker, parts: list[Answer], topic: str, **fields: Any) -> Any:
    """ListOffsets 7 for these partitions; their answers in order."""
    topics = [{"name": topic, "partitions": parts}]
    body = {"replica_id": -1, "isolation_level": 0, "topics": topics, **fields}
    return broker.call("ListOffsets", 7, body)["topics"][0]["partitions"]


@case
def listoffsets__special_timestamps(broker: Broker, topic: str) -> Any:
    """-1 latest, -2 earliest, -3 maximum, -4 local, -5 tiered, -6; with an open transaction."""
    for timestamp in (1000, 3000, 2000):
        broker.produce(topic, batch([b"a"], timestamp=timestamp))
    broker.open_transaction(topic, 2)
    out = {}
    for isolation in (0, 1):
        for timestamp in (-1, -2, -4, -5, -6):
            out[f"{timestamp}/{isolation}"] = broker.list_offset(
                topic, timestamp, isolation=isolation, version=10
            )
        found = broker.list_offset(topic, -3, isolation=isolation, version=10)
        found[2] = "now" if found[2] > 1 << 40 else found[2]
        out[f"-3/{isolation}"] = found
    return out


@case
def listoffsets__all_versions(broker: Broker, topic: str) -> Any:
    """Complete answers for the end, a time, and an unknown partition."""
    broker.produce(topic, batch([b"a", b"b"], timestamp=1000, timestamp_deltas=[0, 10]))
    out = {}
    for version in range(1, 11):
        parts: list[Answer] = [
            {"partition_index": 0, "timestamp": -1},
            {"partition_index": 0, "timestamp": 1005},
            {"partition_index": 0, "timestamp": 5000},
            {"partition_index": 4, "timestamp": -1},
        ]
        answers = []
        for part in parts:
            body: Answer = {"replica_id": -1, "topics": [{"name": topic, "partitions": [part]}]}
            if version >= 10:
                body["timeout_ms"] = 1000
            answer = broker.call("ListOffsets", version, body)
            answers.append(answer["topics"][0]["partitions"][0])
        answer.pop("topics")
        out[f"v{version}"] = [answers, answer]
    return out


@case
def listoffsets__max_timestamp(broker: Broker, topic: str) -> Any:
    for timestamp in (1000, 9000, 2000):
        data = batch([b"a", b"b", b"c"], timestamp=timestamp, timestamp_deltas=[0, 5, 2])
        broker.produce(topic, data)
    return [broker.list_offset(topic, -3), broker.list_offset(broker.topic(), -3)]


@case
def listoffsets__max_timestamp_twice(broker: Broker, topic: str) -> Any:
    """Several records have the maximum; the answer has the offset of one."""
    for timestamp in (5000, 5000, 1000):
        broker.produce(topic, batch([b"a", b"b"], timestamp=timestamp))
    compressed = broker.topic()
    data = batch([b"a", b"b", b"c"], timestamp=1, timestamp_deltas=[0, 9, 9], compression=1)
    broker.produce(compressed, data)
    return [broker.list_offset(topic, -3), broker.list_offset(compressed, -3)]


@case
def listoffsets__special_by_version(broker: Broker) -> Any:
    """The answers of lower versions: -3 needs v7, -4 v8, -5 v9."""
    topic = broker.filled_topic()
    pairs = ((-3, 6), (-3, 7), (-4, 7), (-4, 8), (-5, 8), (-5, 9), (-6, 10), (-7, 10), (-100, 10))
    out = {}
    for timestamp, version in pairs:
        found = broker.list_offset(topic, timestamp, version=version)
        out[f"{timestamp}-v{version}"] = found[0] if timestamp == -3 else found[:2]
    return out


@case
def listoffsets__by_timestamp(broker: Broker, topic: str) -> Any:
    """The first record at or after a time, over batches that go back in time."""
    for timestamp in (1000, 3000, 2000, 4000):
        data = batch([b"a", b"b"], timestamp=timestamp, timestamp_deltas=[0, 500])
        broker.produce(topic, data)
    times = (0, 1000, 1001, 1500, 1501, 2500, 3001, 3501, 4001, 4501)
    return {str(when): broker.list_offset(topic, when) for when in times}


@case
def listoffsets__by_timestamp_after_delete(broker: Broker, topic: str) -> Any:
    """Records before the start of the log are not found."""
    for timestamp in (1000, 2000, 3000):
        broker.produce(topic, batch([b"a", b"b"], timestamp=timestamp))
    broker.delete_records(topic, 3)
    return {str(when): broker.list_offset(topic, when) for when in (0, 1000, 2000, 3000, -3, -4)}


@case
def listoffsets__by_timestamp_compressed(broker: Broker, topic: str) -> Any:
    data = batch([b"a", b"b", b"c"], timestamp=1000, timestamp_deltas=[0, 100, 200], compression=1)
    broker.produced(topic, data)
    return [broker.list_offset(topic, when) for when in (1000, 1050, 1101, 1201)]


@case
def listoffsets__by_timestamp_committed(broker: Broker, topic: str) -> Any:
    """A timestamp with an offset beyond the last stable offset."""
    broker.produce(topic, batch([b"a"], timestamp=1000))
    producer = broker.producer()
    producer.add(topic)
    broker.produced(
        topic, producer.batch([b"b"], timestamp=2000), transactional_id=producer.transactional_id
    )
    return [
        broker.list_offset(topic, when, isolation=isolation)
        for when, isolation in ((1500, 0), (1500, 1), (500, 1))
    ]


@case
def listoffsets__leader_epoch(broker: Broker, topic: str) -> Any:
    out = {}
    for epoch in (-1, 0, 3):
        part = {"partition_index": 0, "current_leader_epoch": epoch, "timestamp": -1}
        found = asked(broker, [part], topic)[0]
        out[epoch] = [error_name(found["error_code"]), found["offset"], found["leader_epoch"]]
    return out


@case
def listoffsets__same_partition_twice(broker: Broker) -> Any:
    topic = broker.filled_topic()
    parts = [{"partition_index": 0, "timestamp": when} for when in (-1, -2)]
    return [
        [part["partition_index"], error_name(part["error_code"]), part["offset"]]
        for part in asked(broker, parts, topic)
    ]


@case
def listoffsets__replica_ids(broker: Broker) -> Any:
    """Debug consumer and follower ids see the log end, not the watermark."""
    topic = broker.filled_topic()
    out = {}
    for replica_id in (-1, -2, 5):
        part = {"partition_index": 0, "timestamp": -1}
        found = asked(broker, [part], topic, replica_id=replica_id)[0]
        out[replica_id] = [error_name(found["error_code"]), found["offset"]]
    return out


@case
def listoffsets__unknown(broker: Broker, topic: str) -> Any:
    """Unknown topics and partitions, and invalid names."""
    return {
        "topic": broker.list_offset(NO_SUCH_TOPIC),
        "partition": broker.list_offset(topic, partition=7),
        "negative": broker.list_offset(topic, partition=-1),
        "bad_name": broker.list_offset("a b"),
        "empty_name": broker.list_offset(""),
        "isolation_2": broker.list_offset(topic, isolation=2),
    }


@case
def leaderepoch__all_versions(broker: Broker) -> Any:
    """OffsetForLeaderEpoch: the log's only epoch, a later one, an unknown partition."""
    topic = broker.filled_topic()
    out = {}
    for version in (2, 3, 4):
        answers = []
        for partition, epoch, current in (
            (0, 0, -1),
            (0, 5, -1),
            (0, -1, -1),
            (7, 0, -1),
            (0, 0, 9),
        ):
            part = {"partition": partition, "leader_epoch": epoch, "current_leader_epoch": current}
            body: Answer = {"topics": [{"topic": topic, "partitions": [part]}]}
            if version >= 3:
                body["replica_id"] = -1
            answer = broker.call("OffsetForLeaderEpoch", version, body)
            answers.append(answer["topics"][0]["partitions"][0])
        out[f"v{version}"] = answers
    return out
