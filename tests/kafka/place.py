"""A data directory that Ottla and Apache Kafka open in turn, and Kafka's warnings about it.

One of them runs at a time. Both have few internal partitions, so that they start fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

from ottla.testing import RunningBroker, running_broker

from ..wire.conftest import address_of
from . import node

INTERNAL_PARTITIONS = 3
SHARED = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": str(INTERNAL_PARTITIONS),
    "transaction.state.log.num.partitions": str(INTERNAL_PARTITIONS),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}
# A killed node stays registered until its session ends, which is short here.
KAFKA = SHARED | {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "log.initial.task.delay.ms": "100",
    "log.flush.start.offset.checkpoint.interval.ms": "200",
    # As Ottla has them in tests: a target is made with the epoch that it is for, so that no
    # heartbeat moves partitions only because time has passed.
    "group.consumer.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
}
HEAP_MB = 384

# Lines of Kafka for every directory, also its own, at every start or stop.
USUAL = (
    "Performing controller activation",
    "Attempting to close NetworkClient that has already been closed",
    # Its registration moves leaders while coordinators load.
    "partition is not online or is no longer the leader",
    # Its controller registers before it is active, and retries.
    "Unexpected error handling request RequestHeader(apiKey=CONTROLLER_REGISTRATION",
    # A topic is deleted while coordinators load.
    "Could not delete offsets for deleted partitions",
    # A partition of CreatePartitions, and a sequence that is wrong on purpose.
    "to exist, but it was missing. Creating",
    "Error processing append operation on partition",
    # Two requests of its own create an internal topic at once (Kafka 4.4).
    "Auto topic creation failed for __transaction_state with error 'TOPIC_ALREADY_EXISTS'",
    "Auto topic creation failed for __consumer_offsets with error 'TOPIC_ALREADY_EXISTS'",
)

# Lines on a busy machine; Kafka retries each time.
SLOW = (
    # Its controller and broker, in one process, did not reach each other in time.
    "processExpiredBrokerHeartbeat: controller event queue overloaded",
    "Exceptionally slow controller event",
    # A transaction times out while its coordinator loads, and is aborted afterwards.
    "to the transaction log with error NOT_COORDINATOR",
    "Rollback of ongoing transaction for transactionalId .* failed due to error NOT_COORDINATOR",
    # Retention during the deletion of a topic: LogManager.cleanupLogs, asyncDelete.
    "'kafka-log-retention' .*IllegalStateException: Compaction for partition [^ ]* cannot be"
    " resumed since it is not paused",
)
EXCEPTION_LINES = 3


class Place:
    """A directory that contains the data directory `data`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.port = node.free_pair()
        self.complaints: list[str] = []

    @contextmanager
    def ottla(
        self, *, kill: bool = False, settings: Mapping[str, str] | None = None
    ) -> Iterator[RunningBroker]:
        """Run Ottla on the directory; stop or kill it at the end of the `with`."""
        with running_broker(data_dir=self.data, settings=SHARED | dict(settings or {})) as broker:
            yield broker
            if kill:
                broker.kill()

    @contextmanager
    def kafka(
        self, *, kill: bool = False, settings: Mapping[str, str] | None = None
    ) -> Iterator[str]:
        """Run Apache Kafka on the directory; yields HOST:PORT and collects its warnings."""
        try:
            node.start(self.port, self.directory, KAFKA | dict(settings or {}), heap_mb=HEAP_MB)
            yield f"127.0.0.1:{self.port}"
        finally:
            node.stop(self.directory, kill=kill)
            self.complaints += complaints(self.directory / "server.log")

    def knows_start(self, partition: str, offset: int) -> bool:
        """Whether the log TOPIC-PARTITION begins at an offset, according to the files."""
        topic, _, index = partition.rpartition("-")
        checkpoint = self.data / "log-start-offset-checkpoint"
        content = checkpoint.read_text() if checkpoint.exists() else ""
        lines = [line.rstrip() for line in content.splitlines()]
        first = min((self.data / partition).glob("*.log")).name
        return f"{topic} {index} {offset}" in lines or first == f"{offset:020}.log"


def complaints(log: Path) -> list[str]:
    """Warnings and errors of a server's log with their exceptions, without harmless ones."""
    lines = log.read_text(errors="replace").splitlines()
    told = []
    for at, line in enumerate(lines):
        is_one = re.match(r"\[[^]]*\] (WARN|ERROR|FATAL) ", line)
        if is_one and not any(usual in line for usual in USUAL):
            behind = lines[at + 1 : at + 1 + EXCEPTION_LINES]
            told.append(" ".join([line, *takewhile(lambda more: not more.startswith("["), behind)]))
    return [one for one in told if not any(re.search(slow, one) for slow in SLOW)]


def address(bootstrap: str) -> tuple[str, int]:
    """Split HOST:PORT."""
    return address_of(bootstrap)
