"""ShareFetch (78), version 1: a member of a share group reads records.

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
    from ...protocol.api_types.share_fetch import ShareFetchRequest, ShareFetchResponse
    from ..node import Node


@serves(ApiKey.SHARE_FETCH, versions=(1, 1))
async def share_fetch(
    node: Node, context: Context, request: ShareFetchRequest
) -> ShareFetchResponse:
    raise Refused(NOT_ENABLED)
