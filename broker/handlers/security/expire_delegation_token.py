"""ExpireDelegationToken (40), versions 1-2: change the expiry time of a token, or remove it.

2     flexible encoding

Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....metadata.delegation_tokens import expiring
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import OPEN, serves
from ...requests.context import Context
from ...requests.delegation_tokens import NO_TIME_MS, check_login, secrets_of

if TYPE_CHECKING:
    from ....protocol.api_types.expire_delegation_token import (
        ExpireDelegationTokenRequest,
        ExpireDelegationTokenResponse,
    )
    from ...node import Node


@serves(ApiKey.EXPIRE_DELEGATION_TOKEN, versions=(1, 2), guard=OPEN)
async def expire_delegation_token(
    node: Node, context: Context, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    try:
        check_login(context)
    except Refused as refused:
        return {"error_code": refused.code, "expiry_timestamp_ms": NO_TIME_MS}
    try:
        secrets = secrets_of(node)
        expiry_ms, record = expiring(
            secrets.by_hmac(bytes(request.hmac)), context.principal.text,
            request.expiry_time_period_ms, node.clock.now_ms(),
        )  # fmt: skip
        node.controller.change([record])
        secrets.forget_removed()
        await node.decided()
    except Refused as refused:
        return {"error_code": refused.code, "expiry_timestamp_ms": 0}
    return {"error_code": Code.NONE, "expiry_timestamp_ms": expiry_ms}
