"""SaslAuthenticate (36), versions 0-2: prove who one is, on listeners that ask for it.

1     how long the proof is good for (KIP-368)
2     flexible encoding

Skipped: listeners that ask. On the others everybody is known already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..requests.context import Context
from ..requests.dispatch import serves

if TYPE_CHECKING:
    from ..node import Node


@serves(ApiKey.SASL_AUTHENTICATE, versions=(0, 2))
async def sasl_authenticate(node: Node, context: Context, request: Any) -> dict[str, Any]:
    raise Refused(
        Code.ILLEGAL_SASL_STATE,
        "SaslAuthenticate request received after successful authentication",
    )
