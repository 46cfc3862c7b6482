"""DeleteShareGroupOffsets (92), version 0: remove the start offsets of a share group.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Refused
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import NOT_ENABLED, WHY_NOT_ENABLED

if TYPE_CHECKING:
    from ...protocol.api_types.delete_share_group_offsets import (
        DeleteShareGroupOffsetsRequest,
        DeleteShareGroupOffsetsResponse,
    )
    from ..node import Node


@serves(ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions=(0, 0))
async def delete_share_group_offsets(
    node: Node, context: Context, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse:
    raise Refused(NOT_ENABLED, WHY_NOT_ENABLED)
