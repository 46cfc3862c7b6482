"""Produce (0): versions, fields of the answer, acks, errors by partition."""

from __future__ import annotations

import struct
import uuid
from typing import Any

from ..batches import batch
from ..broker import NO_SUCH_TOPIC, Broker
from ..client import Closed, NoAnswer, encode, error_name, framed, header
from ..registry import case

ANSWER_FIELDS = (
    "index",
    "error_code",
    "base_offset",
    "log_append_time_ms",
    "log_start_offset",
    "record_errors",
    "error_message",
)


@case
def produce__all_versions(broker: Broker, topic: str) -> Any:
    return {
        f"v{v}": broker.produced(broker.topic_ids[topic] if v >= 13 else topic, batch(), version=v)
        for v in range(3, 14)
    }


@case
def produce__answer_fields(broker: Broker, topic: str) -> Any:
    broker.produce(topic, batch())
    answer = broker.produce(topic, batch([b"a", b"b"]), version=9)
    return {name: answer[name] for name in ANSWER_FIELDS}


@case
def produce__answer_fields_of_all_versions(broker: Broker, topic: str) -> Any:
    """Complete answers of each version, with and without errors."""
    topic_id = broker.topic_ids[topic]
    out = {}
    for version in range(3, 14):
        named = topic_id if version >= 13 else topic
        out[f"v{version}"] = [
            broker.produce_raw([(named, partition, data)], version=version)[0]
            for partition, data in ((0, batch()), (0, batch(magic=3)), (7, batch()))
        ]
    return out


@case
def produce__error_messages(broker: Broker, topic: str) -> Any:
    """The error messages of refusals since version 8."""
    compacted = broker.topic(cleanup_policy="compact")
    refused = {
        "magic": (topic, batch(magic=3)),
        "crc": (topic, batch(crc=0)),
        "base_offset": (topic, batch(base_offset=5)),
        "no_key": (compacted, batch()),
        "empty": (topic, b""),
        "deltas": (topic, batch([b"a", b"b"], offset_deltas=[0, 5])),
        "sequence": (topic, batch(producer_id=77, epoch=-1, sequence=0)),
        "unknown": (NO_SUCH_TOPIC, batch()),
        "internal": ("__consumer_offsets", batch()),
        "invalid": ("bad name", batch()),
    }
    out = {}
    for name, (where, data) in refused.items():
        answer = broker.produce_raw([(where, 0, data)], version=10)[0]
        message = (answer["error_message"] or "").replace(where, "T")
        records = [
            (error["batch_index"], error["batch_index_error_message"].replace(where, "T"))
            for error in answer["record_errors"]
        ]
        message = message.split("producer")[0]
        out[name] = [error_name(answer["error_code"]), message, records]
    return out


@case
def produce__acks(broker: Broker, topic: str) -> Any:
    return {acks: broker.produced(topic, batch(), acks=acks) for acks in (1, -1, 2, -2, 32767)}


@case
def produce__acks_0_error_closes(broker: Broker) -> Any:
    """acks=0 cannot answer an error; the broker closes the connection instead."""
    broker.produce_raw([(NO_SUCH_TOPIC, 0, batch())], acks=0)
    try:
        return error_name(broker.call("ApiVersions", 0, timeout_s=3)["error_code"])
    except Closed:
        return "closed"
    except NoAnswer:
        return "silent"


@case
def produce__acks_0_is_stored(broker: Broker, topic: str) -> Any:
    """No answer, and the next request of the connection sees the record."""
    broker.produce_raw([(topic, 0, batch([b"a"]))], acks=0)
    broker.produce_raw([(topic, 0, batch([b"b"]))], acks=0)
    return broker.values(topic)


@case
def produce__unknown_topic(broker: Broker) -> Any:
    return {v: broker.produced(NO_SUCH_TOPIC, batch(), version=v) for v in (3, 9, 12)}


@case
def produce__unknown_topic_id(broker: Broker, topic: str) -> Any:
    """Version 13 names topics by id."""
    known = broker.topic_ids[topic]
    answers = broker.produce_raw(
        [(uuid.uuid4(), 0, batch()), (known, 0, batch()), (uuid.UUID(int=0), 0, batch())],
        version=13,
    )
    errors = sorted(error_name(answer["error_code"]) for answer in answers)
    return [errors, broker.produced(known, batch(), 9, version=13)]


@case
def produce__topic_names(broker: Broker) -> Any:
    """Invalid topic names."""
    names = ("", ".", "..", "a b", "a/b", "x" * 249, "x" * 250, "é")
    return {
        name[:5] + str(len(name)): broker.produced(name, batch(), version=9)[0] for name in names
    }


@case
def produce__unknown_partition(broker: Broker) -> Any:
    topic = broker.topic(2)
    return [broker.produced(topic, batch(), 2), broker.produced(topic, batch(), -1)]


@case
def produce__current_leader_and_endpoints(broker: Broker, topic: str) -> Any:
    """The current leader in answers of version 10 and later."""
    out = {}
    for name, partition, data in (("good", 0, batch()), ("unknown", 9, batch())):
        body = {
            "acks": -1,
            "timeout_ms": 5000,
            "topic_data": [
                {"name": topic, "partition_data": [{"index": partition, "records": data}]}
            ],
        }
        answer = broker.call("Produce", 12, body)
        part = answer["responses"][0]["partition_responses"][0]
        out[name] = [part["current_leader"], answer["node_endpoints"], answer["throttle_time_ms"]]
    return out


@case
def produce__partial_failure(broker: Broker) -> Any:
    """A good batch, an unknown partition, a corrupt batch and an unknown topic in one request."""
    topic = broker.topic(3)
    bad = bytearray(batch())
    bad[-1] ^= 1
    parts = [
        (topic, 0, batch()),
        (topic, 1, bytes(bad)),
        (topic, 9, batch()),
        (topic, 2, batch()),
        (NO_SUCH_TOPIC, 0, batch()),
    ]
    answers = broker.produce_raw(parts, version=9)
    return sorted([a["index"], error_name(a["error_code"]), a["base_offset"]] for a in answers)


@case
def produce__same_partition_twice(broker: Broker, topic: str) -> Any:
    try:
        answers = broker.produce_raw(
            [(topic, 0, batch([b"a"])), (topic, 0, batch([b"b"]))], version=9
        )
    except Closed:
        return "closed"
    errors = [[error_name(a["error_code"]), a["base_offset"]] for a in answers]
    return [errors, broker.values(topic)]


@case
def produce__internal_topic(broker: Broker) -> Any:
    return [
        broker.produced(topic, batch(keys=[b"k"]))
        for topic in ("__consumer_offsets", "__transaction_state")
    ]


@case
def produce__timeout_zero(broker: Broker) -> Any:
    return broker.produced(broker.topic(), batch(), timeout_ms=0)


@case
def produce__no_topics(broker: Broker) -> Any:
    """An empty request is answered."""
    body: dict[str, Any] = {"transactional_id": None, "acks": 1, "timeout_ms": 5, "topic_data": []}
    return {v: broker.call("Produce", v, body) for v in (3, 9, 11)}


@case
def produce__null_records(broker: Broker, topic: str) -> Any:
    """Records are nullable by the schema."""
    broker.connection = broker.connect(1.0)
    out = []
    for version in (3, 9):
        try:
            answer = broker.produce_raw([(topic, 0, None)], version=version)[0]
            out.append([error_name(answer["error_code"]), answer["base_offset"]])
        except Closed:
            out.append(["closed", 0])
        except NoAnswer:
            out.append(["silent", 0])
        broker.connection = broker.connect(1.0)
    return out


@case
def produce__two_batches_in_a_partition(broker: Broker, topic: str) -> Any:
    """More than one batch for a partition is refused."""
    answer = broker.produce_raw([(topic, 0, batch([b"a"]) + batch([b"b"]))], version=9)[0]
    return [error_name(answer["error_code"]), answer["base_offset"], broker.values(topic)]


@case
def produce__too_large(broker: Broker) -> Any:
    """max.message.bytes of the topic is a limit of the batch with its header."""
    topic = broker.topic(max_message_bytes=1000)
    fits = 1000 - len(batch([b"x" * 100])) + 100
    out = {}
    for name, size in (("fits", fits), ("over", fits + 1), ("far_over", 5000)):
        data = batch([b"x" * size])
        answer = broker.produce_raw([(topic, 0, data)], version=9)[0]
        out[name] = [len(data) <= 1000, error_name(answer["error_code"]), answer["base_offset"]]
    return out


@case
def produce__transactional_id_without_transaction(broker: Broker, topic: str) -> Any:
    """A request that names a transactional id but carries a plain batch."""
    return broker.produced(topic, batch(), transactional_id=broker.fresh("x"))


@case
def produce__correlated_in_order(broker: Broker, topic: str) -> Any:
    """20 requests in one write: answers in order, offsets too."""
    data = b""
    for i in range(20):
        part = {"index": 0, "records": batch([b"%d" % i])}
        topics = [{"name": topic, "partition_data": [part]}]
        body = {"transactional_id": None, "acks": 1, "timeout_ms": 9, "topic_data": topics}
        data += encode("Produce", 9, body, correlation_id=500 + i)
    broker.connection.send_raw(data)
    answers = [broker.connection.receive("Produce", 9) for _ in range(20)]
    offsets = [a["responses"][0]["partition_responses"][0]["base_offset"] for _, a in answers]
    return [[number - 500 for number, _ in answers] == list(range(20)), offsets == list(range(20))]


@case
def produce__null_topics_array(broker: Broker) -> Any:
    """Null for an array that is not nullable."""
    body = struct.pack(">hhi", -1, -1, 1000) + struct.pack(">i", -1)
    return broker.outcome_of(framed(header(0, 3) + body), None)


@case
def produce__huge_array_count(broker: Broker) -> Any:
    """An array with a count of 2^31-1."""
    body = struct.pack(">hhi", -1, -1, 1000) + struct.pack(">i", 0x7FFFFFFF)
    return [broker.outcome_of(framed(header(0, 3) + body), None), broker.is_alive()]


@case
def produce__records_longer_than_frame(broker: Broker) -> Any:
    """Records with a size larger than the frame."""
    body = struct.pack(">hhii", -1, 1, 1000, 1) + struct.pack(">h", 1) + b"t"
    body += struct.pack(">iii", 1, 0, 1_000_000) + batch()
    return [broker.outcome_of(framed(header(0, 3) + body), None), broker.is_alive()]
