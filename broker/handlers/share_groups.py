"""Share groups (KIP-932), refused: ShareGroupHeartbeat, ShareGroupDescribe, ShareFetch and
ShareAcknowledge (76-79) in version 1, the state of share groups (83-87) and their offsets (90-92)
in version 0.

They are offered and answered as by an Apache Kafka 4.1 on which share.version is 0, so that a
client hears that this cluster has them switched off, and not that it is too old for them.
Skipped: all that they do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...protocol.acls import Operation
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from ..requests.authorization import may_cluster
from ..requests.context import Context
from ..requests.dispatch import serves

if TYPE_CHECKING:
    from ..node import Node

_WHAT: Final = {
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: "initialize share group state",
    ApiKey.READ_SHARE_GROUP_STATE: "read share group state",
    ApiKey.WRITE_SHARE_GROUP_STATE: "write share group state",
    ApiKey.DELETE_SHARE_GROUP_STATE: "delete share group state",
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: "read share group state summary",
}


@serves(ApiKey.SHARE_GROUP_HEARTBEAT, versions=(1, 1))
@serves(ApiKey.SHARE_FETCH, versions=(1, 1))
@serves(ApiKey.SHARE_ACKNOWLEDGE, versions=(1, 1))
async def share(node: Node, context: Context, request: Any) -> dict[str, Any]:
    return {"error_code": Code.UNSUPPORTED_VERSION}


@serves(ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions=(0, 0))
@serves(ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions=(0, 0))
async def change_share_group_offsets(node: Node, context: Context, request: Any) -> dict[str, Any]:
    why = "The version of API is not supported."
    return {"error_code": Code.UNSUPPORTED_VERSION, "error_message": why}


@serves(ApiKey.SHARE_GROUP_DESCRIBE, versions=(1, 1))
async def share_group_describe(node: Node, context: Context, request: Any) -> dict[str, Any]:
    return _of_each(request.group_ids)


@serves(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions=(0, 0))
async def describe_share_group_offsets(
    node: Node, context: Context, request: Any
) -> dict[str, Any]:
    return _of_each([group.group_id for group in request.groups])


def _of_each(group_ids: list[str]) -> dict[str, Any]:
    refused = {"error_code": Code.UNSUPPORTED_VERSION}
    return {"groups": [{"group_id": group_id, **refused} for group_id in group_ids]}


@serves(ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions=(0, 0))
@serves(ApiKey.READ_SHARE_GROUP_STATE, versions=(0, 0))
@serves(ApiKey.WRITE_SHARE_GROUP_STATE, versions=(0, 0))
@serves(ApiKey.DELETE_SHARE_GROUP_STATE, versions=(0, 0))
@serves(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions=(0, 0))
async def share_group_state(node: Node, context: Context, request: Any) -> dict[str, Any]:
    """What brokers ask each other: no broker coordinates a share group."""
    if may_cluster(node, context, Operation.CLUSTER_ACTION):
        why = f"Unable to {_WHAT[context.api_key]}: This is not the correct coordinator."
        refused = {"error_code": Code.NOT_COORDINATOR, "error_message": why}
    else:
        why = "Cluster authorization failed."
        refused = {"error_code": Code.CLUSTER_AUTHORIZATION_FAILED, "error_message": why}
    return {
        "results": [
            {
                "topic_id": topic.topic_id,
                "partitions": [
                    {"partition": each.partition, **refused} for each in topic.partitions
                ],
            }
            for topic in request.topics
        ]
    }
