"""What librdkafka, aiokafka and the Java client make of corrupt answers, legal and illegal ones.

The expected values are what the clients do. A legal answer loses nothing and adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from ottla.lab.answers.corruption import KINDS
from ottla.testing import Ottla
from ottla.testing.lab import FaultNotFired

from .actors import Actor, Librdkafka
from .corrupt_cases import ILLEGAL, LEGAL, OF_METADATA
from .traces import values

pytestmark = pytest.mark.clients

# A topic's contents, as `read` returns them from an offset on, and its end.
CLEAN: dict[str, tuple[int, list[str], int]] = {
    "one-batch": (0, ["a@0", "b@1"], 2),
    "two-batches": (0, ["a@0", "b@1", "c@2", "d@3"], 4),
    "second-batch": (2, ["c@2", "d@3"], 4),
    "transactions": (0, ["kept0@2", "kept1@5"], 9),
}


@pytest.fixture(scope="module", autouse=True)
def _filled(started: Ottla) -> None:
    for topic in ("one-batch", "two-batches", "transactions"):
        started.create_topic(topic, replication_factor=3)
    started.create_topic("wide", partitions=3, replication_factor=3)
    for batch in (["a", "b"], ["c", "d"]):
        started.produce("two-batches", batch)
    started.produce("one-batch", ["a", "b"])
    producers = {name: _begun(started, name) for name in ("one", "two", "kept")}
    for number in range(2):
        for name, producer in producers.items():
            producer.produce("transactions", f"{name}{number}")
            producer.flush(20)
    for name, producer in producers.items():
        if name == "kept":
            producer.commit_transaction(20)
        else:
            producer.abort_transaction(20)


def _begun(broker: Ottla, name: str) -> Producer:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name}
    producer = Producer({**settings, "linger.ms": 0, "log_level": 0})
    producer.init_transactions(20)
    producer.begin_transaction()
    return producer


@pytest.fixture(params=["librdkafka", "aiokafka", pytest.param("java", marks=[pytest.mark.kafka])])
def reader(request: pytest.FixtureRequest, broker: Ottla) -> Iterator[tuple[int, Actor]]:
    """A client and its place in ILLEGAL."""
    program = request.getfixturevalue(f"{request.param}_program")
    program.open(broker, "reader")
    yield ["librdkafka", "aiokafka", "java"].index(request.param), program
    program.close()


def librdkafka(broker: Ottla, *, check_crcs: bool = True) -> Actor:
    program = Librdkafka(check_crcs=check_crcs)
    program.open(broker, "reader")
    return program


def corrupted(broker: Ottla, reader: Actor, shape: str, **parameters: Any) -> list[str]:
    """What a client reads whose first answer with a place for it is changed."""
    topic = "two-batches" if shape == "second-batch" else shape
    start, _, end = CLEAN[shape]
    match = {"api": "Fetch", "client_id": "actor", "topic": topic, "times": 1}
    with broker.faults.expect("corrupt", match=match, **parameters):
        return reader.read(topic, start, end)


@pytest.mark.parametrize(("what", "shape"), LEGAL, ids=[what for what, _ in LEGAL])
def test_a_client_copes_with_a_legal_answer(
    what: str, shape: str, reader: tuple[int, Actor], broker: Ottla
) -> None:
    number, client = reader
    assert KINDS[what].is_legal
    if what == "unknown_tags" and number == 1:
        with pytest.raises(FaultNotFired):  # aiokafka sends no flexible Fetch
            corrupted(broker, client, shape, what=what)
    else:
        assert corrupted(broker, client, shape, what=what) == CLEAN[shape][1]


@pytest.mark.parametrize(
    ("parameters", "shape", "expected"), ILLEGAL, ids=[each[0]["what"] for each in ILLEGAL]
)
def test_a_client_notices_an_illegal_answer_or_delivers_it(
    parameters: dict[str, Any],
    shape: str,
    expected: tuple[str, str, str],
    reader: tuple[int, Actor],
    broker: Ottla,
) -> None:
    number, client = reader
    assert not KINDS[parameters["what"]].is_legal
    assert corrupted(broker, client, shape, **parameters) == expected[number].split()
    assert client.read(*_all_of(shape)) == CLEAN[shape][1], "the log is unchanged"


def _all_of(shape: str) -> tuple[str, int, int]:
    start, _, end = CLEAN[shape]
    return shape, start, end


@pytest.mark.parametrize("check", [True, False])
def test_librdkafka_notices_a_flipped_bit_only_if_it_checks_the_crc(
    check: bool, broker: Ottla
) -> None:
    client = librdkafka(broker, check_crcs=check)
    read = corrupted(broker, client, "one-batch", what="bit_flip", place=67, seed=2)
    assert read == (["_BAD_MSG", "a@0", "b@1"] if check else ["`@0", "b@1"])


def test_an_answer_without_a_place_does_not_count(broker: Ottla, topic: str) -> None:
    settings = {"group.id": topic, "client.id": topic, "log_level": 0, "check.crcs": True}
    settings |= {"enable.partition.eof": True, "fetch.wait.max.ms": 10}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, **settings})
    match = {"api": "Fetch", "client_id": topic, "nth": 1}
    try:
        with broker.faults.expect("corrupt", what="bit_flip", match=match) as fault:
            consumer.assign([TopicPartition(topic, 0, 0)])
            assert code_of_next(consumer) == KafkaError._PARTITION_EOF  # an answer came
            assert (fault.fired, broker.trace.where(kind="fault")) == (0, [])
            broker.produce(topic, ["a"])
            assert code_of_next(consumer) == KafkaError._BAD_MSG
    finally:
        consumer.close()


def code_of_next(consumer: Consumer) -> int | None:
    message = consumer.poll(30)
    assert message is not None
    error = message.error()
    return None if error is None else error.code()


def test_the_trace_has_the_answer_as_the_client_got_it(broker: Ottla) -> None:
    broker.trace.clear()
    read = corrupted(broker, librdkafka(broker), "one-batch", what="wrong_base_offset", seed=1)
    assert read == ["a@138", "b@139"]
    (fault,) = broker.trace.where(kind="fault")
    (answer,) = broker.trace.where(kind="answer", cause=fault["cause"])
    assert [each["base_offset"] for each in answer["response"]["batches"]] == [138]
    assert values(broker, "one-batch") == ["a", "b"]


def test_librdkafka_copes_with_shuffled_partitions_of_a_fetch(broker: Ottla) -> None:
    broker.create_topic("pair", partitions=2, replication_factor=3)
    broker.lab().call("POST", "/leaders", {"topic": "pair", "node_id": 1})
    broker.produce("pair", [{"value": str(each), "partition": each} for each in (0, 1)])
    settings = {"group.id": "pair", "client.id": "pair", "log_level": 0}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, **settings})
    match = {"api": "Fetch", "client_id": "pair"}
    try:
        with broker.faults.expect("corrupt", what="shuffled", match=match):
            consumer.assign([TopicPartition("pair", each, 0) for each in (0, 1)])
            read = consumer.consume(2, timeout=30)
    finally:
        consumer.close()
    assert {each.value() for each in read} == {b"0", b"1"}


def epochs_rise(broker: Ottla) -> None:
    """Let all leaders of a topic have an epoch before their own."""
    for node_id in (2, 1):
        for partition in range(3):
            broker.move_leader("wide", partition, node_id)


@pytest.mark.parametrize("what", OF_METADATA)
def test_a_producer_finds_its_leader_after_a_corrupt_answer_to_metadata(
    what: str, reader: tuple[int, Actor], broker: Ottla
) -> None:
    number, client = reader
    epochs_rise(broker)
    # aiokafka's version of Metadata has neither tagged fields nor leader epochs.
    times = 0 if number == 1 and what in ("unknown_tags", "older_leader_epoch") else 1
    match = {"api": "Metadata", "topic": "wide", "client_id": "actor", "times": 1}
    with broker.faults.expect("corrupt", times=times, what=what, match=match) as fault:
        client.begin()
        client.send("wide", "x")
        client.flush()
        client.commit()
        assert fault.fired == times
