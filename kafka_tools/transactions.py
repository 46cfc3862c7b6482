"""`kafka-transactions`: list, describe and abort transactions (TransactionsCommand)."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Final

from ..client.admin.transactions import (
    Owner,
    abort_on_partition,
    describe_producers,
    fence,
    find_transaction,
    list_transactions,
)
from ..client.cluster_client import Client, ErrorAnswer
from ..protocol.errors import Code
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
    listed.add_argument("--duration-filter", type=int, default=-1, metavar="MS", help="open longer")
    listed.add_argument(
        "--transactional-id-pattern", default="", metavar="TEXT", help="regular expression"
    )
    described = commands.add_parser("describe", help="print one transactional id")
    described.add_argument("--transactional-id", required=True, metavar="TEXT", help="the id")
    producers = commands.add_parser("describe-producers", help="print a partition's producers")
    producers.add_argument("--broker-id", type=int, metavar="N", help="a replica's broker")
    abort = commands.add_parser("abort", help="abort a hanging transaction")
    abort.add_argument("--start-offset", type=int, metavar="N", help="of the transaction")
    abort.add_argument("--producer-id", type=int, metavar="N", help="without --start-offset")
    abort.add_argument("--producer-epoch", type=int, metavar="N", help="without --start-offset")
    abort.add_argument("--coordinator-epoch", type=int, metavar="N", help="without --start-offset")
    for each in (producers, abort):
        each.add_argument("--topic", required=True, metavar="TEXT", help="the topic")
        each.add_argument("--partition", required=True, type=int, metavar="N", help="its index")
    forced = commands.add_parser("forceTerminateTransaction", help="abort a transactional id")
    forced.add_argument(
        *("--transactionalId", "--transactional-id"),
        dest="transactional_id", required=True, metavar="TEXT", help="the id",
    )  # fmt: skip
    return made


def _list(client: Client, given: argparse.Namespace) -> None:
    found = list_transactions(
        client, longer_than_ms=given.duration_filter, pattern=given.transactional_id_pattern
    )
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
    "forceTerminateTransaction": _force,
    "list": _list,
}


TOOL: Final = Tool(
    options,
    lambda client, given: _ACTIONS[given.command](client, given),
    "listTransactions",
    print_failure=print_exception,
)
