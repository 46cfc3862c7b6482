"""Delegation tokens of a running cluster (KIP-48): create, renew, expire, describe.

Each function is one request, and raises ErrorAnswer if the broker refuses: on connections without a
login DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...protocol.api_keys import ApiKey
from ..cluster_client import Client, check

Principal = tuple[str, str]
"""Type and name, such as `("User", "alice")`."""


class Token(NamedTuple):
    """A delegation token; times are Unix times in milliseconds."""

    token_id: str
    hmac: bytes
    owner: Principal
    requester: Principal
    renewers: tuple[Principal, ...]
    issued_ms: int
    expiry_ms: int
    max_ms: int


def create_token(
    client: Client, owner: Principal | None, renewers: Sequence[Principal], *, max_lifetime_ms: int
) -> Token:
    """Create a token (CreateDelegationToken).

    Args:
        owner: None: the user who is logged in.
        max_lifetime_ms: -1: delegation.token.max.lifetime.ms of the broker.
    """
    body = {
        "owner_principal_type": owner and owner[0],
        "owner_principal_name": owner and owner[1],
        "renewers": [_named(each) for each in renewers],
        "max_lifetime_ms": max_lifetime_ms,
    }
    made = client.ask(ApiKey.CREATE_DELEGATION_TOKEN, body)
    check(made.error_code, "the delegation token")
    return Token(
        made.token_id,
        bytes(made.hmac),
        (made.principal_type, made.principal_name),
        (made.token_requester_principal_type, made.token_requester_principal_name),
        tuple(renewers),
        made.issue_timestamp_ms,
        made.expiry_timestamp_ms,
        made.max_timestamp_ms,
    )


def renew_token(client: Client, hmac: bytes, period_ms: int) -> int:
    """Renew a token for a period; return its expiry in Unix milliseconds (RenewDelegationToken)."""
    body = {"hmac": hmac, "renew_period_ms": period_ms}
    answer = client.ask(ApiKey.RENEW_DELEGATION_TOKEN, body)
    check(answer.error_code, "the delegation token")
    return int(answer.expiry_timestamp_ms)


def expire_token(client: Client, hmac: bytes, period_ms: int) -> int:
    """Let a token expire after a period, -1: now; return its expiry (ExpireDelegationToken)."""
    body = {"hmac": hmac, "expiry_time_period_ms": period_ms}
    answer = client.ask(ApiKey.EXPIRE_DELEGATION_TOKEN, body)
    check(answer.error_code, "the delegation token")
    return int(answer.expiry_timestamp_ms)


def describe_tokens(client: Client, owners: Sequence[Principal] | None) -> list[Token]:
    """The tokens of these owners that the user may see; None: of all (DescribeDelegationToken)."""
    body = {"owners": None if owners is None else [_named(each) for each in owners]}
    answer = client.ask(ApiKey.DESCRIBE_DELEGATION_TOKEN, body)
    check(answer.error_code, "the delegation tokens")
    return [_token(each) for each in answer.tokens]


def _named(principal: Principal) -> dict[str, str]:
    return {"principal_type": principal[0], "principal_name": principal[1]}


def _token(found: Any) -> Token:  # Any: part of an answer
    return Token(
        found.token_id,
        bytes(found.hmac),
        (found.principal_type, found.principal_name),
        (found.token_requester_principal_type, found.token_requester_principal_name),
        tuple((each.principal_type, each.principal_name) for each in found.renewers),
        found.issue_timestamp,
        found.expiry_timestamp,
        found.max_timestamp,
    )
