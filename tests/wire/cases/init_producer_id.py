"""InitProducerId (22)."""

from __future__ import annotations

from typing import Any

from ..batches import marker
from ..broker import Broker
from ..client import retrying
from ..registry import case


@case
def init__no_txn_id(broker: Broker) -> Any:
    first, second = broker.idempotent(), broker.idempotent()
    return {
        "epochs": [first.epoch, second.epoch],
        "distinct": first.producer_id != second.producer_id,
        "nonnegative": first.producer_id >= 0,
    }


@case
def init__all_versions(broker: Broker) -> Any:
    """Complete answers with, without and with an empty transactional id."""
    out = {}
    for version in range(6):
        answers = [
            broker.init_raw(None, version=version),
            retrying(
                lambda v=version: broker.init_raw("same-" + broker.fresh("x"), version=v),  # type: ignore[misc]  # mypy cannot type the default
                lambda answer: [answer[0]],
            ),
            broker.init_raw("", version=version),
        ]
        out[f"v{version}"] = [[error, producer_id >= 0, e] for error, producer_id, e in answers]
    return out


@case
def init__no_txn_id_timeout_zero(broker: Broker) -> Any:
    return broker.init_raw(None, 0)[0]


@case
def init__timeout_zero(broker: Broker) -> Any:
    return broker.init_raw(broker.fresh("x"), 0)[0]


@case
def init__timeout_negative(broker: Broker) -> Any:
    return broker.init_raw(broker.fresh("x"), -1)[0]


@case
def init__timeout_max(broker: Broker) -> Any:
    name = broker.fresh("x")
    return retrying(lambda: broker.init_raw(name, 900_000)[0])


@case
def init__timeout_over_max(broker: Broker) -> Any:
    return broker.init_raw(broker.fresh("x"), 900_001)[0]


@case
def init__timeout_changes_on_reinit(broker: Broker) -> Any:
    name = broker.fresh("x")
    return [
        broker.init(name, timeout_ms).described()["transaction_timeout_ms"]
        for timeout_ms in (11_000, 22_000)
    ]


@case
def init__epoch_counts_up(broker: Broker) -> Any:
    """Each plain InitProducerId bumps the epoch of the same producer id."""
    name = broker.fresh("x")
    producers = [broker.init(name) for _ in range(4)]
    return [[p.producer_id == producers[0].producer_id, p.epoch] for p in producers]


@case
def init__resume_current_epoch(broker: Broker) -> Any:
    return broker.producer().init_again_raw()[1:]


@case
def init__resume_retry_same_request(broker: Broker) -> Any:
    """The same producer id and epoch sent twice, as after a lost answer."""
    producer = broker.producer()
    producer.init_again_raw()
    return producer.init_again_raw()


@case
def init__resume_two_epochs_behind(broker: Broker) -> Any:
    producer = broker.producer()
    second = producer.but(epoch=producer.init_again_raw()[2])
    second.init_again_raw()
    return {f"v{v}": producer.init_again_raw(version=v)[0] for v in (3, 4, 5)}


@case
def init__resume_previous_epoch_after_plain_init(broker: Broker) -> Any:
    """A client has epoch 0 and a second one inits without id (epoch 1): is the first fenced?"""
    producer = broker.producer()
    broker.init(producer.transactional_id)
    return producer.init_again_raw()[0]


@case
def init__resume_wrong_pid(broker: Broker) -> Any:
    producer = broker.producer()
    return producer.but(producer_id=producer.producer_id + 99_999).init_again_raw()[0]


@case
def init__resume_future_epoch(broker: Broker) -> Any:
    producer = broker.producer()
    ahead = producer.but(epoch=producer.epoch + 3)
    return {f"v{v}": ahead.init_again_raw(version=v)[0] for v in (3, 4, 5)}


@case
def init__resume_unknown_txn_id(broker: Broker) -> Any:
    name = broker.fresh("x")
    answer = retrying(
        lambda: broker.init_raw(name, producer_id=777_777, epoch=3), lambda found: [found[0]]
    )
    return answer[0]


@case
def init__pid_without_epoch(broker: Broker) -> Any:
    return broker.init_raw(broker.fresh("x"), producer_id=5, epoch=-1)[0]


@case
def init__epoch_without_pid(broker: Broker) -> Any:
    return broker.init_raw(broker.fresh("x"), producer_id=-1, epoch=5)[0]


@case
def init__during_ongoing(broker: Broker, topic: str) -> Any:
    """First answer, then the answer after retries; the open transaction is aborted."""
    producer = broker.open_transaction(topic)
    first = broker.init_raw(producer.transactional_id)[0]
    second = broker.init(producer.transactional_id)
    broker.wait_stable(topic, 2)
    return {
        "first": first,
        "same_pid": second.producer_id == producer.producer_id,
        "epoch": second.epoch,
        "ends": broker.ends(topic),
        "committed": broker.values(topic, 1),
        "state": producer.state(),
        "marker": marker(broker.batches(topic)[1]),
    }


@case
def init__fences_the_producer(broker: Broker) -> Any:
    """Every request of the fenced producer, in its oldest and newest versions."""
    topic, group = broker.topic(), broker.fresh("g")
    old = broker.open_transaction(topic)
    broker.init(old.transactional_id)
    return {
        "produce": {f"v{v}": old.produce(topic, sequence=1, version=v)[0] for v in (3, 9, 11, 12)},
        "add": {f"v{v}": old.add(topic, version=v) for v in (0, 3)},
        "add_offsets": {f"v{v}": old.add_offsets(group, version=v) for v in (0, 3)},
        "commit_offset": {f"v{v}": old.commit_offset(group, topic, version=v) for v in (0, 3, 5)},
        "end": {f"v{v}": old.end_raw(version=v)[0] for v in (0, 3, 5)},
        "init": old.init_again_raw()[0],
    }
