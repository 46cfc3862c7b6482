"""UnregisterBroker (64), version 0: remove a broker from the cluster's metadata (KIP-500).

As in Kafka, this works for a running broker too; it leads no partition until its next start.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.acls import Operation
from ....protocol.api_keys import ApiKey
from ...requests.api import OnCluster, serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.unregister_broker import (
        UnregisterBrokerRequest,
        UnregisterBrokerResponse,
    )
    from ...node import Node


@serves(ApiKey.UNREGISTER_BROKER, versions=(0, 0), guard=OnCluster(Operation.ALTER))
async def unregister_broker(
    node: Node, context: Context, request: UnregisterBrokerRequest
) -> UnregisterBrokerResponse:
    node.controller.forget_broker(request.broker_id)
    await node.decided()
    return {"error_message": ""}
