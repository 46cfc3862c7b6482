"""RenewDelegationToken (39), versions 1-2: extend the validity of a token.

2     flexible encoding

Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....metadata.delegation_tokens import record_of, renewed
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import OPEN, serves
from ...requests.context import Context
from ...requests.delegation_tokens import NO_TIME_MS, check_login, secrets_of

if TYPE_CHECKING:
    from ....protocol.api_types.renew_delegation_token import (
        RenewDelegationTokenRequest,
        RenewDelegationTokenResponse,
    )
    from ...node import Node


@serves(ApiKey.RENEW_DELEGATION_TOKEN, versions=(1, 2), guard=OPEN)
async def renew_delegation_token(
    node: Node, context: Context, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    from ...runtime.controller.delegation_tokens import lifetimes_of

    try:
        check_login(context)
    except Refused as refused:
        return {"error_code": refused.code, "expiry_timestamp_ms": NO_TIME_MS}
    try:
        token = renewed(
            secrets_of(node).by_hmac(bytes(request.hmac)), context.principal.text,
            request.renew_period_ms, lifetimes_of(node.config), node.clock.now_ms(),
        )  # fmt: skip
        node.controller.change([record_of(token)])
        await node.decided()
    except Refused as refused:
        return {"error_code": refused.code, "expiry_timestamp_ms": 0}
    return {"error_code": Code.NONE, "expiry_timestamp_ms": token.expiry_timestamp_ms}
