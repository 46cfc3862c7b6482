"""Tasks and drivers of the sink on a broker, without Spark."""

from __future__ import annotations

import secrets

from ottla.spark.exactly_once.cluster import ClusterTransactions, sink_client
from ottla.spark.exactly_once.driver import Driver, Origin
from ottla.spark.exactly_once.names import is_task_of
from ottla.spark.exactly_once.options import SinkOptions
from ottla.spark.exactly_once.task_writer import OutgoingRow, TaskWriter
from ottla.spark.exactly_once.tasks import DecidedBatch, Task
from ottla.spark.exactly_once.write_ahead_log import WriteAheadLog
from ottla.testing import Ottla


class Topics:
    """A source and a target on a broker, new ones."""

    def __init__(self, broker: Ottla) -> None:
        suffix = secrets.token_hex(4)
        self.source, self.target = f"source-{suffix}", f"target-{suffix}"
        for name in (self.source, self.target):
            broker.create_topic(name, partitions=2)


class Batches:
    """Tasks and drivers without Spark."""

    def __init__(self, broker: Ottla, **options: str) -> None:
        self.broker = broker
        self.topic = Topics(broker).target
        given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": self.topic}
        self.options = SinkOptions.of({**given, **options})
        self.query_id = secrets.token_hex(4)

    def task(self, run: str, index: int, *values: int) -> Task:
        name = Origin(self.query_id, run).transactional_id(self.options, index, 0)
        rows = [OutgoingRow(self.topic, None, b"%d" % value) for value in values]
        written = TaskWriter(self.options, name).write(rows, task=index)
        assert written is not None
        return written

    def write(self, *rows: OutgoingRow) -> Task | None:
        """The only task of a run writes these rows."""
        name = Origin(self.query_id, "a").transactional_id(self.options, 0, 0)
        return TaskWriter(self.options, name).write(rows, task=0)

    def driver(self, run: str, batch_id: int, *tasks: Task) -> Driver:
        return Driver(self.options, Origin(self.query_id, run), batch_id, tasks)

    def decide(self, batch_id: int, *tasks: Task) -> None:
        """A driver that dies after the decision."""
        with sink_client(self.broker.bootstrap_servers) as client:
            log = WriteAheadLog(self.options, self.query_id, client)
            log.write(DecidedBatch(self.query_id, batch_id, tasks))

    def commit(self, task: Task) -> None:
        with sink_client(self.broker.bootstrap_servers) as client:
            ClusterTransactions(client).commit(task.transaction)

    def lose(self, task: Task) -> None:
        """End a transaction as its timeout would."""
        with sink_client(self.broker.bootstrap_servers) as client:
            ClusterTransactions(client).fence(task.transaction.transactional_id)

    def open_ids(self) -> list[str]:
        with sink_client(self.broker.bootstrap_servers) as client:
            found = ClusterTransactions(client).open_ids()
        prefix, query_id = self.options.prefix, self.query_id
        return [each for each in found if is_task_of(each, prefix, query_id)]

    def values(self) -> list[int]:
        return sorted(int(each.value or b"") for each in self.broker.read(self.topic))
