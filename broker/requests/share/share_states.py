"""Code shared by the handlers of the state of share groups (83 to 87, KIP-932).

Each of them decides for every partition of its request at the share coordinator of that partition,
if this node has it. Follows ShareCoordinatorService and KafkaApis of Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, TypeVar
from uuid import UUID

from ....coordinator.java_order import ids_one_by_one, partitions_one_by_one
from ....coordinator.moment import Moment
from ....coordinator.outcome import Outcome
from ....coordinator.share_state.states import SharePartition
from ....protocol.acls import Operation
from ....protocol.errors import Code, Refused
from ..authorization import WHY, may_cluster
from ..handler import Body

if TYPE_CHECKING:
    from ....coordinator.share_state.coordinator import ShareStates
    from ...node import Node
    from ..context import Context

Reply = TypeVar("Reply")
Asked = TypeVar("Asked", bound="_Partition")
Asked_co = TypeVar("Asked_co", bound="_Partition", covariant=True)

_NO_FIELDS: Final[Body] = MappingProxyType({})
_WHY: Final[Mapping[Code, str]] = {
    **WHY,
    Code.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    Code.FENCED_LEADER_EPOCH: (
        "The leader epoch in the request is older than the epoch on the broker."
    ),
    Code.FENCED_STATE_EPOCH: (
        "The coordinator rejected the request because the state epoch did not match."
    ),
}
_WHY_NOT_NOW: Final[Mapping[Code, str]] = {
    Code.COORDINATOR_LOAD_IN_PROGRESS: (
        "The coordinator is loading and hence can't process requests."
    ),
    Code.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    Code.NOT_COORDINATOR: "This is not the correct coordinator.",
    Code.UNKNOWN_SERVER_ERROR: (
        "The server experienced an unexpected error when processing the request."
    ),
}


class _Partition(Protocol):
    """A partition of any of the requests."""

    @property
    def partition(self) -> int: ...


class _Topic(Protocol[Asked_co]):
    """A topic of any of the requests."""

    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[Asked_co]: ...


class StateRequest(Protocol[Asked_co]):
    """Any of the requests."""

    @property
    def group_id(self) -> str: ...
    @property
    def topics(self) -> Sequence[_Topic[Asked_co]]: ...


Decide = Callable[["ShareStates", SharePartition, Asked, Moment], Outcome[Reply]]
"""Decides for one partition; its third argument is the partition of the request."""


async def decide_each(
    node: Node,
    context: Context,
    request: StateRequest[Asked],
    decide: Decide[Asked, Reply],
    *,
    answer: Callable[[Reply], Body] = lambda reply: {},
    no_state: Body = _NO_FIELDS,
    may_be_without_partitions: bool = False,
) -> Body:
    """The answer to a request: a result for each partition, in Kafka's order.

    Args:
        answer: the fields of a result, beside its partition and error.
        no_state: these fields for a partition with an error.
        may_be_without_partitions: whether other topics are answered if one has no partitions.
    """
    if not may_cluster(node, context, Operation.CLUSTER_ACTION):
        return _denied(request, no_state)
    is_complete = may_be_without_partitions or all(topic.partitions for topic in request.topics)
    if not request.group_id or not is_complete:
        return {"results": []}
    results: dict[UUID, dict[int, Body]] = {}  # of the same partition the last one is answered
    for topic in request.topics:
        topic_id = topic.topic_id or UUID(int=0)
        async for asked in context.turns.each(topic.partitions):
            try:
                key = SharePartition(request.group_id, topic_id, asked.partition)
                reply = await _decide_one(node, key, asked, decide)
                fields = {"error_code": Code.NONE, "error_message": None, **answer(reply)}
            except Refused as refused:
                why = _why(context, refused)
                fields = {"error_code": refused.code, "error_message": why, **no_state}
            found = {"partition": asked.partition, **fields}
            results.setdefault(topic_id, {})[asked.partition] = found
    answers: list[Body] = []
    for topic_id in ids_one_by_one(results):
        partitions = results[topic_id]
        ordered = context.turns.each(partitions_one_by_one(partitions))
        in_order = [partitions[index] async for index in ordered]
        answers.append({"topic_id": topic_id, "partitions": in_order})
    return {"results": answers}


def _denied(request: StateRequest[Asked], no_state: Body) -> Body:
    """An error for each partition, in the order of the request."""
    code = Code.CLUSTER_AUTHORIZATION_FAILED
    fields = {"error_code": code, "error_message": _WHY[code], **no_state}
    return {
        "results": [
            {
                "topic_id": topic.topic_id,
                "partitions": [
                    {"partition": asked.partition, **fields} for asked in topic.partitions
                ],
            }
            for topic in request.topics
        ]
    }


async def _decide_one(
    node: Node, key: SharePartition, asked: Asked, decide: Decide[Asked, Reply]
) -> Reply:
    shard = node.share_states.shard_of(key.coordinator_key)
    return await shard.run(lambda machine, now: decide(machine, key, asked, now))


def _why(context: Context, refused: Refused) -> str | None:
    """The message of a refusal: of the machine, or of the coordinator as a whole."""
    if refused.code in _WHY_NOT_NOW:
        action = context.api_key.name.lower().replace("_", " ")
        return f"Unable to {action}: {_WHY_NOT_NOW[refused.code]}"
    return refused.why or _WHY.get(refused.code)
