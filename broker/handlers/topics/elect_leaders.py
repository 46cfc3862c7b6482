"""ElectLeaders (43), versions 0-2: elect preferred leaders, or any for leaderless partitions.

0     preferred leaders only
1     the type of the election: preferred 0, unclean 1 (KIP-460)
2     flexible encoding

Skipped: a timeout above 0 has no effect, because an election takes no time; with one of 0 or below
the answer is REQUEST_TIMED_OUT without an attempt, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....metadata.elections import ElectionType, elected
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ....protocol.api_types.elect_leaders import (
        ElectLeadersRequest,
        ElectLeadersResponse,
        PartitionResult,
        ReplicaElectionResult,
    )
    from ...node import Node


@serves(ApiKey.ELECT_LEADERS, versions=(0, 2), guard="administration.elect_leaders")
async def elect_leaders(
    node: Node, context: Context, request: ElectLeadersRequest
) -> ElectLeadersResponse:
    if request.timeout_ms <= 0 and request.topic_partitions != []:
        return _all(request, Refused(Code.REQUEST_TIMED_OUT))
    if request.election_type not in set(ElectionType):
        why = f"Unknown election type {request.election_type}"
        return _all(request, Refused(Code.INVALID_REQUEST, why))
    asked: Iterable[tuple[str, Sequence[int]]]
    if request.topic_partitions is None:
        topics = [*node.catalog.topics.values()]
        asked = ((topic.name, range(len(topic.partitions))) for topic in topics)
    else:
        asked = ((topic.topic, topic.partitions) for topic in request.topic_partitions)
    election_type = ElectionType(request.election_type)
    results: list[ReplicaElectionResult] = []
    async for name, partitions in context.turns.each(asked):
        answers = [
            _elect(node, name, partition, election_type)
            async for partition in context.turns.each(partitions)
        ]
        if request.topic_partitions is None:  # the answer for all partitions omits most
            answers = [
                each
                async for each in context.turns.each(answers)
                if each["error_code"] != Code.ELECTION_NOT_NEEDED
            ]
        results.append({"topic": name, "partition_result": answers})
    await node.decided()
    return {"replica_election_results": results}


def _elect(node: Node, name: str, partition: int, election_type: ElectionType) -> PartitionResult:
    try:
        record = elected(node.catalog, name, partition, election_type=election_type)
        node.controller.change_partitions([record])
    except Refused as refused:
        return _result(partition, refused)
    return {"partition_id": partition, "error_code": Code.NONE, "error_message": None}


def _result(partition: int, refused: Refused) -> PartitionResult:
    return {
        "partition_id": partition, "error_code": refused.code, "error_message": refused.why
    }  # fmt: skip


def _all(request: ElectLeadersRequest, refused: Refused) -> ElectLeadersResponse:
    return {
        "error_code": refused.code,
        "replica_election_results": [
            {
                "topic": topic.topic,
                "partition_result": [_result(partition, refused) for partition in topic.partitions],
            }
            for topic in request.topic_partitions or ()
        ],
    }
