"""A test's broker creates topics, produces and reads, and shows transactions and offsets."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ottla.client import ErrorAnswer
from ottla.protocol.errors import Code
from ottla.testing import Ottla
from ottla.testing.data import BrokerData

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
    stored = broker.produce("rows", ["value", b"value", ("key", "value"), parts])
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


@pytest.mark.parametrize(
    "row",
    [
        5, {"valu": "x"}, {"value": 5}, {"header": "x", "id": 1}, {"key": "a", "id": 1},
        {"value": "x", "headers": "ab"}, {"value": "x", "headers": ["ab"]},
        {"value": "x", "headers": [("a", {})]}, {"value": "x", "headers": 5}, ("a", "b", "c"),
    ],
)  # fmt: skip
def test_a_wrong_row_is_refused(broker: Ottla, row: Any) -> None:
    with pytest.raises(TypeError, match=r"was expected|is no part of a record"):
        broker.produce("nowhere", [row])


@pytest.mark.parametrize("rows", [5, object(), ("key", "value"), (b"key", None)])
def test_another_value_than_a_record_is_refused(broker: Ottla, rows: Any) -> None:
    with pytest.raises(TypeError, match="was expected"):
        broker.produce("nowhere", rows)


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        ("a broom", b"a broom"),
        (b"a broom", b"a broom"),
        (bytearray(b"a broom"), b"a broom"),
        ({"id": 7, "what": ["a broom"]}, b'{"id": 7, "what": ["a broom"]}'),
        ({"value": "a broom", "partition": 0}, b"a broom"),
        ({"value": {"value": 1}}, b'{"value": 1}'),
        (None, None),
    ],
)
def test_a_single_record_needs_no_list(broker: Ottla, rows: Any, value: bytes | None) -> None:
    (stored,) = broker.produce("single", rows)
    assert values(broker, "single")[stored.offset] == value


def test_a_dict_or_a_list_as_a_key_or_a_value_is_json(broker: Ottla) -> None:
    broker.produce("json", [({"id": 1}, {"a": None}), ("key", ["a", 1]), {"id": 2}])
    read = [(record.key, record.value) for record in broker.read("json")]
    assert read == [(b'{"id": 1}', b'{"a": null}'), (b"key", b'["a", 1]'), (None, b'{"id": 2}')]


@pytest.mark.parametrize(
    "headers",
    [
        [("source", b"shop"), ("source", "web"), ("none", None)],
        (("source", b"shop"), ["source", "web"], ("none", None)),
    ],
)
def test_headers_may_be_pairs_of_which_names_come_twice(broker: Ottla, headers: Any) -> None:
    (stored,) = broker.produce("pairs", {"value": "a", "headers": headers})
    found = broker.read("pairs")[stored.offset].headers
    assert list(found) == [("source", b"shop"), ("source", b"web"), ("none", None)]


def test_a_misspelt_topic_is_an_error_at_once_that_names_similar_ones() -> None:
    with Ottla(settings={"auto.create.topics.enable": "false"}) as broker:
        with pytest.raises(ErrorAnswer, match="the broker has no topics"):
            broker.read("orders")
        broker.create_topic("orders")
        for call in (
            lambda: broker.read("ordres", until=1),
            lambda: broker.produce("ordres", "a"),
            lambda: broker.produce("ordres", "a", transactional_id="shop"),
        ):
            with pytest.raises(ErrorAnswer, match=r"ordres: .*no such topic; topics: orders"):
                call()
        assert broker.transactions() == []


def test_rows_without_a_transaction_cannot_be_aborted(broker: Ottla) -> None:
    with pytest.raises(ValueError, match="commit=False needs a transactional_id"):
        broker.produce("nowhere", "a lamp", commit=False)


def test_an_unknown_isolation_level_is_one_sentence(broker: Ottla) -> None:
    with pytest.raises(ValueError, match="must be one of read_uncommitted, read_committed"):
        broker.read("nowhere", isolation="committed")  # type: ignore[arg-type]  # a user's mistake


def test_records_of_all_partitions_are_sorted(broker: Ottla) -> None:
    broker.create_topic("many", partitions=4)
    rows: list[Mapping[str, object]] = [
        {"value": str(number), "partition": 3 - number % 4} for number in range(40)
    ]
    broker.produce("many", rows)
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


def test_a_read_from_a_broker_that_stands_still_ends_in_time() -> None:
    with Ottla() as broker:
        broker.create_topic("still")
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            with pytest.raises(
                TimeoutError, match=r"still could not be read within 0\.1 s: .*timed"
            ):
                broker.read("still", until=1, timeout_s=0.1)
        finally:
            os.kill(broker.pid, signal.SIGCONT)


def test_the_brokers_refusal_has_its_code(broker: Ottla) -> None:
    with pytest.raises(ErrorAnswer) as unknown:
        broker.read("not-there")
    assert unknown.value.code == Code.UNKNOWN_TOPIC_OR_PARTITION
    broker.create_topic("twice")
    with pytest.raises(ErrorAnswer) as twice:
        broker.create_topic("twice")
    assert twice.value.code == Code.TOPIC_ALREADY_EXISTS


def test_a_share_group_shows_its_offsets_and_its_lag(broker: Ottla) -> None:
    broker.create_topic("jobs")
    settings = {"share.auto.offset.reset": "earliest", "share.assignment.interval.ms": "0"}
    queue = broker.share_group("queue", configs=settings)
    assert (queue.state, queue.offsets) == ("Dead", {})
    with pytest.raises(ErrorAnswer) as refused:
        assert not queue.members
    assert refused.value.code == Code.GROUP_ID_NOT_FOUND
    broker.produce("jobs", ["a", "b", "c"])
    first = queue.read("jobs", until=3, how="release")
    assert [(each.value, each.delivery_count) for each in first] == [
        (b"a", 1), (b"b", 1), (b"c", 1),
    ]  # fmt: skip
    assert [each.delivery_count for each in queue.read("jobs", until=3)] == [2, 2, 2]
    assert (queue.state, queue.members, queue.lag) == ("Empty", {}, {("jobs", 0): 0})
    with pytest.raises(TimeoutError, match="got 0 records of jobs"):
        queue.read("jobs", timeout_s=0.1)
    queue.reset({("jobs", 0): 2})
    assert (queue.offsets, queue.lag) == ({("jobs", 0): 2}, {("jobs", 0): 1})
    queue.delete()
    assert queue.state == "Dead"
