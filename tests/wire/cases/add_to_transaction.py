"""AddPartitionsToTxn (24) and AddOffsetsToTxn (25)."""

from __future__ import annotations

from typing import Any

from ..broker import NO_SUCH_TOPIC, Broker
from ..client import error_name
from ..registry import case
from ..transactions import Producer, partition_of

Asked = tuple[Producer, bool, dict[str, list[int]]]


def add_batched(broker: Broker, *asked: Asked, version: int = 4) -> list[Any]:
    """AddPartitionsToTxn 4+ of (producer, verify only, partitions) each.

    The error name of the answer, then those of each transaction's partitions, sorted.
    """
    transactions = [
        {
            "transactional_id": producer.transactional_id,
            "producer_id": producer.producer_id,
            "producer_epoch": producer.epoch,
            "verify_only": verify_only,
            "topics": [{"name": t, "partitions": p} for t, p in partitions.items()],
        }
        for producer, verify_only, partitions in asked
    ]
    answer = broker.call("AddPartitionsToTxn", version, {"transactions": transactions})
    order = [producer.transactional_id for producer, _, _ in asked]
    results = sorted(
        answer["results_by_transaction"], key=lambda one: order.index(one["transactional_id"])
    )
    return [error_name(answer["error_code"])] + [
        sorted(
            error_name(part["partition_error_code"])
            for topic in one["topic_results"]
            for part in topic["results_by_partition"]
        )
        for one in results
    ]


@case
def add__unknown_txn_id(broker: Broker) -> Any:
    return broker.stranger().add(broker.topic())


@case
def add__wrong_pid(broker: Broker) -> Any:
    producer = broker.producer()
    return producer.but(producer_id=producer.producer_id + 99_999).add(broker.topic())


@case
def add__future_epoch(broker: Broker) -> Any:
    topic, producer = broker.topic(), broker.producer()
    ahead = producer.but(epoch=producer.epoch + 1)
    return {"v3": ahead.add(topic), "v1": ahead.add(topic, version=1)}


@case
def add__stale_epoch(broker: Broker) -> Any:
    topic, producer = broker.topic(), broker.producer()
    broker.init(producer.transactional_id)
    return {f"v{v}": producer.add(topic, version=v) for v in range(4)}


@case
def add__empty_transactional_id(broker: Broker) -> Any:
    nobody = broker.stranger().but(transactional_id="")
    return {f"v{v}": nobody.add(broker.topic(), version=v) for v in (0, 3)}


@case
def add__unknown_topic_among_known(broker: Broker) -> Any:
    topic, producer = broker.topic(2), broker.producer()
    added = producer.add_all({topic: [0, 1], NO_SUCH_TOPIC: [0]})
    now = producer.described()
    return {
        "known": added[topic],
        "unknown": added[NO_SUCH_TOPIC],
        "state": now["transaction_state"],
        "topics": len(now["topics"]),
    }


@case
def add__unknown_partition(broker: Broker) -> Any:
    topic, producer = broker.topic(1), broker.producer()
    return producer.add_all({topic: [0, 7]})[topic]


@case
def add__internal_topic(broker: Broker) -> Any:
    producer = broker.producer()
    return [producer.add("__consumer_offsets"), producer.add("__transaction_state")]


@case
def add__no_partitions(broker: Broker) -> Any:
    """Add no partitions; the state tells whether a transaction begins."""
    producer = broker.producer()
    return [producer.add_all({}), producer.state()]


@case
def add__twice_is_idempotent(broker: Broker) -> Any:
    topic, producer = broker.topic(), broker.producer()
    first, before = producer.add(topic), producer.described()
    second, after = producer.add(topic), producer.described()
    same_start = before["transaction_start_time_ms"] == after["transaction_start_time_ms"]
    return [first, second, same_start, after["topics"][0]["partitions"]]


@case
def add__grows(broker: Broker) -> Any:
    first, second, producer = broker.topic(3), broker.topic(), broker.producer()
    producer.add_all({first: [0]})
    producer.add_all({first: [2], second: [0]})
    now = producer.described()
    parts = {
        "a" if one["topic"] == first else "b": sorted(one["partitions"]) for one in now["topics"]
    }
    return {"state": now["transaction_state"], "parts": parts}


@case
def add__duplicate_partition_in_request(broker: Broker, topic: str) -> Any:
    return broker.producer().add_all({topic: [0, 0]})[topic]


@case
def add__after_commit_begins_a_transaction(broker: Broker, topic: str) -> Any:
    producer = broker.open_transaction(topic)
    return [producer.end(), producer.add(topic), producer.wait_state("Ongoing")]


@case
def add__v4_batched(broker: Broker) -> Any:
    topic = broker.topic(2)
    first, second = broker.producer(), broker.producer()
    answer = add_batched(
        broker,
        (first, False, {topic: [0]}),
        (second, False, {topic: [1]}),
        (broker.stranger(), False, {topic: [0]}),
    )
    return [answer, first.wait_state("Ongoing"), second.wait_state("Ongoing")]


@case
def add__v4_verify_only(broker: Broker) -> Any:
    """Partition in / not in the transaction, and no transaction at all."""
    topic = broker.topic(2)
    ongoing, empty = broker.open_transaction(topic), broker.producer()
    return {
        f"v{version}": add_batched(
            broker, (ongoing, True, {topic: [0, 1]}), (empty, True, {topic: [0]}), version=version
        )
        for version in (4, 5)
    }


@case
def add__v4_verify_only_wrong(broker: Broker, topic: str) -> Any:
    producer = broker.open_transaction(topic)
    wrong = {
        "epoch": (producer.but(epoch=producer.epoch + 1), topic),
        "pid": (producer.but(producer_id=producer.producer_id + 9999), topic),
        "unknown": (producer.but(transactional_id=broker.fresh("x")), topic),
        "topic": (producer, NO_SUCH_TOPIC),
    }
    return {
        name: add_batched(broker, (asker, True, {where: [0]}))
        for name, (asker, where) in wrong.items()
    }


@case
def addoffsets__ok(broker: Broker) -> Any:
    """The group's __consumer_offsets partition joins the transaction."""
    producer, group = broker.producer(), broker.fresh("g")
    errors = [producer.add_offsets(group, version=version) for version in range(5)]
    now = producer.described()
    offsets = broker.metadata(["__consumer_offsets"], version=4)["topics"][0]
    partition = partition_of(group, len(offsets["partitions"]))
    return {
        "errors": errors,
        "state": now["transaction_state"],
        "topic": now["topics"][0]["topic"],
        "partition_is_hash": now["topics"][0]["partitions"] == [partition],
    }


@case
def addoffsets__unknown_txn_id(broker: Broker) -> Any:
    return broker.stranger().add_offsets(broker.fresh("g"))


@case
def addoffsets__empty_txn_id(broker: Broker) -> Any:
    return broker.stranger().but(transactional_id="").add_offsets(broker.fresh("g"))


@case
def addoffsets__wrong_pid(broker: Broker) -> Any:
    producer = broker.producer()
    wrong = producer.but(producer_id=producer.producer_id + 9999)
    return wrong.add_offsets(broker.fresh("g"))


@case
def addoffsets__stale_epoch(broker: Broker) -> Any:
    producer = broker.producer()
    broker.init(producer.transactional_id)
    return {f"v{v}": producer.add_offsets(broker.fresh("g"), version=v) for v in range(5)}


@case
def addoffsets__empty_group(broker: Broker) -> Any:
    return broker.producer().add_offsets("")


@case
def add__each_partition_once_or_as_asked(broker: Broker) -> Any:
    """A partition named twice, a topic without partitions, and both beside an unknown topic."""
    topic, producer = broker.topic(), broker.producer()
    asked: list[dict[str, list[int]]] = [
        {topic: [0, 0]},
        {topic: []},
        {},
        {topic: [0, 0], NO_SUCH_TOPIC: [1, 1]},
    ]
    producer.add(topic)
    return [
        [add_batched(broker, (producer, verify_only, one)) for verify_only in (True, False)]
        for one in asked
    ]
