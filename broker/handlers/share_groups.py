"""The APIs of share groups (KIP-932), which Ottla does not serve.

ShareFetch (78), version 1: a member of a share group reads records.
ShareAcknowledge (79), version 1: a member of a share group acknowledges records.

Refused: all of them, as by Apache Kafka 4.1 with share.version 0: the client learns that share
groups are switched off in this cluster, and not that the broker is too old for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..requests.api import OPEN, serves
from ..requests.context import Context
from ..requests.handler import Body

if TYPE_CHECKING:
    from ..node import Node

_NOT_ENABLED: Final = Code.UNSUPPORTED_VERSION


@serves(ApiKey.SHARE_FETCH, versions=(1, 1), guard=OPEN)
@serves(ApiKey.SHARE_ACKNOWLEDGE, versions=(1, 1), guard=OPEN)
async def refuse(node: Node, context: Context, request: object) -> Body:
    raise Refused(_NOT_ENABLED)
