"""DeleteShareGroupOffsets (92), version 0: remove the start offsets of a share group.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import not_enabled_with_message

if TYPE_CHECKING:
    from ...protocol.api_types.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
    from ..node import Node
    from ..requests.handler import Body


@serves(ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions=(0, 0))
async def delete_share_group_offsets(
    node: Node, context: Context, request: DeleteShareGroupOffsetsRequest
) -> Body:
    return not_enabled_with_message()
