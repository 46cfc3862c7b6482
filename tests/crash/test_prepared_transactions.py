"""Prepared transactions (KIP-939) after a restart from SIGKILL, request by request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.testing import RunningBroker, running_broker

from ..wire.broker import Broker
from ..wire.client import error_name, retrying
from ..wire.conftest import address_of, warm_up
from ..wire.transactions import Producer
from .killing import at, connected, crash

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "50",
    "transaction.two.phase.commit.enable": "true",
    "unstable.api.versions.enable": "true",
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    """A broker with two-phase commit that can be killed."""
    with running_broker(data_dir=tmp_path / "data", settings=SETTINGS) as running:
        warm_up(address_of(running.bootstrap))
        yield running


def init(asked: Broker, transactional_id: str, **fields: Any) -> Any:
    """InitProducerId 6; its answer."""
    body = {
        "transactional_id": transactional_id,
        "transaction_timeout_ms": 1000,
        "enable2_pc": True,
        "keep_prepared_txn": False,
        **fields,
    }
    return retrying(
        lambda: asked.call("InitProducerId", 6, body),
        lambda answer: [error_name(answer["error_code"])],
    )


def prepared(asked: Broker, topic: str) -> Producer:
    """A producer in two phases with an open transaction of two records."""
    name = asked.fresh("two-phases")
    answer = init(asked, name)
    producer = Producer(asked, name, answer["producer_id"], answer["producer_epoch"])
    assert producer.produce(topic, [b"0", b"1"], version=12)[0] == "NONE"
    return producer


def taken_over(asked: Broker, producer: Producer) -> Producer:
    """The new producer of a kept transaction; the answer must name the transaction's own."""
    answer = init(asked, producer.transactional_id, keep_prepared_txn=True)
    ongoing = answer["ongoing_txn_producer_id"], answer["ongoing_txn_producer_epoch"]
    assert ongoing == (producer.producer_id, producer.epoch)
    return producer.but(
        broker=asked, producer_id=answer["producer_id"], epoch=answer["producer_epoch"]
    )


def times_out_elsewhere(asked: Broker) -> None:
    """Wait until the broker has aborted a transaction with a timeout that began just now."""
    topic = asked.topic()
    asked.open_transaction(topic, 1, timeout_ms=300)
    assert asked.wait_stable(topic, 2) == 2


@pytest.mark.parametrize("commit", [True, False])
def test_a_prepared_transaction_is_completed_by_a_new_process(
    broker: RunningBroker, commit: bool
) -> None:
    with connected(broker) as before:
        topic = before.topic()
        producer = prepared(before, topic)
    crash(broker)
    with connected(broker) as between:
        times_out_elsewhere(between)
        assert at(between, producer).state() == "Ongoing"
        first = taken_over(between, producer)
    crash(broker)
    with connected(broker) as after:
        times_out_elsewhere(after)
        assert after.ends(topic) == [0, 2], "the last stable offset stays below the transaction"
        second = taken_over(after, producer)
        assert second.epoch == first.epoch + 1
        for fenced in (at(after, producer), at(after, first)):
            assert fenced.end(commit=commit) == "PRODUCER_FENCED"
            assert fenced.produce(topic, sequence=2, version=12)[0] == "INVALID_PRODUCER_EPOCH"
        error, same, epoch = second.end(commit=commit, version=5)
        assert (error, same, epoch) == ("NONE", "same-pid", second.epoch + 1)
        assert after.wait_stable(topic, 3) == 3
        assert after.values(topic, isolation=1) == (["0", "1"] if commit else [])
        broker.kill()
    broker.start()
    with connected(broker) as again:
        state = at(again, second).wait_ended()
        assert state == ("CompleteCommit" if commit else "CompleteAbort")
        retried = at(again, second).end(commit=commit, version=5)
        assert retried == ["NONE", "same-pid", second.epoch + 1]
        following = at(again, second).but(epoch=second.epoch + 1)
        assert following.produce(topic, [b"2"], version=12)[0] == "NONE"


def test_the_producer_of_the_transaction_ends_it_after_the_restart(broker: RunningBroker) -> None:
    """A process that stored its producer id and epoch needs no InitProducerId."""
    with connected(broker) as before:
        topic = before.topic()
        producer = prepared(before, topic)
    crash(broker)
    with connected(broker) as after:
        times_out_elsewhere(after)
        assert at(after, producer).end(version=5)[0] == "NONE"
        assert after.wait_stable(topic, 3) == 3
        assert after.values(topic, isolation=1) == ["0", "1"]


def test_an_ordinary_initialization_aborts_a_kept_transaction(broker: RunningBroker) -> None:
    with connected(broker) as before:
        topic = before.topic()
        producer = prepared(before, topic)
        kept = taken_over(before, producer)
    crash(broker)
    with connected(broker) as after:
        owner = after.init(producer.transactional_id, 1000)
        assert owner.epoch > kept.epoch
        assert after.wait_stable(topic, 3) == 3
        assert after.values(topic, isolation=1) == []
        assert at(after, kept).end() == "PRODUCER_FENCED"
