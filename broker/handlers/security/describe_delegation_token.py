"""DescribeDelegationToken (41), versions 1-3: list the tokens that the client may see.

2     flexible encoding
3     the requester of each token (KIP-373)

Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....metadata.delegation_tokens import DelegationToken
from ....protocol.acls import AclResource, Operation
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import may
from ...requests.context import Context
from ...requests.delegation_tokens import check_login, parts_of

if TYPE_CHECKING:
    from ....protocol.api_types.describe_delegation_token import (
        DescribedDelegationToken,
        DescribeDelegationTokenRequest,
        DescribeDelegationTokenResponse,
    )
    from ...node import Node


@serves(ApiKey.DESCRIBE_DELEGATION_TOKEN, versions=(1, 3), guard=CHECKED_BY_HANDLER)
async def describe_delegation_token(
    node: Node, context: Context, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    check_login(context)
    secrets = node.token_secrets
    if secrets is None:
        raise Refused(Code.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = None
    if request.owners is not None:
        owners = [f"{each.principal_type}:{each.principal_name}" for each in request.owners]
    return {
        "error_code": Code.NONE,
        "tokens": [
            _described(token, secrets.hmac_of(token.token_id))
            for token in node.catalog.tokens
            if owners is None or any(token.is_of(owner) for owner in owners)
            if _may_see(node, context, token)
        ],
    }


def _may_see(node: Node, context: Context, token: DelegationToken) -> bool:
    """Whether the client is owner or renewer, or has DESCRIBE on the token or on its owner."""
    return (
        token.is_of(context.principal.text)
        or may(node, context, Operation.DESCRIBE, AclResource.DELEGATION_TOKEN, token.token_id)
        or may(node, context, Operation.DESCRIBE_TOKENS, AclResource.USER, token.owner)
    )


def _described(token: DelegationToken, hmac: bytes) -> DescribedDelegationToken:
    owner, requester = parts_of(token.owner), parts_of(token.requester)
    renewers = [parts_of(each) for each in token.renewers]
    return {
        "principal_type": owner[0],
        "principal_name": owner[1],
        "token_requester_principal_type": requester[0],
        "token_requester_principal_name": requester[1],
        "issue_timestamp": token.issue_timestamp_ms,
        "expiry_timestamp": token.expiry_timestamp_ms,
        "max_timestamp": token.max_timestamp_ms,
        "token_id": token.token_id,
        "hmac": hmac,
        "renewers": [{"principal_type": kind, "principal_name": name} for kind, name in renewers],
    }
