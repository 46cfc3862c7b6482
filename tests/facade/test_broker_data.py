"""A test's broker creates topics, produces and reads, and shows transactions and offsets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ottla.broker_data import BrokerData
from ottla.client import ErrorAnswer
from ottla.protocol.errors import Code
from ottla.testing import Ottla

PATIENCE_S = 20.0


@pytest.fixture(scope="module")
def broker() -> Iterator[Ottla]:
    with Ottla(nodes=2) as broker:
        yield broker


def values(broker: BrokerData, topic: str, isolation: str = "read_committed") -> list[bytes | None]:
    if isolation == "read_committed":
        return [record.value for record in broker.read(topic)]
    return [record.value for record in broker.read(topic, isolation="read_uncommitted")]


def test_rows_are_values_pairs_or_parts_by_name(broker: Ottla) -> None:
    broker.create_topic("rows", configs={"retention.ms": "-1"})
    parts = {"key": b"k", "value": None, "headers": {"h": "1"}, "timestamp_ms": 5}
    stored = broker.produce("rows", ["value", b"value", ("key", "value"), parts])  # type: ignore[list-item]  # mypy sees a dict of objects
    assert stored == [("rows", 0, offset) for offset in range(4)]
    read = broker.read("rows", until=4)
    assert [(each.key, each.value) for each in read] == [
        (None, b"value"),
        (None, b"value"),
        (b"key", b"value"),
        (b"k", None),
    ]
    assert list(read[3].headers) == [("h", b"1")]
    assert read[3].timestamp_ms == 5


@pytest.mark.parametrize("row", [5, {"valu": "x"}, {"value": 5}])
def test_a_wrong_row_is_refused(broker: Ottla, row: object) -> None:
    with pytest.raises(TypeError, match=r"was expected|is no part of a record"):
        broker.produce("nowhere", [row])  # type: ignore[list-item]  # it is wrong on purpose


def test_records_of_all_partitions_are_sorted(broker: Ottla) -> None:
    broker.create_topic("many", partitions=4)
    rows: list[Mapping[str, object]] = [
        {"value": str(number), "partition": 3 - number % 4} for number in range(40)
    ]
    broker.produce("many", rows)  # type: ignore[arg-type]  # mypy sees dicts of objects
    read = broker.read("many", until=lambda records: len(records) == 40)
    assert [(each.partition, each.offset) for each in read] == [
        (partition, offset) for partition in range(4) for offset in range(10)
    ]


def test_aborted_records_are_read_uncommitted_only(broker: Ottla) -> None:
    broker.create_topic("shop")
    broker.produce("shop", ["committed"], transactional_id="shop")
    broker.produce("shop", ["aborted"], transactional_id="shop", commit=False)
    assert values(broker, "shop") == [b"committed"]
    assert values(broker, "shop", "read_uncommitted") == [b"committed", b"aborted"]
    (shop,) = [each for each in broker.transactions() if each.transactional_id == "shop"]
    assert shop.state in {"CompleteAbort", "PrepareAbort"}


def test_an_open_transaction_is_shown(broker: Ottla) -> None:
    broker.create_topic("open")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "open"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce("open", b"x")
    producer.flush(PATIENCE_S)
    found = {each.transactional_id: each for each in broker.transactions()}
    assert (found["open"].state, list(found["open"].partitions)) == ("Ongoing", ["open-0"])
    assert values(broker, "open") == []
    producer.abort_transaction(PATIENCE_S)


def test_the_offsets_of_a_group_are_those_that_it_committed(broker: Ottla) -> None:
    broker.create_topic("read", partitions=2)
    broker.produce("read", ["x"] * 8)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "clerk"})
    consumer.commit(offsets=[TopicPartition("read", 1, 3)], asynchronous=False)
    consumer.close()
    assert broker.offsets("clerk") == {("read", 1): 3}
    assert broker.offsets("nobody-knows") == {}


def test_a_read_waits_no_longer_than_it_may(broker: Ottla) -> None:
    broker.create_topic("few")
    broker.produce("few", ["x"])
    with pytest.raises(TimeoutError, match=r"few has 1 records after 0\.1 s, not 2 records"):
        broker.read("few", until=2, timeout_s=0.1)


def test_the_brokers_refusal_has_its_code(broker: Ottla) -> None:
    with pytest.raises(ErrorAnswer) as unknown:
        broker.read("not-there")
    assert unknown.value.code == Code.UNKNOWN_TOPIC_OR_PARTITION
    broker.create_topic("twice")
    with pytest.raises(ErrorAnswer) as twice:
        broker.create_topic("twice")
    assert twice.value.code == Code.TOPIC_ALREADY_EXISTS
