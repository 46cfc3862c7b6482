"""CreateDelegationToken (38), versions 1-3; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class CreatableRenewers(Protocol):
    @property
    def principal_type(self) -> str: ...
    @property
    def principal_name(self) -> str: ...

class CreateDelegationTokenRequest(Protocol):
    owner_principal_type: str | None  # 3
    owner_principal_name: str | None  # 3
    renewers: Sequence[CreatableRenewers]
    max_lifetime_ms: int

class CreateDelegationTokenResponse(TypedDict):
    error_code: NotRequired[int]
    principal_type: str
    principal_name: str
    token_requester_principal_type: NotRequired[str]  # 3
    token_requester_principal_name: NotRequired[str]  # 3
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int
    token_id: str
    hmac: bytes
    throttle_time_ms: NotRequired[int]
