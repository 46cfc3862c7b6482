"""WriteTxnMarkers (27), DescribeProducers (61), Describe- (65) and ListTransactions (66)."""

from __future__ import annotations

import time
from typing import Any

from ..batches import batch, marker
from ..broker import NO_SUCH_TOPIC, Broker
from ..client import Answer, error_name
from ..registry import case
from ..transactions import Producer


def mark(
    producer: Producer,
    partitions: dict[str, list[int]],
    *,
    commit: bool = True,
    coordinator_epoch: int = 0,
) -> list[str]:
    """WriteTxnMarkers for these partitions: their error names."""
    written = {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "transaction_result": commit,
        "coordinator_epoch": coordinator_epoch,
        "topics": [{"name": t, "partition_indexes": p} for t, p in partitions.items()],
    }
    answer = producer.broker.call("WriteTxnMarkers", 1, {"markers": [written]})
    return [
        error_name(part["error_code"])
        for one in answer["markers"]
        for topic in one["topics"]
        for part in topic["partitions"]
    ]


@case
def markers__end_open_txn(broker: Broker, topic: str) -> Any:
    """Abort like kafka-transactions.sh: the coordinator's transaction stays open."""
    producer = broker.open_transaction(topic, 2)
    return {
        "e": mark(producer, {topic: [0]}, commit=False),
        "ends": broker.ends(topic),
        "committed": broker.values(topic, 1),
        "state": producer.state(),
        "marker": marker(broker.batches(topic)[1]),
    }


@case
def markers__unknown_pid(broker: Broker, topic: str) -> Any:
    return [mark(broker.stranger(), {topic: [0]}), broker.ends(topic)]


@case
def markers__unknown_topic_or_partition(broker: Broker) -> Any:
    topic, stranger = broker.topic(), broker.stranger()
    return [mark(stranger, {NO_SUCH_TOPIC: [0]}), sorted(mark(stranger, {topic: [0, 9]}))]


@case
def markers__older_producer_epoch(broker: Broker) -> Any:
    topic, old = broker.topic(), broker.producer()
    producer = broker.init(old.transactional_id)
    producer.add(topic)
    producer.produce(topic)
    return [mark(old, {topic: [0]}), broker.ends(topic)]


@case
def markers__older_coordinator_epoch(broker: Broker, topic: str) -> Any:
    producer = broker.open_transaction(topic)
    answers = [mark(producer, {topic: [0]}, coordinator_epoch=epoch) for epoch in (5, 4, 5)]
    return [*answers, broker.ends(topic)]


@case
def markers__newer_producer_epoch(broker: Broker, topic: str) -> Any:
    """A marker with a higher epoch fences the producer."""
    producer = broker.open_transaction(topic)
    answer = mark(producer.but(epoch=producer.epoch + 1), {topic: [0]}, commit=False)
    return [answer, broker.ends(topic), producer.produce(topic, sequence=1)[0]]


@case
def markers__of_one_producer_are_answered_together(broker: Broker) -> Any:
    """Entries without partitions are sent alone, because Kafka does not answer them otherwise."""
    topic = broker.topic(partitions=2)
    stranger = broker.stranger()
    markers = [
        {
            "producer_id": stranger.producer_id,
            "producer_epoch": epoch,
            "transaction_result": True,
            "coordinator_epoch": 0,
            "topics": [{"name": topic, "partition_indexes": indexes}],
        }
        for epoch, indexes in ((0, [0]), (1, [1]), (2, []))
    ]
    answers = [
        broker.call("WriteTxnMarkers", 1, {"markers": sent})["markers"]
        for sent in (markers[:2], markers[2:], [])
    ]
    return [
        [
            sorted(
                (part["partition_index"], error_name(part["error_code"]))
                for told in one["topics"]
                for part in told["partitions"]
            )
            for one in answer
        ]
        for answer in answers
    ]


@case
def markers__internal_topics(broker: Broker) -> Any:
    names = ("__consumer_offsets", "__transaction_state", "__cluster_metadata")
    return [mark(broker.stranger(), {name: [0]}) for name in names]


@case
def markers__no_producer(broker: Broker) -> Any:
    topic, stranger = broker.topic(), broker.stranger()
    return [
        mark(stranger.but(producer_id=-1), {topic: [0]}),
        mark(stranger.but(epoch=-1), {topic: [0]}),
        mark(stranger, {topic: [0]}, coordinator_epoch=-1),
    ]


def _described(producer: Producer) -> dict[str, Any]:
    found = producer.described()
    started = found["transaction_start_time_ms"]
    return {
        "error": error_name(found["error_code"]),
        "state": found["transaction_state"],
        "timeout": found["transaction_timeout_ms"],
        "start": "now" if abs(time.time() * 1000 - started) < 60_000 else started,
        "epoch": found["producer_epoch"],
        "partitions": [one["partitions"] for one in found["topics"]],
    }


@case
def describe__each_state(broker: Broker) -> Any:
    topic, producer = broker.topic(), broker.producer(33_000)
    out = {"empty": _described(producer)}
    producer.add(topic)
    out["ongoing"] = _described(producer)
    producer.end()
    producer.wait_state("CompleteCommit")
    out["committed"] = _described(producer)
    producer.add(topic)
    producer.end(commit=False)
    producer.wait_state("CompleteAbort")
    out["aborted"] = _described(producer)
    return out


@case
def describe__unknown(broker: Broker) -> Any:
    found = broker.stranger().described()
    return [
        error_name(found["error_code"]),
        found["transaction_state"],
        found["producer_id"],
        found["producer_epoch"],
        found["transaction_start_time_ms"],
        found["transaction_timeout_ms"],
    ]


def _listed(
    broker: Broker, version: int = 2, *, pattern: str | None = None, **filters: Any
) -> tuple[str, list[str], dict[str, str]]:
    """ListTransactions: error name, unknown states, state by transactional id."""
    body: Answer = {
        "state_filters": filters.get("states", []),
        "producer_id_filters": filters.get("producer_ids", []),
    }
    if version >= 1:
        body["duration_filter"] = filters.get("duration", -1)
    if version >= 2:
        body["transactional_id_pattern"] = pattern
    answer = broker.call("ListTransactions", version, body)
    states = {
        one["transactional_id"]: one["transaction_state"] for one in answer["transaction_states"]
    }
    return error_name(answer["error_code"]), answer["unknown_state_filters"], states


@case
def list__filters(broker: Broker) -> Any:
    ongoing, empty = broker.open_transaction(), broker.producer()

    def told(**filters: Any) -> list[Any]:
        error, unknown, states = _listed(broker, **filters)
        found = [states.get(one.transactional_id) for one in (ongoing, empty)]
        return [error, unknown, *found]

    return {
        "all": told(),
        "v0": told(version=0),
        "ongoing": told(states=["Ongoing"]),
        "empty": told(states=["Empty"]),
        "unknown": told(states=["Foo", "Ongoing"]),
        "only_unknown": told(states=["Foo"]),
        "pid": told(producer_ids=[ongoing.producer_id]),
        "other_pid": told(producer_ids=[empty.producer_id]),
        "no_pid": told(producer_ids=[1 << 40]),
        "duration_0": told(duration=0),
        "duration_1h": told(duration=3_600_000),
        "pattern": told(pattern=ongoing.transactional_id),
        "prefix": told(pattern="w.*"),
        "part": told(pattern="w"),
        "bad_pattern": told(pattern="(")[:2],
        "empty_pattern": told(pattern=""),
    }


def _producers(broker: Broker, producer: Producer, topic: str) -> list[Any]:
    """DescribeProducers of a topic's first partition, with normalized ids and times."""
    body = {"topics": [{"name": topic, "partition_indexes": [0]}]}
    answer = broker.call("DescribeProducers", 0, body)["topics"][0]["partitions"][0]
    now_ms = time.time() * 1000
    active = [
        [
            one["producer_id"] == producer.producer_id,
            one["producer_epoch"],
            one["last_sequence"],
            one["coordinator_epoch"],
            one["current_txn_start_offset"],
            abs(one["last_timestamp"] - now_ms) < 60_000,
        ]
        for one in answer["active_producers"]
    ]
    return [error_name(answer["error_code"]), active]


@case
def producers__transactional(broker: Broker, topic: str) -> Any:
    broker.produce(topic, batch())
    producer = broker.open_transaction(topic, 3)
    before = _producers(broker, producer, topic)
    producer.end()
    broker.wait_stable(topic, 5)
    return {"open": before, "done": _producers(broker, producer, topic)}


@case
def producers__transactional_v5(broker: Broker, topic: str) -> Any:
    producer = broker.open_transaction(topic, 3)
    producer.end(version=5)
    broker.wait_stable(topic, 4)
    return _producers(broker, producer, topic)


@case
def producers__idempotent(broker: Broker) -> Any:
    topic, producer = broker.topic(), broker.idempotent()
    producer.produce(topic, [b"a"] * 4)
    known = _producers(broker, producer, topic)
    parts = [
        {"name": topic, "partition_indexes": [7]},
        {"name": NO_SUCH_TOPIC, "partition_indexes": [0]},
    ]
    answer = broker.call("DescribeProducers", 0, {"topics": parts})
    unknown = [
        [error_name(part["error_code"]), part["error_message"]]
        for one in answer["topics"]
        for part in one["partitions"]
    ]
    return [known, unknown]


@case
def list__patterns(broker: Broker) -> Any:
    """Regular expressions are RE2's and match complete ids."""
    producer = broker.producer()
    name = producer.transactional_id
    patterns = [
        ".*", "", None, name, name[:-1], f"(?i){name.upper()}", rf"\Q{name}\E", "(?P<n>.*)",
        "(?<n>.*)", r"\pL.*", r"\p{Greek}*", "[[:alpha:]].*", r".*\z", "^.*$", "(?s).*",
        "[", "(a", "a)", "*a", "x**", "x++", "a{1001}", "x{2,1}", "a{1000}{1000}", "(?=x)",
        "(?<=x)", "(?>x)", r"(x)\1", r"\8", r"\C*", "(?R)",
    ]  # fmt: skip
    told = []
    for pattern in patterns:
        body = {"producer_id_filters": [producer.producer_id], "transactional_id_pattern": pattern}
        answer = broker.call("ListTransactions", 2, body)
        told.append([error_name(answer["error_code"]), len(answer["transaction_states"])])
    return told
