"""Guards of transactions: who writes under a transactional id needs WRITE of it.

An idempotent producer needs IDEMPOTENT_WRITE of the cluster, or WRITE of any topic (KIP-679). What
brokers ask of each other needs CLUSTER_ACTION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..protocol.acls import AclResource, Operation
from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code
from .authorization import WHY, may, may_cluster, may_some, may_topic, must, must_cluster
from .guard_groups import offsets_refused
from .guards import Body, Handler, guards, parted, told_of_each

if TYPE_CHECKING:
    from .context import Context
    from .node import Node

_FROM_BROKERS_SINCE: Final = 4
_ID_REFUSED: Final = Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_TOPIC_REFUSED: Final = Code.TOPIC_AUTHORIZATION_FAILED


def _may_write(node: Node, context: Context, transactional_id: str) -> bool:
    return may(node, context, Operation.WRITE, AclResource.TRANSACTIONAL_ID, transactional_id)


@guards(ApiKey.INIT_PRODUCER_ID)
async def init_producer_id(node: Node, context: Context, request: Any, handle: Handler) -> Body:
    transactional_id = request.transactional_id
    if transactional_id is None:
        if not may_cluster(node, context, Operation.IDEMPOTENT_WRITE) and not may_some(
            node, context, Operation.WRITE, AclResource.TOPIC
        ):
            return _no_producer(Code.CLUSTER_AUTHORIZATION_FAILED)
    elif not _may_write(node, context, transactional_id):
        return _no_producer(_ID_REFUSED)
    return await handle(node, context, request)


def _no_producer(code: Code) -> Body:
    return {"error_code": code, "producer_id": -1, "producer_epoch": -1}


@guards(ApiKey.ADD_PARTITIONS_TO_TXN)
async def add_partitions_to_txn(
    node: Node, context: Context, request: Any, handle: Handler
) -> Body:
    if context.version >= _FROM_BROKERS_SINCE:
        must_cluster(node, context, Operation.CLUSTER_ACTION)
        return await handle(node, context, request)
    topics = request.v3_and_below_topics
    if not _may_write(node, context, request.v3_and_below_transactional_id):
        return {"results_by_topic_v3_and_below": _joined(topics, _ID_REFUSED)}
    right, wrong = parted(
        topics, lambda topic: may_topic(node, context, Operation.WRITE, topic.name)
    )
    if not wrong:
        return await handle(node, context, request)
    unknown = Code.UNKNOWN_TOPIC_OR_PARTITION
    there, missing = parted(right, lambda topic: topic.name in node.catalog.topics)
    return {
        "results_by_topic_v3_and_below": [
            *_joined(wrong, _TOPIC_REFUSED),
            *_joined(missing, unknown),
            *_joined(there, Code.OPERATION_NOT_ATTEMPTED),
        ]
    }


def _joined(topics: Any, code: Code) -> list[Body]:
    return [
        {
            "name": topic.name,
            "results_by_partition": [
                {"partition_index": index, "partition_error_code": code}
                for index in topic.partitions
            ],
        }
        for topic in topics
    ]


@guards(ApiKey.ADD_OFFSETS_TO_TXN)
async def add_offsets_to_txn(node: Node, context: Context, request: Any, handle: Handler) -> Body:
    must(node, context, Operation.WRITE, AclResource.TRANSACTIONAL_ID, request.transactional_id)
    must(node, context, Operation.READ, AclResource.GROUP, request.group_id)
    return await handle(node, context, request)


@guards(ApiKey.TXN_OFFSET_COMMIT)
async def txn_offset_commit(node: Node, context: Context, request: Any, handle: Handler) -> Body:
    if not _may_write(node, context, request.transactional_id):
        return {"topics": offsets_refused(request.topics, _ID_REFUSED)}
    if not may(node, context, Operation.READ, AclResource.GROUP, request.group_id):
        return {"topics": offsets_refused(request.topics, Code.GROUP_AUTHORIZATION_FAILED)}
    request.topics, refused = parted(
        request.topics,
        lambda topic: may_topic(node, context, Operation.READ, topic.name),
    )
    body = await handle(node, context, request) if request.topics else {"topics": []}
    body["topics"] += offsets_refused(refused, _TOPIC_REFUSED)
    return body


@guards(ApiKey.WRITE_TXN_MARKERS)
async def write_txn_markers(node: Node, context: Context, request: Any, handle: Handler) -> Body:
    if may_cluster(node, context, Operation.ALTER) or may_cluster(
        node, context, Operation.CLUSTER_ACTION
    ):
        return await handle(node, context, request)
    code = Code.CLUSTER_AUTHORIZATION_FAILED

    def told(index: int) -> Body:
        return {"partition_index": index, "error_code": code}

    return {
        "markers": [
            {
                "producer_id": marker.producer_id,
                "topics": told_of_each(marker.topics, "partition_indexes", told),
            }
            for marker in request.markers
        ]
    }


@guards(ApiKey.DESCRIBE_TRANSACTIONS)
async def describe_transactions(
    node: Node, context: Context, request: Any, handle: Handler
) -> Body:
    request.transactional_ids, refused = parted(
        request.transactional_ids, lambda each: _may_describe(node, context, each)
    )
    body = await handle(node, context, request)
    for state in body["transaction_states"]:
        if "topics" in state:
            state["topics"] = [
                topic
                for topic in state["topics"]
                if may_topic(node, context, Operation.DESCRIBE, topic["topic"])
            ]
    body["transaction_states"] += [
        {"error_code": _ID_REFUSED, "transactional_id": each} for each in refused
    ]
    return body


def _may_describe(node: Node, context: Context, transactional_id: str) -> bool:
    return may(node, context, Operation.DESCRIBE, AclResource.TRANSACTIONAL_ID, transactional_id)


@guards(ApiKey.LIST_TRANSACTIONS)
async def list_transactions(node: Node, context: Context, request: Any, handle: Handler) -> Body:
    body = await handle(node, context, request)
    body["transaction_states"] = [
        state
        for state in body.get("transaction_states", ())
        if _may_describe(node, context, state["transactional_id"])
    ]
    return body


@guards(ApiKey.DESCRIBE_PRODUCERS)
async def describe_producers(node: Node, context: Context, request: Any, handle: Handler) -> Body:
    request.topics, refused = parted(
        request.topics,
        lambda topic: may_topic(node, context, Operation.READ, topic.name),
    )
    body = await handle(node, context, request)
    body["topics"] += told_of_each(
        refused,
        "partition_indexes",
        lambda index: {
            "partition_index": index,
            "error_code": _TOPIC_REFUSED,
            "error_message": WHY[_TOPIC_REFUSED],
        },
    )
    return body
