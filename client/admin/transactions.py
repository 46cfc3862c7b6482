"""Transactions of a running cluster, by their coordinators: list, describe, find, fence.

ListTransactions and DescribeTransactions (KIP-664), and InitProducerId, which fences.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from ..cluster_client import Client, ErrorAnswer, check
from ..retries import COORDINATOR_MOVES, retried

OPEN: Final = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})
NO_TIMEOUT_MS: Final = 0x7FFFFFFF
"""The timeout of a transaction in two phases, which has none (KIP-939)."""
_DEFAULT_TIMEOUT_MS: Final = 60_000


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


@retried(COORDINATOR_MOVES)
def list_transactions(
    client: Client, *, states: Sequence[str] = (), longer_than_ms: int = -1, pattern: str = ""
) -> list[Transaction]:
    """The transactional ids of all coordinators that match every filter, sorted."""
    every = []
    for node_id in client.brokers:
        body = {"state_filters": list(states), "producer_id_filters": []}
        answer = client.ask(ApiKey.LIST_TRANSACTIONS, body, node_id=node_id)
        check(answer.error_code, f"node {node_id}")
        if answer.unknown_state_filters:
            raise ErrorAnswer(Code.INVALID_REQUEST, f"no state {answer.unknown_state_filters[0]}")
        ids = [each.transactional_id for each in answer.transaction_states]
        wanted = [each for each in ids if re.search(pattern, each)]
        every += describe_transactions(client, wanted, node_id) if wanted else []
    now_ms = time.time_ns() // 1_000_000
    if longer_than_ms >= 0:
        every = [each for each in every if (each.open_ms(now_ms) or -1) > longer_than_ms]
    return sorted(every, key=lambda each: each.transactional_id)


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
