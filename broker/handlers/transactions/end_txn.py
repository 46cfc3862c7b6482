"""EndTxn (26), versions 0-5: commit or abort the open transaction of a producer.

0-1  another producer epoch is INVALID_PRODUCER_EPOCH
2    another producer epoch is PRODUCER_FENCED
3    flexible encoding
4    clients handle TRANSACTION_ABORTABLE (KIP-890), which is never the answer here
5    each end raises the epoch, and the answer has the new one (KIP-890)

When the answer is sent, the decision is in the log, and so are the markers of the partitions that
this node leads. The answer does not wait for markers of other nodes, and Kafka's for none
(broker/runtime/markers/marker_channel.py).
With transaction.version 0, version 5 is UNSUPPORTED_VERSION: the records cannot hold its decision.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....coordinator.moment import Moment
from ....coordinator.outcome import Outcome, Producer
from ....coordinator.transactions.coordinator import Transactions
from ....protocol.acls import AclResource, Operation
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import OnResource, code_for, serves
from ...requests.context import Context
from ...requests.fencing_log import log_fenced

if TYPE_CHECKING:
    from ....protocol.api_types.end_txn import EndTxnRequest, EndTxnResponse
    from ...node import Node

_BUMPS_SINCE: Final = 5


@serves(
    ApiKey.END_TXN,
    versions=(0, 5),
    guard=OnResource(Operation.WRITE, AclResource.TRANSACTIONAL_ID, "transactional_id"),
    older_codes={Code.PRODUCER_FENCED: (2, Code.INVALID_PRODUCER_EPOCH)},
)
async def end_txn(node: Node, context: Context, request: EndTxnRequest) -> EndTxnResponse:
    producer = Producer(request.producer_id, request.producer_epoch)

    def decide(machine: Transactions, now: Moment) -> Outcome[Producer]:
        end = machine.end_and_bump if context.version >= _BUMPS_SINCE else machine.end
        return end(request.transactional_id, producer, commit=request.committed, now_ms=now.wall_ms)

    try:
        ended = await node.transactions.shard_of(request.transactional_id).run(decide)
    except Refused as refused:
        log_fenced(context, refused, transactional_id=request.transactional_id)
        return {"error_code": code_for(refused.code, context.api_key, context.version)}
    return {"producer_id": ended.producer_id, "producer_epoch": ended.producer_epoch}
