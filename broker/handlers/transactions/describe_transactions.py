"""DescribeTransactions (65), version 0: the state of transactional ids (KIP-664).

The start time stays after a transaction completes; it is -1 before the first one. For a decided
transaction the answer has the partitions that still lack their marker.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.describe_transactions import (
        DescribeTransactionsRequest,
        DescribeTransactionsResponse,
        TransactionState,
    )
    from ...node import Node


@serves(ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), guard="transactions.describe_transactions")
async def describe_transactions(
    node: Node, context: Context, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    asked = context.turns.each(request.transactional_ids)
    return {"transaction_states": [_described(node, id_) async for id_ in asked]}


def _described(node: Node, transactional_id: str) -> TransactionState:
    try:
        shard = node.transactions.shard_of(transactional_id)
        known = shard.ask(lambda machine: machine.describe(transactional_id))
    except Refused as refused:
        return {
            "error_code": refused.code,
            "transactional_id": transactional_id,
            "transaction_state": "",
            "transaction_timeout_ms": 0,
            "transaction_start_time_ms": 0,
            "producer_id": 0,
            "producer_epoch": 0,
            "topics": [],
        }
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(node.marker_channel.without_marker(known)):
        topics.setdefault(topic, []).append(index)
    return {
        "error_code": Code.NONE,
        "transactional_id": transactional_id,
        "transaction_state": known.state.title,
        "transaction_timeout_ms": known.timeout_ms,
        "transaction_start_time_ms": known.started_ms,
        "producer_id": known.producer_id,
        "producer_epoch": known.producer_epoch,
        "topics": [{"topic": topic, "partitions": ids} for topic, ids in topics.items()],
    }
