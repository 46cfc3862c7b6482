"""Produce (0) by idempotent producers: sequences, epochs, duplicates."""

from __future__ import annotations

from typing import Any

from ..batches import batch
from ..broker import Broker
from ..registry import case
from .records import attempts

LAST_SEQUENCE = 2_147_483_647


@case
def idem__duplicate_of_last_5(broker: Broker) -> Any:
    """Seven batches, then each again: the last five answer their own offset."""
    topic, producer = broker.topic(), broker.idempotent()
    first = [producer.produce(topic, [b"a", b"b"], sequence=2 * i)[1] for i in range(7)]
    again = [producer.produce(topic, [b"a", b"b"], sequence=2 * i) for i in range(7)]
    return {"first": first, "again": again, "end": broker.ends(topic)}


@case
def idem__duplicate_answer_fields(broker: Broker) -> Any:
    """A duplicate is answered like the first, with LogAppendTime too."""
    topic = broker.topic(message_timestamp_type="LogAppendTime")
    producer = broker.idempotent()
    data = producer.batch([b"a", b"b"])
    first, again = (broker.produce(topic, data, version=9) for _ in range(2))
    return [first == again, again["base_offset"], again["log_start_offset"]]


@case
def idem__gap(broker: Broker) -> Any:
    topic, producer = broker.topic(), broker.idempotent()
    return [producer.produce(topic, sequence=sequence) for sequence in (0, 2, 1)]


@case
def idem__overlap(broker: Broker) -> Any:
    """A batch that overlaps the last one: another length from the same sequence, or shifted."""
    topic, producer = broker.topic(), broker.idempotent()
    producer.produce(topic, [b"a"] * 3)
    return {
        "shorter": producer.produce(topic, [b"a"] * 2),
        "longer": producer.produce(topic, [b"a"] * 4),
        "shifted": producer.produce(topic, [b"a"] * 3, sequence=1),
        "same_but_content": producer.produce(topic, [b"z"] * 3),
        "end": broker.ends(topic),
    }


@case
def idem__first_sequence_nonzero(broker: Broker) -> Any:
    return broker.idempotent().produce(broker.topic(), sequence=7)


@case
def idem__unallocated_pid(broker: Broker) -> Any:
    stranger = broker.stranger().but(transactional_id="", producer_id=987_654_321)
    return [
        stranger.produce(broker.topic()),
        stranger.but(epoch=5).produce(broker.topic(), sequence=3),
    ]


@case
def idem__new_epoch(broker: Broker) -> Any:
    topic, producer = broker.topic(), broker.idempotent()
    second, tenth = producer.but(epoch=1), producer.but(epoch=9)
    return {
        "first": producer.produce(topic),
        "epoch1_seq5": second.produce(topic, sequence=5),
        "epoch1_seq0": second.produce(topic),
        "epoch0_next": producer.produce(topic, sequence=1),
        "epoch0_duplicate": producer.produce(topic),
        "epoch1_next": second.produce(topic, sequence=1),
        "epoch9_seq0": tenth.produce(topic),
    }


@case
def idem__sequence_wraps_at_batch_edge(broker: Broker) -> Any:
    topic, producer = broker.topic(), broker.idempotent()
    return [
        producer.produce(topic, [b"a", b"b"], sequence=LAST_SEQUENCE - 1),
        producer.produce(topic, [b"a"], sequence=0),
    ]


@case
def idem__sequence_wraps_inside_batch(broker: Broker) -> Any:
    """Three records from the second to last sequence: the next sequence is 1."""
    topic, producer = broker.topic(), broker.idempotent()
    return [
        producer.produce(topic, [b"a"] * 3, sequence=LAST_SEQUENCE - 1),
        producer.produce(topic, [b"a"], sequence=2),
        producer.produce(topic, [b"a"], sequence=1),
        producer.produce(topic, [b"a"] * 3, sequence=LAST_SEQUENCE - 1),
    ]


@case
def idem__bad_producer_fields(broker: Broker) -> Any:
    producer = broker.idempotent()
    known = {"producer_id": producer.producer_id, "epoch": producer.epoch}
    fields: dict[str, dict[str, Any]] = {
        "negative_seq": known | {"sequence": -1},
        "negative_epoch": known | {"epoch": -1, "sequence": 0},
        "seq_minus_5": known | {"sequence": -5},
        "seq_without_pid": {"producer_id": -1, "epoch": -1, "sequence": 3},
        "epoch_without_pid": {"producer_id": -1, "epoch": 3, "sequence": -1},
        "pid_minus_5": {"producer_id": -5, "epoch": 0, "sequence": 0},
    }
    return attempts(broker, {name: batch(**wrong) for name, wrong in fields.items()})


@case
def idem__partitions_are_independent(broker: Broker) -> Any:
    topic, producer = broker.topic(2), broker.idempotent()
    return [
        producer.produce(topic, sequence=sequence, partition=partition)
        for sequence, partition in ((0, 0), (0, 1), (1, 1), (1, 0))
    ]


@case
def idem__acks_1(broker: Broker) -> Any:
    topic, producer = broker.topic(), broker.idempotent()
    return [producer.produce(topic, acks=1) for _ in range(2)]


@case
def idem__acks_0(broker: Broker) -> Any:
    """An unanswered batch counts: the next sequence follows it."""
    topic, producer = broker.topic(), broker.idempotent()
    broker.produce_raw([(topic, 0, producer.batch())], acks=0)
    return [producer.produce(topic, sequence=2), producer.produce(topic, sequence=1)]


@case
def idem__state_after_delete_records(broker: Broker) -> Any:
    """The sequence state after all records of the producer are deleted."""
    topic, producer = broker.topic(), broker.idempotent()
    producer.produce(topic, [b"a"] * 3)
    broker.delete_records(topic, -1)
    return [producer.produce(topic, sequence=3), producer.produce(topic, sequence=9)]


@case
def idem__duplicate_of_a_refused_batch(broker: Broker) -> Any:
    """A refused batch does not use its sequence numbers."""
    topic, producer = broker.topic(), broker.idempotent()
    corrupt = producer.batch(crc=0)
    return [broker.produced(topic, corrupt), producer.produce(topic), producer.produce(topic)]


@case
def idem__epoch_goes_down(broker: Broker) -> Any:
    """An older epoch after a newer one, by version of Produce."""
    topic, producer = broker.topic(), broker.idempotent().but(epoch=5)
    first = producer.produce(topic)
    old = producer.but(epoch=4)
    return [first, {f"v{v}": old.produce(topic, version=v) for v in (3, 9, 11, 12)}]


@case
def idem__empty_epoch_and_wrap_of_epoch(broker: Broker) -> Any:
    """The largest epoch there is."""
    topic, producer = broker.topic(), broker.idempotent().but(epoch=32767)
    return [producer.produce(topic), producer.but(epoch=0).produce(topic, sequence=1)]
