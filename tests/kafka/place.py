"""A data directory that Ottla and an Apache Kafka open in turn, and what Kafka complained about.

One of them runs at a time. Both keep few internal partitions, so that a start is short.
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
# A node that was killed is registered until its session ends; nobody wants to wait for that.
KAFKA = SHARED | {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "log.initial.task.delay.ms": "100",
    "log.flush.start.offset.checkpoint.interval.ms": "200",
}
HEAP_MB = 384

# What Kafka says of every directory, its own too, at every start or stop.
USUAL = (
    "Performing controller activation",
    "Attempting to close NetworkClient that has already been closed",
    # Its registration takes the leadership from whoever had it before, while coordinators load.
    "partition is not online or is no longer the leader",
    # Its controller registers before it is the active one, and tries again.
    "Unexpected error handling request RequestHeader(apiKey=CONTROLLER_REGISTRATION",
    # A topic is deleted while they still load.
    "Could not delete offsets for deleted partitions",
    # A partition that CreatePartitions added, and a sequence that is wrong on purpose.
    "to exist, but it was missing. Creating",
    "Error processing append operation on partition",
)

# What it says on a machine that is too busy for it, of itself; each way it tries again.
SLOW = (
    # Its controller and its broker are one process, and neither got to the other in time.
    "processExpiredBrokerHeartbeat: controller event queue overloaded",
    "Exceptionally slow controller event",
    # A transaction times out while its coordinator still loads, and is aborted afterwards.
    "to the transaction log with error NOT_COORDINATOR",
    "Rollback of ongoing transaction for transactionalId .* failed due to error NOT_COORDINATOR",
    # Retention and the deletion of a topic at once: LogManager.cleanupLogs, asyncDelete.
    "'kafka-log-retention' .*IllegalStateException: Compaction for partition [^ ]* cannot be"
    " resumed since it is not paused",
)
EXCEPTION_LINES = 3


class Place:
    """A directory with `data` in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.port = node.free_pair()
        self.complaints: list[str] = []

    @contextmanager
    def ottla(
        self, *, kill: bool = False, settings: Mapping[str, str] | None = None
    ) -> Iterator[RunningBroker]:
        """Ottla on the directory; stopped, or killed, at the end of the `with`."""
        with running_broker(data_dir=self.data, settings=SHARED | dict(settings or {})) as broker:
            yield broker
            if kill:
                broker.kill()

    @contextmanager
    def kafka(
        self, *, kill: bool = False, settings: Mapping[str, str] | None = None
    ) -> Iterator[str]:
        """Apache Kafka on the directory, as HOST:PORT; its complaints are remembered."""
        try:
            node.start(self.port, self.directory, KAFKA | dict(settings or {}), heap_mb=HEAP_MB)
            yield f"127.0.0.1:{self.port}"
        finally:
            node.stop(self.directory, kill=kill)
            self.complaints += complaints(self.directory / "server.log")

    def knows_start(self, partition: str, offset: int) -> bool:
        """Whether the files tell that a log, of name TOPIC-PARTITION, begins at an offset."""
        topic, _, index = partition.rpartition("-")
        checkpoint = self.data / "log-start-offset-checkpoint"
        content = checkpoint.read_text() if checkpoint.exists() else ""
        lines = [line.rstrip() for line in content.splitlines()]
        first = min((self.data / partition).glob("*.log")).name
        return f"{topic} {index} {offset}" in lines or first == f"{offset:020}.log"


def complaints(log: Path) -> list[str]:
    """Warnings and errors of a server's log, with what threw, but for those that mean nothing."""
    lines = log.read_text(errors="replace").splitlines()
    told = []
    for at, line in enumerate(lines):
        is_one = re.match(r"\[[^]]*\] (WARN|ERROR|FATAL) ", line)
        if is_one and not any(usual in line for usual in USUAL):
            behind = lines[at + 1 : at + 1 + EXCEPTION_LINES]
            told.append(" ".join([line, *takewhile(lambda more: not more.startswith("["), behind)]))
    return [one for one in told if not any(re.search(slow, one) for slow in SLOW)]


def address(bootstrap: str) -> tuple[str, int]:
    """HOST:PORT in two parts."""
    return address_of(bootstrap)
