"""What ShareFetch and ShareAcknowledge have in common: their sender, and acknowledgements."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from uuid import UUID

from ....coordinator.share_partition.states import Acknowledgement, AcknowledgeType
from ....protocol.errors import Code, Refused
from ...runtime.share.led_share_partition import ShareKey
from ...runtime.share.share_sessions import SessionKey, TopicIdPartition
from ..authorization import AclResource, Operation, may, must
from .share_feature import check_share_groups

if TYPE_CHECKING:
    from ....protocol.api_types.share_fetch import LeaderIdAndEpoch
    from ...node import Node
    from ..cluster_description import NewLeaders
    from ..context import Context

RENEWS_SINCE: Final = 2
ZERO_ID: Final = UUID(int=0)
MOVED: Final = (Code.NOT_LEADER_OR_FOLLOWER, Code.FENCED_LEADER_EPOCH)


class _Batch(Protocol):
    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def acknowledge_types(self) -> Sequence[int]: ...


class Acknowledged(NamedTuple):
    """The result of the acknowledgements of one partition."""

    code: Code = Code.NONE
    why: str | None = None


_DONE: Final = Acknowledged()
_LONGEST_ID: Final = 36


def session_key(
    node: Node, context: Context, group_id: str | None, member_id: str | None
) -> SessionKey:
    """The member that sends a request.

    Raises:
        Refused: UNSUPPORTED_VERSION, INVALID_REQUEST, GROUP_AUTHORIZATION_FAILED.
    """
    check_share_groups(node)
    if group_id is None:
        raise Refused(Code.INVALID_REQUEST, "Invalid group id in the request.")
    if node.authorizer is not None:
        must(node, context, Operation.READ, AclResource.GROUP, group_id)
    if not member_id or len(member_id) > _LONGEST_ID:
        raise Refused(Code.INVALID_REQUEST, "Invalid member id in the request.")
    return SessionKey(group_id, member_id)


def why_not(node: Node, context: Context, partition: TopicIdPartition) -> Code:
    """Why a client may not use a partition; NONE if it may."""
    topic = node.catalog.topic_by_id(partition.topic_id)
    if topic is None:
        return Code.UNKNOWN_TOPIC_ID
    if node.authorizer is not None and not may(
        node, context, Operation.READ, AclResource.TOPIC, topic.name
    ):
        return Code.TOPIC_AUTHORIZATION_FAILED
    if not 0 <= partition.partition < len(topic.partitions):
        return Code.UNKNOWN_TOPIC_OR_PARTITION
    return Code.NONE


async def acknowledge_all(
    node: Node,
    context: Context,
    sender: SessionKey,
    asked: Mapping[TopicIdPartition, Sequence[_Batch]],
    *,
    renews: bool,
) -> dict[TopicIdPartition, Acknowledged]:
    """Acknowledge records of several partitions; each succeeds or fails by itself.

    Args:
        renews: whether the request may renew locks (KIP-1222).
    """
    results: dict[TopicIdPartition, Acknowledged] = {}
    valid: list[tuple[TopicIdPartition, list[Acknowledgement]]] = []
    async for partition, batches in context.turns.each(asked.items()):
        code = why_not(node, context, partition)
        if code is Code.NONE and not batches:
            continue  # KafkaApis.getAcknowledgeBatchesFromShareAcknowledgeRequest leaves it out
        if code is Code.NONE and not await _check_batches(context, batches, renews=renews):
            code = Code.INVALID_REQUEST
        results[partition] = _DONE if code is Code.NONE else Acknowledged(code)
        if code is Code.NONE:
            valid.append(
                (
                    partition,
                    [
                        Acknowledgement(each.first_offset, each.last_offset, each.acknowledge_types)
                        for each in batches
                    ],
                )
            )
    if len(valid) == 1:
        partition, batches_of_one = valid[0]
        results[partition] = await _acknowledge(node, context, sender, partition, batches_of_one)
    elif valid:
        done = await asyncio.gather(*(_acknowledge(node, context, sender, *each) for each in valid))
        for (partition, _), result in zip(valid, done, strict=True):
            results[partition] = result
    if node.topic_metrics is not None:
        async for partition, result in context.turns.each(results.items()):
            name = topic_name(node, partition.topic_id)
            node.topic_metrics.acknowledge(name, failed=result.code is not Code.NONE)
    return results


async def _acknowledge(
    node: Node,
    context: Context,
    sender: SessionKey,
    partition: TopicIdPartition,
    asked: Sequence[Acknowledgement],
) -> Acknowledged:
    led = node.share_partitions.known(ShareKey(sender.group_id, *partition))
    if led is None:
        return Acknowledged(Code.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        await led.acknowledge(sender.member_id, asked, context.turns)
    except Refused as refused:
        return Acknowledged(refused.code, refused.why)
    return _DONE


async def _check_batches(context: Context, batches: Iterable[_Batch], *, renews: bool) -> bool:
    """Whether the ranges rise, and have one type or one for each offset."""
    before = -1
    highest = AcknowledgeType.RENEW if context.version >= RENEWS_SINCE else AcknowledgeType.REJECT
    async for batch in context.turns.each(batches):
        types, size = batch.acknowledge_types, batch.last_offset - batch.first_offset + 1
        if size < 1 or batch.first_offset < before or not types:
            return False
        if len(types) > 1 and len(types) != size:
            return False
        if min(types) < AcknowledgeType.GAP or max(types) > highest:
            return False
        if not renews and AcknowledgeType.RENEW in types:
            return False
        before = batch.last_offset
    return True


def topic_name(node: Node, topic_id: UUID) -> str:
    """The name of a topic; empty if there is none."""
    topic = node.catalog.topic_by_id(topic_id)
    return "" if topic is None else topic.name


def moved_leader(
    node: Node, leaders: NewLeaders, topic_id: UUID, partition: int
) -> LeaderIdAndEpoch:
    """The leader that a client finds instead of this node (KIP-951)."""
    found = leaders.of(topic_name(node, topic_id), partition)
    return {"leader_id": found["leader_id"], "leader_epoch": found["leader_epoch"]}
