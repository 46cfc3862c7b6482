"""OffsetFetch (9), versions 1-10: fetch the committed offsets of groups.

1    an error of the group is the answer for each partition
2    all partitions of a group (null topics); an error of the whole answer
3    the answer has a throttle time
5    the leader epoch of the last record consumed (KIP-320)
6    flexible encoding
7    require_stable: UNSTABLE_OFFSET_COMMIT while a transaction has a pending offset (KIP-447)
8    several groups (KIP-709)
9    member and epoch are checked for consumer groups (KIP-848), and ignored for classic ones
10   topics by their ids

A client need not be a member. The offset of a missing group, topic or offset is -1, without an
error; an id that no topic has is UNKNOWN_TOPIC_ID. Skipped: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, cast

from ....coordinator.groups import FetchedOffset, Groups
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context
from ...requests.topics_by_id import NO_ID, UNNAMED, id_of, name_topics

if TYPE_CHECKING:
    from ....protocol.api_types.offset_fetch import (
        OffsetFetchRequest,
        OffsetFetchRequestGroup,
        OffsetFetchResponse,
        OffsetFetchResponseGroup,
        OffsetFetchResponsePartitions,
        OffsetFetchResponseTopic,
        OffsetFetchResponseTopics,
    )
    from ...node import Node

_GROUP_ERROR_SINCE: Final = 2
_SEVERAL_SINCE: Final = 8
_IDS_SINCE: Final = 10

_TopicPartitions = list[tuple[str, Sequence[int]]]


@serves(ApiKey.OFFSET_FETCH, versions=(1, 10), guard="groups.offset_fetch")
async def offset_fetch(
    node: Node, context: Context, request: OffsetFetchRequest
) -> OffsetFetchResponse:
    stable = request.require_stable
    if context.version >= _SEVERAL_SINCE:
        by_id = context.version >= _IDS_SINCE
        answers = []
        async for group in context.turns.each(request.groups):
            if by_id:
                await name_topics(node, context, group.topics or ())
            answered = await _group(node, context, group, require_stable=stable)
            answers.append(await _with_ids(node, context, group, answered) if by_id else answered)
        return {"groups": answers}
    answer = await _group(node, context, request, require_stable=stable)
    code = answer.get("error_code", Code.NONE)
    if context.version < _GROUP_ERROR_SINCE and code != Code.NONE:
        refused = FetchedOffset(error=Code(code))
        unread = await _answers(context, _requested(request), lambda *_: refused)
        return {"topics": cast("list[OffsetFetchResponseTopic]", unread)}
    topics = cast("list[OffsetFetchResponseTopic]", answer["topics"])
    return {"topics": topics, "error_code": code}


async def _group(
    node: Node,
    context: Context,
    group: OffsetFetchRequest | OffsetFetchRequestGroup,
    *,
    require_stable: bool,
) -> OffsetFetchResponseGroup:
    """The offsets of one group; very many are read in slices of a few milliseconds."""
    group_id = group.group_id
    member_id = getattr(group, "member_id", None)  # before version 8 there is no such field
    member_epoch = getattr(group, "member_epoch", -1)

    def begin(machine: Groups) -> _TopicPartitions:
        machine.check_fetch(group_id, member_id, member_epoch)
        if group.topics is None:
            return list(machine.committed_partitions(group_id).items())
        return _requested(group)

    def offset_of(topic: str, index: int) -> FetchedOffset:
        # Asked for each offset: the coordinator may have moved meanwhile.
        return shard.ask(
            lambda machine: machine.fetch_offset(
                group_id, topic, index, require_stable=require_stable
            )
        )

    try:
        shard = node.groups.shard_of(group_id)
        topics = await _answers(context, shard.ask(begin), offset_of)
        return {"group_id": group_id, "topics": topics}
    except Refused as refused:
        return {"group_id": group_id, "topics": [], "error_code": refused.code}


async def _with_ids(
    node: Node, context: Context, group: OffsetFetchRequestGroup, answer: OffsetFetchResponseGroup
) -> OffsetFetchResponseGroup:
    """The answer by ids: deleted topics are left out, unknown ids get their error at the end."""
    found = [topic async for topic in context.turns.each(answer["topics"]) if topic["name"]]
    for topic in found:
        topic["topic_id"] = id_of(node, topic["name"])
    answer["topics"] = [topic for topic in found if topic["topic_id"] != NO_ID]
    if answer.get("error_code", Code.NONE) == Code.NONE:
        refused = FetchedOffset(error=Code.UNKNOWN_TOPIC_ID)
        async for asked in context.turns.each(group.topics or ()):
            if asked.name == UNNAMED:
                unknown = await _answers(
                    context, [(UNNAMED, asked.partition_indexes)], lambda *_: refused
                )
                unknown[0]["topic_id"] = asked.topic_id or NO_ID
                answer["topics"] += unknown
    return answer


def _requested(group: OffsetFetchRequest | OffsetFetchRequestGroup) -> _TopicPartitions:
    return [(topic.name, topic.partition_indexes) for topic in group.topics or ()]


async def _answers(
    context: Context, topics: _TopicPartitions, offset_of: Callable[[str, int], FetchedOffset]
) -> list[OffsetFetchResponseTopics]:
    return [
        {
            "name": name,
            "partitions": [
                _answer(index, offset_of(name, index))
                async for index in context.turns.each(indexes)
            ],
        }
        async for name, indexes in context.turns.each(topics)
    ]


def _answer(index: int, fetched: FetchedOffset) -> OffsetFetchResponsePartitions:
    return {
        "partition_index": index,
        "committed_offset": fetched.offset,
        "committed_leader_epoch": fetched.leader_epoch,
        "metadata": fetched.metadata,
        "error_code": fetched.error,
    }
