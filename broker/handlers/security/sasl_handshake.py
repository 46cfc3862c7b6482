"""SaslHandshake (17), versions 0-1: choose the SASL mechanism on a SASL listener.

1     the authentication follows in SaslAuthenticate requests (KIP-152)

Skipped: the login, which broker/net/logins.py handles before a request reaches a handler. Here no
mechanism is left to choose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...log_output import Log
from ...requests.api import OPEN, serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
    from ...node import Node

_log = Log("connection")
_MOST_CHARACTERS: Final = 100


@serves(ApiKey.SASL_HANDSHAKE, versions=(0, 1), guard=OPEN)
async def sasl_handshake(
    node: Node, context: Context, request: SaslHandshakeRequest
) -> SaslHandshakeResponse:
    if context.connection.may_complain("requests for SASL"):
        protocol = context.connection.listener.protocol
        why = (
            "its session has no end, or is a second old"
            if protocol.has_login
            else f"this listener is {protocol}"
        )
        _log.warning(
            f"the client asks for SASL, and {why}",
            mechanism=request.mechanism[:_MOST_CHARACTERS],
            **context.log_fields(),
        )
    raise Refused(Code.ILLEGAL_SASL_STATE)
