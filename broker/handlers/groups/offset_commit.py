"""OffsetCommit (8), versions 2-10: commit a group's offsets.

2-4  the client may set the retention of its offsets
3    the answer has a throttle time
5    the broker's setting is the retention of all offsets (KIP-211)
6    the leader epoch of the last record consumed (KIP-320)
7    static members by group.instance.id (KIP-345)
8    flexible encoding
9    members of consumer groups, by their epoch; a generation of a missing group is
     GROUP_ID_NOT_FOUND (KIP-848)
10   topics by their ids

Partitions that do not exist get an error, and the others are committed. An error of the group is
the answer for each partition: the response has no other field for it. Skipped: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from ....coordinator.groups import ClaimedMember
from ....coordinator.offsets import DecidedOffsets, OffsetToCommit
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import code_for, serves
from ...requests.context import PAUSE_EVERY, Context
from ...requests.fencing_log import log_fenced
from ...requests.topics_by_id import NO_ID, UNNAMED, name_topics
from ...runtime.shards.encoded_ahead import LARGE, frame_ahead

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....coordinator.groups import Groups
    from ....protocol.api_types.offset_commit import (
        OffsetCommitRequest,
        OffsetCommitRequestTopic,
        OffsetCommitResponse,
        OffsetCommitResponsePartition,
        OffsetCommitResponseTopic,
    )
    from ....protocol.api_types.offset_delete import OffsetDeleteRequestTopic
    from ...node import Node
    from ...runtime.shards.shard import Shard

Offsets: TypeAlias = Sequence[OffsetToCommit] | DecidedOffsets

_RETENTION_UNTIL: Final = 4
_EPOCHS_SINCE: Final = 9
_IDS_SINCE: Final = 10
_LEAST_BYTES: Final = 43  # of a record of a committed offset


@serves(
    ApiKey.OFFSET_COMMIT,
    versions=(2, 10),
    guard="groups.offset_commit",
    older_codes={Code.GROUP_ID_NOT_FOUND: (9, Code.ILLEGAL_GENERATION)},
)
async def offset_commit(
    node: Node, context: Context, request: OffsetCommitRequest
) -> OffsetCommitResponse:
    if context.version >= _IDS_SINCE:
        await name_topics(node, context, request.topics)
    offsets = await offsets_to_commit(node, context, request.topics)
    codes: dict[tuple[str, int], Code] = {}
    if offsets:
        member = ClaimedMember(
            request.member_id,
            request.generation_id_or_member_epoch,
            request.group_instance_id,
            knows_epochs=context.version >= _EPOCHS_SINCE,
        )
        retention_ms = None
        if context.version <= _RETENTION_UNTIL and request.retention_time_ms != -1:
            retention_ms = request.retention_time_ms
        try:
            shard = node.groups.shard_of(request.group_id)
            most = shard.log.config.max_message_bytes // _LEAST_BYTES
            fitting: Offsets = offsets if len(offsets) <= most else []
            if len(fitting) > LARGE:
                fitting = await decide_offsets_ahead(
                    shard, context, request.group_id, offsets, retention_ms=retention_ms
                )
            results = await shard.run(
                lambda machine, now: machine.commit(
                    request.group_id, member, fitting, retention_ms=retention_ms, now=now
                )
            )
            if len(offsets) > most:  # the error of the log for so many records
                raise Refused(Code.UNKNOWN_SERVER_ERROR, "more offsets than a batch has room for")
        except Refused as refused:
            log_fenced(context, refused, group=request.group_id, member=request.member_id)
            results = (code_for(refused.code, context.api_key, context.version),) * len(offsets)
        codes = {(o.topic, o.partition): code for o, code in zip(offsets, results, strict=True)}
    by_id = context.version >= _IDS_SINCE
    return {"topics": await answers(node, context, request.topics, codes, by_id=by_id)}


async def decide_offsets_ahead(
    shard: Shard[Groups],
    context: Context,
    group_id: str,
    offsets: list[OffsetToCommit],
    *,
    retention_ms: int | None = None,
) -> DecidedOffsets:
    """The decision on many offsets, with its records encoded; a few are decided in one turn."""
    each = shard.machine.commit_in_steps(
        group_id, offsets, retention_ms=retention_ms, now_ms=shard.now_ms()
    )
    decided = [one async for one in context.turns.each(each)]
    records = [record for _, record in decided if record is not None]
    framed = await frame_ahead(shard, records, context.turns)
    codes = tuple([code for code, _ in decided])
    await context.turns.pause()
    return DecidedOffsets(codes, tuple(records), framed)


async def offsets_to_commit(
    node: Node, context: Context, topics: Iterable[OffsetCommitRequestTopic]
) -> list[OffsetToCommit]:
    """The offsets of a request for partitions that exist."""
    offsets, passed = [], 0
    for topic in topics:
        passed += 1
        if passed % PAUSE_EVERY == 0:
            await context.turns.pause()
        known = node.catalog.topics.get(topic.name)
        count, topic_id = (0, None) if known is None else (len(known.partitions), known.topic_id)
        for partition in topic.partitions:
            passed += 1
            if passed % PAUSE_EVERY == 0:
                await context.turns.pause()
            index = partition.partition_index
            if 0 <= index < count:
                offsets.append(
                    OffsetToCommit(
                        topic.name,
                        index,
                        partition.committed_offset,
                        partition.committed_leader_epoch,
                        partition.committed_metadata,
                        topic_id,
                    )
                )
    return offsets


async def answers(
    node: Node,
    context: Context,
    topics: Iterable[OffsetDeleteRequestTopic],
    codes: Mapping[tuple[str, int], Code],
    *,
    by_id: bool = False,
) -> list[OffsetCommitResponseTopic]:
    """The error code of each partition of a request; partitions without a code do not exist.

    As in Kafka, a topic that exists is omitted if the request names no partition of it. If any
    partition does not exist, a topic that is named twice is answered once.
    """
    answered: list[OffsetCommitResponseTopic] = []
    are_known, passed = True, 0
    for topic in topics:
        passed += 1
        if passed % PAUSE_EVERY == 0:
            await context.turns.pause()
        if not topic.partitions and topic.name in node.catalog.topics:
            continue
        is_nameless = by_id and topic.name == UNNAMED
        unknown = Code.UNKNOWN_TOPIC_ID if is_nameless else Code.UNKNOWN_TOPIC_OR_PARTITION
        partitions: list[OffsetCommitResponsePartition] = []
        for partition in topic.partitions:
            passed += 1
            if passed % PAUSE_EVERY == 0:
                await context.turns.pause()
            index = partition.partition_index
            code = codes.get((topic.name, index))
            are_known = are_known and code is not None
            code = unknown if code is None else code
            partitions.append({"partition_index": index, "error_code": code})
        named: OffsetCommitResponseTopic = {"name": topic.name, "partitions": partitions}
        if by_id:
            named["topic_id"] = getattr(topic, "topic_id", None) or NO_ID
        answered.append(named)
    if are_known and any(topic["partitions"] for topic in answered):
        return answered
    merged: dict[object, OffsetCommitResponseTopic] = {}
    for passed, each in enumerate(answered, 1):
        if passed % PAUSE_EVERY == 0:
            await context.turns.pause()
        key = each["topic_id"] if by_id else each["name"]
        merged.setdefault(key, {**each, "partitions": []})["partitions"] += each["partitions"]
    return [*merged.values()]
