"""Many random rules at once on a busy broker of three nodes: python -m tests.lab.random_rules

    python -m tests.lab.random_rules --rules 1000 --seconds 60 --seed 7

Afterwards the rules are removed, and the broker must serve as one that never had any: it has logged
no fault of its own, holds no request, its memory is bounded, and what a client writes it reads.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer

from ottla.lab.answers.corruption import KINDS
from ottla.testing import Ottla
from ottla.testing.lab import LabRefused

TOPICS: Final = ("a", "b", "c")
APIS: Final = (
    "Produce", "Fetch", "Metadata", "FindCoordinator", "InitProducerId", "AddPartitionsToTxn",
    "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "OffsetCommit", "OffsetFetch", "JoinGroup",
    "SyncGroup", "Heartbeat", "LeaveGroup", "ListOffsets", "ApiVersions", "WriteTxnMarkers",
    "ConsumerGroupHeartbeat", "*",
)  # fmt: skip
CODES: Final = (
    "NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS",
    "UNKNOWN_SERVER_ERROR", "REQUEST_TIMED_OUT", "KAFKA_STORAGE_ERROR", "REBALANCE_IN_PROGRESS",
    "INVALID_PRODUCER_EPOCH", "OFFSET_OUT_OF_RANGE", "CONCURRENT_TRANSACTIONS",
)  # fmt: skip
RETRIED_MARKERS: Final = ("NOT_LEADER_OR_FOLLOWER", "KAFKA_STORAGE_ERROR")
MOST_RSS_MB: Final = 250


def rule(draw: random.Random) -> dict[str, Any]:
    """A random rule; it fires seldom, so that clients get on."""
    match: dict[str, Any] = {
        "api": draw.choice(APIS), "probability": draw.choice([0.0005, 0.002, 0.01]),
        "seed": draw.randrange(1 << 30),
    }  # fmt: skip
    if draw.random() < 0.2:
        match["topic"] = draw.choice(TOPICS)
    if draw.random() < 0.2:
        match["node_id"] = draw.choice([1, 2, 3])
    if draw.random() < 0.3:
        match["times"] = draw.randrange(1, 20)
    acts = action(draw)
    if acts["kind"] == "error" and match["api"] in ("WriteTxnMarkers", "*"):
        # Any other error of a marker is final, as in Kafka: its transaction stays prepared.
        acts["code"] = draw.choice(RETRIED_MARKERS)
    return {"match": match, "action": acts, "continue": draw.random() < 0.3}


def action(draw: random.Random) -> dict[str, Any]:
    """A random action of a request, or a disk that fails."""
    point = draw.choice(["before", "after"])
    close = draw.random() < 0.8
    return draw.choice(
        [
            {"kind": "error", "code": draw.choice(CODES)},
            {"kind": "delay", "ms": draw.randrange(200), "point": point},
            {"kind": "delay", "ms": 0, "up_to_ms": 300, "seed": draw.randrange(1 << 20)},
            {"kind": "throttle", "ms": draw.randrange(1, 100)},
            {"kind": "drop_request", "close": close},
            {"kind": "drop_answer", "close": close},
            {"kind": "close_before"},
            {"kind": "close_after"},
            {"kind": "apply_twice", "answer": draw.choice(["first", "second"])},
            {"kind": "apply_late", "ms": draw.randrange(500), "close": close},
            {"kind": "cut_answer", "bytes": draw.randrange(60)},
            {"kind": "hold", "point": point},
            {"kind": "corrupt", "what": "wrong_correlation_id"},
            {"kind": "corrupt", "what": "trailing_bytes"},
            {"kind": "corrupt", "what": draw.choice(sorted(KINDS)), "seed": draw.randrange(9)},
            {"kind": "forget_session"},
            {"kind": "move_leader"},
            {"kind": "move_coordinator"},
        ]
    )


class Load:
    """Producers, transactional ones and consumers, each in a thread, until `stop`."""

    def __init__(self, broker: Ottla) -> None:
        self._broker = broker
        self._ended = threading.Event()
        self.rounds = 0
        self.failures = 0
        works = [self._produce, self._transact, self._transact, self._consume, self._consume]
        self._threads = [
            threading.Thread(target=self._again, args=(work, number))
            for number, work in enumerate(works)
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End; a client that waits may take its time."""
        self._ended.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a client hangs"

    def _again(self, work: Callable[[int], None], number: int) -> None:
        while not self._ended.is_set():
            try:
                work(number)
            except KafkaException:
                self.failures += 1

    def _client(self, **settings: object) -> dict[str, Any]:
        return {
            "bootstrap.servers": self._broker.bootstrap_servers, "log_level": 0,
            "socket.timeout.ms": 1000, "reconnect.backoff.max.ms": 200,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }  # fmt: skip

    def _produce(self, number: int) -> None:
        producer = Producer(self._client(enable_idempotence=True, message_timeout_ms=5000))
        for round_ in range(200):
            if self._ended.is_set():
                break
            producer.produce(TOPICS[round_ % 3], b"x" * 100)
            producer.poll(0.005)
            self.rounds += 1
        producer.flush(5)

    def _transact(self, number: int) -> None:
        settings = self._client(transactional_id=f"t{number}", transaction_timeout_ms=5000)
        producer = Producer(settings)
        producer.init_transactions(5)
        while not self._ended.is_set():
            producer.begin_transaction()
            for topic in TOPICS:
                producer.produce(topic, b"y" * 100)
            producer.commit_transaction(5)
            self.rounds += 1

    def _consume(self, number: int) -> None:
        protocol = "consumer" if number % 2 else "classic"
        consumer = Consumer(
            self._client(
                group_id=f"g{number}", group_protocol=protocol, auto_offset_reset="earliest",
                isolation_level="read_committed",
            )
        )  # fmt: skip
        try:
            consumer.subscribe(list(TOPICS))
            until_s = time.monotonic() + 5
            while not self._ended.is_set() and time.monotonic() < until_s:
                consumer.consume(100, 0.1)
                self.rounds += 1
        finally:
            consumer.close()


def rss_mb(pid: int) -> int:
    """The resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 >> 20


def main() -> None:
    """Run the campaign; a failed assertion names what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rules", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    draw = random.Random(given.seed)
    with Ottla(nodes=3) as broker:
        for topic in TOPICS:
            broker.create_topic(topic, partitions=3, replication_factor=3)
        load = Load(broker)
        load.start()
        refused = 0
        for _ in range(given.rules):
            try:
                broker.lab().call("POST", "/faults", rule(draw))
            except LabRefused:
                refused += 1
        until_s = time.monotonic() + given.seconds
        while time.monotonic() < until_s:
            assert broker.runs, broker.log_tail()
            time.sleep(0.5)
            for shown in broker.faults:
                if shown["held"]:
                    broker.lab().call("POST", f"/faults/{shown['id']}/release")
        fired = {each["id"]: each["fired"] for each in broker.faults}
        broker.faults.clear()
        load.stop()
        check(broker)
        sys.stdout.write(
            f"{given.rules} rules ({refused} refused) fired {sum(fired.values())} times in"
            f" {given.seconds:g} s, {sum(map(bool, fired.values()))} of them at least once;"
            f" {load.rounds} rounds of clients, {load.failures} failures;"
            f" {rss_mb(broker.pid)} MB afterwards\n"
        )


def check(broker: Ottla) -> None:
    """Check that a broker is as one that never had a rule."""
    assert list(broker.faults) == []
    log = broker.log_since(0)
    for line in log.splitlines():
        assert "failed to handle" not in line, line
        assert '"level": "error"' not in line, line
    broker.create_topic("afterwards", partitions=3, replication_factor=3)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "new"})
    producer.init_transactions(20)
    for number in range(20):
        producer.begin_transaction()
        for _ in range(50):
            producer.produce("afterwards", str(number).encode())
        producer.commit_transaction(20)
    assert len(list(broker.read("afterwards"))) == 1000
    broker.wait_for(
        lambda: all(each.state != "Ongoing" for each in broker.transactions()), timeout_s=90
    )
    assert rss_mb(broker.pid) < MOST_RSS_MB, rss_mb(broker.pid)


if __name__ == "__main__":
    main()
