"""DescribeDelegationToken (41), versions 1-3; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class DescribeDelegationTokenOwner(Protocol):
    @property
    def principal_type(self) -> str: ...
    @property
    def principal_name(self) -> str: ...

class DescribeDelegationTokenRequest(Protocol):
    owners: Sequence[DescribeDelegationTokenOwner] | None

class DescribedDelegationTokenRenewer(TypedDict):
    principal_type: str
    principal_name: str

class DescribedDelegationToken(TypedDict):
    principal_type: str
    principal_name: str
    token_requester_principal_type: NotRequired[str]  # 3
    token_requester_principal_name: NotRequired[str]  # 3
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
    token_id: str
    hmac: bytes
    renewers: list[DescribedDelegationTokenRenewer]

class DescribeDelegationTokenResponse(TypedDict):
    error_code: NotRequired[int]
    tokens: list[DescribedDelegationToken]
    throttle_time_ms: NotRequired[int]
