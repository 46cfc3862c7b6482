"""Markers that a partition refuses: the transaction stays prepared."""

from __future__ import annotations

from typing import Any

from ..broker import Broker
from ..client import error_name, until
from ..registry import case
from ..transactions import Producer


def write_marker(broker: Broker, producer: Producer, topic: str, *, coordinator_epoch: int) -> str:
    """WriteTxnMarkers, by an administrator: commit on partition 0."""
    marker = {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "transaction_result": True,
        "coordinator_epoch": coordinator_epoch,
        "topics": [{"name": topic, "partition_indexes": [0]}],
    }
    answer = broker.call("WriteTxnMarkers", 1, {"markers": [marker]})
    return error_name(answer["markers"][0]["topics"][0]["partitions"][0]["error_code"])


def ended_over_two_partitions(
    broker: Broker, *, epochs_later: int, coordinator_epoch: int, commit: bool
) -> Any:
    """The outcome of EndTxn after a marker of a later epoch on partition 0."""
    topic = broker.topic(partitions=2)
    producer = broker.producer()
    for partition in (0, 1):
        assert producer.add(topic, partition) == "NONE"
        assert producer.produce(topic, partition=partition)[0] == "NONE"
    later = producer.but(epoch=producer.epoch + epochs_later)
    written = write_marker(broker, later, topic, coordinator_epoch=coordinator_epoch)
    if not epochs_later:
        producer.produce(topic, sequence=1)
    ended, _, epoch = producer.end_raw(commit=commit, version=5)

    def left() -> list[int]:
        topics = producer.described()["topics"]
        return sorted(index for each in topics for index in each["partitions"])

    without_marker = until(left, lambda partitions: partitions != [0, 1])
    current = producer.but(epoch=epoch)
    return {
        "marker": written,
        "end": ended,
        "state": producer.state(),
        "without marker": without_marker,
        "next add": current.add_raw({topic: [0]})[topic]["0"],
        "next end": current.end_raw(commit=commit, version=5)[0],
        "next producer": broker.init_raw(producer.transactional_id)[0],
    }


@case
def markers__later_coordinator_epoch(broker: Broker) -> Any:
    return {
        f"commit={commit}": ended_over_two_partitions(
            broker, epochs_later=0, coordinator_epoch=50, commit=commit
        )
        for commit in (True, False)
    }


@case
def markers__later_producer_epoch(broker: Broker) -> Any:
    return {
        f"commit={commit}": ended_over_two_partitions(
            broker, epochs_later=7, coordinator_epoch=0, commit=commit
        )
        for commit in (True, False)
    }
