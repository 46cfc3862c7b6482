"""Batches of the sink while producer epochs run out, under transaction versions 1 and 2.

Two tasks and the driver begin close to epoch 32767: each InitProducerId raises the epoch by one.
Every other batch loses its driver after the decision, so that its replay asks for the fates of
transactions whose producer id has changed.
"""

from __future__ import annotations

import secrets
import socket
from collections import Counter
from collections.abc import Iterator

from ottla.client import Client
from ottla.client.admin.cluster import change_features
from ottla.client.admin.transactions import init_body
from ottla.client.core import Call, Conversation
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.spark.exactly_once.cluster import ClusterTransactions, sink_client
from ottla.spark.exactly_once.driver import Driver, Origin
from ottla.spark.exactly_once.options import SinkOptions
from ottla.spark.exactly_once.task_writer import OutgoingRow, TaskWriter
from ottla.spark.exactly_once.tasks import DecidedBatch, Task
from ottla.spark.exactly_once.transaction_fates import LAST_EPOCH
from ottla.spark.exactly_once.write_ahead_log import WriteAheadLog

from .brokers import create_topics
from .playing import difference

BATCHES = 8
_AT_ONCE = 200
_RUN = "run"


def roll_over(bootstrap_servers: str, transaction_version: int) -> str:
    """Write batches across the last epoch; a summary for the terminal.

    Raises:
        AssertionError: a row is lost or doubled, or no epoch ran out.
    """
    with Client.to(bootstrap_servers) as client:
        change_features(client, {"transaction.version": transaction_version})
    topic = f"epochs-{transaction_version}-{secrets.token_hex(3)}"
    create_topics(bootstrap_servers, topic)
    options = SinkOptions.of({"kafka.bootstrap.servers": bootstrap_servers, "topic": topic})
    origin = Origin(f"query-{topic}", _RUN)
    driver_id = f"{options.prefix}-{origin.query_id}-driver"
    # With version 2, a batch takes two epochs of a task: one of the two tasks gets the last one.
    before = {driver_id: 5, _name(options, origin, 0): 5, _name(options, origin, 1): 6}
    for name, epochs in before.items():
        raise_epoch(bootstrap_servers, name, LAST_EPOCH - epochs)
    producers: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
    for batch_id in range(BATCHES):
        tasks = [_written(options, origin, batch_id, each) for each in (0, 1)]
        for each in tasks:
            producers[each.task].append(each.transaction[1:])
        if batch_id % 2:
            _die_after_the_decision(options, origin, batch_id, tasks)
        for _ in range(2):  # a repeated commit changes nothing
            Driver(options, origin, batch_id, tasks).commit()
    wrong = difference(bootstrap_servers, topic, [*_values(BATCHES)])
    assert wrong is None, wrong
    for used in producers.values():
        ids = Counter(producer_id for producer_id, _ in used)
        assert len(ids) == 2, f"no epoch ran out: {used}"
    last = {max(epoch for _, epoch in used) for used in producers.values()}
    return f"{BATCHES} batches, the last epochs of the tasks were {sorted(last)}: ok"


def _name(options: SinkOptions, origin: Origin, task: int) -> str:
    return origin.transactional_id(options, task, 0)


def _values(batches: int) -> Iterator[str]:
    for batch_id in range(batches):
        for task in (0, 1):
            yield from (f"{batch_id}-{task}-{row}" for row in range(3))


def _written(options: SinkOptions, origin: Origin, batch_id: int, task: int) -> Task:
    assert options.topic is not None
    rows = [
        OutgoingRow(options.topic, None, f"{batch_id}-{task}-{row}".encode()) for row in range(3)
    ]
    written = TaskWriter(options, _name(options, origin, task)).write(rows, task=task)
    assert written is not None
    return written


def _die_after_the_decision(
    options: SinkOptions, origin: Origin, batch_id: int, tasks: list[Task]
) -> None:
    """What a driver leaves that is killed when it has ended one of the transactions."""
    with sink_client(options.bootstrap_servers) as client:
        log = WriteAheadLog(options, origin.query_id, client)
        log.write(DecidedBatch(origin.query_id, batch_id, tuple(tasks)))
        ClusterTransactions(client).commit(tasks[0].transaction)


def raise_epoch(bootstrap_servers: str, transactional_id: str, epoch: int) -> None:
    """Call InitProducerId until the epoch is reached, many at a time on one connection."""
    with sink_client(bootstrap_servers) as client:
        ClusterTransactions(client).fence(
            transactional_id
        )  # the first one may create the internal topic
    with Client.to(bootstrap_servers) as client:
        host, port = client.brokers[client.transaction_coordinator(transactional_id)]
    init, reached = Call(ApiKey.INIT_PRODUCER_ID, init_body(transactional_id)), 0
    with socket.create_connection((host, port), timeout=60) as connection:
        conversation = Conversation("epochs")
        while reached < epoch:
            count = min(_AT_ONCE, epoch - reached)
            connection.sendall(b"".join(conversation.request(init) for _ in range(count)))
            while count:
                answer = conversation.receive(connection.recv(conversation.wanted_bytes))
                if answer is None:
                    continue
                count -= 1
                if answer.error_code == Code.NONE:
                    reached = answer.producer_epoch
                else:
                    assert answer.error_code == Code.CONCURRENT_TRANSACTIONS, answer
