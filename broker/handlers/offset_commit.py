"""OffsetCommit (8), versions 2-9: store a group's positions.

2-4  the client may say how long its offsets are kept; from 5 on the broker's retention counts
3    the answer has a throttle time
6    the leader epoch of the last record consumed (KIP-320)
7    static members by group.instance.id (KIP-345)
8    flexible encoding
9    members of consumer groups, by their epoch; a generation of a group that is not there is
     GROUP_ID_NOT_FOUND (KIP-848)

Partitions that do not exist are told so, and the others are committed. A refusal by the group is
the answer for each partition: there is no other place for it.
Skipped: version 10 (topic ids), which Kafka 4.1 does not offer either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...coordinator.groups import Committer
from ...coordinator.offsets import OffsetToCommit
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..code_versions import code_for
from ..context import Context
from ..dispatch import serves

if TYPE_CHECKING:
    from ..node import Node

_EPOCHS_SINCE: Final = 9


@serves(ApiKey.OFFSET_COMMIT, versions=(2, 9))
async def offset_commit(node: Node, context: Context, request: Any) -> dict[str, Any]:
    offsets = offsets_to_commit(node, request.topics)
    codes: dict[tuple[str, int], Code] = {}
    if offsets:
        committer = Committer(
            request.member_id,
            request.generation_id_or_member_epoch,
            request.group_instance_id,
            knows_epochs=context.version >= _EPOCHS_SINCE,
        )
        retention_ms = None if request.retention_time_ms == -1 else request.retention_time_ms
        try:
            taken = await node.groups.shard_of(request.group_id).run(
                lambda machine, now: machine.commit(
                    request.group_id, committer, offsets, retention_ms=retention_ms, now=now
                )
            )
        except Refused as refused:
            taken = (code_for(refused.code, context.api_key, context.version),) * len(offsets)
        codes = {(o.topic, o.partition): code for o, code in zip(offsets, taken, strict=True)}
    return {"topics": answers(node, request.topics, codes)}


def offsets_to_commit(node: Node, topics: Any) -> list[OffsetToCommit]:
    """The offsets of a request for partitions that exist."""
    offsets = []
    for topic in topics:
        known = node.catalog.topics.get(topic.name)
        count, topic_id = (0, None) if known is None else (len(known.partitions), known.topic_id)
        offsets += [
            OffsetToCommit(
                topic.name,
                partition.partition_index,
                partition.committed_offset,
                partition.committed_leader_epoch,
                partition.committed_metadata,
                topic_id,
            )
            for partition in topic.partitions
            if 0 <= partition.partition_index < count
        ]
    return offsets


def answers(node: Node, topics: Any, codes: dict[tuple[str, int], Code]) -> list[dict[str, Any]]:
    """The code of each partition of a request; what has none does not exist.

    As Kafka builds it: a topic that exists is left out when no partition of it is named. Where
    something does not exist, a topic that is named twice is answered once.
    """
    unknown = Code.UNKNOWN_TOPIC_OR_PARTITION
    named = [t for t in topics if t.partitions or t.name not in node.catalog.topics]
    answered = [
        {
            "name": topic.name,
            "partitions": [
                {
                    "partition_index": partition.partition_index,
                    "error_code": codes.get((topic.name, partition.partition_index), unknown),
                }
                for partition in topic.partitions
            ],
        }
        for topic in named
    ]
    known = sum((t.name, p.partition_index) in codes for t in named for p in t.partitions)
    if known == sum(len(topic.partitions) for topic in named) and known:
        return answered
    merged: dict[str, dict[str, Any]] = {}
    for topic in answered:
        merged.setdefault(topic["name"], {"name": topic["name"], "partitions": []})
        merged[topic["name"]]["partitions"] += topic["partitions"]
    return [*merged.values()]
