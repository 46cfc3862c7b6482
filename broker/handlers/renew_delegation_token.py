"""RenewDelegationToken (39), versions 1-2: extend the validity of a token.

2     flexible encoding

Skipped: tokens (broker/requests/delegation_tokens.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.delegation_tokens import NO_TIME_MS, why_refused
from ..requests.dispatch import serves

if TYPE_CHECKING:
    from ...protocol.api_types.renew_delegation_token import (
        RenewDelegationTokenRequest,
        RenewDelegationTokenResponse,
    )
    from ..node import Node


@serves(ApiKey.RENEW_DELEGATION_TOKEN, versions=(1, 2))
async def renew_delegation_token(
    node: Node, context: Context, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    return {"error_code": why_refused(context), "expiry_timestamp_ms": NO_TIME_MS}
