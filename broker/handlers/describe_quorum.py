"""DescribeQuorum (55), versions 0-2: who votes for the controller, and how far each of them is.

1     when each replica of the metadata log last fetched, and was last caught up
2     error messages; ids of directories; where the voters listen (KIP-853)

Ottla's nodes are one process over one metadata log: one of them leads, the others follow it without
delay. What Kafka calls the controller's listener is theirs. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from ...storage.catalog import CLUSTER_METADATA
from ..context import Context
from ..dispatch import serves
from ..quorum_requests import CONTROLLER_LISTENER

if TYPE_CHECKING:
    from ..node import Node


@serves(ApiKey.DESCRIBE_QUORUM, versions=(0, 2))
async def describe_quorum(node: Node, context: Context, request: Any) -> dict[str, Any]:
    asked = [
        (topic.topic_name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ]
    # Kafka knows one such log, and answers for it only where nothing else is asked for.
    is_known = asked == [(CLUSTER_METADATA, 0)] and len(request.topics) == 1
    body: dict[str, Any] = {
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
        host, port = node.listener
        listeners = [{"name": CONTROLLER_LISTENER, "host": host, "port": port}]
        body["nodes"] = [{"node_id": node.node_id, "listeners": listeners}]
    return body


def _unknown(partition: int) -> dict[str, Any]:
    return {
        "partition_index": partition,
        "error_code": Code.UNKNOWN_TOPIC_OR_PARTITION,
        "error_message": "This server does not host this topic-partition.",
    }


def _quorum(node: Node) -> dict[str, Any]:
    log = node.flushes.metadata_log
    now_ms = node.clock.now_ms()

    def replica(node_id: int) -> dict[str, Any]:
        return {
            "replica_id": node_id,
            "log_end_offset": log.log_end_offset,
            "last_fetch_timestamp": now_ms,
            "last_caught_up_timestamp": now_ms,
        }

    others = [
        node_id
        for node_id, broker in sorted(node.catalog.brokers.items())
        if node_id != node.node_id and not broker.is_fenced
    ]
    return {
        "partition_index": 0,
        "error_code": Code.NONE,
        "error_message": "",
        "leader_id": node.node_id,
        "leader_epoch": log.leader_epoch,
        "high_watermark": log.log_end_offset,
        "current_voters": [replica(node.node_id)],
        "observers": [replica(node_id) for node_id in others],
    }
