"""StreamsGroupTopologyDescriptionUpdate (93), version 0: describe a topology (KIP-1331).

A member sends the description when an answer to its heartbeat requires one. In Kafka a plugin of
the broker stores it.

Refused: all of them with UNSUPPORTED_VERSION, as by Kafka without a plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import AclResource, Operation, must
from ...requests.context import Context
from .streams_group_heartbeat import check_enabled

if TYPE_CHECKING:
    from ....protocol.api_types.streams_group_topology_description_update import (
        StreamsGroupTopologyDescriptionUpdateRequest,
    )
    from ...node import Node

_WHY = "The broker has no streams group topology description plugin configured."


@serves(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, versions=(0, 0), guard=CHECKED_BY_HANDLER)
async def streams_group_topology_description_update(
    node: Node, context: Context, request: StreamsGroupTopologyDescriptionUpdateRequest
) -> NoReturn:
    check_enabled(node)
    must(node, context, Operation.READ, AclResource.GROUP, request.group_id)
    raise Refused(Code.UNSUPPORTED_VERSION, _WHY)
