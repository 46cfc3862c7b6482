"""The errors of share groups (KIP-932), which Ottla does not serve.

Requests are answered as by Apache Kafka 4.1 with share.version 0: the client learns that share
groups are switched off in this cluster, and not that the broker is too old for them. The handlers
of these APIs are `broker/handlers/share_*.py` and `broker/handlers/*_share_group_*.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ...protocol.acls import Operation
from ...protocol.errors import Code, Refused
from .authorization import WHY, may_cluster
from .context import Context

if TYPE_CHECKING:
    from ...protocol.api_types.delete_share_group_state import DeleteStateData, DeleteStateResult
    from ..node import Node

NOT_ENABLED: Final = Code.UNSUPPORTED_VERSION
WHY_NOT_ENABLED: Final = "The version of API is not supported."
"""Kafka's message for the offsets of share groups; its other answers have no message."""


def state_refusal(node: Node, context: Context, *, action: str) -> Refused:
    """The error of a request between brokers about the state of share groups.

    The code is NOT_COORDINATOR, as no broker coordinates a share group, or
    CLUSTER_AUTHORIZATION_FAILED without the right CLUSTER_ACTION.

    Args:
        action: what the request does, for the message of NOT_COORDINATOR.
    """
    if may_cluster(node, context, Operation.CLUSTER_ACTION):
        why = f"Unable to {action}: This is not the correct coordinator."
        return Refused(Code.NOT_COORDINATOR, why)
    code = Code.CLUSTER_AUTHORIZATION_FAILED
    return Refused(code, WHY[code])


def states_refused(topics: Iterable[DeleteStateData], refused: Refused) -> list[DeleteStateResult]:
    """The results with this error for each partition of a request about state."""
    return [
        {
            "topic_id": topic.topic_id,
            "partitions": [
                {
                    "partition": each.partition,
                    "error_code": refused.code,
                    "error_message": refused.why,
                }
                for each in topic.partitions
            ],
        }
        for topic in topics
    ]
