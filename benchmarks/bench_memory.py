"""Measures the memory that a broker keeps for each connection, partition, group and so on.

Each row makes many of one kind and divides the growth of the broker's resident memory by their
number; garbage and caches count too, so small differences mean nothing. The last rows show what is
left after 1,000 connections were opened and closed 20 times.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_partitions import Serving, create
from benchmarks.load import Wire, make_internal_topics
from benchmarks.scale_load import Place, SessionConsumer, produce_frame
from tests.kafka.processes import resident_mb
from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.client import encode

CHURN_ROUNDS = 20
CONNECTIONS = 1_000
LARGE_BYTES = 500_000
ARGUMENTS = ("--set", "group.initial.rebalance.delay.ms=0")  # not 3 s for each classic group
Make = Callable[[Broker, int], list[object]]


def connections(broker: Broker, count: int) -> list[object]:
    """Connections that have sent one small request."""
    frame = encode("ApiVersions", 0, {}, correlation_id=1)
    wires = [Wire(broker, 1 << 16) for _ in range(count)]
    for wire in wires:
        wire.exchange(frame)
    return [*wires]


def used_connections(broker: Broker, count: int) -> list[object]:
    """Connections that have sent a Produce of 500 KB."""
    frame = produce_frame((broker.topic(), 0), batch([b"x" * LARGE_BYTES]))
    wires = [Wire(broker, 1 << 16) for _ in range(count)]
    for wire in wires:
        wire.exchange(frame)
    return [*wires]


def parked_fetches(broker: Broker, count: int) -> list[object]:
    """Connections whose Fetch waits for records of one partition, in a session."""
    topic = broker.topic()
    return [SessionConsumer(broker, [(topic, 0)]) for _ in range(count)]


def session_partitions(broker: Broker, count: int) -> list[object]:
    """One Fetch in a session that waits for records of many new partitions, which it opens."""
    return [SessionConsumer(broker, places_of(broker, count))]


def places_of(broker: Broker, count: int) -> list[Place]:
    """New partitions."""
    return [(name, at) for name, size in create(broker, count).items() for at in range(size)]


def partitions(broker: Broker, count: int) -> list[object]:
    """Partitions without use."""
    return [*create(broker, count)]


def used_partitions(broker: Broker, count: int) -> list[object]:
    """Partitions with one record each."""
    wire = Wire(broker, 1 << 16)
    for place in places_of(broker, count):
        wire.exchange(produce_frame(place))
    return [wire]


def producer_ids(broker: Broker, count: int) -> list[object]:
    """Idempotent producers that have sent one record to the same partition."""
    topic = broker.topic()
    for _ in range(count):
        error, _ = broker.idempotent().produce(topic)
        assert error == "NONE", error
    return []


def transactional_ids(broker: Broker, count: int) -> list[object]:
    """Transactional ids without a transaction."""
    for _ in range(count):
        broker.producer()
    return []


def classic_groups(broker: Broker, count: int) -> list[object]:
    """Stable classic groups of one member."""
    return [broker.stable_member(broker.fresh("g")) for _ in range(count)]


def offsets(broker: Broker, count: int) -> list[object]:
    """Groups without members that have committed one offset."""
    topic = broker.topic()
    for _ in range(count):
        assert broker.commit(broker.fresh("g"), topic, 1) == "NONE"
    return []


def consumer_groups(broker: Broker, count: int, *, members: int = 1) -> list[object]:
    """Consumer groups (KIP-848)."""
    topic = broker.topic()
    for number in range(count * members):
        if number % members == 0:
            group = broker.fresh("g")
        body = {
            "group_id": group,
            "member_id": f"{number:022}",
            "member_epoch": 0,
            "rebalance_timeout_ms": 300_000,
            "subscribed_topic_names": [topic],
            "topic_partitions": [],
        }
        answer = broker.call("ConsumerGroupHeartbeat", 0, body)
        assert answer["error_code"] == 0, answer
    return []


ROWS: tuple[tuple[str, Make, int], ...] = (
    ("connection, idle", connections, 5_000),
    ("connection, after 500 KB", used_connections, 1_000),
    ("Fetch that waits, one partition", parked_fetches, 900),
    ("partition, and it in a fetch session", session_partitions, 10_000),
    ("partition alone, unused", partitions, 10_000),
    ("partition with a record", used_partitions, 5_000),
    ("producer id", producer_ids, 10_000),
    ("transactional id", transactional_ids, 5_000),
    ("classic group of one member", classic_groups, 5_000),
    ("group with one offset", offsets, 5_000),
    ("consumer group of one member", consumer_groups, 5_000),
    ("consumer group of two members", partial(consumer_groups, members=2), 2_500),
)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only rows whose name contains this text")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    table = {}
    for name, make, count in ROWS:
        if given.only in name:
            table[name] = measured(make, count)
            print(f"{name:40}{table[name]:10,.0f} bytes, of {count:,}", flush=True)
    if given.only in "churn":
        before_mb, after_mb = churned()
        print(f"{'after 20 x 1,000 connections':40}{before_mb:.1f} MB, then {after_mb:.1f} MB")
    if given.json:
        print(json.dumps(table))
    return 0


def measured(make: Make, count: int) -> float:
    """The growth of a new broker's memory for each of `count`, in bytes."""
    with tempfile.TemporaryDirectory(prefix="ottla-memory-") as directory:
        serving = Serving(Path(directory), ARGUMENTS)
        try:
            make_internal_topics(serving.broker)
            kept = make(serving.broker, max(count // 50, 1))  # code that is imported at first use
            before_mb = settled_mb(serving.pid)
            kept += make(serving.broker, count)
            return (settled_mb(serving.pid) - before_mb) * 1e6 / count
        finally:
            serving.kill()


def churned() -> tuple[float, float]:
    """The resident memory after the first and after the last round of connections, in MB."""
    with tempfile.TemporaryDirectory(prefix="ottla-memory-") as directory:
        serving = Serving(Path(directory), ARGUMENTS)
        try:
            found = []
            for _ in range(CHURN_ROUNDS):
                for wire in connections(serving.broker, CONNECTIONS):
                    assert isinstance(wire, Wire)
                    wire.close()
                found.append(settled_mb(serving.pid))
            return found[0], found[-1]
        finally:
            serving.kill()


def settled_mb(process_id: int) -> float:
    """The resident memory once it no longer changes, in MB."""
    before_mb, now_mb = -1.0, resident_mb(process_id)
    while abs(now_mb - before_mb) > 0.1:
        time.sleep(0.3)
        before_mb, now_mb = now_mb, resident_mb(process_id)
    return now_mb


if __name__ == "__main__":
    sys.exit(main())
