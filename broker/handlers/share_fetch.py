"""ShareFetch (78), version 1: a member of a share group reads records.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import not_enabled

if TYPE_CHECKING:
    from ...protocol.api_types.share_fetch import ShareFetchRequest
    from ..node import Node
    from ..requests.handler import Body


@serves(ApiKey.SHARE_FETCH, versions=(1, 1))
async def share_fetch(node: Node, context: Context, request: ShareFetchRequest) -> Body:
    return not_enabled()
