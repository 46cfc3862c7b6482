"""TxnOffsetCommit (28), versions 0-6: offsets that are committed with the transaction.

0-3  INVALID_TXN_STATE if the offsets partition is not in the transaction
1    the answer has a throttle time
2    the leader epoch of the last record consumed (KIP-320)
3    member and generation are checked (KIP-447); flexible encoding
4    TRANSACTION_ABORTABLE if the offsets partition is not in the transaction (KIP-890)
5    the request adds the offsets partition to the transaction (KIP-890)
6    topics by their ids; GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH, which are ILLEGAL_GENERATION
     before (KIP-1319)

Another producer epoch is INVALID_PRODUCER_EPOCH in every version. A commit without a member
(generation -1, empty id) is accepted even with active members: older clients send none.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....coordinator.groups import ClaimedMember
from ....coordinator.outcome import Outcome, Producer
from ....metadata.catalog import CONSUMER_OFFSETS
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import code_for, serves
from ...requests.context import Context
from ...requests.fencing_log import log_fenced
from ...requests.topics_by_id import name_topics
from ...runtime.shards.encoded_ahead import LARGE
from ..groups.offset_commit import Offsets, answers, decide_offsets_ahead, offsets_to_commit

if TYPE_CHECKING:
    from ....coordinator.moment import Moment
    from ....coordinator.transactions.coordinator import Transactions
    from ....protocol.api_types.txn_offset_commit import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitResponse,
    )
    from ...node import Node

_ADDS_SINCE: Final = 5
_IDS_SINCE: Final = 6


@serves(
    ApiKey.TXN_OFFSET_COMMIT,
    versions=(0, 6),
    guard="transactions.txn_offset_commit",
    older_codes={
        Code.TRANSACTION_ABORTABLE: (4, Code.INVALID_TXN_STATE),
        Code.GROUP_ID_NOT_FOUND: (6, Code.ILLEGAL_GENERATION),
        Code.STALE_MEMBER_EPOCH: (6, Code.ILLEGAL_GENERATION),
    },
)
async def txn_offset_commit(
    node: Node, context: Context, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse:
    by_id = context.version >= _IDS_SINCE
    if by_id:
        await name_topics(node, context, request.topics)
    offsets = await offsets_to_commit(node, context, request.topics)
    codes: dict[tuple[str, int], Code] = {}
    if offsets:
        producer = Producer(request.producer_id, request.producer_epoch)
        generation = request.generation_id_or_member_epoch
        member = ClaimedMember(request.member_id, generation, request.group_instance_id)
        try:
            if not request.group_id:
                raise Refused(Code.INVALID_GROUP_ID)
            shard = node.groups.shard_of(request.group_id)
            decided: Offsets = offsets
            if len(offsets) > LARGE:
                decided = await decide_offsets_ahead(shard, context, request.group_id, offsets)
            await _join_transaction(
                node, context, request.transactional_id, producer, shard.partition
            )
            results = await shard.run(
                lambda machine, now: machine.commit_in_transaction(
                    request.group_id, member, producer, decided, now=now
                )
            )
        except Refused as refused:
            who = {"transactional_id": request.transactional_id, "group": request.group_id}
            log_fenced(context, refused, **who)
            results = (_code(refused, context),) * len(offsets)
        codes = {(o.topic, o.partition): code for o, code in zip(offsets, results, strict=True)}
    return {"topics": await answers(node, context, request.topics, codes, by_id=by_id)}


async def _join_transaction(
    node: Node, context: Context, transactional_id: str, producer: Producer, partition: int
) -> None:
    """Check that the offsets partition is in the open transaction, or add it; raises Refused."""
    if (
        context.version < _ADDS_SINCE
        and not node.config["transaction.partition.verification.enable"]
    ):
        return
    partitions = ((CONSUMER_OFFSETS, partition),)

    def join(machine: Transactions, now: Moment) -> Outcome[None]:
        if context.version >= _ADDS_SINCE:
            return machine.add_partitions(
                transactional_id, producer, partitions, now_ms=now.wall_ms
            )
        machine.verify_partitions(transactional_id, producer, partitions)
        return Outcome(None)

    # The addition must be on disk before the offsets, even if another request made it.
    await node.transaction_shard(transactional_id).run(join)


def _code(refused: Refused, context: Context) -> Code:
    if refused.code is Code.PRODUCER_FENCED:  # only the transaction coordinator's APIs have it
        return Code.INVALID_PRODUCER_EPOCH
    return code_for(refused.code, context.api_key, context.version)
