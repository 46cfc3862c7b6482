"""DescribeQuorum (55), versions 0-2: the leader, voters and observers of the KRaft quorum.

1     the times of each replica's last fetch and last caught-up state
2     error messages; directory ids; the listeners of the voters (KIP-853)

All nodes of Ottla are in one process over one metadata log: the first one leads and is the only
voter, the others are observers without delay. There is no controller listener; the answer has the
first listener for clients instead. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from ....metadata.catalog import CLUSTER_METADATA
from ....protocol.acls import Operation
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code
from ...requests.api import OnCluster, serves
from ...requests.cluster_description import address_of
from ...requests.context import Context
from ...settings.listeners import CONTROLLER_LISTENER

if TYPE_CHECKING:
    from ....protocol.api_types.describe_quorum import (
        DescribeQuorumRequest,
        DescribeQuorumResponse,
        DescribeQuorumResponsePartitionData,
        Listener,
        ReplicaState,
    )
    from ...node import Node


@serves(ApiKey.DESCRIBE_QUORUM, versions=(0, 2), guard=OnCluster(Operation.DESCRIBE))
async def describe_quorum(
    node: Node, context: Context, request: DescribeQuorumRequest
) -> DescribeQuorumResponse:
    asked = [
        (topic.topic_name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ]
    # Kafka has one such log, and answers only if the request names no other partition.
    is_known = asked == [(CLUSTER_METADATA, 0)] and len(request.topics) == 1
    body: DescribeQuorumResponse = {
        "error_message": "",
        "topics": [
            {
                "topic_name": topic.topic_name,
                "partitions": [
                    _quorum(node) if is_known else _unknown(partition.partition_index)
                    for partition in topic.partitions
                ],
            }
            for topic in request.topics
        ],
    }
    if is_known:
        leader_id = node.cluster.config.node_id
        body["nodes"] = [{"node_id": leader_id, "listeners": _listeners(node, context)}]
    return body


def _listeners(node: Node, context: Context) -> list[Listener]:
    broker = node.catalog.brokers.get(node.cluster.config.node_id)
    if broker is None:
        return []
    host, port = address_of(node, context, broker)
    return [{"name": CONTROLLER_LISTENER, "host": host, "port": port}]


def _unknown(partition: int) -> DescribeQuorumResponsePartitionData:
    return {
        "partition_index": partition,
        "error_code": Code.UNKNOWN_TOPIC_OR_PARTITION,
        "error_message": "This server does not host this topic-partition.",
        "leader_id": 0,
        "leader_epoch": 0,
        "high_watermark": 0,
        "current_voters": [],
        "observers": [],
    }


def _quorum(node: Node) -> DescribeQuorumResponsePartitionData:
    log = node.flushes.metadata_log
    now_ms = node.clock.now_ms()

    def replica(node_id: int, directory_id: UUID | None = None) -> ReplicaState:
        return {
            "replica_id": node_id,
            "replica_directory_id": directory_id,
            "log_end_offset": log.log_end_offset,
            "last_fetch_timestamp": now_ms,
            "last_caught_up_timestamp": now_ms,
        }

    leader_id = node.cluster.config.node_id
    return {
        "partition_index": 0,
        "error_code": Code.NONE,
        "error_message": "",
        "leader_id": leader_id,
        "leader_epoch": log.leader_epoch,
        "high_watermark": log.log_end_offset,
        "current_voters": [replica(leader_id, dict(node.controller.voters).get(leader_id))],
        "observers": [
            replica(node_id, next(iter(broker.log_dirs), None))
            for node_id, broker in sorted(node.catalog.brokers.items())
            if node_id != leader_id and not broker.is_fenced
        ],
    }
