"""Transactions of a running cluster: list, describe, find, fence, complete, abort on a partition.

ListTransactions, DescribeTransactions, DescribeProducers and WriteTxnMarkers (KIP-664), and
InitProducerId, which fences.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from ..cluster_client import Client, ErrorAnswer, check
from ..retries import COORDINATOR_MOVES, retried
from .cluster import api_versions, features

OPEN: Final = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})
NO_TIMEOUT_MS: Final = 0x7FFFFFFF
"""The timeout of a transaction in two phases, which has none (KIP-939)."""
_DEFAULT_TIMEOUT_MS: Final = 60_000
_KEEPS_SINCE: Final = 6  # InitProducerId that keeps a prepared transaction
_FENCES_SINCE: Final = 5  # EndTxn that raises the epoch (KIP-890), from this level on
_FENCING_LEVEL: Final = 2


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transactional id, as its coordinator describes it.

    Attributes:
        started_ms: start time of its last transaction; -1 if there was none.
        partitions: partitions of its open transaction, as TOPIC-INDEX.
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int
    coordinator: int
    partitions: Sequence[str] = field(default=())

    def open_ms(self, now_ms: int) -> int | None:
        """The age of its open transaction; None if none is open."""
        if self.state not in OPEN or self.started_ms < 0:
            return None
        return max(0, now_ms - self.started_ms)


class Owner(NamedTuple):
    """A producer id and epoch that may end a transaction."""

    producer_id: int
    epoch: int


class NoTakeOver(Exception):
    """The broker cannot give the transaction of another producer to this client."""


@retried(COORDINATOR_MOVES)
def list_transactions(
    client: Client, *, states: Sequence[str] = (), longer_than_ms: int = -1, pattern: str = ""
) -> list[Transaction]:
    """The transactional ids of all coordinators that match every filter, sorted."""
    every = []
    for node_id, ids in list_transactional_ids(client, states).items():
        wanted = [each for each in ids if re.search(pattern, each)]
        every += describe_transactions(client, wanted, node_id) if wanted else []
    now_ms = time.time_ns() // 1_000_000
    if longer_than_ms >= 0:
        every = [each for each in every if (each.open_ms(now_ms) or -1) > longer_than_ms]
    return sorted(every, key=lambda each: each.transactional_id)


def list_transactional_ids(
    client: Client, states: Sequence[str] = (), *, begun_before_ms: int = -1
) -> dict[int, list[str]]:
    """The transactional ids of each node that coordinates them.

    Args:
        states: only ids in these states; empty: all.
        begun_before_ms: only those whose last transaction began longer ago, also if it has ended
            (DurationFilter, KIP-994); -1: all.

    Raises:
        ErrorAnswer: there is no such state, or a coordinator loads or moves.
    """
    found = {}
    for node_id in client.brokers:
        body: dict[str, Any] = {"state_filters": list(states), "producer_id_filters": []}
        body |= {"duration_filter": begun_before_ms} if begun_before_ms >= 0 else {}
        version = 1 if begun_before_ms >= 0 else None
        answer = client.ask(ApiKey.LIST_TRANSACTIONS, body, node_id=node_id, version=version)
        check(answer.error_code, f"node {node_id}")
        if answer.unknown_state_filters:
            raise ErrorAnswer(Code.INVALID_REQUEST, f"no state {answer.unknown_state_filters[0]}")
        found[node_id] = [each.transactional_id for each in answer.transaction_states]
    return found


def describe_transactions(
    client: Client, transactional_ids: Sequence[str], node_id: int
) -> list[Transaction]:
    """Descriptions by a coordinator, without ids that expired meanwhile. Raises ErrorAnswer."""
    body = {"transactional_ids": list(transactional_ids)}
    every = []
    for each in client.ask(ApiKey.DESCRIBE_TRANSACTIONS, body, node_id=node_id).transaction_states:
        if each.error_code == Code.TRANSACTIONAL_ID_NOT_FOUND:
            continue
        check(each.error_code, each.transactional_id)
        partitions = [
            f"{topic.topic}-{index}" for topic in each.topics for index in sorted(topic.partitions)
        ]
        every.append(
            Transaction(
                each.transactional_id,
                each.transaction_state,
                each.producer_id,
                each.producer_epoch,
                each.transaction_timeout_ms,
                each.transaction_start_time_ms,
                node_id,
                partitions,
            )
        )
    return every


@retried(COORDINATOR_MOVES)
def find_transaction(client: Client, transactional_id: str) -> Transaction | None:
    """One transactional id; None if its coordinator does not know it. Raises ErrorAnswer."""
    node_id = client.transaction_coordinator(transactional_id)
    return next(iter(describe_transactions(client, [transactional_id], node_id)), None)


@retried(COORDINATOR_MOVES | {Code.CONCURRENT_TRANSACTIONS})
def fence(client: Client, transactional_id: str, *, timeout_ms: int) -> int:
    """End the open transaction as a new producer would (InitProducerId); return its epoch.

    Args:
        timeout_ms: the transaction timeout of the new producer.

    Raises:
        ErrorAnswer: the coordinator refuses; CONCURRENT_TRANSACTIONS if the end takes too long.
    """
    body = init_body(transactional_id, timeout_ms)
    node_id = client.transaction_coordinator(transactional_id)
    answer = client.ask(ApiKey.INIT_PRODUCER_ID, body, node_id=node_id)
    check(answer.error_code, transactional_id)
    return int(answer.producer_epoch)


def describe_producers(
    client: Client, topic: str, partition: int, node_id: int | None = None
) -> list[Any]:  # Any: parts of an answer
    """The producers that a partition knows (DescribeProducers).

    Args:
        node_id: of a replica; None: the leader.

    Raises:
        ErrorAnswer: the replica refuses.
    """
    if node_id is None:
        node_id = client.leader(topic, partition)
    asked = {"topics": [{"name": topic, "partition_indexes": [partition]}]}
    answer = client.ask(ApiKey.DESCRIBE_PRODUCERS, asked, node_id=node_id)
    (found,) = answer.topics[0].partitions
    check(found.error_code, f"{topic}-{partition}", found.error_message)
    return list(found.active_producers)


def abort_on_partition(
    client: Client, topic: str, partition: int, owner: Owner, coordinator_epoch: int
) -> None:
    """Write an abort marker at the leader of a partition (WriteTxnMarkers). Raises ErrorAnswer."""
    marker = {
        "producer_id": owner.producer_id,
        "producer_epoch": owner.epoch,
        "transaction_result": False,
        "topics": [{"name": topic, "partition_indexes": [partition]}],
        "coordinator_epoch": max(0, coordinator_epoch),
    }
    body, node_id = {"markers": [marker]}, client.leader(topic, partition)
    written = client.ask(ApiKey.WRITE_TXN_MARKERS, body, node_id=node_id).markers[0]
    check(written.topics[0].partitions[0].error_code, f"{topic}-{partition}")


def complete_transaction(
    client: Client, known: Transaction, owner: Owner | None, *, commit: bool
) -> None:
    """End an open transaction that was prepared for two-phase commit (KIP-939).

    Args:
        owner: the producer that may end it; None: take the transaction over first.
        commit: False to abort.

    Raises:
        NoTakeOver: there is no owner, and the broker lacks InitProducerId 6.
        ErrorAnswer: the coordinator refuses; CONCURRENT_TRANSACTIONS if the end takes too long.
    """
    version = end_txn_version(client, known.coordinator)
    if owner is None:
        _, newest = api_versions(client, known.coordinator)[ApiKey.INIT_PRODUCER_ID]
        if newest < _KEEPS_SINCE:
            raise NoTakeOver(f"the broker has no InitProducerId {_KEEPS_SINCE}")
        owner = _take_over(client, known.transactional_id)
    _end(client, known.transactional_id, owner, commit=commit, version=version)


def end_txn_version(client: Client, node_id: int) -> int:
    """The version of EndTxn that fences the producer whose transaction it ends (KIP-890).

    It is 5, which raises the producer's epoch, if the broker has it and the cluster has
    transaction.version 2. Otherwise it is the newest one that does not fence, 4 at most.

    Args:
        node_id: the coordinator of the transaction.

    Raises:
        ErrorAnswer: the broker refuses ApiVersions.
    """
    _, newest = api_versions(client, node_id)[ApiKey.END_TXN]
    levels = {each.name: each.finalized or 0 for each in features(client, node_id)[1]}
    fences = newest >= _FENCES_SINCE and levels.get("transaction.version", 0) >= _FENCING_LEVEL
    return _FENCES_SINCE if fences else min(newest, _FENCES_SINCE - 1)


@retried(COORDINATOR_MOVES | {Code.CONCURRENT_TRANSACTIONS})
def _take_over(client: Client, transactional_id: str) -> Owner:
    """Keep the open transaction for this client, which fences its producer; its new owner."""
    node_id = client.transaction_coordinator(transactional_id)
    body = {**init_body(transactional_id), "enable2_pc": False, "keep_prepared_txn": True}
    answer = client.ask(ApiKey.INIT_PRODUCER_ID, body, node_id=node_id, version=_KEEPS_SINCE)
    check(answer.error_code, transactional_id)
    if answer.ongoing_txn_producer_id == -1:
        raise ErrorAnswer(Code.INVALID_TXN_STATE, transactional_id, "its transaction has ended")
    return Owner(answer.producer_id, answer.producer_epoch)


@retried(COORDINATOR_MOVES | {Code.CONCURRENT_TRANSACTIONS})
def _end(
    client: Client, transactional_id: str, owner: Owner, *, commit: bool, version: int
) -> None:
    """Send EndTxn; a retry of an end that was written is answered like the first one."""
    body = {
        "transactional_id": transactional_id,
        "producer_id": owner.producer_id,
        "producer_epoch": owner.epoch,
        "committed": commit,
    }
    node_id = client.transaction_coordinator(transactional_id)
    answer = client.ask(ApiKey.END_TXN, body, node_id=node_id, version=version)
    check(answer.error_code, transactional_id)


def init_body(transactional_id: str, timeout_ms: int = _DEFAULT_TIMEOUT_MS) -> dict[str, Any]:
    """The fields of InitProducerId 4. A request cannot name the timeout of two-phase commit."""
    return {
        "transactional_id": transactional_id,
        "transaction_timeout_ms": (
            _DEFAULT_TIMEOUT_MS if timeout_ms == NO_TIMEOUT_MS else timeout_ms
        ),
        "producer_id": -1,
        "producer_epoch": -1,
    }
