"""UnregisterBroker (64), version 0: forget a broker that will not come back (KIP-500).

As with Kafka, a broker that is there is forgotten too, and leads nothing until it starts again.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves

if TYPE_CHECKING:
    from ..node import Node


@serves(ApiKey.UNREGISTER_BROKER, versions=(0, 0))
async def unregister_broker(node: Node, context: Context, request: Any) -> dict[str, Any]:
    node.controller.forget_broker(request.broker_id)
    await node.decided()
    return {"error_message": ""}
