"""Produce (0) inside and outside of transactions."""

from __future__ import annotations

from typing import Any

from ..batches import batch
from ..broker import Broker
from ..client import Closed, error_name
from ..registry import case


@case
def txnproduce__not_added(broker: Broker) -> Any:
    """A transactional batch to a partition outside the transaction, by version of Produce."""
    out = {}
    for version in (3, 7, 8, 9, 10, 11, 12):
        producer, topic = broker.producer(), broker.topic()
        out[f"v{version}"] = [producer.produce(topic, version=version), producer.state()]
    return out


@case
def txnproduce__added_to_other_partition(broker: Broker) -> Any:
    producer, topic = broker.producer(), broker.topic(2)
    producer.add(topic, 0)
    return [producer.produce(topic, partition=1, version=v) for v in (8, 10, 11, 12)]


@case
def txnproduce__after_commit_without_add(broker: Broker) -> Any:
    out = {}
    for version in (9, 11, 12):
        topic = broker.topic()
        producer = broker.open_transaction(topic)
        producer.end()
        producer.wait_state("CompleteCommit")
        out[f"v{version}"] = producer.produce(topic, sequence=1, version=version)[0]
    return out


@case
def txnproduce__null_txn_id_in_request(broker: Broker, topic: str) -> Any:
    """A transactional batch in a request without a transactional id."""
    inside, outside = broker.open_transaction(topic), broker.producer()
    nobody: dict[str, Any] = {"transactional_id": None}
    return {
        "in_txn": inside.produce(topic, sequence=1, **nobody)[0],
        "not_in_txn": outside.produce(topic, **nobody)[0],
        "v12": outside.produce(topic, version=12, **nobody)[0],
    }


@case
def txnproduce__cut_without_a_transactional_id(broker: Broker) -> Any:
    """A batch that is cut counts as none, in each place of a request."""
    topic, producer = broker.topic(2), broker.producer()
    whole = producer.batch()
    plain, cut = batch(), whole[:-1]
    asked = {
        "alone": [cut],
        "behind a plain one": [plain, cut],
        "before a whole one": [cut, whole],
        "behind a whole one": [whole, cut],
        "two in one": [whole + plain],
        "half a one behind": [whole + cut],
    }
    out = {}
    for name, batches in asked.items():
        for named in (None, producer.transactional_id):
            parts = [(topic, index, data) for index, data in enumerate(batches)]
            answers = broker.produce_raw(parts, version=9, transactional_id=named)
            found = sorted((each["index"], error_name(each["error_code"])) for each in answers)
            out[f"{name}, {'no id' if named is None else 'an id'}"] = found
    return out


@case
def txnproduce__two_pids_in_request(broker: Broker) -> Any:
    topic = broker.topic(2)
    producer = broker.open_transaction(topic)
    producer.add(topic, 1)
    other = broker.idempotent().but(epoch=0)
    parts = [(topic, 0, producer.batch(sequence=1)), (topic, 1, other.batch(transactional=True))]
    try:
        answers = broker.produce_raw(parts, transactional_id=producer.transactional_id)
    except Closed:
        return "Closed"
    return [error_name(answer["error_code"]) for answer in answers]


@case
def txnproduce__plain_batch_of_open_transaction(broker: Broker, topic: str) -> Any:
    """A plain batch of a producer with an open transaction on the partition."""
    producer = broker.open_transaction(topic)
    plain = producer.batch(sequence=1, transactional=False)
    return [
        broker.produced(topic, plain, version=version, transactional_id=transactional_id)
        for version in (9, 12)
        for transactional_id in (None, producer.transactional_id)
    ]


@case
def txnproduce__wrong_epoch(broker: Broker) -> Any:
    """An older and a newer epoch than the coordinator's."""
    out = {}
    for version in (9, 11, 12):
        topic, old = broker.topic(), broker.producer()
        current = broker.init(old.transactional_id)
        current.add(topic)
        ahead = current.but(epoch=current.epoch + 1)
        out[f"v{version}"] = [
            one.produce(topic, version=version)[0] for one in (old, ahead, current)
        ]
    return out


@case
def txnproduce__sequence_gap(broker: Broker) -> Any:
    """A gap inside a transaction, by version (TRANSACTION_ABORTABLE or OUT_OF_ORDER)."""
    out = {}
    for version in (9, 11, 12):
        topic = broker.topic()
        producer = broker.open_transaction(topic)
        out[f"v{version}"] = producer.produce(topic, sequence=5, version=version)[0]
    return out


@case
def txnproduce__first_sequence_nonzero(broker: Broker) -> Any:
    out = {}
    for version in (9, 11, 12):
        producer, topic = broker.producer(), broker.topic()
        producer.add(topic)
        out[f"v{version}"] = producer.produce(topic, sequence=3, version=version)[0]
    return out


@case
def txnproduce__duplicate_in_transaction(broker: Broker, topic: str) -> Any:
    """A batch sent again is answered with its offset, in the transaction and after its end."""
    producer = broker.open_transaction(topic)
    inside = producer.produce(topic)
    producer.end()
    producer.wait_ended()
    return [inside, producer.produce(topic, version=11)[0], broker.ends(topic)]


@case
def txnproduce__mixed_good_and_unknown_partition(broker: Broker) -> Any:
    """v12 implicit add of a good partition and an unknown one."""
    producer, topic = broker.producer(), broker.topic()
    parts = [(topic, 0, producer.batch()), (topic, 5, producer.batch())]
    answers = broker.produce_raw(parts, transactional_id=producer.transactional_id, version=12)
    answers.sort(key=lambda answer: int(answer["index"]))
    return [[error_name(answer["error_code"]) for answer in answers], producer.state()]


@case
def txnproduce__main_flow(broker: Broker) -> Any:
    """Three transactions by the oldest and newest requests, read at both isolation levels."""
    out = {}
    for produce_version, end_version in ((3, 0), (11, 4), (12, 5), (13, 5)):
        topic, producer = broker.topic(), broker.producer()
        named = broker.topic_ids[topic] if produce_version >= 13 else topic
        answers: list[Any] = []
        sequence = 0
        for i, commit in enumerate((True, False, True)):
            if produce_version < 12:
                answers.append(producer.add(topic, version=0 if end_version == 0 else 3))
            values = [b"%d" % i]
            answers.append(
                producer.produce(named, values, sequence=sequence, version=produce_version)
            )
            ended = producer.end(commit=commit, version=end_version)
            answers.append(ended)
            if end_version >= 5:
                producer = producer.but(epoch=ended[2])
            else:
                sequence += 1
            producer.wait_ended()
        broker.wait_stable(topic, 6)
        out[f"v{produce_version}"] = [
            answers,
            broker.values(topic, 0),
            broker.values(topic, 1),
            producer.described()["producer_epoch"],
        ]
    return out
