"""Share groups (KIP-932), which are not served: the refusals that their APIs answer with.

The answers are those of Apache Kafka 4.1 with share.version 0, so that a client learns that this
cluster has share groups switched off, and not that the broker is too old for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...protocol.acls import Operation
from ...protocol.errors import Code
from .authorization import WHY, may_cluster
from .context import Context
from .handler import Body

if TYPE_CHECKING:
    from ...protocol.api_types.delete_share_group_state import (
        DeleteStateData,
    )
    from ..node import Node


def not_enabled() -> Body:
    """Refuse a request as a whole: UNSUPPORTED_VERSION."""
    return {"error_code": Code.UNSUPPORTED_VERSION}


def not_enabled_with_message() -> Body:
    """Refuse a request as a whole: UNSUPPORTED_VERSION, with Kafka's message."""
    why = "The version of API is not supported."
    return {"error_code": Code.UNSUPPORTED_VERSION, "error_message": why}


def groups_not_enabled(group_ids: Iterable[str]) -> Body:
    """Refuse each of the groups: UNSUPPORTED_VERSION."""
    return {"groups": [{"group_id": group_id, **not_enabled()} for group_id in group_ids]}


def not_share_coordinator(
    node: Node, context: Context, topics: Iterable[DeleteStateData], *, action: str
) -> Body:
    """Refuse each partition of a request between brokers about the state of share groups.

    The code is NOT_COORDINATOR, as no broker coordinates a share group, or
    CLUSTER_AUTHORIZATION_FAILED without the right CLUSTER_ACTION.

    Args:
        action: what the request does, for the message of NOT_COORDINATOR.
    """
    if may_cluster(node, context, Operation.CLUSTER_ACTION):
        why = f"Unable to {action}: This is not the correct coordinator."
        refused = {"error_code": Code.NOT_COORDINATOR, "error_message": why}
    else:
        code = Code.CLUSTER_AUTHORIZATION_FAILED
        refused = {"error_code": code, "error_message": WHY[code]}
    return {
        "results": [
            {
                "topic_id": topic.topic_id,
                "partitions": [
                    {"partition": each.partition, **refused} for each in topic.partitions
                ],
            }
            for topic in topics
        ]
    }
