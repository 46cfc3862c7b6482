"""The APIs of share groups (KIP-932), which Ottla does not serve.

ShareFetch (78), version 1: a member of a share group reads records.
ShareAcknowledge (79), version 1: a member of a share group acknowledges records.
InitializeShareGroupState (83), version 0: store the first state of partitions of a share group.
ReadShareGroupState (84), version 0: read the state of partitions of a share group.
WriteShareGroupState (85), version 0: change the state of partitions of a share group.
DeleteShareGroupState (86), version 0: remove the state of partitions of a share group.
ReadShareGroupStateSummary (87), version 0: read start offsets of partitions of a share group.

Refused: all of them, as by Apache Kafka 4.1 with share.version 0: the client learns that share
groups are switched off in this cluster, and not that the broker is too old for them. The requests
between brokers about the state of share groups (83 to 87) are NOT_COORDINATOR, as no broker
coordinates a share group, or CLUSTER_AUTHORIZATION_FAILED without the right CLUSTER_ACTION.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ...protocol.acls import Operation
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..requests.api import CHECKED_BY_HANDLER, OPEN, serves
from ..requests.authorization import WHY, may_cluster
from ..requests.context import Context
from ..requests.handler import Body

if TYPE_CHECKING:
    from ...protocol.api_types.delete_share_group_state import DeleteShareGroupStateRequest
    from ..node import Node

_NOT_ENABLED: Final = Code.UNSUPPORTED_VERSION

# The fields of a partition, beside its index and error, in the answers that read its state.
_NO_STATE: Final[Mapping[ApiKey, Body]] = {
    ApiKey.READ_SHARE_GROUP_STATE: {"state_epoch": 0, "start_offset": 0, "state_batches": []},
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: {
        "state_epoch": 0,
        "leader_epoch": 0,
        "start_offset": 0,
    },
}


@serves(ApiKey.SHARE_FETCH, versions=(1, 1), guard=OPEN)
@serves(ApiKey.SHARE_ACKNOWLEDGE, versions=(1, 1), guard=OPEN)
async def refuse(node: Node, context: Context, request: object) -> Body:
    raise Refused(_NOT_ENABLED)


@serves(ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions=(0, 0), guard=CHECKED_BY_HANDLER)
@serves(ApiKey.READ_SHARE_GROUP_STATE, versions=(0, 0), guard=CHECKED_BY_HANDLER)
@serves(ApiKey.WRITE_SHARE_GROUP_STATE, versions=(0, 0), guard=CHECKED_BY_HANDLER)
@serves(ApiKey.DELETE_SHARE_GROUP_STATE, versions=(0, 0), guard=CHECKED_BY_HANDLER)
@serves(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions=(0, 0), guard=CHECKED_BY_HANDLER)
async def refuse_each_partition(
    node: Node,
    context: Context,
    request: DeleteShareGroupStateRequest,  # the others have the same topics and partitions
) -> Body:
    if may_cluster(node, context, Operation.CLUSTER_ACTION):
        action = context.api_key.name.lower().replace("_", " ")
        code = Code.NOT_COORDINATOR
        why = f"Unable to {action}: This is not the correct coordinator."
    else:
        code = Code.CLUSTER_AUTHORIZATION_FAILED
        why = WHY[code]
    refusal = {"error_code": code, "error_message": why, **_NO_STATE.get(context.api_key, {})}
    return {
        "results": [
            {
                "topic_id": topic.topic_id,
                "partitions": [
                    {"partition": each.partition, **refusal} for each in topic.partitions
                ],
            }
            for topic in request.topics
        ]
    }
