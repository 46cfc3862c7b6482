"""ShareAcknowledge (79), version 1: a member of a share group acknowledges records.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Refused
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import NOT_ENABLED

if TYPE_CHECKING:
    from ...protocol.api_types.share_acknowledge import (
        ShareAcknowledgeRequest,
        ShareAcknowledgeResponse,
    )
    from ..node import Node


@serves(ApiKey.SHARE_ACKNOWLEDGE, versions=(1, 1))
async def share_acknowledge(
    node: Node, context: Context, request: ShareAcknowledgeRequest
) -> ShareAcknowledgeResponse:
    raise Refused(NOT_ENABLED)
