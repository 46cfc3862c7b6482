"""A broker whose time stands still, and real clients."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from ottla.client import Client
from ottla.protocol.api_keys import ApiKey
from ottla.testing import BrokerFailed, Ottla

DAY_MS = 86_400_000
BY_BROKER = {"message.timestamp.type": "LogAppendTime"}
"""The clients' own timestamps go by the machine's clock."""


@pytest.fixture
def broker() -> Iterator[Ottla]:
    with Ottla(clock="manual") as started:
        yield started


def _producer(broker: Ottla, transactional_id: str) -> Producer:
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": 900_000,
    }
    producer = Producer(settings)
    producer.init_transactions(10)
    return producer


def _consumer(broker: Ottla, group: str, **more: object) -> Consumer:
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    return Consumer(settings | more)


def test_time_stands_still_and_passes_by_advance() -> None:
    with Ottla(clock="manual:1700000000000") as broker:
        assert broker.clock.now_ms() == 1_700_000_000_000
        assert broker.clock.advance(minutes=15) == 1_700_000_900_000
        assert broker.clock.advance(ms=-3_600_000) == broker.clock.now_ms() == 1_699_997_300_000
        broker.restart()
        assert broker.clock.now_ms() == 1_699_997_300_000


def test_the_time_of_a_new_broker_is_that_of_the_machine(broker: Ottla) -> None:
    assert abs(broker.clock.now_ms() - time.time() * 1000) < 60_000


def test_a_clock_of_the_machine_cannot_be_advanced() -> None:
    with Ottla() as broker:
        assert abs(broker.clock.now_ms() - time.time() * 1000) < 60_000
        with pytest.raises(BrokerFailed, match="start with --clock manual"):
            broker.clock.advance(ms=1)


@pytest.mark.parametrize("given", ["", "x", "1.5", "9" * 30])
def test_a_wrong_step_is_refused(broker: Ottla, given: str) -> None:
    with pytest.raises(BrokerFailed, match="a number of milliseconds was expected"):
        broker.order(f"advance {given}")


def test_the_clock_is_not_set_back_before_1970(broker: Ottla) -> None:
    """A restart could not go on there."""
    with pytest.raises(BrokerFailed, match="cannot be set back before 1970"):
        broker.clock.advance(ms=-broker.clock.now_ms() - 1)
    assert broker.clock.advance(ms=-broker.clock.now_ms()) == 0
    broker.restart()
    assert broker.clock.now_ms() == 0


def test_a_transaction_times_out_and_its_producer_is_fenced(broker: Ottla) -> None:
    broker.create_topic("orders")
    producer = _producer(broker, "shop")
    producer.begin_transaction()
    producer.produce("orders", b"unfinished")
    producer.flush(10)
    reader = _consumer(broker, "readers")
    reader.assign([TopicPartition("orders", 0, 0)])
    assert reader.poll(0.2) is None

    began_s = time.monotonic()
    broker.clock.advance(ms=899_999)
    assert _states(broker) == ["Ongoing"]
    broker.clock.advance(ms=1)
    assert _states(broker) == ["CompleteAbort"]
    assert time.monotonic() - began_s < 60, "the timeout is one of 15 minutes"

    with pytest.raises(KafkaException) as fenced:
        producer.commit_transaction(10)
    assert fenced.value.args[0].fatal() or fenced.value.args[0].txn_requires_abort()
    del fenced  # its traceback keeps the producer, which would log that its broker is gone
    _commit_one(broker)
    message = reader.poll(10)
    assert message is not None
    assert message.value() == b"finished"
    reader.close()


def _commit_one(broker: Ottla) -> None:
    other = _producer(broker, "other")
    other.begin_transaction()
    other.produce("orders", b"finished")
    other.commit_transaction(10)


def _states(broker: Ottla) -> list[str]:
    return [known.state for known in broker.transactions() if known.transactional_id == "shop"]


def test_a_poll_is_answered_while_time_stands_still(broker: Ottla) -> None:
    broker.create_topic("quiet")
    reader = _consumer(broker, "readers", **{"enable.partition.eof": True, "fetch.wait.max.ms": 50})
    reader.subscribe(["quiet"])
    message = reader.poll(10)
    assert message is not None
    assert message.error() is not None
    broker.produce("quiet", [b"loud"])
    message = reader.poll(10)
    assert message is not None
    assert message.value() == b"loud"
    reader.close()


def test_the_session_of_a_member_without_heartbeats_expires(broker: Ottla) -> None:
    broker.create_topic("orders", partitions=1)
    broker.produce("orders", [b"first"])
    dead = _consumer(broker, "readers", **{"session.timeout.ms": 45_000})
    dead.subscribe(["orders"])
    assert dead.poll(10) is not None
    broker.clock.advance(ms=40_000)
    assert _members(broker) == 1
    broker.clock.advance(ms=6_000)  # its next heartbeat comes after 3 s of real time
    assert _members(broker) == 0
    dead.close()


def _members(broker: Ottla) -> int:
    from ottla.client.admin.groups import describe_group

    with Client.to(broker.bootstrap_servers) as client:
        return len(describe_group(client, "readers").members)


def test_offsets_of_an_empty_group_expire() -> None:
    with Ottla(clock="manual", settings={"offsets.retention.minutes": "120"}) as broker:
        broker.create_topic("orders")
        reader = _consumer(broker, "readers")
        reader.commit(offsets=[TopicPartition("orders", 0, 7)], asynchronous=False)
        reader.close()
        broker.clock.advance(minutes=115)
        assert broker.offsets("readers") == {("orders", 0): 7}
        broker.clock.advance(minutes=16)
        assert broker.offsets("readers") == {}


def test_retention_deletes(broker: Ottla) -> None:
    broker.create_topic(
        "orders", configs=BY_BROKER | {"retention.ms": str(DAY_MS), "segment.ms": "3600000"}
    )
    broker.produce("orders", [b"old"])
    broker.clock.advance(hours=2)
    assert [record.value for record in broker.read("orders")] == [b"old"]
    broker.produce("orders", [b"new"])
    broker.clock.advance(hours=23)
    assert [record.value for record in broker.read("orders")] == [b"new"]


def test_a_jump_back_of_an_hour_harms_nothing(broker: Ottla) -> None:
    broker.create_topic("orders", configs=BY_BROKER)
    producer = _producer(broker, "shop")
    producer.begin_transaction()
    producer.produce("orders", b"before")
    producer.flush(10)
    broker.clock.advance(hours=-1)
    producer.produce("orders", b"after")
    producer.commit_transaction(10)
    reader = _consumer(broker, "readers")
    reader.subscribe(["orders"])
    values = [message.value() for message in reader.consume(2, 10)]
    assert values == [b"before", b"after"]
    reader.commit(asynchronous=False)
    reader.close()
    broker.clock.advance(minutes=5)
    assert broker.offsets("readers") == {("orders", 0): 2}


def test_an_idle_connection_is_closed(broker: Ottla) -> None:
    host, _, port = broker.bootstrap_servers.partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as idle:
        broker.clock.advance(minutes=9)
        idle.settimeout(0.05)
        with pytest.raises(TimeoutError):
            idle.recv(1)
        broker.clock.advance(minutes=3)
        idle.settimeout(10)
        assert idle.recv(1) == b""


def test_a_marker_is_on_the_other_node_when_an_advance_returns() -> None:
    with Ottla(nodes=2, clock="manual") as broker:
        broker.create_topic("orders", partitions=4)
        producer = _producer(broker, "shop")
        producer.begin_transaction()
        for partition in range(4):
            producer.produce("orders", b"unfinished", partition=partition)
        producer.flush(10)
        broker.clock.advance(minutes=16)
        assert _states(broker) == ["CompleteAbort"]


def test_a_transactional_id_expires() -> None:
    with Ottla(clock="manual", settings={"transactional.id.expiration.ms": "86400000"}) as broker:
        _producer(broker, "shop")
        broker.clock.advance(hours=23)
        assert _states(broker) == ["Empty"]
        broker.clock.advance(hours=2)
        assert _states(broker) == []


def test_compaction_removes_old_values_and_later_the_tombstones(broker: Ottla) -> None:
    configs = BY_BROKER | {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "60000",
        "delete.retention.ms": str(DAY_MS),
    }
    broker.create_topic("states", configs=configs)
    broker.produce("states", [("a", "1"), ("b", "1")])
    broker.produce("states", [("a", "2"), ("b", None)])
    for _ in range(2):
        broker.clock.advance(minutes=2)
        broker.produce("states", [("last", "x")])
    broker.clock.advance(minutes=2)
    assert _pairs(broker)[:2] == [(b"a", b"2"), (b"b", None)]
    broker.clock.advance(days=1, minutes=5)
    broker.produce("states", [("last", "y")])
    broker.clock.advance(minutes=5)
    assert _pairs(broker)[0] == (b"a", b"2")
    assert b"b" not in dict(_pairs(broker))


def _pairs(broker: Ottla) -> list[tuple[bytes | None, bytes | None]]:
    return [(record.key, record.value) for record in broker.read("states")]


def test_a_week_passes_quickly_over_many_partitions(broker: Ottla) -> None:
    _producer(broker, "shop")
    broker.create_topic("orders", partitions=100)
    began_s = time.monotonic()
    broker.clock.advance(days=7)
    assert time.monotonic() - began_s < 60
    assert broker.produce("orders", [b"after"])


def test_a_linger_of_the_coordinator_ends_by_an_advance() -> None:
    linger = {"group.coordinator.append.linger.ms": "60000"}
    with Ottla(clock="manual", settings=linger) as broker, ThreadPoolExecutor(1) as thread:
        broker.given("offset_out_of_range", topic="orders", group="others")  # loads the coordinator
        broker.trace.start()
        answer = thread.submit(_joined, broker)
        broker.wait_for(lambda: broker.trace.where(kind="decision"))
        assert not answer.done()
        broker.clock.advance(ms=60_001)
        assert answer.result(10) == 2


def _joined(broker: Ottla) -> int:
    """The epoch of a new member of a consumer group."""
    body = {
        "group_id": "readers", "member_id": "m", "member_epoch": 0, "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": ["orders"], "topic_partitions": [],
    }  # fmt: skip
    with Client.to(broker.bootstrap_servers, timeout_s=50) as client:
        answer = client.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, body, version=1)
        return int(answer.member_epoch)


def test_a_marker_is_sent_again_by_an_advance() -> None:
    """The retry would come by itself, too, as requests between nodes go on in real time."""
    with Ottla(nodes=2, clock="manual") as broker:
        broker.create_topic("orders")
        producer = _producer(broker, "shop")
        with Client.to(broker.bootstrap_servers) as client:
            (other,) = broker.nodes.keys() - {client.transaction_coordinator("shop")}
        broker.move_leader("orders", 0, other)
        producer.begin_transaction()
        producer.produce("orders", b"a")
        producer.flush(10)
        match = {"api": "WriteTxnMarkers", "times": 1}
        with broker.faults.expect("error", code="KAFKA_STORAGE_ERROR", match=match) as refused:
            producer.commit_transaction(10)
            refused.wait_fired()
            broker.clock.advance(minutes=1)
            assert _states(broker) == ["CompleteCommit"]
