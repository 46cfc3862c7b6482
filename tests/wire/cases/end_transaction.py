"""EndTxn (26), and the records that a consumer reads before and after it."""

from __future__ import annotations

import time
from typing import Any

from ..batches import marker
from ..broker import Broker
from ..client import retrying
from ..registry import case, slow_case


@case
def end__unknown_txn_id(broker: Broker) -> Any:
    return {f"v{v}": broker.stranger().end_raw(version=v)[0] for v in (3, 4, 5)}


@case
def end__empty_txn_id(broker: Broker) -> Any:
    return broker.stranger().but(transactional_id="", producer_id=1).end_raw()[0]


@case
def end__wrong_pid(broker: Broker) -> Any:
    producer = broker.open_transaction()
    wrong = producer.but(producer_id=producer.producer_id + 9999)
    return {f"v{v}": wrong.end_raw(version=v)[0] for v in (1, 4, 5)}


@case
def end__stale_epoch(broker: Broker) -> Any:
    producer = broker.producer()
    broker.init(producer.transactional_id)
    return {f"v{v}": producer.end_raw(version=v)[0] for v in range(6)}


@case
def end__future_epoch(broker: Broker) -> Any:
    producer = broker.open_transaction()
    ahead = producer.but(epoch=producer.epoch + 1)
    return {f"v{v}": ahead.end_raw(version=v)[0] for v in (1, 4, 5)}


@case
def end__empty_abort(broker: Broker) -> Any:
    return {f"v{v}": broker.producer().end(commit=False, version=v) for v in range(6)}


@case
def end__empty_commit(broker: Broker) -> Any:
    return {f"v{v}": broker.producer().end(commit=True, version=v) for v in range(6)}


@case
def end__refused_answer_fields(broker: Broker) -> Any:
    """Producer id and epoch of a version 5 refusal."""
    return [broker.stranger().end_raw(version=5)[1:], broker.producer().end_raw(version=5)[1:]]


def _ended(broker: Broker, *, commit: bool) -> Any:
    out = {}
    for version in range(6):
        producer = broker.open_transaction()
        answer = producer.end(commit=commit, version=version)
        state = producer.wait_ended()
        out[f"v{version}"] = [answer, state, producer.described()["producer_epoch"]]
    return out


@case
def end__abort_ongoing(broker: Broker) -> Any:
    return _ended(broker, commit=False)


@case
def end__commit_ongoing(broker: Broker) -> Any:
    return _ended(broker, commit=True)


def _twice(first: str, second: str, version: int, *, bumped: bool) -> None:
    """Register a case: `second` after `first`, with the old epoch or the one of the answer."""

    def run(broker: Broker) -> Any:
        producer = broker.open_transaction()
        answer = producer.end(commit=first == "commit", version=version)
        producer.wait_ended()
        retry = producer.but(epoch=answer[2]) if bumped else producer
        again = retry.end(commit=second == "commit", version=version)
        return [answer, again, producer.wait_ended()]

    run.__name__ = f"end__v{version}_{second}_after_{first}" + "_new_epoch" * bumped
    case(run)


for _version, _bumped in ((4, False), (5, False), (5, True)):
    for _first in ("commit", "abort"):
        for _second in ("commit", "abort"):
            _twice(_first, _second, _version, bumped=_bumped)


@case
def end__commit_markers(broker: Broker) -> Any:
    """The control batch of a v4 (no bump) and of a v5 (bump) commit and abort."""
    out = {}
    for version in (4, 5):
        for commit in (True, False):
            topic = broker.topic()
            broker.open_transaction(topic).end(commit=commit, version=version)
            broker.wait_stable(topic, 2)
            name = f"v{version}-{'commit' if commit else 'abort'}"
            out[name] = marker(broker.batches(topic)[1])
    return out


@case
def end__partition_without_data_gets_marker(broker: Broker) -> Any:
    topic, producer = broker.topic(2), broker.producer()
    producer.add_all({topic: [0, 1]})
    error = producer.end()
    producer.wait_state("CompleteCommit")
    return [
        error,
        broker.wait_stable(topic, 1, partition=0),
        broker.wait_stable(topic, 1, partition=1),
        [marker(found)["type"] for found in broker.batches(topic)],
    ]


@case
def end__topic_deleted_during_txn(broker: Broker) -> Any:
    """One of two topics is deleted while the transaction is open; the commit still completes."""
    kept, deleted, producer = broker.topic(), broker.topic(), broker.producer()
    producer.add_all({kept: [0], deleted: [0]})
    parts = [(topic, 0, producer.batch()) for topic in (kept, deleted)]
    broker.produce_raw(parts, transactional_id=producer.transactional_id)
    error = broker.delete_topic(deleted)
    time.sleep(0.3)
    return [
        error,
        producer.end(),
        producer.wait_state("CompleteCommit"),
        broker.wait_stable(kept, 2),
        broker.values(kept, 1),
    ]


@case
def end__concurrent_or_done(broker: Broker) -> Any:
    """AddPartitions right after EndTxn: only NONE or CONCURRENT_TRANSACTIONS may occur."""
    topic, producer = broker.topic(), broker.producer()
    seen: set[str] = set()
    for _ in range(30):
        producer.add(topic)
        producer.end()
        seen |= set(producer.add_raw({topic: [0]})[topic].values())
        if producer.state() == "Ongoing":
            producer.end()
    return sorted(seen - {"NONE", "CONCURRENT_TRANSACTIONS"})


@case
def end__init_straight_after(broker: Broker, topic: str) -> Any:
    """InitProducerId right after EndTxn: NONE or CONCURRENT_TRANSACTIONS; the commit stays."""
    seen = set()
    for _ in range(10):
        producer = broker.open_transaction(topic)
        producer.end()
        seen.add(broker.init_raw(producer.transactional_id)[0])
        broker.init(producer.transactional_id)
    broker.wait_stable(topic, 20)
    return [sorted(seen - {"NONE", "CONCURRENT_TRANSACTIONS"}), len(broker.values(topic, 1))]


@case
def end__epoch_runs_to_50(broker: Broker) -> Any:
    """50 KIP-890 transactions of one producer: each bumps the epoch by one."""
    topic, producer = broker.topic(), broker.producer()
    for i in range(50):
        assert producer.produce(topic, version=12)[0] == "NONE"
        error, same, epoch = producer.end(commit=i % 2 == 0, version=5)
        assert (error, same) == ("NONE", "same-pid"), (i, error, same)
        producer = producer.but(epoch=epoch)
    broker.wait_stable(topic, 100)
    return {
        "epoch": producer.epoch,
        "committed": len(broker.values(topic, 1)),
        "all": len(broker.values(topic, 0)),
    }


@case
def view__ongoing(broker: Broker, topic: str) -> Any:
    broker.produce(topic, broker.stranger().but(transactional_id="").batch([b"before"]))
    broker.open_transaction(topic, 3)
    broker.produce(topic, broker.idempotent().batch([b"after"]))
    part = broker.fetch(topic, isolation=1)
    return {
        "ends": broker.ends(topic),
        "committed": broker.values(topic, 1),
        "all": broker.values(topic, 0),
        "hw": part["high_watermark"],
        "lso": part["last_stable_offset"],
        "aborted": part["aborted_transactions"],
    }


@case
def view__aborted(broker: Broker, topic: str) -> Any:
    producer = broker.open_transaction(topic, 3)
    broker.produce(topic, broker.idempotent().batch([b"plain"]))
    producer.end(commit=False)
    broker.wait_stable(topic, 5)
    committed, everything = broker.fetch(topic, isolation=1), broker.fetch(topic, isolation=0)
    return {
        "ends": broker.ends(topic),
        "committed": broker.values(topic, 1),
        "all": broker.values(topic, 0),
        "rc": [
            [one["producer_id"] == producer.producer_id, one["first_offset"]]
            for one in committed["aborted_transactions"]
        ],
        "ru": everything["aborted_transactions"],
        "batches": [
            [found.base_offset, found.count, found.is_transactional, found.is_control]
            for found in committed["batches"]
        ],
    }


@case
def view__interleaved(broker: Broker, topic: str) -> Any:
    """Batches of transactions and plain ones mixed; one commits, one aborts, one stays open."""
    first, second = broker.open_transaction(topic), broker.open_transaction(topic)
    broker.produce(topic, broker.idempotent().batch([b"plain"]))
    first.produce(topic, [b"first"], sequence=1)
    second.produce(topic, [b"second"], sequence=1)
    stable = [broker.ends(topic)]
    second.end(commit=False)
    second.wait_ended()
    stable.append(broker.ends(topic))
    broker.open_transaction(topic, 2)
    first.end()
    first.wait_ended()
    stable.append(broker.ends(topic))
    part = broker.fetch(topic, isolation=1)
    aborted = [
        [one["producer_id"] == second.producer_id, one["first_offset"]]
        for one in part["aborted_transactions"]
    ]
    return [stable, broker.values(topic, 1), aborted, [b.base_offset for b in part["batches"]]]


@case
def view__fetch_at_lso(broker: Broker, topic: str) -> Any:
    """read_committed at and beyond the last stable offset, beyond the end."""
    broker.open_transaction(topic, 3)
    out = []
    for offset in (0, 1, 3, 4):
        part = broker.fetch(topic, offset, isolation=1, max_wait_ms=50)
        error = "NONE" if part["error_code"] == 0 else "OFFSET_OUT_OF_RANGE"
        count = len(part["batches"])
        out.append([error, count, part["high_watermark"], part["last_stable_offset"]])
    return out


@case
def view__aborted_list_by_size(broker: Broker) -> Any:
    """A small fetch: the list of aborted transactions starts with that of the returned batch.

    Kafka adds later ones, by the granularity of its index.
    """
    topic, producer = broker.topic(), broker.producer()
    for i in range(3):
        producer.add(topic)
        producer.produce(topic, [b"a" * 500], sequence=i)
        producer.end(commit=False)
        broker.wait_stable(topic, 2 * (i + 1))
    part = broker.fetch(topic, 0, isolation=1, partition_max_bytes=1)
    aborted = [one["first_offset"] for one in part["aborted_transactions"]]
    return [[found.base_offset for found in part["batches"]], aborted[:1]]


@case
def view__markers_and_sequence(broker: Broker) -> Any:
    """After a v4 commit sequences continue; after a v5 commit they restart with the new epoch."""
    out = {}
    for version in (4, 5):
        topic = broker.topic()
        producer = broker.open_transaction(topic, 2)
        answer = producer.end(version=version)
        if version == 5:
            producer = producer.but(epoch=answer[2])
        answers = []
        for sequence in (2, 0):
            producer.add(topic)
            answers.append(producer.produce(topic, sequence=sequence))
        out[f"v{version}"] = answers
    return out


@slow_case
def view__timeout_aborts(broker: Broker) -> Any:
    """After a timeout of 1 s the coordinator aborts the transaction and fences the producer."""
    topic, group = broker.topic(), broker.fresh("g")
    producer = broker.open_transaction(topic, timeout_ms=1000)
    stable = broker.wait_stable(topic, 2)
    state = producer.wait_state("CompleteAbort")
    mark = marker(broker.batches(topic)[1])
    return {
        "lso": stable,
        "state": state,
        "epoch": producer.described()["producer_epoch"],
        "marker_type": mark["type"],
        "marker_epoch": mark["epoch"],
        "produce": producer.produce(topic, sequence=1)[0],
        "produce_v12": producer.produce(topic, sequence=1, version=12)[0],
        "add": producer.add(topic),
        "commit_v4": producer.end(),
        "commit_v5": producer.end(version=5)[0],
        "addoffsets": producer.add_offsets(group),
        "resume": producer.init_again_raw(),
    }


@case
def view__timeout_within_limit_stands(broker: Broker, topic: str) -> Any:
    """A transaction inside its timeout commits after a pause."""
    producer = broker.open_transaction(topic, timeout_ms=5000)
    time.sleep(0.7)
    return [producer.end(), broker.wait_stable(topic, 2)]


@case
def view__delete_records_below_open_transaction(broker: Broker, topic: str) -> Any:
    """Records of an open transaction are deleted; it goes on and commits (KIP-360)."""
    producer = broker.open_transaction(topic, 3)
    deleted = broker.delete_records(topic, -1)
    more = producer.produce(topic, sequence=3)
    ended = producer.end()
    retrying(producer.state, transient=frozenset({"PrepareCommit"}))
    return [deleted, more, ended, broker.wait_stable(topic, 5), broker.ends(topic)]
