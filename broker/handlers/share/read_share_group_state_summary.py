"""ReadShareGroupStateSummary (87), versions 0-1: read start offsets of partitions of a share group.

1    the number of records behind the start offset that are done (KIP-1226)

The group coordinator sends it to describe the offsets of a group. The leader epoch is not checked.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....coordinator.share_state.states import NO_COUNT, ShareStateSummary
from ....protocol.api_keys import ApiKey
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.context import Context
from ...requests.handler import Body
from ...requests.share.share_states import decide_each

if TYPE_CHECKING:
    from ....protocol.api_types.read_share_group_state_summary import (
        ReadShareGroupStateSummaryRequest,
    )
    from ...node import Node

_COUNTS_SINCE: Final = 1


@serves(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions=(0, 1), guard=CHECKED_BY_HANDLER)
async def read_share_group_state_summary(
    node: Node, context: Context, request: ReadShareGroupStateSummaryRequest
) -> Body:
    return await decide_each(
        node, context, request,
        lambda machine, key, asked, now: machine.summarize(key),
        answer=lambda summary: _fields(context, summary),
        no_state=_fields(context, ShareStateSummary(0, 0, 0, NO_COUNT)),
    )  # fmt: skip


def _fields(context: Context, summary: ShareStateSummary) -> Body:
    fields = summary._asdict()
    if context.version < _COUNTS_SINCE:
        del fields["delivery_complete_count"]
    return fields
