"""CreateDelegationToken (38), versions 1-3: create a token that authenticates a user for a time.

2     flexible encoding
3     a token for another user (KIP-373)

Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....metadata.delegation_tokens import DelegationToken, created, record_of
from ....protocol.acls import AclResource, Operation
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...principals import USER
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import may
from ...requests.context import Context
from ...requests.delegation_tokens import NO_TIME_MS, check_login, secrets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....protocol.api_types.create_delegation_token import (
        CreateDelegationTokenRequest,
        CreateDelegationTokenResponse,
    )
    from ...node import Node


@serves(ApiKey.CREATE_DELEGATION_TOKEN, versions=(1, 3), guard=CHECKED_BY_HANDLER)
async def create_delegation_token(
    node: Node, context: Context, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    requester = context.principal
    owner = requester.type, requester.name
    if request.owner_principal_name:
        if request.owner_principal_type is None:  # Kafka cannot create a principal from it
            return _answer(context, owner, Code.UNKNOWN_SERVER_ERROR, NO_TIME_MS)
        owner = request.owner_principal_type, request.owner_principal_name
    try:
        check_login(context)
        _check_owner(node, context, ":".join(owner))
        if any(renewer.principal_type != USER for renewer in request.renewers):
            raise Refused(Code.INVALID_PRINCIPAL_TYPE)
    except Refused as refused:
        return _answer(context, owner, refused.code, NO_TIME_MS)
    try:
        renewers = [f"{each.principal_type}:{each.principal_name}" for each in request.renewers]
        token, hmac = _created(node, (":".join(owner), requester.text, renewers), request)
        await node.decided()
    except Refused as refused:
        return _answer(context, owner, refused.code, 0)
    return {
        **_answer(context, owner, Code.NONE, 0),
        "issue_timestamp_ms": token.issue_timestamp_ms,
        "expiry_timestamp_ms": token.expiry_timestamp_ms,
        "max_timestamp_ms": token.max_timestamp_ms,
        "token_id": token.token_id,
        "hmac": hmac,
    }


def _check_owner(node: Node, context: Context, owner: str) -> None:
    """A token for another user needs CREATE_TOKENS on that user."""
    is_own = owner == context.principal.text
    if not is_own and not may(node, context, Operation.CREATE_TOKENS, AclResource.USER, owner):
        raise Refused(Code.DELEGATION_TOKEN_AUTHORIZATION_FAILED)


def _created(
    node: Node,
    principals: tuple[str, str, Sequence[str]],
    request: CreateDelegationTokenRequest,
) -> tuple[DelegationToken, bytes]:
    """The new token, once it is in the metadata log, and its HMAC."""
    from ...runtime.controller.delegation_tokens import lifetimes_of, new_token_id

    secrets = secrets_of(node)
    token = created(
        new_token_id(), principals, request.max_lifetime_ms, lifetimes_of(node.config),
        node.clock.now_ms(),
    )  # fmt: skip
    node.controller.change([record_of(token)])
    return token, secrets.hmac_of(token.token_id)


def _answer(
    context: Context, owner: tuple[str, str], code: Code, time_ms: int
) -> CreateDelegationTokenResponse:
    """An answer without a token."""
    return {
        "error_code": code,
        "principal_type": owner[0],
        "principal_name": owner[1],
        "token_requester_principal_type": context.principal.type,
        "token_requester_principal_name": context.principal.name,
        "issue_timestamp_ms": time_ms,
        "expiry_timestamp_ms": time_ms,
        "max_timestamp_ms": time_ms,
        "token_id": "",
        "hmac": b"",
    }
