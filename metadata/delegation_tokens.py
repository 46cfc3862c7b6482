"""Delegation tokens (KIP-48), as stored in the metadata log: who may log in as whom, and how long.

Pure, like the catalog. A record has no secret: the password of a token is an HMAC of its id, by the
broker's `delegation.token.secret.key`. Decisions and errors are those of
org.apache.kafka.controller.DelegationTokenControlManager.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..protocol.errors import Code, Refused
from ..protocol.named_tuple import NamedTuple
from .records import DelegationTokenRecord, MetadataRecord, RemoveDelegationTokenRecord

_LONGEST: Final = (1 << 63) - 1


class DelegationToken(NamedTuple):
    """One token; principals are texts like `User:alice`.

    Attributes:
        owner: who logs in with the token.
        requester: who created it.
        renewers: who may renew and expire it, besides the owner.
        max_timestamp_ms: the wall time beyond which it cannot be renewed.
        expiry_timestamp_ms: the wall time at which it expires.
    """

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp_ms: int
    max_timestamp_ms: int
    expiry_timestamp_ms: int

    def is_expired(self, now_ms: int) -> bool:
        """Whether it has expired."""
        return self.max_timestamp_ms < now_ms or self.expiry_timestamp_ms < now_ms

    def is_of(self, principal: str) -> bool:
        """Whether a principal is its owner or one of its renewers."""
        return principal == self.owner or principal in self.renewers


class Lifetimes(NamedTuple):
    """The lifetimes of the settings, in ms.

    Attributes:
        max_ms: delegation.token.max.lifetime.ms.
        expiry_ms: delegation.token.expiry.time.ms.
    """

    max_ms: int
    expiry_ms: int


class DelegationTokens:
    """All tokens, by id."""

    def __init__(self) -> None:
        self._by_id: dict[str, DelegationToken] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DelegationTokens) and self._by_id == other._by_id

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[DelegationToken]:
        return iter(self._by_id.values())

    def get(self, token_id: str) -> DelegationToken | None:
        """The token of an id, or None."""
        return self._by_id.get(token_id)

    def expired(self, now_ms: int) -> tuple[MetadataRecord, ...]:
        """The records that remove the expired tokens."""
        return tuple(
            RemoveDelegationTokenRecord(token.token_id)
            for token in self
            if token.is_expired(now_ms)
        )

    def replay(self, record: DelegationTokenRecord | RemoveDelegationTokenRecord) -> None:
        """Apply a record."""
        if isinstance(record, RemoveDelegationTokenRecord):
            self._by_id.pop(record.token_id, None)
            return
        self._by_id[record.token_id] = DelegationToken(
            record.token_id, record.owner, record.requester, record.renewers,
            record.issue_timestamp, record.max_timestamp, record.expiration_timestamp,
        )  # fmt: skip

    def records(self) -> Iterator[MetadataRecord]:
        """The state as records, for a snapshot."""
        return map(record_of, self._by_id.values())


def created(
    token_id: str,
    principals: tuple[str, str, Sequence[str]],
    max_lifetime_ms: int,
    lifetimes: Lifetimes,
    now_ms: int,
) -> DelegationToken:
    """CreateDelegationToken: the new token.

    Args:
        token_id: a new id.
        principals: owner, requester and renewers.
        max_lifetime_ms: of the request; 0 or less for that of the settings.
        lifetimes: of the settings.
        now_ms: the wall time.
    """
    owner, requester, renewers = principals
    longest_ms = lifetimes.max_ms
    if max_lifetime_ms > 0:
        longest_ms = min(longest_ms, max_lifetime_ms)
    max_timestamp_ms = _sum(now_ms, longest_ms)
    expiry_ms = min(max_timestamp_ms, _sum(now_ms, lifetimes.expiry_ms))
    return DelegationToken(
        token_id, owner, requester, tuple(renewers), now_ms, max_timestamp_ms, expiry_ms
    )


def renewed(
    token: DelegationToken, principal: str, period_ms: int, lifetimes: Lifetimes, now_ms: int
) -> DelegationToken:
    """RenewDelegationToken: the token with its new expiry time.

    Args:
        principal: of the client.
        period_ms: of the request; 0 or less for that of the settings.

    Raises:
        Refused: DELEGATION_TOKEN_EXPIRED, DELEGATION_TOKEN_OWNER_MISMATCH.
    """
    if token.is_expired(now_ms):
        raise Refused(Code.DELEGATION_TOKEN_EXPIRED)
    _check_owner(token, principal)
    lifetime_ms = lifetimes.expiry_ms
    if period_ms > 0:
        lifetime_ms = min(lifetime_ms, period_ms)
    return token._replace(
        expiry_timestamp_ms=min(token.max_timestamp_ms, _sum(now_ms, lifetime_ms))
    )


def expiring(
    token: DelegationToken, principal: str, period_ms: int, now_ms: int
) -> tuple[int, MetadataRecord]:
    """ExpireDelegationToken: the expiry time, and the record of the change.

    Args:
        principal: of the client.
        period_ms: the time until it expires; less than 0 removes it.

    Raises:
        Refused: DELEGATION_TOKEN_OWNER_MISMATCH, DELEGATION_TOKEN_EXPIRED.
    """
    _check_owner(token, principal)
    if period_ms < 0:
        return now_ms, RemoveDelegationTokenRecord(token.token_id)
    if token.is_expired(now_ms):
        raise Refused(Code.DELEGATION_TOKEN_EXPIRED)
    expiry_ms = min(token.max_timestamp_ms, _sum(now_ms, period_ms))
    return expiry_ms, record_of(token._replace(expiry_timestamp_ms=expiry_ms))


def record_of(token: DelegationToken) -> MetadataRecord:
    """The record that stores a token."""
    return DelegationTokenRecord(
        owner=token.owner,
        requester=token.requester,
        renewers=token.renewers,
        issue_timestamp=token.issue_timestamp_ms,
        max_timestamp=token.max_timestamp_ms,
        expiration_timestamp=token.expiry_timestamp_ms,
        token_id=token.token_id,
    )


def _check_owner(token: DelegationToken, principal: str) -> None:
    if not token.is_of(principal):
        raise Refused(Code.DELEGATION_TOKEN_OWNER_MISMATCH)


def _sum(now_ms: int, duration_ms: int) -> int:
    return min(now_ms + duration_ms, _LONGEST)
