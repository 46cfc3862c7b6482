"""RenewDelegationToken (39), versions 1-2; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class RenewDelegationTokenRequest(Protocol):
    hmac: bytes
    renew_period_ms: int

class RenewDelegationTokenResponse(TypedDict):
    error_code: NotRequired[int]
    expiry_timestamp_ms: int
    throttle_time_ms: NotRequired[int]
