"""Guards of transaction requests.

A transactional producer needs WRITE on its transactional id, and TWO_PHASE_COMMIT for transactions
without a timeout (KIP-939). An idempotent producer needs IDEMPOTENT_WRITE on the cluster, or WRITE
on any topic (KIP-679). Requests between brokers need CLUSTER_ACTION.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ....protocol.acls import AclResource, Operation
from ....protocol.errors import Code
from ..authorization import WHY, may, may_cluster, may_some, may_topic, must, must_cluster
from ..topics_by_id import UNNAMED, name_topics
from .groups import offsets_refused
from .guard import Handler, split_allowed

if TYPE_CHECKING:
    from ....protocol.api_types.add_offsets_to_txn import (
        AddOffsetsToTxnRequest,
        AddOffsetsToTxnResponse,
    )
    from ....protocol.api_types.add_partitions_to_txn import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnResponse,
        AddPartitionsToTxnTopic,
        AddPartitionsToTxnTopicResult,
    )
    from ....protocol.api_types.describe_producers import (
        DescribeProducersRequest,
        DescribeProducersResponse,
    )
    from ....protocol.api_types.describe_transactions import (
        DescribeTransactionsRequest,
        DescribeTransactionsResponse,
    )
    from ....protocol.api_types.init_producer_id import (
        InitProducerIdRequest,
        InitProducerIdResponse,
    )
    from ....protocol.api_types.list_transactions import (
        ListTransactionsRequest,
        ListTransactionsResponse,
    )
    from ....protocol.api_types.txn_offset_commit import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitResponse,
    )
    from ....protocol.api_types.write_txn_markers import (
        WriteTxnMarkersRequest,
        WriteTxnMarkersResponse,
    )
    from ...node import Node
    from ..context import Context

_FROM_BROKERS_SINCE: Final = 4
_TWO_PHASES_SINCE: Final = 6
_IDS_SINCE: Final = 6
_ID_REFUSED: Final = Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_TOPIC_REFUSED: Final = Code.TOPIC_AUTHORIZATION_FAILED


def _may_write(node: Node, context: Context, transactional_id: str) -> bool:
    return may(node, context, Operation.WRITE, AclResource.TRANSACTIONAL_ID, transactional_id)


async def init_producer_id(
    node: Node,
    context: Context,
    request: InitProducerIdRequest,
    handle: Handler[InitProducerIdRequest, InitProducerIdResponse],
) -> InitProducerIdResponse:
    transactional_id = request.transactional_id
    if transactional_id is None:
        if not may_cluster(node, context, Operation.IDEMPOTENT_WRITE) and not may_some(
            node, context, Operation.WRITE, AclResource.TOPIC
        ):
            return _no_producer(Code.CLUSTER_AUTHORIZATION_FAILED)
    elif not _may_write(node, context, transactional_id) or (
        context.version >= _TWO_PHASES_SINCE
        and request.enable2_pc
        and not _may_commit_in_two_phases(node, context, transactional_id)
    ):
        return _no_producer(_ID_REFUSED)
    return await handle(node, context, request)


def _may_commit_in_two_phases(node: Node, context: Context, transactional_id: str) -> bool:
    operation, resource = Operation.TWO_PHASE_COMMIT, AclResource.TRANSACTIONAL_ID
    return may(node, context, operation, resource, transactional_id)


def _no_producer(code: Code) -> InitProducerIdResponse:
    return {"error_code": code, "producer_id": -1, "producer_epoch": -1}


async def add_partitions_to_txn(
    node: Node,
    context: Context,
    request: AddPartitionsToTxnRequest,
    handle: Handler[AddPartitionsToTxnRequest, AddPartitionsToTxnResponse],
) -> AddPartitionsToTxnResponse:
    if context.version >= _FROM_BROKERS_SINCE:
        must_cluster(node, context, Operation.CLUSTER_ACTION)
        return await handle(node, context, request)
    topics = request.v3_and_below_topics
    if not _may_write(node, context, request.v3_and_below_transactional_id):
        return {"results_by_topic_v3_and_below": await _joined(context, topics, _ID_REFUSED)}
    right, wrong = await split_allowed(
        context, topics, lambda topic: may_topic(node, context, Operation.WRITE, topic.name)
    )
    if not wrong:
        return await handle(node, context, request)
    unknown = Code.UNKNOWN_TOPIC_OR_PARTITION
    there, missing = await split_allowed(
        context, right, lambda topic: topic.name in node.catalog.topics
    )
    return {
        "results_by_topic_v3_and_below": [
            *await _joined(context, wrong, _TOPIC_REFUSED),
            *await _joined(context, missing, unknown),
            *await _joined(context, there, Code.OPERATION_NOT_ATTEMPTED),
        ]
    }


async def _joined(
    context: Context, topics: Iterable[AddPartitionsToTxnTopic], code: Code
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        {
            "name": topic.name,
            "results_by_partition": [
                {"partition_index": index, "partition_error_code": code}
                async for index in context.turns.each(topic.partitions)
            ],
        }
        async for topic in context.turns.each(topics)
    ]


async def add_offsets_to_txn(
    node: Node,
    context: Context,
    request: AddOffsetsToTxnRequest,
    handle: Handler[AddOffsetsToTxnRequest, AddOffsetsToTxnResponse],
) -> AddOffsetsToTxnResponse:
    must(node, context, Operation.WRITE, AclResource.TRANSACTIONAL_ID, request.transactional_id)
    must(node, context, Operation.READ, AclResource.GROUP, request.group_id)
    return await handle(node, context, request)


async def txn_offset_commit(
    node: Node,
    context: Context,
    request: TxnOffsetCommitRequest,
    handle: Handler[TxnOffsetCommitRequest, TxnOffsetCommitResponse],
) -> TxnOffsetCommitResponse:
    if not _may_write(node, context, request.transactional_id):
        return {"topics": await offsets_refused(context, request.topics, _ID_REFUSED)}
    if not may(node, context, Operation.READ, AclResource.GROUP, request.group_id):
        return {
            "topics": await offsets_refused(
                context, request.topics, Code.GROUP_AUTHORIZATION_FAILED
            )
        }
    by_id = context.version >= _IDS_SINCE
    if by_id:
        await name_topics(node, context, request.topics)
    request.topics, refused = await split_allowed(
        context,
        request.topics,
        lambda topic: (
            (by_id and topic.name == UNNAMED)
            or may_topic(node, context, Operation.READ, topic.name)
        ),
    )
    body = await handle(node, context, request) if request.topics else {"topics": []}
    body["topics"] += await offsets_refused(context, refused, _TOPIC_REFUSED)
    return body


async def write_txn_markers(
    node: Node,
    context: Context,
    request: WriteTxnMarkersRequest,
    handle: Handler[WriteTxnMarkersRequest, WriteTxnMarkersResponse],
) -> WriteTxnMarkersResponse:
    if may_cluster(node, context, Operation.ALTER) or may_cluster(
        node, context, Operation.CLUSTER_ACTION
    ):
        return await handle(node, context, request)
    code = Code.CLUSTER_AUTHORIZATION_FAILED

    return {
        "markers": [
            {
                "producer_id": marker.producer_id,
                "topics": [
                    {
                        "name": topic.name,
                        "partitions": [
                            {"partition_index": index, "error_code": code}
                            async for index in context.turns.each(topic.partition_indexes)
                        ],
                    }
                    async for topic in context.turns.each(marker.topics)
                ],
            }
            for marker in request.markers
        ]
    }


async def describe_transactions(
    node: Node,
    context: Context,
    request: DescribeTransactionsRequest,
    handle: Handler[DescribeTransactionsRequest, DescribeTransactionsResponse],
) -> DescribeTransactionsResponse:
    request.transactional_ids, refused = await split_allowed(
        context, request.transactional_ids, lambda each: _may_describe(node, context, each)
    )
    body = await handle(node, context, request)
    async for state in context.turns.each(body["transaction_states"]):
        if "topics" in state:
            state["topics"] = [
                topic
                for topic in state["topics"]
                if may_topic(node, context, Operation.DESCRIBE, topic["topic"])
            ]
    body["transaction_states"] += [
        {
            "error_code": _ID_REFUSED,
            "transactional_id": each,
            "transaction_state": "",
            "transaction_timeout_ms": 0,
            "transaction_start_time_ms": 0,
            "producer_id": 0,
            "producer_epoch": 0,
            "topics": [],
        }
        for each in refused
    ]
    return body


def _may_describe(node: Node, context: Context, transactional_id: str) -> bool:
    return may(node, context, Operation.DESCRIBE, AclResource.TRANSACTIONAL_ID, transactional_id)


async def list_transactions(
    node: Node,
    context: Context,
    request: ListTransactionsRequest,
    handle: Handler[ListTransactionsRequest, ListTransactionsResponse],
) -> ListTransactionsResponse:
    body = await handle(node, context, request)
    body["transaction_states"] = [
        state
        async for state in context.turns.each(body.get("transaction_states", ()))
        if _may_describe(node, context, state["transactional_id"])
    ]
    return body


async def describe_producers(
    node: Node,
    context: Context,
    request: DescribeProducersRequest,
    handle: Handler[DescribeProducersRequest, DescribeProducersResponse],
) -> DescribeProducersResponse:
    request.topics, refused = await split_allowed(
        context,
        request.topics,
        lambda topic: may_topic(node, context, Operation.READ, topic.name),
    )
    body = await handle(node, context, request)
    body["topics"] += [
        {
            "name": topic.name,
            "partitions": [
                {
                    "partition_index": index,
                    "error_code": _TOPIC_REFUSED,
                    "error_message": WHY[_TOPIC_REFUSED],
                    "active_producers": [],
                }
                async for index in context.turns.each(topic.partition_indexes)
            ],
        }
        async for topic in context.turns.each(refused)
    ]
    return body
