"""kafka-python."""

from __future__ import annotations

import time

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient

pytestmark = pytest.mark.clients

LIMIT_S = 15.0


def consumed(bootstrap: str, topic: str, group: str, count: int, isolation: str) -> list[str]:
    """The first `count` values that a member of the group reads; it commits their offsets."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level=isolation,
    )
    try:
        # A leader that assigns before it has metadata assigns nothing, and does not repeat it.
        assert consumer.partitions_for_topic(topic)
        values: list[str] = []
        deadline = time.monotonic() + LIMIT_S
        while len(values) < count and time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=200).values():
                values += [record.value.decode() for record in records]
        consumer.commit()
        return sorted(values)
    finally:
        consumer.close()


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_produced_records_are_consumed_by_a_group(
    bootstrap: str, topic: str, name: str, isolation: str
) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type="gzip")
    try:
        sent = [producer.send(topic, b"%02d" % i, partition=i % 2) for i in range(20)]
        assert {future.get(LIMIT_S).offset for future in sent} == set(range(10))
    finally:
        producer.close()
    wanted = [f"{i:02}" for i in range(20)]
    assert consumed(bootstrap, topic, name, 20, isolation) == wanted
    assert consumed(bootstrap, topic, f"{name}-2", 20, isolation) == wanted


def test_commits_and_aborts(bootstrap: str, topic: str, name: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=name)
    try:
        producer.init_transactions()
        for value, end in ((b"a", "commit"), (b"b", "abort"), (b"c", "commit")):
            producer.begin_transaction()
            producer.send(topic, value, partition=0).get(LIMIT_S)
            getattr(producer, f"{end}_transaction")()
    finally:
        producer.close()
    assert consumed(bootstrap, topic, name, 2, "read_committed") == ["a", "c"]
    assert consumed(bootstrap, topic, f"{name}-u", 3, "read_uncommitted") == ["a", "b", "c"]


def test_offsets_are_found_by_time(bootstrap: str, topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for timestamp in (1000, 2000, 3000):
        producer.send(topic, b"v", partition=0, timestamp_ms=timestamp).get(LIMIT_S)
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=bootstrap)
    partition = TopicPartition(topic, 0)
    try:
        assert consumer.offsets_for_times({partition: 1500})[partition].offset == 1
        assert consumer.end_offsets([partition]) == {partition: 3}
        assert consumer.beginning_offsets([partition]) == {partition: 0}
    finally:
        consumer.close()


def test_the_admin_client_lists_topics(bootstrap: str, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        assert topic in admin.list_topics()
    finally:
        admin.close()
