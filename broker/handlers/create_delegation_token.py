"""CreateDelegationToken (38), versions 1-3: create a token that authenticates a user for a time.

2     flexible encoding
3     a token for another user (KIP-373)

Skipped: tokens (broker/requests/delegation_tokens.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from ..requests.context import Context
from ..requests.delegation_tokens import NO_TIME_MS, why_refused
from ..requests.dispatch import serves

if TYPE_CHECKING:
    from ...protocol.api_types.create_delegation_token import (
        CreateDelegationTokenRequest,
        CreateDelegationTokenResponse,
    )
    from ..node import Node


@serves(ApiKey.CREATE_DELEGATION_TOKEN, versions=(1, 3))
async def create_delegation_token(
    node: Node, context: Context, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    kind, name = context.principal.type, context.principal.name
    owner_kind, owner_name, code = kind, name, why_refused(context)
    if request.owner_principal_name:
        if request.owner_principal_type is None:  # Kafka cannot create a principal from it
            code = Code.UNKNOWN_SERVER_ERROR
        else:
            owner_kind, owner_name = request.owner_principal_type, request.owner_principal_name
    return {
        "error_code": code,
        "principal_type": owner_kind,
        "principal_name": owner_name,
        "token_requester_principal_type": kind,
        "token_requester_principal_name": name,
        "issue_timestamp_ms": NO_TIME_MS,
        "expiry_timestamp_ms": NO_TIME_MS,
        "max_timestamp_ms": NO_TIME_MS,
        "token_id": "",
        "hmac": b"",
    }
