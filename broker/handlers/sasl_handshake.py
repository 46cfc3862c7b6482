"""SaslHandshake (17), versions 0-1: choose how to tell who one is, on listeners that ask for it.

1     what follows comes in SaslAuthenticate requests (KIP-152)

Skipped: listeners that ask. On the others there is nothing to choose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..requests.context import Context
from ..requests.dispatch import serves

if TYPE_CHECKING:
    from ..node import Node


@serves(ApiKey.SASL_HANDSHAKE, versions=(0, 1))
async def sasl_handshake(node: Node, context: Context, request: Any) -> dict[str, Any]:
    raise Refused(Code.ILLEGAL_SASL_STATE)
