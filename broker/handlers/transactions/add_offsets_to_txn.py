"""AddOffsetsToTxn (25), versions 0-4: add the offsets of a group to the transaction.

0-1  another producer epoch is INVALID_PRODUCER_EPOCH
2    another producer epoch is PRODUCER_FENCED
3    flexible encoding
4    clients handle TRANSACTION_ABORTABLE (KIP-890), which is never the answer here

The request adds the group's partition of `__consumer_offsets`, which need not exist yet: clients
look up the group's coordinator, which creates the topic, only afterwards. Any group id is accepted,
even an empty one; TxnOffsetCommit checks it.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....coordinator.outcome import Producer
from ....coordinator.partitioning import partition_for
from ....coordinator.transactions.states import ADDS_EXPLICITLY
from ....metadata.catalog import CONSUMER_OFFSETS
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import code_for, serves
from ...requests.context import Context
from ...requests.fencing_log import log_fenced

if TYPE_CHECKING:
    from ....protocol.api_types.add_offsets_to_txn import (
        AddOffsetsToTxnRequest,
        AddOffsetsToTxnResponse,
    )
    from ...node import Node


@serves(
    ApiKey.ADD_OFFSETS_TO_TXN,
    versions=(0, 4),
    guard="transactions.add_offsets_to_txn",
    older_codes={Code.PRODUCER_FENCED: (2, Code.INVALID_PRODUCER_EPOCH)},
)
async def add_offsets_to_txn(
    node: Node, context: Context, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    producer = Producer(request.producer_id, request.producer_epoch)
    offsets_partition = (CONSUMER_OFFSETS, partition_for(request.group_id, _partition_count(node)))
    try:
        await node.transactions.shard_of(request.transactional_id).run(
            lambda machine, now: machine.add_partitions(
                request.transactional_id,
                producer,
                (offsets_partition,),
                now_ms=now.wall_ms,
                client_version=ADDS_EXPLICITLY,
            )
        )
    except Refused as refused:
        log_fenced(context, refused, transactional_id=request.transactional_id)
        return {"error_code": code_for(refused.code, context.api_key, context.version)}
    return {}


def _partition_count(node: Node) -> int:
    topic = node.catalog.topics.get(CONSUMER_OFFSETS)
    if topic is not None:
        return len(topic.partitions)
    configured: int = node.config["offsets.topic.num.partitions"]
    return configured
