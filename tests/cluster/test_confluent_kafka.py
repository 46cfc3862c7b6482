"""librdkafka on a cluster in bad faults: no record is lost or duplicated."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from ottla.testing import RunningBroker

from .conftest import PARTITIONS, PATIENCE_S, Faults, committed

pytestmark = [pytest.mark.clients, pytest.mark.slow]


def test_an_idempotent_producer_writes_all_in_order_and_once(
    cluster: RunningBroker, faults: Faults
) -> None:
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failed.append(error)

    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "linger.ms": 2}
    )
    count = 6000
    for number in range(count):
        producer.produce("in", str(number), partition=number % PARTITIONS, on_delivery=delivered)
        producer.poll(0)
        if number % 1000 == 500:
            faults.turn("in")
    assert producer.flush(PATIENCE_S) == 0
    assert failed == []
    assert faults.count == 6
    faults.clear_up()
    assert committed(cluster.bootstrap, "in") == [
        [str(number) for number in range(partition, count, PARTITIONS)]
        for partition in range(PARTITIONS)
    ]


def test_transactions_are_all_or_nothing(cluster: RunningBroker, faults: Faults) -> None:
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "transactional.id": "shop", "linger.ms": 0}
    )
    producer.init_transactions(PATIENCE_S)
    expected = []
    for number in range(120):
        kept = number % 5 != 4
        producer.begin_transaction()
        if number % 15 == 7:
            faults.turn("in")
        for index in range(PARTITIONS * 2):
            producer.produce("in", f"{number}-{index}", partition=index % PARTITIONS)
        if number % 15 == 11:
            producer.flush(PATIENCE_S)
            faults.turn("in")
        if kept and _committed(producer):
            expected += [f"{number}-{index}" for index in range(PARTITIONS * 2)]
        elif not kept:
            _abort(producer)
    faults.clear_up()
    found = [value for part in committed(cluster.bootstrap, "in") for value in part]
    assert sorted(found) == sorted(expected)
    assert len(expected) > 80 * PARTITIONS * 2, "most transactions commit"


def _abort(producer: Producer) -> None:
    """Abort the transaction.

    librdkafka sends EndTxn without waiting for its AddPartitionsToTxn. While markers of the earlier
    transaction are not written, the coordinator refuses AddPartitionsToTxn, and librdkafka does not
    retry it. The abort of an empty transaction is then fatal to the producer.
    """
    producer.flush(PATIENCE_S)
    producer.abort_transaction(PATIENCE_S)


def _committed(producer: Producer) -> bool:
    """Commit as the client's documentation recommends; whether it was committed."""
    while True:
        try:
            producer.commit_transaction(PATIENCE_S)
        except KafkaException as error:
            if error.args[0].txn_requires_abort():
                producer.abort_transaction(PATIENCE_S)
                return False
            if not error.args[0].retriable():
                raise
        else:
            return True


def test_records_are_consumed_transformed_and_produced_exactly_once(
    cluster: RunningBroker, faults: Faults
) -> None:
    count = 1200
    source = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(count):
        source.produce("in", str(number), partition=number % PARTITIONS)
    assert source.flush(PATIENCE_S) == 0
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": "copier"})
    producer.init_transactions(PATIENCE_S)
    done = turns = 0
    while done < count:
        done += _copied(cluster.bootstrap, producer, faults, left=count - done)
        turns += 1
        assert turns < 60, done
    faults.clear_up()
    found = [value for part in committed(cluster.bootstrap, "out") for value in part]
    assert sorted(found) == sorted(str(number) for number in range(count))
    assert faults.count >= 6


def _copied(bootstrap: str, producer: Producer, faults: Faults, *, left: int) -> int:
    """Run the copier to its end or the first failed transaction; the values it committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "copiers",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe(["in"])
    copied = 0
    try:
        for number in range(200):
            batch = [each for each in consumer.consume(50, 1.0) if not each.error()]
            if not batch:
                if copied >= left:
                    break
                continue
            producer.begin_transaction()
            for message in batch:
                producer.produce("out", message.value(), partition=message.partition() or 0)
            if number % 4 == 2:
                # No node stops: librdkafka (2.12 to 2.16) waits for ever for a group coordinator
                # that is no longer in the metadata, if the producer was connected to it.
                faults.move_coordinators()
            try:
                producer.send_offsets_to_transaction(
                    consumer.position(consumer.assignment()),
                    consumer.consumer_group_metadata(),
                    PATIENCE_S,
                )
            except KafkaException as error:
                if not error.args[0].txn_requires_abort():
                    raise
                producer.abort_transaction(PATIENCE_S)
                return copied
            if not _committed(producer):
                return copied
            copied += len(batch)
    finally:
        consumer.close()
    return copied


def test_decisions_of_a_killed_cluster_complete_after_its_restart(
    cluster: RunningBroker,
) -> None:
    """Kill all nodes at once while markers between them are not written."""
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "transactional.id": "shop", "linger.ms": 0}
    )
    producer.init_transactions(PATIENCE_S)
    expected = []
    for number in range(40):
        producer.begin_transaction()
        for index in range(PARTITIONS):
            producer.produce("in", f"{number}-{index}", partition=index)
        if number % 5 == 4:
            _abort(producer)
        elif _committed(producer):
            expected += [f"{number}-{index}" for index in range(PARTITIONS)]
        if number % 10 == 6:
            cluster.kill()
            cluster.start()
    found = [value for part in committed(cluster.bootstrap, "in") for value in part]
    assert sorted(found) == sorted(expected)
    assert len(expected) > 24 * PARTITIONS


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_continues_when_its_coordinator_moves(
    cluster: RunningBroker, faults: Faults, protocol: str
) -> None:
    count = 1200
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(count):
        producer.produce("in", str(number), partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0
    settings = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": "readers",
        "group.protocol": protocol,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        # With the default, rebootstrap, librdkafka's main thread may block for ever while it
        # decommissions brokers, although all its requests are answered.
        "metadata.recovery.strategy": "none",
    }
    read: list[str] = []
    members = [Consumer(settings), Consumer(settings)]
    for member in members:
        member.subscribe(["in"])
    silent = rounds = 0
    while len(set(read)) < count:
        values: list[str] = []
        for member in members:
            batch = [each for each in member.consume(30, 0.2) if not each.error()]
            values += [(message.value() or b"").decode() for message in batch]
            if batch:
                _commit(member)
        silent = 0 if values else silent + 1
        assert silent < 100, f"{len(set(read))} of {count} read"
        read += values
        rounds += 1
        if rounds % 5 == 3 and rounds < 60:
            faults.turn("in")
    for member in members:
        member.close()
    assert faults.count >= 2
    assert len(read) < 2 * count, "committed records are not read again"


def _commit(member: Consumer) -> None:
    """A commit may fail while the coordinator is down, or after a rebalance."""
    try:
        member.commit(asynchronous=False)
    except KafkaException as error:
        if error.args[0].fatal():
            raise
