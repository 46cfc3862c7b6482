"""Transactions, producers and offsets after a restart from SIGKILL, request by request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing import RunningBroker, running_broker

from ..wire.conftest import address_of, warm_up
from .killing import at, connected, crash

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    """A broker that can be killed."""
    with running_broker(data_dir=tmp_path / "data", settings=SETTINGS) as running:
        warm_up(address_of(running.bootstrap))
        yield running


def test_an_open_transaction_stays_open_and_can_be_committed(broker: RunningBroker) -> None:
    with connected(broker) as before:
        topic = before.topic()
        producer = before.open_transaction(topic, 3)
    crash(broker)
    with connected(broker) as after:
        producer = at(after, producer)
        assert producer.state() == "Ongoing"
        assert after.ends(topic) == [0, 3]
        assert after.values(topic, isolation=1) == []
        assert producer.produce(topic, [b"3"], sequence=3) == ("NONE", 3)
        assert producer.end() == "NONE"
        assert producer.wait_ended() == "CompleteCommit"
        assert after.values(topic, isolation=1) == ["0", "1", "2", "3"]


def test_an_open_transaction_can_be_aborted_after_the_restart(broker: RunningBroker) -> None:
    with connected(broker) as before:
        topic = before.topic()
        producer = before.open_transaction(topic, 3)
    crash(broker)
    with connected(broker) as after:
        assert at(after, producer).end(commit=False) == "NONE"
        assert after.wait_stable(topic, 4) == 4
        assert after.values(topic, isolation=1) == []
        assert after.values(topic) == ["0", "1", "2"]


@pytest.mark.parametrize("commit", [True, False])
def test_an_acknowledged_end_of_a_transaction_survives(broker: RunningBroker, commit: bool) -> None:
    """Kill the broker right after the answer to EndTxn, with or without the markers."""
    with connected(broker) as before:
        topic = before.topic()
        producer = before.open_transaction(topic, 2)
        producer.end(commit=commit)
        broker.kill()
    broker.start()
    with connected(broker) as after:
        assert at(after, producer).wait_ended() == ("CompleteCommit" if commit else "CompleteAbort")
        assert after.wait_stable(topic, 3) == 3
        assert after.values(topic, isolation=1) == (["0", "1"] if commit else [])
        again = at(after, producer).end(commit=commit)
        assert again == "NONE", "a retry of EndTxn gets the answer of the first"


def test_a_transaction_times_out_after_the_restart(broker: RunningBroker) -> None:
    with connected(broker) as before:
        topic = before.topic()
        producer = before.open_transaction(topic, 2, timeout_ms=1000)
    crash(broker)
    with connected(broker) as after:
        assert after.wait_stable(topic, 3) == 3
        assert at(after, producer).wait_ended() == "CompleteAbort"
        assert at(after, producer).end() in ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")


def test_duplicates_are_recognized_after_the_restart(broker: RunningBroker) -> None:
    """The last five batches of a producer are answered with their offsets; a gap is refused."""
    with connected(broker) as before:
        topic, producer = before.topic(), before.idempotent()
        placed = [producer.produce(topic, [b"a", b"b"], sequence=2 * i) for i in range(6)]
    crash(broker)
    with connected(broker) as after:
        producer = at(after, producer)
        again = [producer.produce(topic, [b"a", b"b"], sequence=2 * i) for i in range(1, 6)]
        assert again == placed[1:]
        assert producer.produce(topic, sequence=99) == ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)
        assert producer.produce(topic, sequence=12) == ("NONE", 12)


def test_pending_offsets_stay_pending(broker: RunningBroker) -> None:
    with connected(broker) as before:
        topic, group, producer = before.topic(), before.fresh("g"), before.producer()
        before.commit(group, topic, 5)
        producer.add_offsets(group)
        assert producer.commit_offset(group, topic, 9) == "NONE"
    crash(broker)
    with connected(broker) as after:
        assert after.offsets(group, topic) == [[5, "NONE"]]
        pending = after.offsets(group, topic, require_stable=True)
        assert pending == [[-1, "UNSTABLE_OFFSET_COMMIT"]]
        at(after, producer).end()
        at(after, producer).wait_ended()
        assert after.offsets(group, topic, require_stable=True) == [[9, "NONE"]]


def test_epochs_and_producer_ids_continue(broker: RunningBroker) -> None:
    """Producer ids are allocated once; a transactional id keeps its producer id and epoch."""
    with connected(broker) as before:
        known = {before.idempotent().producer_id for _ in range(3)}
        producer = before.producer()
    crash(broker)
    with connected(broker) as after:
        assert not {after.idempotent().producer_id for _ in range(3)} & known
        again = after.init(producer.transactional_id)
        assert (again.producer_id, again.epoch) == (producer.producer_id, producer.epoch + 1)


def test_topics_configs_and_deletions_are_kept(broker: RunningBroker) -> None:
    with connected(broker) as before:
        kept, deleted = before.filled_topic(3, retention_ms=123_000), before.filled_topic()
        kept_id = before.topic_ids[kept]
        before.delete_topic(deleted)
        before.delete_records(kept, 1)
    crash(broker)
    with connected(broker) as after:
        topic, gone = after.metadata([kept, deleted], version=12)["topics"]
        assert topic["topic_id"] == kept_id
        assert gone["error_code"] == 3
        assert after.list_offset(kept, -2)[1] == 1
        assert after.ends(kept) == [3, 3]
