"""UnregisterController (94), version 0: remove a controller from the cluster's metadata.

The active controller, which is this process, cannot be removed. Others are known from a directory
that Kafka wrote. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.acls import Operation
from ....protocol.api_keys import ApiKey
from ...requests.api import OnCluster, serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.unregister_controller import (
        UnregisterControllerRequest,
        UnregisterControllerResponse,
    )
    from ...node import Node


@serves(ApiKey.UNREGISTER_CONTROLLER, versions=(0, 0), guard=OnCluster(Operation.ALTER))
async def unregister_controller(
    node: Node, context: Context, request: UnregisterControllerRequest
) -> UnregisterControllerResponse:
    node.controller.forget_controller(request.controller_id)
    await node.decided()
    return {"error_message": None}
