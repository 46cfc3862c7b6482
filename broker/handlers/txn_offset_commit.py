"""TxnOffsetCommit (28), versions 0-5: positions that count when the transaction commits.

0-3  a partition of offsets that is not in the transaction is INVALID_TXN_STATE
1    the answer has a throttle time
2    the leader epoch of the last record consumed (KIP-320)
3    member and generation, which are checked (KIP-447); flexible encoding
4    ... that is not in the transaction is TRANSACTION_ABORTABLE (KIP-890)
5    ... is added to the transaction by this request (KIP-890)

A producer of another epoch is told INVALID_PRODUCER_EPOCH in every version. Without a member
(generation -1, empty id) a commit is taken also beside active members: older clients know none.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...coordinator.groups import Committer
from ...coordinator.outcome import Outcome, Producer
from ...metadata.catalog import CONSUMER_OFFSETS
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..requests.code_versions import code_for
from ..requests.context import Context
from ..requests.dispatch import serves
from .offset_commit import answers, offsets_to_commit

if TYPE_CHECKING:
    from ...coordinator.moment import Moment
    from ...coordinator.transactions.coordinator import Transactions
    from ..node import Node

_ADDS_SINCE: Final = 5


@serves(ApiKey.TXN_OFFSET_COMMIT, versions=(0, 5))
async def txn_offset_commit(node: Node, context: Context, request: Any) -> dict[str, Any]:
    offsets = await offsets_to_commit(node, context, request.topics)
    codes: dict[tuple[str, int], Code] = {}
    if offsets:
        producer = Producer(request.producer_id, request.producer_epoch)
        committer = Committer(request.member_id, request.generation_id, request.group_instance_id)
        try:
            if not request.group_id:
                raise Refused(Code.INVALID_GROUP_ID)
            shard = node.groups.shard_of(request.group_id)
            await _enter_transaction(
                node, context, request.transactional_id, producer, shard.partition
            )
            taken = await shard.run(
                lambda machine, now: machine.commit_in_transaction(
                    request.group_id, committer, producer, offsets, now=now
                )
            )
        except Refused as refused:
            taken = (_code(refused, context),) * len(offsets)
        codes = {(o.topic, o.partition): code for o, code in zip(offsets, taken, strict=True)}
    return {"topics": await answers(node, context, request.topics, codes)}


async def _enter_transaction(
    node: Node, context: Context, transactional_id: str, producer: Producer, partition: int
) -> None:
    """Have the partition of offsets in the producer's open transaction, or raise Refused."""
    if (
        context.version < _ADDS_SINCE
        and not node.config["transaction.partition.verification.enable"]
    ):
        return
    places = ((CONSUMER_OFFSETS, partition),)

    def enter(machine: Transactions, now: Moment) -> Outcome[None]:
        if context.version >= _ADDS_SINCE:
            return machine.add_partitions(transactional_id, producer, places, now_ms=now.wall_ms)
        machine.verify_partitions(transactional_id, producer, places)
        return Outcome(None)

    # Also what another request has just added is to be on disk before the offsets are.
    await node.transaction_shard(transactional_id).run(enter)


def _code(refused: Refused, context: Context) -> Code:
    if refused.code is Code.PRODUCER_FENCED:  # a code that only the coordinator's own APIs use
        return Code.INVALID_PRODUCER_EPOCH
    return code_for(refused.code, context.api_key, context.version)
