"""`kafka-transactions`: list, describe and abort transactions (TransactionsCommand)."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from typing import Final

from ..client.admin.transactions import (
    Owner,
    abort_on_partition,
    describe_producers,
    describe_transactions,
    fence,
    find_transaction,
    list_transactional_ids,
    list_transactions,
)
from ..client.cluster_client import Client, ErrorAnswer
from ..protocol.errors import Code
from .java_numbers import a_long, an_int
from .options import CommandParser
from .session import failure_of
from .texts import error_line, table
from .tool import Tool, print_exception

_FENCING_TIMEOUT_MS: Final = 60_000


def options() -> CommandParser:
    """The options of the tool."""
    made = CommandParser(
        prog="kafka-transactions",
        description="This tool is used to analyze the transactional state of producers in the"
        " cluster. It can be used to detect and recover from hanging transactions.",
    )
    made.add_argument("--bootstrap-server", required=True, metavar="TEXT", help="brokers")
    made.add_argument("--command-config", metavar="FILE", help="file with properties of the client")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    listed = commands.add_parser("list", help="list transactions")
    listed.add_argument(
        "--duration-filter", type=a_long, default=-1, metavar="MS", help="open longer"
    )
    listed.add_argument(
        "--transactional-id-pattern", default="", metavar="TEXT", help="regular expression"
    )
    described = commands.add_parser("describe", help="print one transactional id")
    described.add_argument("--transactional-id", required=True, metavar="TEXT", help="the id")
    producers = commands.add_parser("describe-producers", help="print a partition's producers")
    producers.add_argument("--broker-id", type=an_int, metavar="N", help="a replica's broker")
    abort = commands.add_parser("abort", help="abort a hanging transaction")
    abort.add_argument("--start-offset", type=a_long, metavar="N", help="of the transaction")
    abort.add_argument("--producer-id", type=a_long, metavar="N", help="without --start-offset")
    abort.add_argument("--producer-epoch", type=a_long, metavar="N", help="without --start-offset")
    abort.add_argument(
        "--coordinator-epoch", type=a_long, metavar="N", help="without --start-offset"
    )
    for each in (producers, abort):
        each.add_argument("--topic", required=True, metavar="TEXT", help="the topic")
        each.add_argument("--partition", required=True, type=an_int, metavar="N", help="its index")
    hanging = commands.add_parser("find-hanging", help="find transactions without an owner")
    hanging.add_argument(
        "--broker-id", type=an_int, metavar="N", help="of partitions on this broker"
    )
    hanging.add_argument("--topic", metavar="TEXT", help="of a topic's partitions")
    hanging.add_argument("--partition", type=an_int, metavar="N", help="of one partition")
    hanging.add_argument("--max-transaction-timeout", type=an_int, default=15, metavar="MINUTES",
                         help="open longer")  # fmt: skip
    forced = commands.add_parser("forceTerminateTransaction", help="abort a transactional id")
    forced.add_argument(
        *("--transactionalId", "--transactional-id"),
        dest="transactional_id", required=True, metavar="TEXT", help="the id",
    )  # fmt: skip
    return made


def _list(client: Client, given: argparse.Namespace) -> None:
    pattern = re.compile(given.transactional_id_pattern or ".*")
    found = []
    listed = list_transactional_ids(client, begun_before_ms=given.duration_filter)
    for node_id, ids in listed.items():
        wanted = [each for each in ids if pattern.fullmatch(each)]
        found += describe_transactions(client, wanted, node_id) if wanted else []
    found.sort(key=lambda each: each.transactional_id)
    heads = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
    table(
        heads,
        [
            (each.transactional_id, str(each.coordinator), str(each.producer_id), each.state)
            for each in found
        ],
    )


def _describe(client: Client, given: argparse.Namespace) -> int:
    name = given.transactional_id
    known = find_transaction(client, name)
    if known is None:
        why = failure_of(ErrorAnswer(Code.TRANSACTIONAL_ID_NOT_FOUND, name))
        error_line(
            f"Failed to describe transaction state of transactional-id `{name}`: {why.message}"
        )
        return 1
    now_ms = time.time_ns() // 1_000_000
    started, duration = "None", "None"
    if known.started_ms >= 0:
        started, duration = str(known.started_ms), str(now_ms - known.started_ms)
    heads = (
        *("CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState"),
        *("TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs"),
        "TopicPartitions",
    )
    numbers = (str(known.producer_id), str(known.producer_epoch))
    row = (
        *(str(known.coordinator), name, *numbers, known.state, str(known.timeout_ms)),
        *(started, duration, ",".join(known.partitions)),
    )
    table(heads, [row])
    return 0


def _describe_producers(client: Client, given: argparse.Namespace) -> None:
    heads = (
        *("ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence"),
        *("LastTimestamp", "CurrentTransactionStartOffset"),
    )
    rows = []
    for each in describe_producers(client, given.topic, given.partition, given.broker_id):
        begun = each.current_txn_start_offset
        numbers = (
            *(each.producer_id, each.producer_epoch, each.coordinator_epoch),
            *(each.last_sequence, each.last_timestamp),
        )
        rows.append((*map(str, numbers), "None" if begun < 0 else str(begun)))
    table(heads, rows)


def _find_hanging(client: Client, given: argparse.Namespace) -> int:
    """Open transactions of partitions that no coordinator knows (FindHangingTransactions)."""
    if given.topic is None and given.broker_id is None:
        error_line(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope"
            " of the search"
        )
        return 1
    now_ms = time.time_ns() // 1_000_000
    suspects = []
    for topic in client.metadata(None if given.topic is None else [given.topic]):
        for each in topic.partitions:
            if given.partition not in (None, each.partition_index) or (
                given.broker_id is not None and given.broker_id not in each.replica_nodes
            ):
                continue
            for producer in describe_producers(client, topic.name, each.partition_index):
                is_open = producer.current_txn_start_offset >= 0
                open_ms = now_ms - producer.last_timestamp
                if is_open and open_ms > given.max_transaction_timeout * 60_000:
                    suspects.append((topic.name, each.partition_index, producer, open_ms))
    known = list_transactions(client) if suspects else []
    owned = {(each.producer_id, place) for each in known for place in each.partitions}
    rows = []
    for name, index, producer, open_ms in suspects:
        if (producer.producer_id, f"{name}-{index}") in owned:
            continue
        numbers = (
            *(index, producer.producer_id, producer.producer_epoch, producer.coordinator_epoch),
            *(producer.current_txn_start_offset, producer.last_timestamp, open_ms // 60_000),
        )
        rows.append((name, *map(str, numbers)))
    heads = (
        *("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset"),
        *("LastTimestamp", "Duration(min)"),
    )
    table(heads, rows)
    return 0


def _abort(client: Client, given: argparse.Namespace) -> int:
    topic, index = given.topic, given.partition
    producer_id, epoch = given.producer_id, given.producer_epoch
    coordinator_epoch = given.coordinator_epoch
    if given.start_offset is not None:
        for each in describe_producers(client, topic, index):
            if each.current_txn_start_offset == given.start_offset:
                producer_id, epoch = each.producer_id, each.producer_epoch
                coordinator_epoch = each.coordinator_epoch
                break
        else:
            error_line(
                f"Could not find any open transactions starting at offset {given.start_offset} on"
                f" partition {topic}-{index}"
            )
            return 1
    elif producer_id is None:
        error_line(
            "The transaction to abort must be identified either with --start-offset (for brokers"
            " on 3.0 or above) or with --producer-id, --producer-epoch, and --coordinator-epoch"
            " (for older brokers)"
        )
        return 1
    for name, value in (("producer", epoch), ("coordinator", coordinator_epoch)):
        if value is None:
            error_line(f"Missing required argument --{name}-epoch")
            return 1
    abort_on_partition(client, topic, index, Owner(producer_id, epoch), coordinator_epoch)
    return 0


def _force(client: Client, given: argparse.Namespace) -> None:
    fence(client, given.transactional_id, timeout_ms=_FENCING_TIMEOUT_MS)


_ACTIONS: Final[dict[str, Callable[[Client, argparse.Namespace], int | None]]] = {
    "abort": _abort,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "find-hanging": _find_hanging,
    "forceTerminateTransaction": _force,
    "list": _list,
}


TOOL: Final = Tool(
    options,
    lambda client, given: _ACTIONS[given.command](client, given),
    "listTransactions",
    print_failure=print_exception,
)
