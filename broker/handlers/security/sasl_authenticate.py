"""SaslAuthenticate (36), versions 0-2: authenticate on a SASL listener.

1     the lifetime of the session (KIP-368)
2     flexible encoding

Skipped: the login, which broker/net/logins.py handles before a request reaches a handler. Here the
connection is authenticated already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...log_output import Log
from ...requests.api import OPEN, serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.sasl_authenticate import (
        SaslAuthenticateRequest,
        SaslAuthenticateResponse,
    )
    from ...node import Node

_log = Log("connection")


@serves(ApiKey.SASL_AUTHENTICATE, versions=(0, 2), guard=OPEN)
async def sasl_authenticate(
    node: Node, context: Context, request: SaslAuthenticateRequest
) -> SaslAuthenticateResponse:
    if context.connection.may_complain("requests for SASL"):
        protocol = context.connection.listener.protocol
        why = (
            "no SaslHandshake precedes it" if protocol.has_login else f"this listener is {protocol}"
        )
        _log.warning(
            f"the client asks for SASL, and {why}",
            **context.log_fields(),
        )
    raise Refused(
        Code.ILLEGAL_SASL_STATE,
        "SaslAuthenticate request received after successful authentication",
    )
