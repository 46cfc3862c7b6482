"""ShareAcknowledge (79), version 1: a member of a share group acknowledges records.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import not_enabled

if TYPE_CHECKING:
    from ...protocol.api_types.share_acknowledge import ShareAcknowledgeRequest
    from ..node import Node
    from ..requests.handler import Body


@serves(ApiKey.SHARE_ACKNOWLEDGE, versions=(1, 1))
async def share_acknowledge(node: Node, context: Context, request: ShareAcknowledgeRequest) -> Body:
    return not_enabled()
