"""Bugs of Kafka that a test asks for: with each the broker does as Kafka did, without it right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from ottla.client import Client
from ottla.protocol.api_keys import ApiKey
from ottla.testing import BrokerFailed, Ottla
from tests.wire.broker import Broker
from tests.wire.client import Closed, NoAnswer
from tests.wire.transactions import Producer

LAST_EPOCH = 32766


@contextmanager
def wire(ottla: Ottla) -> Iterator[Broker]:
    """Raw requests on new connections."""
    host, port = ottla.bootstrap.split(",")[0].split(":")
    with Client.to(ottla.bootstrap) as client:
        client.transaction_coordinator("x")
    broker = Broker((host, int(port)), "emulations")
    try:
        yield broker
    finally:
        broker.close()


def state(ottla: Ottla, transactional_id: str) -> str:
    return {each.transactional_id: each.state for each in ottla.transactions()}[transactional_id]


@pytest.fixture(params=[False, True], ids=["right", "emulated"])
def is_emulated(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def bug(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ottla(is_emulated: bool, bug: str) -> Iterator[Ottla]:
    with Ottla(clock="manual", emulate=[bug] if is_emulated else []) as broker:
        yield broker


def test_an_unknown_bug_stops_the_start() -> None:
    with pytest.raises(BrokerFailed, match="no bug KAFKA-1 to rehearse; bugs: KAFKA-19690"):
        Ottla(emulate=["KAFKA-1"]).start()


@pytest.mark.parametrize("bug", ["KAFKA-19690"], indirect=True)
def test_the_control_lists_the_bugs(ottla: Ottla, is_emulated: bool, bug: str) -> None:
    assert ottla.lab().call("GET", "/emulations") == {"bugs": [bug] if is_emulated else []}


@pytest.mark.parametrize("bug", ["KAFKA-19999"], indirect=True)
def test_a_marker_that_is_sent_again_after_a_restart(ottla: Ottla, is_emulated: bool) -> None:
    with wire(ottla) as broker:
        topic = broker.topic()
        producer = broker.producer()
        assert producer.produce(topic, version=12)[0] == "NONE"
        ottla.faults.add("crash", point="before_complete_append")
        with pytest.raises((Closed, NoAnswer)):
            producer.end_raw(version=5)
    ottla.wait_for(lambda: not ottla.runs)
    ottla.kill()
    ottla.start()
    with wire(ottla) as broker:
        again = replace(producer, broker=broker)
        if is_emulated:
            assert again.end_raw(version=5)[0] == "CONCURRENT_TRANSACTIONS"
            assert state(ottla, producer.transactional_id) == "PrepareCommit"
        else:
            assert again.end(version=5) == ["NONE", "same-pid", 1]
            assert state(ottla, producer.transactional_id) == "CompleteCommit"
        assert broker.values(topic, isolation=1) == ["v"]


@pytest.mark.parametrize("bug", ["KAFKA-19999"], indirect=True)
def test_a_marker_whose_answer_is_lost(is_emulated: bool, bug: str) -> None:
    with Ottla(nodes=2, emulate=[bug] if is_emulated else []) as ottla:
        ottla.create_topic("orders")
        begun = {"transactional_id": "shop", "transaction_timeout_ms": 60_000}
        begun |= {"producer_id": -1, "producer_epoch": -1}
        with Client.to(ottla.bootstrap_servers) as client:
            coordinator = client.transaction_coordinator("shop")
            (other,) = ottla.nodes.keys() - {coordinator}
            ottla.move_leader("orders", 0, other)
            made = client.ask(ApiKey.INIT_PRODUCER_ID, begun, node_id=coordinator)
            added = {
                "v3_and_below_transactional_id": "shop",
                "v3_and_below_producer_id": made.producer_id,
                "v3_and_below_producer_epoch": 0,
                "v3_and_below_topics": [{"name": "orders", "partitions": [0]}],
            }
            client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, added, node_id=coordinator)
            lost = {"api": "WriteTxnMarkers", "times": 1}
            with ottla.faults.expect("drop_answer", close=True, match=lost) as fault:
                end = {"transactional_id": "shop", "producer_id": made.producer_id}
                end |= {"producer_epoch": 0, "committed": True}
                client.ask(ApiKey.END_TXN, end, node_id=coordinator, version=5)
                fault.wait_fired()
        wanted = "refused_for_good" if is_emulated else "CompleteCommit"
        ottla.wait_for(lambda: wanted in (state(ottla, "shop"), refused_for_good(ottla)))
        assert state(ottla, "shop") == ("PrepareCommit" if is_emulated else "CompleteCommit")


def refused_for_good(ottla: Ottla) -> str:
    """`refused_for_good` if a marker gets no further attempt."""
    return "refused_for_good" if "permanently" in ottla.log_since(0) else ""


@pytest.mark.parametrize("bug", ["KAFKA-19999"], indirect=True)
def test_a_first_marker_is_written_with_any_version_of_transactions(ottla: Ottla) -> None:
    with wire(ottla) as broker:
        topic = broker.topic()
        producer = broker.producer()
        for sequence in range(3):
            assert producer.add(topic) == "NONE"
            assert producer.produce(topic, sequence=sequence)[0] == "NONE"
            assert producer.end() == "NONE"
        producer = broker.producer()
        for epoch in (1, 2):
            assert producer.produce(topic, version=12)[0] == "NONE"
            assert producer.end(version=5) == ["NONE", "same-pid", epoch]
            producer = producer.but(epoch=epoch)
        assert state(ottla, producer.transactional_id) == "CompleteCommit"


@pytest.mark.parametrize("bug", ["KAFKA-20090"], indirect=True)
def test_an_abort_after_the_timeout_of_the_last_epoch(ottla: Ottla, is_emulated: bool) -> None:
    ottla.given("producer_epoch", transactional_id="shop", epoch=LAST_EPOCH)
    (given,) = ottla.transactions()
    with wire(ottla) as broker:
        topic = broker.topic()
        producer = Producer(broker, "shop", given.producer_id, LAST_EPOCH)
        assert producer.produce(topic, version=12)[0] == "NONE"
    ottla.clock.advance(minutes=16)
    assert state(ottla, "shop") == "CompleteAbort"
    with wire(ottla) as broker:
        error, _, epoch = replace(producer, broker=broker).end_raw(commit=False, version=5)
        assert (error, epoch) == ("NONE", LAST_EPOCH + 1 if is_emulated else 0)
        if is_emulated:
            stuck = Producer(broker, "shop", given.producer_id, epoch)
            assert stuck.produce(topic, version=12)[0] == "NONE"
            for commit in (True, False):
                assert stuck.end_raw(commit=commit, version=5)[0] == "UNKNOWN_SERVER_ERROR"
    ottla.clock.advance(hours=24)
    assert state(ottla, "shop") == ("Ongoing" if is_emulated else "CompleteAbort")
    with wire(ottla) as broker:
        code = broker.init_raw("shop")[0]
    assert code == ("UNKNOWN_SERVER_ERROR" if is_emulated else "NONE")


@pytest.mark.parametrize("bug", ["KAFKA-20357"], indirect=True)
def test_a_repeated_init_producer_id_after_a_restart(ottla: Ottla, is_emulated: bool) -> None:
    ottla.given("producer_epoch", transactional_id="shop", epoch=LAST_EPOCH)
    (given,) = ottla.transactions()
    known = {"producer_id": given.producer_id, "epoch": LAST_EPOCH}
    with wire(ottla) as broker:
        error, new_id, epoch = broker.init_raw("shop", **known)
    assert (error, new_id != given.producer_id, epoch) == ("NONE", True, 0)
    ottla.kill()
    ottla.start()
    with wire(ottla) as broker:
        again = broker.init_raw("shop", **known)
    assert again == (("PRODUCER_FENCED", -1, -1) if is_emulated else ("NONE", new_id, 0))


@pytest.mark.parametrize("bug", ["KAFKA-19690"], indirect=True)
def test_a_late_produce_of_an_aborted_transaction(ottla: Ottla, is_emulated: bool) -> None:
    with wire(ottla) as broker:
        topic = broker.topic()
        producer = broker.producer()
        assert producer.produce(topic, version=12)[0] == "NONE"
    ottla.clock.advance(minutes=16)
    assert state(ottla, producer.transactional_id) == "CompleteAbort"
    with wire(ottla) as broker:
        error = replace(producer, broker=broker).produce(topic, sequence=1, version=12)[0]
    assert error == ("INVALID_TXN_STATE" if is_emulated else "INVALID_PRODUCER_EPOCH")
