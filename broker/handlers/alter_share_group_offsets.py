"""AlterShareGroupOffsets (91), version 0: set the start offsets of a share group.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import not_enabled_with_message

if TYPE_CHECKING:
    from ...protocol.api_types.alter_share_group_offsets import AlterShareGroupOffsetsRequest
    from ..node import Node
    from ..requests.handler import Body


@serves(ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions=(0, 0))
async def alter_share_group_offsets(
    node: Node, context: Context, request: AlterShareGroupOffsetsRequest
) -> Body:
    return not_enabled_with_message()
