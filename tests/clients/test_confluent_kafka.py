"""librdkafka, through confluent-kafka."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource

pytestmark = pytest.mark.clients

LIMIT_S = 15.0


def produced(producer: Producer, topic: str, values: list[str]) -> list[tuple[int, int]]:
    """Produce values and wait for all; (partition, offset) of each."""
    placed: list[tuple[int, int]] = []

    def delivered(error: KafkaError | None, message: Any) -> None:
        assert error is None, error
        placed.append((message.partition(), message.offset()))

    for value in values:
        producer.produce(topic, value.encode(), key=value.encode(), on_delivery=delivered)
    assert producer.flush(LIMIT_S) == 0
    return placed


def consumed(
    bootstrap: str, topic: str, group: str, enough: Callable[[list[str]], bool], **settings: Any
) -> list[str]:
    """The first `count` values that a member of the group reads; it commits their offsets."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **settings,
        }
    )
    try:
        consumer.subscribe([topic])
        values: list[str] = []
        deadline = time.monotonic() + LIMIT_S
        while not enough(values) and time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message is not None and not message.error():
                values.append((message.value() or b"").decode())
        if values:
            consumer.commit(asynchronous=False)
        return sorted(values)
    finally:
        consumer.close()


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_produced_records_are_consumed(
    bootstrap: str, topic: str, name: str, compression: str
) -> None:
    settings = {"bootstrap.servers": bootstrap, "compression.type": compression}
    values = [f"{i:03}" for i in range(100)]
    placed = produced(Producer(settings), topic, values)
    assert len(set(placed)) == 100
    assert consumed(bootstrap, topic, name, lambda got: len(got) >= 100) == values


def test_a_group_continues_from_its_committed_offset(bootstrap: str, topic: str, name: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    produced(producer, topic, ["a", "b"])
    assert consumed(bootstrap, topic, name, lambda got: len(got) >= 2) == ["a", "b"]
    produced(producer, topic, ["c"])
    assert consumed(bootstrap, topic, name, lambda got: len(got) >= 1) == ["c"]


def test_read_committed_returns_only_committed_records(
    bootstrap: str, topic: str, name: str
) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(LIMIT_S)
    for value, commit in (("a", True), ("b", False), ("c", True)):
        producer.begin_transaction()
        produced(producer, topic, [value])
        if commit:
            producer.commit_transaction(LIMIT_S)
        else:
            producer.abort_transaction(LIMIT_S)
    reader = {"isolation.level": "read_committed"}
    assert consumed(bootstrap, topic, name, lambda got: len(got) >= 2, **reader) == ["a", "c"]
    other = {"isolation.level": "read_uncommitted"}
    everything = consumed(bootstrap, topic, f"{name}-u", lambda got: len(got) >= 3, **other)
    assert everything == ["a", "b", "c"]


def test_consume_transform_produce_is_exactly_once(bootstrap: str, topic: str, name: str) -> None:
    """After two aborted attempts and a commit, the output has each input once."""
    target = f"{topic}-out"
    produced(Producer({"bootstrap.servers": bootstrap}), topic, ["1", "2", "3"])
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(LIMIT_S)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.subscribe([topic])
        messages: list[Any] = []
        deadline = time.monotonic() + LIMIT_S
        while len(messages) < 3 and time.monotonic() < deadline:
            messages += [m for m in consumer.consume(3, 0.2) if not m.error()]
        for attempt in ("abort", "abort", "commit"):
            producer.begin_transaction()
            produced(producer, target, [f"x{m.value().decode()}" for m in messages])
            positions = consumer.position(consumer.assignment())
            metadata = consumer.consumer_group_metadata()
            producer.send_offsets_to_transaction(positions, metadata, LIMIT_S)
            getattr(producer, f"{attempt}_transaction")(LIMIT_S)
        partitions = [TopicPartition(topic, i) for i in range(2)]
        committed = consumer.committed(partitions, LIMIT_S)
        assert sum(max(partition.offset, 0) for partition in committed) == 3
    finally:
        consumer.close()
    reader = {"isolation.level": "read_committed"}
    got = consumed(bootstrap, target, f"{name}-o", lambda seen: len(seen) >= 3, **reader)
    assert got == ["x1", "x2", "x3"]


def test_a_second_producer_fences_the_first(bootstrap: str, topic: str, name: str) -> None:
    first = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    first.init_transactions(LIMIT_S)
    first.begin_transaction()
    produced(first, topic, ["lost"])
    second = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    second.init_transactions(LIMIT_S)
    with pytest.raises(KafkaException) as refused:
        first.commit_transaction(LIMIT_S)
    assert refused.value.args[0].fatal()
    second.begin_transaction()
    produced(second, topic, ["kept"])
    second.commit_transaction(LIMIT_S)
    reader = {"isolation.level": "read_committed"}
    assert consumed(bootstrap, topic, name, bool, **reader) == ["kept"]


def test_the_partitions_are_shared_by_the_members_of_a_group(
    bootstrap: str, topic: str, name: str
) -> None:
    settings = {"bootstrap.servers": bootstrap, "group.id": name, "session.timeout.ms": 6000}
    members = [Consumer(settings) for _ in range(2)]
    try:
        for member in members:
            member.subscribe([topic])
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            for member in members:
                member.poll(0.05)
            shares = [{part.partition for part in member.assignment()} for member in members]
            if sorted(map(sorted, shares)) == [[0], [1]]:
                break
        assert sorted(map(sorted, shares)) == [[0], [1]]
    finally:
        for member in members:
            member.close()


def test_the_admin_client_describes_topics_settings_and_groups(
    bootstrap: str, topic: str, name: str
) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    assert len(admin.list_topics(topic, 10).topics[topic].partitions) == 2
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    configs = admin.describe_configs([resource])[resource].result(10)
    assert configs["cleanup.policy"].value == "delete"
    produced(Producer({"bootstrap.servers": bootstrap}), topic, ["a"])
    consumed(bootstrap, topic, name, bool)
    groups = admin.list_consumer_groups().result(10)
    assert name in {group.group_id for group in groups.valid}
    assert admin.delete_consumer_groups([name])[name].result(10) is None
    assert admin.delete_topics([topic])[topic].result(10) is None


def polled(consumers: list[Consumer], values: list[str], enough: Callable[[], bool]) -> None:
    """Poll members in turn until the condition is true."""
    deadline = time.monotonic() + LIMIT_S
    while not enough():
        assert time.monotonic() < deadline, [consumer.assignment() for consumer in consumers]
        for consumer in consumers:
            message = consumer.poll(0.05)
            if message is not None and not message.error():
                values.append((message.value() or b"").decode())


@pytest.mark.parametrize("pattern", [False, True])
def test_members_of_the_consumer_protocol_share_and_take_over(
    bootstrap: str, topic: str, pattern: bool
) -> None:
    """KIP-848: the broker assigns partitions, by name or regular expression."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": topic,
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
    }
    consumers = [Consumer(settings) for _ in range(2)]
    values: list[str] = []
    try:
        first, second = consumers
        first.subscribe([f"^{topic[:-1]}." if pattern else topic])
        polled([first], values, lambda: len(first.assignment()) == 2)
        produced(Producer({"bootstrap.servers": bootstrap}), topic, ["a", "b", "c", "d"])
        polled([first], values, lambda: len(values) == 4)
        second.subscribe([topic])
        polled(consumers, values, lambda: len(second.assignment()) == len(first.assignment()) == 1)
        first.close()
        polled([second], values, lambda: len(second.assignment()) == 2)
        produced(Producer({"bootstrap.servers": bootstrap}), topic, ["e", "f"])
        polled([second], values, lambda: {"e", "f"} <= set(values))
        assert sorted(values) == ["a", "b", "c", "d", "e", "f"], "a record was read twice"
    finally:
        for consumer in consumers:
            consumer.close()


def test_a_group_changes_to_the_consumer_protocol_and_back(bootstrap: str, topic: str) -> None:
    """One member after the other is restarted with the other protocol, while the rest reads on."""
    classic = {
        "bootstrap.servers": bootstrap,
        "group.id": topic,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 200,
    }
    new = {**classic, "group.protocol": "consumer"}
    for name in ("session.timeout.ms", "heartbeat.interval.ms"):
        del new[name]
    producer = Producer({"bootstrap.servers": bootstrap})
    consumers: list[Consumer] = []
    values: list[str] = []
    try:
        for number, settings in enumerate((classic, new, new, classic, classic)):
            joined = Consumer(settings)
            consumers.append(joined)
            joined.subscribe([topic])
            count = min(len(consumers), 2)
            polled(
                consumers,
                values,
                lambda joined=joined, count=count: len(joined.assignment()) == 2 // count,  # type: ignore[misc]  # mypy cannot type the default
            )
            if len(consumers) > 1:
                consumers.pop(0).close()
            polled(consumers, values, lambda joined=joined: len(joined.assignment()) == 2)  # type: ignore[misc]  # mypy cannot type the default
            produced(producer, topic, [str(number)])
            polled(consumers, values, lambda number=number: str(number) in values)  # type: ignore[misc]  # mypy cannot type the default
        assert sorted(values) == ["0", "1", "2", "3", "4"], "a record was read twice"
    finally:
        for consumer in consumers:
            consumer.close()
